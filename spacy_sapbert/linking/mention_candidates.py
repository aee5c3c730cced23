"""scispaCy's view of candidates: what its users call as `linker.candidate_generator`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..kb.filters import Filter
from ..kb.knowledge_base import KnowledgeBase
from .linker import Linker


class MentionCandidate(NamedTuple):
    """A concept proposed for a text, with the fields of scispaCy's class of this name.

    Attributes:
        concept_id: The primary id.
        aliases: The names that are similar to the text: here, the best one alone.
        similarities: The scores of these names, from 0 to 1 for unit vectors.
    """

    concept_id: str
    aliases: list[str]
    similarities: list[float]


class MentionCandidates:
    """Finds the candidates of texts, as scispaCy's `CandidateGenerator` does when it is called.

    The types and sources of the linker's settings filter the candidates. No threshold applies.

    Args:
        linker: The linker. Its settings and fitted weights count.
    """

    def __init__(self, linker: Linker) -> None:
        self._linker = linker

    @property
    def kb(self) -> KnowledgeBase:
        """The vocabulary."""
        return self._linker.kb

    def __call__(self, mention_texts: Sequence[str], k: int) -> list[list[MentionCandidate]]:
        """Find the k best concepts for each text.

        Args:
            mention_texts: The texts.
            k: The most candidates per text.

        Returns:
            At most k candidates per text, best first.
        """
        settings = self._linker.settings
        filter = Filter(tuple(sorted(settings.types)), tuple(sorted(settings.sources)))
        found = self._linker.generator(list(mention_texts), k, filter)
        return [[MentionCandidate(one.concept_id, [one.name], [one.score]) for one in of_text] for of_text in found]
