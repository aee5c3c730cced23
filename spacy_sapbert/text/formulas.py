"""Names of chemical formulas, ions, element symbols and amino-acid codes: "Ca2+" is calcium, "ZnSO4" zinc sulfate.

The symbols, names and codes are those of IUPAC (Red Book 2005; IUPAC-IUB 1984 for amino acids), in American spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from string import ascii_lowercase

from .lists import pairs, read_lists, word_set

MAX_LENGTH = 16  # characters of a formula

_TABLES = {name: pairs(listed) for name, listed in read_lists(__file__).items()}
ELEMENTS, ISOTOPES = _TABLES["elements"], _TABLES["isotopes"]
_ANIONS, _COMPOUNDS, _AMINO_ACIDS = _TABLES["anions"], _TABLES["compounds"], _TABLES["amino acids"]
_NON_METALS = word_set("H He B C N O F Ne Si P S Cl Ar As Se Br Kr Te I Xe At Rn")


def _alternatives(symbols: Iterable[str]) -> str:
    return "|".join(sorted(sorted(symbols), key=len, reverse=True))


_ELEMENT = _alternatives(ELEMENTS)
_ANION = _alternatives(_ANIONS)
_LONG_ANION = _alternatives(_ANIONS.keys() - {"F", "I", "O", "S"})
_METAL = _alternatives({*ELEMENTS, "NH4"} - _NON_METALS)
_POSITIVE = r"[(\[]?(?:\d?\+|\+\d|\+{2,3})[)\]]?"
_NEGATIVE = r"[(\[]?\d?-{1,3}[)\]]?"
_ION = re.compile(
    rf"(?P<cation>{_ELEMENT}|NH4){_POSITIVE}|(?P<halide>F|I)[(\[]?-[)\]]?"
    rf"|(?P<anion>{_LONG_ANION}){_NEGATIVE}"
)
_SYMBOL = re.compile(rf"(?P<element>{_ELEMENT})(?:\((?:I{{1,3}}|I?V|VI)\))?")
# A salt of two capital letters alone is more often a short form of something else.
_SALT = re.compile(rf"(?=.*[a-z0-9])(?P<metal>{_METAL})\d?(?:(?P<anion>{_ANION})\d?|\((?P<group>{_ANION})\)\d)")
_SPACE_BEFORE_CHARGE = re.compile(r" (?=[(\[]?\d?[+-]{1,3}[)\]]?$)")
_AMINO_ACID = re.compile(rf"(?:[DL]-)?(?P<code>{_alternatives(_AMINO_ACIDS)})")


def formula_name(text: str) -> str | None:
    """Return the name of what a formula stands for, or None if the text is not a formula that is known here.

    Case counts: "Co" is cobalt, "CO" carbon monoxide. Charge and oxidation state are left out. Isotopes are not among
    them, see `spacy_sapbert.text.chemistry`.
    """
    if len(text) > MAX_LENGTH or text[:1] in ascii_lowercase:
        return None
    formula = unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "-")
    formula = _SPACE_BEFORE_CHARGE.sub("", formula)
    name = _COMPOUNDS.get(formula) or _element(formula) or _ion(formula) or _salt(formula) or _amino_acid(formula)
    return name and name.replace("_", " ")


def _element(formula: str) -> str | None:
    match = _SYMBOL.fullmatch(formula)
    return ELEMENTS[match["element"]] if match else None


def _ion(formula: str) -> str | None:
    match = _ION.fullmatch(formula)
    if not match:
        return None
    anion = match["anion"] or match["halide"]
    return _ANIONS[anion] if anion else _cation(match["cation"])


def _salt(formula: str) -> str | None:
    match = _SALT.fullmatch(formula)
    return f"{_cation(match['metal'])} {_ANIONS[match['anion'] or match['group']]}" if match else None


def _amino_acid(formula: str) -> str | None:
    match = _AMINO_ACID.fullmatch(formula)
    return _AMINO_ACIDS[match["code"]] if match else None


def _cation(symbol: str) -> str:
    return "ammonium" if symbol == "NH4" else ELEMENTS[symbol]
