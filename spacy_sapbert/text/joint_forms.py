"""Short forms that are defined together: "Duchenne or Becker muscular dystrophy (DMD/BMD)".

The long forms are the single mentions of a composite, in the order of the short forms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .composites import composite_splits
from .long_forms import find_long_form

_SHORT_FORM = r"[A-Z][A-Za-z0-9-]*[A-Z0-9]s?"
_JOINT = r"(?:\s*/\s*|\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|and/or)\s+)"
_SHORT_FORMS = re.compile(rf"{_SHORT_FORM}(?:{_JOINT}{_SHORT_FORM})+")
_CONNECTOR = re.compile(r"/|,|\b(?:and|or)\b")


class JointForm(NamedTuple):
    """One of several short forms.

    Attributes:
        start: where it starts in the text with all of them.
        long_start: where its long form starts in the words; None where it is not there in one piece.
        precision: those of Ab3P for the pair.
    """

    short: str
    long: str
    start: int
    long_start: int | None
    precision: float
    strategy: str


def find_joint_forms(shorts: str, words: str, min_precision: float) -> list[JointForm]:
    """Find the long forms of several short forms at the end of the words before them.

    Args:
        shorts: the short forms between slashes, commas, "and" or "or".
        words: the words before, without blanks at the end.
        min_precision: as for `find_long_form`.

    Returns:
        one a short form, from the fewest words that have one for each; else none.
    """
    if not _SHORT_FORMS.fullmatch(shorts) or not _CONNECTOR.search(words):
        return []
    pieces = list(re.finditer(_SHORT_FORM, shorts))
    for word in reversed(list(re.finditer(r"\S+", words))):
        phrase = words[word.start() :]
        for reading in composite_splits(phrase) if _CONNECTOR.search(phrase) else ():
            found = _pair(pieces, reading, words, min_precision)
            if found:
                return found
    return []


def _pair(pieces: Sequence[re.Match[str]], reading: Sequence[str], words: str, min_precision: float) -> list[JointForm]:
    """Take the parts of a reading for long forms, if each is one from its first word on."""
    found: list[JointForm] = []
    if len(pieces) != len(reading):
        return found
    for piece, long in zip(pieces, reading, strict=True):
        match = find_long_form(piece[0], long, min_precision)
        if match is None or match.start:
            return []
        position = words.rfind(long)
        place = position if position >= 0 else None
        found.append(JointForm(piece[0], long, piece.start(), place, match.precision, match.strategy))
    return found
