"""Text normalizers: normal forms in which different spellings of a name are equal."""

from __future__ import annotations

import re
import string
from collections.abc import Callable

from .greek import spell_out_greek

_PUNCTUATION = re.compile(rf"[\s{re.escape(string.punctuation)}]+")

_AMERICAN = {
    "aem": "em", "aesthe": "esthe", "aetiol": "etiol", "aluminium": "aluminum", "amoeb": "ameb",
    "behaviour": "behavior", "caec": "cec", "centre": "center", "coelia": "celia", "faec": "fec",
    "fibre": "fiber", "foet": "fet", "gynaec": "gynec", "homoeo": "homeo", "isation": "ization",
    "leucaem": "leukem", "leuco": "leuko", "naev": "nev", "oedem": "edem", "oesoph": "esoph", "oestr": "estr",
    "paed": "ped", "phaeo": "pheo", "pnoea": "pnea", "rhoea": "rhea", "sulph": "sulf", "tumour": "tumor",
}  # fmt: skip
"""Parts of words in British spelling, with their American spelling."""
_CONTEXTS = {"oedem": "(?<!i)oedem", "oesoph": r"\boesoph", "oestr": r"\boestr", "leuco": "leuco(?!vorin)"}
"""Parts that are British only in some contexts: not in angioedema, gastroesophageal, leucovorin."""
_BRITISH = re.compile("|".join(_CONTEXTS.get(part, part) for part in _AMERICAN))


def unchanged(text: str) -> str:
    return text


def lower(text: str) -> str:
    """Return the text in lower case with single spaces, the form on which SapBERT is trained."""
    return " ".join(text.lower().split())


def biosyn(text: str) -> str:
    """Return BioSyn's form before spelling correction: lower case, each run of ASCII punctuation as one space."""
    return _PUNCTUATION.sub(" ", text.lower()).strip()


def unpunctuated(text: str) -> str:
    """Replace each run of ASCII punctuation by a space, and keep the case."""
    return _PUNCTUATION.sub(" ", text).strip()


def american(text: str) -> str:
    """Return `lower` in American spelling, as MeSH has it: oedema becomes edema, leucocyte becomes leukocyte."""
    return _BRITISH.sub(lambda found: _AMERICAN[found[0]], lower(text))


_FORMS: dict[str, Callable[[str], str]] = {
    "none": unchanged,
    "lower": lower,
    "unpunctuated": unpunctuated,
    "biosyn": biosyn,
    "american": american,
}
GREEK = "+greek"
"""Suffix of a normal form in which Greek letters are spelled out."""


def _with_greek_names(normalize: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: normalize(spell_out_greek(text))


TEXT_NORMALIZERS = {**_FORMS, **{name + GREEK: _with_greek_names(form) for name, form in _FORMS.items()}}
