"""Normal forms of names: what two strings may differ in and still be the same name."""

from __future__ import annotations

import re
import string
from collections.abc import Callable

_PUNCTUATION = re.compile(rf"[\s{re.escape(string.punctuation)}]+")


def unchanged(text: str) -> str:
    return text


def lower(text: str) -> str:
    """Lower-case with single blanks: the form on which SapBERT is trained."""
    return " ".join(text.lower().split())


def biosyn(text: str) -> str:
    """Lower-case without ASCII punctuation, each run of it one blank: BioSyn's form, before its spelling correction."""
    return _PUNCTUATION.sub(" ", text.lower()).strip()


NORMALISERS: dict[str, Callable[[str], str]] = {"none": unchanged, "lower": lower, "biosyn": biosyn}
