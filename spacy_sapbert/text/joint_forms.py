"""Find short forms that are defined together: "Duchenne or Becker muscular dystrophy (DMD/BMD)".

The long forms are the single mentions of a composite, in the order of the short forms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .composites import composite_splits
from .languages import ENGLISH, LanguageRules
from .languages.rules import SHORT_FORM
from .long_forms import find_long_form


class JointForm(NamedTuple):
    """One of several short forms that are defined together.

    Attributes:
        short: The short form.
        long: The long form.
        start: Where the short form starts in the text of all short forms.
        long_start: Where the long form starts in the words before. None if the words do not contain it in one piece.
        precision: Ab3P's estimated precision for the pair.
        strategy: Ab3P's strategy for the pair.
    """

    short: str
    long: str
    start: int
    long_start: int | None
    precision: float
    strategy: str


def find_joint_forms(shorts: str, words: str, min_precision: float, rules: LanguageRules = ENGLISH) -> list[JointForm]:
    """Find the long forms of several short forms at the end of the words before them.

    Args:
        shorts: The short forms, joined by slashes, commas or words such as "and".
        words: The words before, without whitespace at the end.
        min_precision: As for `find_long_form`.
        rules: The rules of the language.

    Returns:
        One result per short form, from the fewest words that contain a long form for each. Otherwise, an empty list.
    """
    own = rules.abbreviations
    if not own.joint_short_forms.fullmatch(shorts) or not own.joint.search(words):
        return []
    pieces = list(re.finditer(SHORT_FORM, shorts))
    for word in reversed(list(re.finditer(r"\S+", words))):
        phrase = words[word.start() :]
        for split in composite_splits(phrase, rules=rules) if own.joint.search(phrase) else ():
            found = _match_parts(pieces, split, words, min_precision, rules)
            if found:
                return found
    return []


def _match_parts(
    pieces: Sequence[re.Match[str]], split: Sequence[str], words: str, min_precision: float, rules: LanguageRules
) -> list[JointForm]:
    """Match the parts of a composite split to the short forms. Each part must be a long form from its first word on."""
    found: list[JointForm] = []
    if len(pieces) != len(split):
        return found
    for piece, long in zip(pieces, split, strict=True):
        match = find_long_form(piece[0], long, min_precision, rules)
        if match is None or match.start:
            return []
        position = words.rfind(long)
        place = position if position >= 0 else None
        found.append(JointForm(piece[0], long, piece.start(), place, match.precision, match.strategy))
    return found
