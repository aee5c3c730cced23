"""Counts from annotated documents: how often annotators mark concepts and texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ADDED = 3.0  # pseudo-occurrences of each text, annotated at the average rate


class DocumentCounts(NamedTuple):
    """The counts of one annotated document.

    Attributes:
        concepts: The ids annotated in it.
        texts: How often each text occurs that may be a mention.
        marked: How often each of these texts is annotated.
    """

    concepts: frozenset[str]
    texts: Counter[str]
    marked: Counter[str]


NOTHING = DocumentCounts(frozenset(), Counter(), Counter())


class TrainingCounts:
    """The sums over all annotated documents.

    Args:
        concepts: The number of documents in which each id is annotated.
        texts: See `DocumentCounts`.
        marked: See `DocumentCounts`.
        share: The share of possible mentions that are annotated.
    """

    def __init__(
        self, concepts: Mapping[str, int], texts: Mapping[str, int], marked: Mapping[str, int], share: float
    ) -> None:
        self.concepts = concepts
        self.texts = texts
        self.marked = marked
        self.share = share

    @classmethod
    def of(cls, documents: Iterable[DocumentCounts]) -> TrainingCounts:
        """Add up the counts of documents.

        Texts that occur once without annotation are left out, since there are very many.
        """
        concepts: Counter[str] = Counter()
        texts: Counter[str] = Counter()
        marked: Counter[str] = Counter()
        for document in documents:
            concepts.update(document.concepts)
            texts.update(document.texts)
            marked.update(document.marked)
        share = (marked.total() + 1) / (texts.total() + 2)
        return cls(concepts, {text: n for text, n in texts.items() if n > 1 or marked[text]}, +marked, share)

    def documents_with(self, ids: Iterable[str], own: DocumentCounts = NOTHING) -> int:
        """Return the number of other documents in which a concept with these ids is annotated."""
        return sum(self.concepts.get(one, 0) - (one in own.concepts) for one in ids)

    def occurrences(self, text: str, own: DocumentCounts = NOTHING) -> int:
        """Return how often a text occurs in other documents."""
        return max(0, self.texts.get(text, 0) - own.texts[text])

    def log_odds(self, text: str, own: DocumentCounts = NOTHING) -> float:
        """Return how much more often than average the occurrences of a text are annotated, in other documents.

        Returns:
            The difference of log odds; 0 for an unknown text.
        """
        marked = max(0, self.marked.get(text, 0) - own.marked[text])
        share = (marked + ADDED * self.share) / (self.occurrences(text, own) + ADDED)
        return _log_odds(share) - _log_odds(self.share)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON has them."""
        return {name: value if name == "share" else dict(value) for name, value in vars(self).items()}


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-4), 1 - 1e-3)
    return math.log(share / (1 - share))
