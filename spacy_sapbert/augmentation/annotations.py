"""Define annotations and the protocol of annotators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Annotation(NamedTuple):
    """A concept for the characters `start:end` of a text.

    Attributes:
        ids: The concept ids; several for a composite mention.
        name: The matched name of the vocabulary, empty if unknown.
    """

    start: int
    end: int
    ids: tuple[str, ...]
    name: str = ""


class Annotator(Protocol):
    """Annotates texts by rule.

    Attributes:
        name: The name of the annotator, as the provenance records it.
    """

    name: str

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return the annotations of each text, by position; None for a text without an answer."""
