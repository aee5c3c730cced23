"""What an annotator found in a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Annotation(NamedTuple):
    """Characters `start:end` of a text stand for a concept.

    ids (tuple[str, ...]): several where the text is a composite mention.
    name (str): the name of the vocabulary that was recognised, empty where that is not known.
    """

    start: int
    end: int
    ids: tuple[str, ...]
    name: str = ""


class Annotator(Protocol):
    """Annotates texts by rule.

    name (str): as the provenance has it.
    """

    name: str

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """RETURNS (list[list[Annotation] | None]): of each text, by position; None where a text got no answer."""
