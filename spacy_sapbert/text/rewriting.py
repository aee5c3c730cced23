"""Other ways to write a text: tables of rules, and the engine that applies them.

They count only if the vocabulary has them, see `spacy_sapbert.linking.rewrites`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from .formulas import ELEMENTS, MASS, SYMBOL, element_symbol, formula_name, is_isotope
from .languages import ENGLISH, LanguageRules
from .lists import read_lists
from .normalize import lower, plain
from .phrases import OtherWords, derived_nouns, exchanges, findings, has_other_words, is_known
from .symbols import symbol_spellings, without_accents

MAX_CHEMICAL = 64  # characters of a text that may be a chemical
_MOST = 192  # ways to write a text
_MOST_EXCHANGES = 12  # of one part of a text, or of a second one

Match = re.Match[str]


class Rule(NamedTuple):
    """A rule by which some texts are written in another way.

    Attributes:
        examples: Texts, each with one of its other ways.
        whole: The pattern of the texts.
        others: The templates of the other ways. They have the text, the groups of the pattern, and what is found.
        reason: The template of the reason.
        look_up: Finds what the templates need besides, or nothing if the rule does not hold.
        ends: How the texts may end, in lower case.
    """

    examples: Mapping[str, str]
    whole: re.Pattern[str]
    others: tuple[str, ...]
    reason: str
    look_up: Callable[[Match], Iterable[Any]] = lambda _: ("",)
    ends: tuple[str, ...] = ("",)


def rewrites(text: str, language: LanguageRules = ENGLISH) -> Iterator[tuple[str, str]]:
    """Yield other ways to write a text, the most plausible first, each with the reason."""
    chemicals = _WITHOUT_SIGNS if text.replace(" ", "").isalpha() else CHEMICALS  # it saves time, as `is_known` does
    ways = (
        _ways(chemicals if len(text) <= MAX_CHEMICAL else (), text),
        _ways(LETTERS, text if text.isascii() else plain(text)),
        _ways(word_rules(language, is_known=is_known(text, language)), text),
    )
    return islice(chain.from_iterable(ways), _MOST)


def other_names_than_the_plural(text: str) -> Iterator[tuple[str, str]]:
    """Yield other names of a chemical that mean it rather than the class that its plural names: glutamic acid is
    glutamate, and the glutamates are a class. Each has a reason.
    """
    return _ways((USUAL, *ACIDS), text)


def _ways(rules: Iterable[Rule], text: str) -> Iterator[tuple[str, str]]:
    end = text.lower()
    for rule in rules:
        if end.endswith(rule.ends) and (match := rule.whole.fullmatch(text)):
            for found in rule.look_up(match):
                fields = {**match.groupdict(), "text": text, "found": found}
                reason = rule.reason.format_map(fields)
                for other in rule.others:
                    yield other.format_map(fields), reason


# --- the same chemical: an acid and its anion, a drug and its salt, an ion, an isotope, a label

_LISTS = read_lists(__file__)
_USUAL, _ACIDS, _RADICALS = (
    dict(line.split(": ") for line in _LISTS[name].splitlines()) for name in ("usual names", "acids", "radicals")
)
_ANIONS = {acid: anion for anion, acid in _ACIDS.items()}
_GREEK = {"a": "alpha", "b": "beta", "g": "gamma", "d": "delta"}
_HEAVY_HYDROGEN = {"2": "deuterium", "3": "tritium"}
_SUBSCRIPT = re.compile(r"(?<=[^\W_])\((\d{1,2})\)")
_DOTS = "\u00b7\u2022\u2219\u22c5\u25cf\u02d9\u2027*"
_WITHOUT_DOTS = str.maketrans(dict.fromkeys(_DOTS, "") | {"\N{MINUS SIGN}": "-"})
_SHORTEST_DRUG = 5  # letters


class Isotope(NamedTuple):
    """An isotope: its mass, and the symbol and the name of the element."""

    mass: str
    symbol: str
    element: str


def _usual(match: Match) -> list[str]:
    names = _USUAL.get(match[0]) or _USUAL.get(match[0].lower())
    return names.split(" | ") if names else []


def _acid(match: Match) -> list[str]:
    return [_ACIDS.get(match["stem"].lower(), match["stem"])]


def _anion(match: Match) -> list[str]:
    return [_ANIONS.get(match["stem"].lower(), match["stem"])]


def _greek(match: Match) -> list[str]:
    return [_GREEK[match["letter"].lower()]] if match["rest"][0].islower() else []


def _formula(match: Match) -> Iterator[tuple[str, str]]:
    """Yield names of a formula, each with how it is usually written."""
    plain = _SUBSCRIPT.sub(r"\1", match[0])
    for other in dict.fromkeys((plain, plain.replace("0", "O"))):
        if other != match[0]:
            yield from ((name, other) for name in (formula_name(other), other) if name)


def _radical(match: Match) -> list[str]:
    return [name] if (name := _RADICALS.get(match[0].translate(_WITHOUT_DOTS))) else []


def _isotope(match: Match) -> list[Isotope]:
    mass, symbol = match["mass"] or match["number"], match["symbol"] or element_symbol(match["name"])
    return [Isotope(mass, symbol, ELEMENTS[symbol])] if is_isotope(mass, symbol) else []


def _labeled(match: Match) -> list[str]:
    # "2H-chromene" has a hydrogen at this position
    is_label = is_isotope(match["mass"], match["symbol"]) and (match["open"] or match["symbol"] != "H")
    return [match["rest"]] if is_label else []


def _salt_rules(examples: Mapping[str, str], of_acids: Mapping[str, str], whole: str, ends: Iterable[str]) -> list[Rule]:
    """Return the rules of a kind of salts: each is the drug, or its acid."""

    def drug(match: Match) -> list[str]:
        return [] if element_symbol(match["drug"]) else [match["drug"]]

    def acids(match: Match) -> list[str]:
        return [acid for name in drug(match) for acid, _ in _ways(ACIDS, name)]

    pattern = re.compile(whole, re.IGNORECASE)
    return [
        Rule(examples, pattern, ("{found}",), "“{text}” is a salt of this", drug, tuple(ends)),
        Rule(of_acids, pattern, ("{found}",), "“{text}” is a salt of this acid", acids, tuple(ends)),
    ]


_ISOTOPE = re.compile(
    rf"[\[(]{{0,2}}(?P<mass>{MASS})\)?[- ]?(?P<symbol>{SYMBOL})[\])]?"
    rf"|(?P<name>[^\W\d_]{{1,12}})(?:[- ]|(?<=[^\W\d_]{{2}}))(?P<number>{MASS})"
)
_THIS_ISOTOPE = "“{text}” is this isotope"
USUAL = Rule(
    {"THF": "tetrahydrofuran", "Formalin": "formaldehyde"}, re.compile("|".join(map(re.escape, _USUAL)), re.IGNORECASE),
    ("{found}",), "“{text}” stands for {found}", _usual,
)  # fmt: skip
ACIDS = (
    Rule(
        {"pyruvate": "pyruvic acid", "sulfate": "sulfuric acid"},
        re.compile(r"(?P<stem>.*[^\W\d_]{2})ate", re.IGNORECASE),
        ("{found}ic acid",), "“{text}” is the anion of this acid", _acid, ("ate",),
    ),
    Rule(
        {"Pyruvic acid": "Pyruvate", "tartaric acid": "tartrate"},
        re.compile(r"(?P<stem>.*[^\W\d_]{2})ic acid", re.IGNORECASE),
        ("{found}ate",), "this is the anion of “{text}”", _anion, ("acid",),
    ),
)  # fmt: skip
SIGNS = (
    Rule(
        {"b-carotene": "beta-carotene"}, re.compile(rf"(?s)(?P<letter>[abgdABGD])-(?P<rest>.{{{_SHORTEST_DRUG},}})"),
        ("{found}-{rest}",), "“{letter}” is {found}", _greek,
    ),
    # a zero for the letter O, and numbers in brackets as PubMed writes subscripts
    Rule(
        {"CaCl(2)": "calcium chloride", "IP(3)": "IP3", "C02": "carbon dioxide"}, re.compile(r"(?s).*(?:\(\d|0).*"),
        ("{found[0]}",), "“{text}” is {found[1]}", _formula,
    ),
    Rule(
        {"OH•": "hydroxyl radical", "O2-": "superoxide"}, re.compile(rf"(?s)[^{_DOTS}]*[{_DOTS}].*|O2-"),
        ("{found}",), "“{text}” is this radical", _radical,
    ),
    Rule(
        {"3H": "tritium"}, _ISOTOPE, ("{found}",), _THIS_ISOTOPE,
        lambda match: [_HEAVY_HYDROGEN[mass] for mass, symbol, _ in _isotope(match) if symbol == "H"],
    ),
    Rule(
        {"C-14": "carbon-14", "carbon 14": "14C", "99mTc": "technetium-99m"}, _ISOTOPE,
        (
            "{found.element}-{found.mass}", "{found.mass}{found.symbol}", "{found.element} {found.mass}",
            "{found.symbol}-{found.mass}", "({found.mass}){found.symbol}",
        ),
        _THIS_ISOTOPE, _isotope,
    ),
    Rule(
        {"(125)I": "iodine"}, _ISOTOPE, ("{found}",), "“{text}” is an isotope of this element",
        lambda match: [element for _, symbol, element in _isotope(match) if symbol != "H"],
    ),
    Rule(
        {"[18F]FDG": "FDG", "14C-urea": "urea"}, re.compile(
            rf"(?P<open>[\[(]{{0,2}})(?P<mass>{MASS})\)?(?P<symbol>{SYMBOL})\]?[-\u2010-\u2015 ]?(?P<rest>\D.{{2,}})"
        ),
        ("{found}",), "“{text}” is this substance with a label", _labeled,
    ),
)  # fmt: skip
SALTS = (
    Rule(
        {"Ca +2": "calcium", "zinc ions": "zinc"}, re.compile(
            r"(?P<name>[^\W\d_]{1,12})[- ]?"
            r"(?:[(\[]?(?:[1-4] ?[+-]|\+ ?[1-4]?|[+-]{2,3})[)\]]?|(?<=[ -])(?:cat|an)?ions?)", re.IGNORECASE
        ),
        ("{found}",), "“{text}” is an ion of this element",
        lambda match: [ELEMENTS[symbol]] if (symbol := element_symbol(match["name"])) else [],
    ),
    Rule(
        {"imatinib": "imatinib mesylate"}, re.compile(
            r"[^\W\d_]{6,}(?<!sis|tis|oma|ism|ion|ent|ess|ity|ing|thy|ous)(?<!ia|ic|al|ed|ry|er|es)", re.IGNORECASE
        ),
        tuple(f"{{text}} {salt}" for salt in _LISTS["common salts"].split()), "this salt is the drug",
    ),
    *_salt_rules(
        {"lidocaine hydrochloride": "lidocaine"}, {"valproate sodium": "valproic acid"},
        rf"(?s)(?P<drug>.{{{_SHORTEST_DRUG},}}) [^ ]+", (f" {salt}" for salt in _LISTS["salts"].split()),
    ),
    *_salt_rules(
        {"atropine sulfate": "atropine"}, {},
        r"(?P<drug>.*[^\W\d_]{3}(?:ine?|ium)) [^ ]+",
        (f" {salt}" for salt in _LISTS["salts of bases"].split()),
    ),
    *_salt_rules(
        {"sodium naproxen": "naproxen"}, {"potassium clavulanate": "clavulanic acid"},
        rf"(?as)(?:{'|'.join(_LISTS['metals before'].split())}) (?P<drug>.{{{_SHORTEST_DRUG},}})", ("",),
    ),
)  # fmt: skip
_WITHOUT_SIGNS = (USUAL, *ACIDS, *SALTS)
CHEMICALS = (USUAL, *ACIDS, *SIGNS, *SALTS)

# --- the same letters: a name without accents, and a symbol such as that of a gene

LETTERS = (
    Rule(
        {"Ménière": "Meniere", "Sjögren syndrome": "Sjoegren syndrome"}, re.compile(r"(?s)[\x00-\x7f]*[^\x00-\x7f].*"),
        ("{found}",), "“{text}” without accents", lambda match: without_accents(match[0]),
    ),
    Rule(
        {"VEGF-C": "VEGFC", "TNFα": "TNF-alpha", "GSK3ß": "GSK3B"},
        re.compile(r"(?![a-z]+(?: |\Z))[^\W_]+(?:[-/. ][^\W_]+){0,3}"),  # plain words are none
        ("{found}",), "“{text}” is this symbol", lambda match: symbol_spellings(match[0]),
    ),
)  # fmt: skip

# --- the same in other words: renal cysts and kidney cysts, hypertensive and hypertension, low sodium and hyponatremia

ANY = re.compile("(?s).*")
FORMS = (
    Rule(
        {"hematological symptoms": "hematologic symptoms"}, re.compile(r"(?s).*ological.*"),
        ("{found}",), "“{text}” is “{found}”", lambda match: [match[0].replace("ological", "ologic")],
    ),
    Rule(
        {"impairment of learning": "learning impairment", "impaired thymic function": "thymic dysfunction"}, re.compile(
            r"(?P<head>[^\W\d_]+) (?:of|in) (?:the )?(?P<of>\S+(?: \S+)?)|impaired (?P<impaired>.+?)(?: function)?",
            re.IGNORECASE,
        ),
        ("{found}",), "“{text}” is “{found}”",
        lambda match: [f"{match['of']} {match['head']}" if match["of"] else f"{match['impaired']} dysfunction"],
    ),
)  # fmt: skip
_GENERAL = ("disease", "disorder", "syndrome", "disorders", "compounds", "agents")


@lru_cache(maxsize=16)
def word_rules(language: LanguageRules, *, is_known: bool = True) -> tuple[Rule, ...]:
    """Return the rules for the words of a text. There are fewer if none of them is known, see `is_known`."""

    def spelled(match: Match) -> list[str]:
        form = language.words.spell(match[0])
        return [form] if form != lower(match[0]) else []

    def single(match: Match) -> Iterator[OtherWords]:
        for other in _exchanged(match[0], language):
            yield other
            if other.text.endswith("s") and not other.text.endswith(("ss", "us", "is")):
                yield other._replace(text=other.text[:-1])

    def double(match: Match) -> Iterator[OtherWords]:
        for first in _exchanged(match[0], language):
            for second in islice(exchanges(first.text, language, first.end), _MOST_EXCHANGES):
                yield second._replace(reason=f"{first.reason}, {second.reason}")

    def general(match: Match) -> Iterable[str]:
        is_word = match[0].isalpha() and not match[0].isupper()
        # what has other words is more often a part of a body: "ovarian" is no disease
        return _GENERAL if is_word and not has_other_words(match[0], language) else ()

    def in_phrases(examples: Mapping[str, str], look_up: Callable[[Match], Iterable[OtherWords]]) -> list[Rule]:
        return [Rule(examples, ANY, ("{found.text}",), "{found.reason}", look_up)] if is_known else []

    is_english = language is ENGLISH
    return (
        *in_phrases(
            {"low sodium": "hyponatremia", "raised GGT": "elevated serum gamma-glutamyltransferase"},
            lambda match: findings(match[0], language),
        ),
        Rule({"Leucocytopenia": "leukocytopenia"}, ANY, ("{found}",), "“{text}” is spelled “{found}”, too", spelled),
        *(FORMS if is_english else ()),
        *in_phrases({"renal cysts": "kidney cysts", "nosebleed": "epistaxis"}, single),
        Rule(
            {"hypertensive": "hypertension", "cell dividing": "cell division"}, ANY,
            ("{found}",), "“{text}” comes from “{found}”", lambda match: derived_nouns(match[0], language),
        ),
        *[Rule(
            {"McLeod": "McLeod syndrome"}, re.compile(r"[^\W\d_]{4,}"),
            ("{text} {found}",), "“{text}” is a {found}", general,
        )] * is_english,
        *in_phrases({"cutaneous tumours": "skin neoplasm"}, double),
    )  # fmt: skip


@lru_cache(maxsize=16)
def _exchanged(text: str, language: LanguageRules) -> list[OtherWords]:
    """Return a text and its other forms with other words for one part."""
    forms = [form for form, _ in _ways(FORMS, text)] if language is ENGLISH else []
    return list(islice(chain.from_iterable(exchanges(form, language) for form in (text, *forms)), _MOST_EXCHANGES))
