"""What an annotator found in a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Annotation(NamedTuple):
    """Characters `start:end` of a text stand for a concept.

    Attributes:
        ids: several where the text is a composite mention.
        name: the name of the vocabulary that was recognised, empty where that is not known.
    """

    start: int
    end: int
    ids: tuple[str, ...]
    name: str = ""


class Annotator(Protocol):
    """Annotates texts by rule.

    Attributes:
        name: as the provenance has it.
    """

    name: str

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return `list[list[Annotation] | None]`: of each text, by position; None where a text got no answer."""
