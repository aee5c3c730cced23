"""What is counted in annotated documents, so that concepts and texts which annotators mark more often go first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ADDED = 3.0  # occurrences that a text is credited with, marked as often as texts are on average


class DocumentCounts(NamedTuple):
    """One annotated document.

    Attributes:
        concepts: the ids annotated in it.
        texts: how often each text is in it that may be a mention.
        marked: how often each of them is annotated.
    """

    concepts: frozenset[str]
    texts: Counter[str]
    marked: Counter[str]


NOTHING = DocumentCounts(frozenset(), Counter(), Counter())


class TrainingCounts:
    """The sums over all annotated documents.

    Args:
        concepts: in how many documents each id is annotated.
        texts: see `DocumentCounts`.
        marked: see `DocumentCounts`.
        share: of all that may be a mention, how much is annotated.
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
        """Add documents up. Texts that come once only and are not annotated are forgotten: there are very many."""
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
        """Return `int`: in how many documents, but for this one, a concept with these ids is annotated."""
        return sum(self.concepts.get(one, 0) - (one in own.concepts) for one in ids)

    def occurrences(self, text: str, own: DocumentCounts = NOTHING) -> int:
        """Return how often a text comes in other documents than this one."""
        return max(0, self.texts.get(text, 0) - own.texts[text])

    def log_odds(self, text: str, own: DocumentCounts = NOTHING) -> float:
        """Return how much more often than others a text is annotated where it comes, as a difference of logarithms of
        odds; 0 for one that is not known.
        """
        marked = max(0, self.marked.get(text, 0) - own.marked[text])
        share = (marked + ADDED * self.share) / (self.occurrences(text, own) + ADDED)
        return _log_odds(share) - _log_odds(self.share)

    def as_json(self) -> dict[str, Any]:
        return {name: value if name == "share" else dict(value) for name, value in vars(self).items()}


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-4), 1 - 1e-3)
    return math.log(share / (1 - share))
