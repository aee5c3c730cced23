"""Show a mention with its context, and find the parts of a composite in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .words import read_words

REACH = 60
"""The most characters of a snippet on each side of its mention."""

_LONGEST_MENTION = 2 * REACH
_CUT = "..."


def snippet(text: str, start: int, end: int) -> str:
    """Return a mention in brackets with up to 60 characters before and after it, on one line, without cut words."""
    left, right = text[max(0, start - REACH) : start], text[end : end + REACH]
    if start > REACH and not text[start - REACH - 1].isspace():
        left = _after_first_blank(left)
    if end + REACH < len(text) and not text[end + REACH].isspace():
        right = _after_first_blank(right[::-1])[::-1]
    mention = text[start:end]
    if len(mention) > _LONGEST_MENTION:
        mention = f"{mention[:REACH]}{_CUT}{mention[-REACH:]}"
    shown = " ".join(f"{left}[{mention}]{right}".split())
    return (_CUT if start > REACH else "") + shown + (_CUT if end + REACH < len(text) else "")


def part_offsets(mention: str, part: str) -> list[tuple[int, int]]:
    """Find the words of one part of a composite in the mention.

    Args:
        mention: The text of the mention.
        part: The text of the part, which repeats words of the mention in their order.

    Returns:
        The start and end of each piece in the mention. Empty if the mention does not contain all words of the part.
    """
    columns = read_words(mention)
    folded = [word.casefold() for word in columns.written]
    part_words = [word.casefold() for word in read_words(part).written]
    last = _match(folded, part_words)
    if not last:
        return []
    # The words nearest to the last one: "cancer of the breast and cancer of the ovary" has a word twice.
    backwards = _match(folded[last[-1] :: -1], part_words[::-1])
    rows = [last[-1] - row for row in reversed(backwards)]
    gaps = [(before, row) for before, row in pairwise(rows) if row != before + 1]
    starts = [rows[0], *(row for _, row in gaps)]
    ends = [*(before for before, _ in gaps), rows[-1]]
    return [(columns.starts[first], columns.ends[final]) for first, final in zip(starts, ends, strict=True)]


def _match(texts: Sequence[str], searched: Sequence[str]) -> list[int]:
    """Return the first row of each wanted text after the row of the one before; empty if one is missing."""
    rows: list[int] = []
    remaining = enumerate(texts)
    for text in searched:
        row = next((row for row, other in remaining if other == text), None)
        if row is None:
            return []
        rows.append(row)
    return rows


def _after_first_blank(text: str) -> str:
    """Remove the first word, which is cut. A text without a blank stays as it is."""
    pieces = text.split(maxsplit=1)
    return pieces[1] if len(pieces) > 1 and not text[:1].isspace() else text
