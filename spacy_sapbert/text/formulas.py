"""Names of chemical formulas, ions, element symbols and amino-acid codes: "Ca2+" is calcium, "ZnSO4" zinc sulfate.

The symbols, names and codes are those of IUPAC (Red Book 2005; IUPAC-IUB 1984 for amino acids), in American spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_lowercase
from typing import NamedTuple

from ..files.values import pairs, read_lists, word_set
from .normalize import american

MAX_LENGTH = 16  # characters of a formula

_TABLES = {name: pairs(listed) for name, listed in read_lists(__file__).items()}
ELEMENTS, ISOTOPES, _ANIONS, _COMPOUNDS, _AMINO_ACIDS = (
    _TABLES[name] for name in ("elements", "isotopes", "anions", "compounds", "amino acids")
)
_SYMBOLS = {name: symbol for symbol, name in ELEMENTS.items()}
_CATIONS = ELEMENTS | {"NH4": "ammonium"}
_NON_METALS = word_set("H He B C N O F Ne Si P S Cl Ar As Se Br Kr Te I Xe At Rn")


def _alternatives(symbols: Iterable[str]) -> str:
    return "|".join(sorted(sorted(symbols), key=len, reverse=True))


SYMBOL = _alternatives(ELEMENTS)
"""The pattern of the symbol of an element."""
MASS = r"\d{1,3}m?"
"""The pattern of the mass of an isotope."""
_ANION = _alternatives(_ANIONS)
_SPACE_BEFORE_CHARGE = re.compile(r" (?=[(\[]?\d?[+-]{1,3}[)\]]?$)")
_SUBSCRIPT = re.compile(r"(?<=[^\W_])\((\d{1,2})\)")
_METAL = _alternatives(_CATIONS.keys() - _NON_METALS)


class _Formulas(NamedTuple):
    """A kind of formulas: the pattern of a whole one, and the tables that name its groups."""

    whole: re.Pattern[str]
    tables: tuple[Mapping[str, str], ...]


_KINDS = (
    _Formulas(re.compile(rf"({_alternatives(_COMPOUNDS)})"), (_COMPOUNDS,)),
    # elements with the oxidation state, and ions
    _Formulas(re.compile(rf"({SYMBOL})(?:\((?:I{{1,3}}|I?V|VI)\))?"), (ELEMENTS,)),
    _Formulas(re.compile(rf"({_alternatives(_CATIONS)})[(\[]?(?:\d?\+|\+\d|\+{{2,3}})[)\]]?"), (_CATIONS,)),
    _Formulas(re.compile(r"([FI])[(\[]?-[)\]]?"), (_ANIONS,)),
    _Formulas(re.compile(rf"({_alternatives(_ANIONS.keys() - set('FIOS'))})[(\[]?\d?-{{1,3}}[)\]]?"), (_ANIONS,)),
    # A salt of two capital letters alone is more often a short form of something else.
    _Formulas(
        re.compile(rf"(?=.*[a-z0-9])({_METAL})\d?(?:({_ANION})\d?|\(({_ANION})\)\d)"), (_CATIONS, _ANIONS, _ANIONS)
    ),
    _Formulas(re.compile(rf"(?:[DL]-)?({_alternatives(_AMINO_ACIDS)})"), (_AMINO_ACIDS,)),
)


class Isotope(NamedTuple):
    """An isotope: its mass, and the symbol and the name of its element."""

    mass: str
    symbol: str
    element: str


def formula_name(text: str) -> str | None:
    """Return the name of what a formula stands for, or None if the text is not a formula that is known here.

    Case counts: "Co" is cobalt, "CO" carbon monoxide. Charge and oxidation state are left out. Isotopes are not among
    them, see `spacy_sapbert.text.rewriting`.
    """
    if len(text) > MAX_LENGTH or text[:1] in ascii_lowercase:
        return None
    formula = unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "-")
    formula = _SPACE_BEFORE_CHARGE.sub("", formula)
    for kind in _KINDS:
        if match := kind.whole.fullmatch(formula):
            named = zip(kind.tables, match.groups(), strict=True)
            return " ".join(table[symbol] for table, symbol in named if symbol).replace("_", " ")
    return None


def element_symbol(name: str) -> str:
    """Return the symbol of an element that is written as a symbol or as a name, empty if it is none."""
    return name if name in ELEMENTS else _SYMBOLS.get(american(name), "")


def isotopes(mass: str, name: str) -> list[Isotope]:
    """Return the isotope of a mass and an element, which is written as a symbol or as a name. It may be none."""
    symbol = element_symbol(name)
    return [Isotope(mass, symbol, ELEMENTS[symbol])] if mass in ISOTOPES.get(symbol, "").split(",") else []


def spelled_formulas(text: str) -> Iterator[tuple[str, str]]:
    """Yield names of a formula with a zero for the letter O, or with brackets for subscripts, as in PubMed.

    Each has the formula as it is usually written.
    """
    plain = _SUBSCRIPT.sub(r"\1", text)
    for formula in dict.fromkeys((plain, plain.replace("0", "O"))):
        if formula != text:
            yield from ((name, formula) for name in (formula_name(formula), formula) if name)
