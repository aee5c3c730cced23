"""Other names of the same chemical: an acid and its anion, a drug and its salt, an ion, an isotope, a label.

Each rule proposes names. They count only if the vocabulary has them, see `spacy_sapbert.linking.rewrites`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .formulas import ELEMENTS, ISOTOPES, formula_name
from .lists import read_lists, word_set
from .normalize import american

MAX_LENGTH = 64  # characters of a text that is rewritten

_ACID_STEMS = {"sulf": "sulfur", "phosph": "phosphor", "tartr": "tartar"}
"""Stems of anions whose acids have another one: sulfate is the anion of sulfuric acid."""
_ANION_STEMS = {acid: anion for anion, acid in _ACID_STEMS.items()}
_ANION = re.compile(r"(?P<stem>.*[^\W\d_]{2})ate", re.IGNORECASE)
_ACID = re.compile(r"(?P<stem>.*[^\W\d_]{2})ic acid", re.IGNORECASE)

_LISTS = read_lists(__file__)
_SALTS = word_set(_LISTS["salts"])
"""What pharmacists add to a drug. Acetates and phosphates are left out: most of them are esters, another substance."""
_SALTS_OF_BASES = word_set(_LISTS["salts of bases"])
"""The same for names of nitrogen bases only. "Estrone sulfate" is an ester, "atropine sulfate" a salt."""
_BASE = re.compile(r".*[^\W\d_]{3}(?:ine?|ium)", re.IGNORECASE)
_METALS_BEFORE = word_set(_LISTS["metals before"])
_COMMON_SALTS = ("hydrochloride", "mesylate", "sodium", "sulfate", "maleate", "citrate", "bromide", "hydrobromide")
_SHORTEST_DRUG = 5  # letters
_DRUG = re.compile(
    r"[^\W\d_]{6,}(?<!sis|tis|oma|ism|ion|ent|ess|ity|ing|thy|ous)(?<!ia|ic|al|ed|ry|er|es)", re.IGNORECASE
)

_GREEK = {"a": "alpha", "b": "beta", "g": "gamma", "d": "delta"}
_SUBSCRIPT = re.compile(r"(?<=[^\W_])\((\d{1,2})\)")
_DOT = re.compile("[\u00b7\u2022\u2219\u22c5\u25cf\u02d9\u2027*]")
_RADICALS = {
    "O2-": "superoxide", "O2": "superoxide", "OH": "hydroxyl radical", "HO": "hydroxyl radical", "NO": "nitric oxide",
    "HO2": "hydroperoxyl radical", "HOO": "hydroperoxyl radical", "CH3": "methyl radical",
}  # fmt: skip
_SYMBOL_OF = {name: symbol for symbol, name in ELEMENTS.items()}
_SYMBOL = "|".join(sorted(ELEMENTS, key=len, reverse=True))
_MASS = r"\d{1,3}m?"
_LABEL = re.compile(
    rf"(?P<open>[\[(]{{0,2}})(?P<mass>{_MASS})\)?(?P<symbol>{_SYMBOL})\]?[-\u2010-\u2015 ]?(?P<rest>\D.{{2,}})"
)
_ISOTOPE = re.compile(
    rf"[\[(]{{0,2}}(?P<mass>{_MASS})\)?[- ]?(?P<symbol>{_SYMBOL})[\])]?"
    rf"|(?P<name>[^\W\d_]{{1,12}}(?:[- ]|(?<=[^\W\d_]{{2}})))(?P<number>{_MASS})"
)
_HEAVY_HYDROGEN = {"2": "deuterium", "3": "tritium"}
_ION = re.compile(
    r"(?P<name>[^\W\d_]{1,12})[- ]?(?:[(\[]?(?:[1-4] ?[+-]|\+ ?[1-4]?|[+-]{2,3})[)\]]?|(?<=[ -])(?:cat|an)?ions?)",
    re.IGNORECASE,
)

# Usual abbreviations and everyday names; the former as in the guide for authors of The Journal of Organic Chemistry.
_USUAL = {name: names.split(" | ") for name, names in (line.split(": ") for line in _LISTS["usual names"].splitlines())}


def chemical_rewrites(text: str) -> Iterator[tuple[str, str]]:
    """Yield other names of a chemical, the most plausible first, each with the reason."""
    if len(text) > MAX_LENGTH:
        return
    for rule in _RULES if any(map(str.isdecimal, text)) else _RULES_WITHOUT_NUMBERS:
        yield from rule(text)


def other_names_than_the_plural(text: str) -> Iterator[tuple[str, str]]:
    """Yield other names of a chemical that mean it rather than the class that its plural names: glutamic acid is
    glutamate, and the glutamates are a class. Each has a reason.
    """
    yield from _usual(text)
    yield from _acid(text)


def _usual(text: str) -> Iterator[tuple[str, str]]:
    for name in _USUAL.get(text) or _USUAL.get(text.lower(), []):
        yield name, f"“{text}” stands for {name}"


def _acid(text: str) -> Iterator[tuple[str, str]]:
    if not text.lower().endswith(("ate", "acid")):  # it saves time
        return
    if match := _ANION.fullmatch(text):
        stem = match["stem"]
        yield f"{_ACID_STEMS.get(stem.lower(), stem)}ic acid", f"“{text}” is the anion of this acid"
    elif match := _ACID.fullmatch(text):
        stem = match["stem"]
        yield f"{_ANION_STEMS.get(stem.lower(), stem)}ate", f"this is the anion of “{text}”"


def _greek(text: str) -> Iterator[tuple[str, str]]:
    """Read a single letter in front as the Greek one: "b-carotene"."""
    letter, hyphen, rest = text.partition("-")
    if hyphen and letter.lower() in _GREEK and rest[:1].islower() and len(rest) >= _SHORTEST_DRUG:
        yield f"{_GREEK[letter.lower()]}-{rest}", f"“{letter}” is {_GREEK[letter.lower()]}"


def _formula(text: str) -> Iterator[tuple[str, str]]:
    """Read a zero as the letter O, and numbers in brackets as PubMed writes subscripts."""
    plain = _SUBSCRIPT.sub(r"\1", text)
    for other in dict.fromkeys((plain, plain.replace("0", "O"))):
        if other != text:
            reason = f"“{text}” is {other}"
            yield from ((name, reason) for name in (formula_name(other), other) if name)


def _radical(text: str) -> Iterator[tuple[str, str]]:
    plain = _DOT.sub("", text)
    if (plain != text or text == "O2-") and (name := _RADICALS.get(plain.replace("\N{MINUS SIGN}", "-"))):
        yield name, f"“{text}” is this radical"


def _isotope(text: str) -> Iterator[tuple[str, str]]:
    match = _ISOTOPE.fullmatch(text)
    if not match:
        return
    mass = match["mass"] or match["number"]
    symbol = match["symbol"] or _symbol(match["name"].rstrip("- "))
    if symbol in ELEMENTS and _is_isotope(mass, symbol):
        element = ELEMENTS[symbol]
        yield from ((name, f"“{text}” is this isotope") for name in _isotope_names(mass, symbol, element))
        if element != "hydrogen":
            yield element, f"“{text}” is an isotope of this element"


def _isotope_names(mass: str, symbol: str, element: str) -> Iterator[str]:
    if element == "hydrogen":
        yield _HEAVY_HYDROGEN[mass]
    yield from (f"{element}-{mass}", f"{mass}{symbol}", f"{element} {mass}", f"{symbol}-{mass}", f"({mass}){symbol}")


def _is_isotope(mass: str, symbol: str) -> bool:
    return mass in ISOTOPES.get(symbol, "").split(",")


def _symbol(name: str) -> str:
    """Return the symbol of an element that is written as a symbol or as a name."""
    return name if name in ELEMENTS else _SYMBOL_OF.get(american(name), "")


def _label(text: str) -> Iterator[tuple[str, str]]:
    match = _LABEL.fullmatch(text)
    # "2H-chromene" has a hydrogen at this position
    if match and _is_isotope(match["mass"], match["symbol"]) and (match["open"] or match["symbol"] != "H"):
        yield match["rest"], f"“{text}” is this substance with a label"


def _ion(text: str) -> Iterator[tuple[str, str]]:
    match = _ION.fullmatch(text)
    if match and (symbol := _symbol(match["name"])):
        yield ELEMENTS[symbol], f"“{text}” is an ion of this element"


def _salt(text: str) -> Iterator[tuple[str, str]]:
    before, _, salt = text.rpartition(" ")
    if not before:
        if _DRUG.fullmatch(text):
            yield from ((f"{text} {salt}", "this salt is the drug") for salt in _COMMON_SALTS)
        return
    is_salt = salt.lower() in _SALTS or (salt.lower() in _SALTS_OF_BASES and _BASE.fullmatch(before))
    metal, _, after = text.partition(" ")
    drugs = [before] * bool(is_salt) + [after] * (metal.lower() in _METALS_BEFORE)
    for drug in drugs:
        if len(drug) >= _SHORTEST_DRUG and not _symbol(drug):
            yield drug, f"“{text}” is a salt of this"
            yield from ((acid, f"“{text}” is a salt of this acid") for acid, _ in _acid(drug))


_RULES = (_usual, _acid, _greek, _formula, _radical, _isotope, _label, _ion, _salt)
_RULES_WITHOUT_NUMBERS = (_usual, _acid, _greek, _radical, _ion, _salt)  # the others need a number
