"""The candidate names of a mention in training (Sung et al. 2020, section 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..kb.filters import ALL, Filter
from ..linking.candidates import CandidateGenerator, top
from ..text.normalize import biosyn
from .settings import BioSyn


class TrainingMention(NamedTuple):
    """A mention to train on.

    Attributes:
        text: The text with its abbreviations expanded.
        concepts: The rows of the right concepts.
        filter: The filter of its candidates.
    """

    text: str
    concepts: frozenset[int]
    filter: Filter = ALL


class NameCandidates:
    """Selects the candidate names of mentions.

    A mention is not its own candidate if that name only comes from a corpus.
    """

    def __init__(self, generator: CandidateGenerator, settings: BioSyn, counts: Counter[str]) -> None:
        self._generator = generator
        self._n_dense = int(settings.dense_share * settings.k) if generator.ngrams else settings.k
        self._k = settings.k
        self._inject_gold = settings.inject_gold
        self._counts = counts
        self._annotated: dict[str, list[int]] = {}
        for row in generator.kb.annotated_only():
            self._annotated.setdefault(biosyn(generator.kb.name(row)), []).append(row)

    def __call__(self, mentions: Sequence[TrainingMention]) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of mentions.

        If a filter matches fewer names than wanted, all mentions get fewer candidates.

        Returns:
            The rows of the names and their sparse scores, int64 and float32, shape (mentions, candidates).
        """
        dense, sparse = self._generator.similarities([mention.text for mention in mentions])
        for place, mention in enumerate(mentions):
            mask = self._generator.names_that_pass(mention.filter)
            for scores in (dense[place], sparse[place]):
                scores[self._annotated.get(biosyn(mention.text), [])] = -np.inf
                if mask is not None:
                    scores[~mask] = -np.inf
        chosen = [self._select(dense[place], sparse[place]) for place in range(len(mentions))]
        if self._inject_gold:
            chosen = [self._with_gold(*found) for found in zip(chosen, dense, mentions, strict=True)]
        k = min(map(len, chosen))
        rows = np.stack([rows[:k] for rows in chosen])
        return rows, np.take_along_axis(sparse, rows, axis=1)

    def _with_gold(self, rows: np.ndarray, dense: np.ndarray, mention: TrainingMention) -> np.ndarray:
        name_concepts = self._generator.kb.name_concepts
        right = name_concepts.names[np.isin(name_concepts.concepts, list(mention.concepts))]
        right = right[np.isfinite(dense[right])]
        if not len(right) or np.isin(rows, right).any():
            return rows
        self._counts["right candidates added"] += 1
        return np.append(rows[:-1], right[dense[right].argmax()])

    def _select(self, dense: np.ndarray, sparse: np.ndarray) -> np.ndarray:
        by_sparse = _highest(sparse, self._k - self._n_dense)
        by_dense = _highest(dense, self._k)
        further = by_dense[~np.isin(by_dense, by_sparse)]
        return np.concatenate([by_sparse, further[: self._k - len(by_sparse)]])


def _highest(scores: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the n highest scores, best first, int64. Equal scores are ordered by position."""
    places = top(scores, n) if n else np.zeros(0, dtype=np.int64)
    places = places[np.isfinite(scores[places])]
    return places[np.lexsort((places, -scores[places]))][:n]
