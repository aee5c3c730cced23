"""Normal forms of names: what two strings may differ in and still be the same name."""

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
"""Parts of words in British spelling, and the same in American."""
_WITHIN = {"oedem": "(?<!i)oedem", "oesoph": r"\boesoph", "oestr": r"\boestr", "leuco": "leuco(?!vorin)"}
"""Where such a part is one: not in angioedema, gastroesophageal, leucovorin."""
_BRITISH = re.compile("|".join(_WITHIN.get(part, part) for part in sorted(_AMERICAN, key=len, reverse=True)))


def unchanged(text: str) -> str:
    return text


def lower(text: str) -> str:
    """Lower-case with single blanks: the form on which SapBERT is trained."""
    return " ".join(text.lower().split())


def biosyn(text: str) -> str:
    """Lower-case without ASCII punctuation, each run of it one blank: BioSyn's form, before its spelling correction."""
    return _PUNCTUATION.sub(" ", text.lower()).strip()


def unpunctuated(text: str) -> str:
    """Without ASCII punctuation, each run of it one blank; case stays."""
    return _PUNCTUATION.sub(" ", text).strip()


def american(text: str) -> str:
    """`lower` in American spelling, as MeSH has it: oedema is edema, leucocyte leukocyte."""
    return _BRITISH.sub(lambda found: _AMERICAN[found[0]], lower(text))


_WITH_GREEK: dict[str, Callable[[str], str]] = {
    "none": unchanged,
    "lower": lower,
    "unpunctuated": unpunctuated,
    "biosyn": biosyn,
    "american": american,
}
GREEK = "+greek"
"""Ends the name of a form in which the names of Greek letters stand in their places."""


def _spelling_out(normalize: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: normalize(spell_out_greek(text))


TEXT_NORMALIZERS = {**_WITH_GREEK, **{name + GREEK: _spelling_out(form) for name, form in _WITH_GREEK.items()}}
