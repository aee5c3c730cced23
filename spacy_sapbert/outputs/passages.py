"""Find the passage of a mention in a record, and its offsets in that passage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any


class PassagePlaces:
    """The passages of a record.

    Args:
        record: A record of `record_of`. One without passages is a single passage that starts at 0.

    Attributes:
        starts: The first character of each passage in the text.
        ends: The position after its last character.
        titles: Its title; may be empty.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        whole = {"start": 0, "end": len(record.get("text", "")), "title": record.get("title", "")}  # rows need no text
        passages: Sequence[Mapping[str, Any]] = record.get("passages") or [whole]
        self.starts = [passage["start"] for passage in passages]
        self.ends = [passage["end"] for passage in passages]
        self.titles = [passage["title"] for passage in passages]

    def number(self, start: int) -> int:
        """Return the number, from 0, of the passage in which a mention begins."""
        return max(0, bisect_right(self.starts, start) - 1)
