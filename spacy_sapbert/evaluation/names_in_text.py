"""Count how often the names of a vocabulary occur in texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..kb.knowledge_base import KnowledgeBase
from ..linking.name_matcher import NameMatch, NameMatcher

AROUND = 25  # characters of an example before and after the name


class NameCounts:
    """How often the names of a knowledge base occur in texts.

    Args:
        kb: The knowledge base.

    Attributes:
        occurrences: How often each name occurs, by its row.
        documents: In how many documents.
        n_documents: The number of documents.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.occurrences: Counter[int] = Counter()
        self.documents: Counter[int] = Counter()
        self.n_documents = 0
        self._examples: dict[int, str] = {}

    def add(self, text: str, matches: Sequence[NameMatch]) -> None:
        """Count the matches of one text."""
        self.n_documents += 1
        self.occurrences.update(match.row for match in matches)
        self.documents.update({match.row for match in matches})
        for match in matches:
            if match.row not in self._examples:
                self._examples[match.row] = _around(text, match.start, match.end)

    def of(self, row: int) -> dict[str, Any]:
        """Return the counts of a name, and the text around its first occurrence."""
        counts = {"occurrences": self.occurrences[row], "documents": self.documents[row]}
        return {**counts, "example": self._examples[row]}

    def most_frequent(self, n: int) -> list[dict[str, Any]]:
        """Return the n names that occur most often, with their concepts and counts."""
        rows = [row for row, _ in sorted(self.occurrences.items(), key=lambda item: (-item[1], item[0]))[:n]]
        return [{"name": self.kb.name(row), "ids": self._ids(row), **self.of(row)} for row in rows]

    def _ids(self, row: int) -> list[str]:
        _, entries = self.kb.name_concepts.of(np.array([row]))
        return self.kb.concept_ids_at(sorted(set(self.kb.name_concepts.concepts[entries].tolist())))


def count_names(kb: KnowledgeBase, matcher: NameMatcher, texts: Iterable[str]) -> NameCounts:
    """Count the names of a knowledge base that a matcher finds in texts."""
    counts = NameCounts(kb)
    for text in texts:
        counts.add(text, matcher.find(text))
    return counts


def _around(text: str, start: int, end: int) -> str:
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    return " ".join(f"{before}[{text[start:end]}]{after}".split())
