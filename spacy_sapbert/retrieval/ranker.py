"""`ConceptRanker`: rank the concepts of a document by one signal, or by several signals together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..types import SCORE_DIGITS
from .concept_set import ConceptSet
from .phrases import Characters
from .signal_weights import SignalWeights
from .signals.signal import Signal, View
from .training_counts import DocumentCounts

CANDIDATES = 60  # of each signal


class RankedConcept(NamedTuple):
    """A concept of one document.

    Attributes:
        place: The position in the concept set.
        score: The score, from 0 to 1.
        evidence: The supporting parts of the text, as character offsets.
        contributions: What each signal adds to the score.
    """

    place: int
    score: float
    evidence: tuple[Characters, ...]
    contributions: tuple[tuple[str, float], ...]


class Candidates(NamedTuple):
    """The candidate concepts of one document.

    Attributes:
        places: The positions in the concept set, int64.
        features: The features, float32, shape (candidates, features).
        views: The view of each signal on the document.
    """

    places: np.ndarray
    features: np.ndarray
    views: list[View]


class ConceptRanker:
    """Ranks the concepts of a set for documents.

    Args:
        concepts: The concepts that can be predicted.
        signals: The signals. Without weights, the first one ranks alone.
        weights: The weights of the signals. They can be changed at any time.
    """

    def __init__(self, concepts: ConceptSet, signals: Sequence[Signal], weights: SignalWeights | None = None) -> None:
        self.concepts = concepts
        self.signals = signals
        self.weights = weights

    @property
    def n_features(self) -> dict[str, int]:
        """The number of features of each signal."""
        return {signal.name: len(signal.features) for signal in self.signals}

    @property
    def threshold(self) -> float:
        """The fitted threshold, or else the default threshold of the first signal."""
        return self.weights.threshold if self.weights else self.signals[0].threshold

    def rank(self, docs: Sequence[Doc], k: int) -> list[list[RankedConcept]]:
        """Return the k best concepts of each document, with any score.

        The tie rank decides between equal scores, see `KnowledgeBase.tie_ranks`.
        """
        used = self.signals if self.weights else self.signals[:1]
        return [self._rank(candidates, k) for candidates in self.candidates(docs, signals=used, n=max(k, CANDIDATES))]

    def candidates(
        self,
        docs: Sequence[Doc],
        own: Sequence[DocumentCounts] | None = None,
        *,
        signals: Sequence[Signal] | None = None,
        n: int = CANDIDATES,
    ) -> list[Candidates]:
        """Collect the candidates and features of all signals.

        Args:
            docs: The documents.
            own: See `Signal.read`.
            signals: The signals; None for all.
            n: The most concepts from each signal.
        """
        of_signals = [signal.read(docs, own) for signal in (self.signals if signals is None else signals)]
        return [_combine_views(list(views), n) for views in zip(*of_signals, strict=True)]

    def _rank(self, candidates: Candidates, k: int) -> list[RankedConcept]:
        places, features, views = candidates
        if not len(places):
            return []
        ranks = (self.weights.scores(features) if self.weights else features[:, 0].astype(np.float64)).round(
            SCORE_DIGITS
        )
        scores = ranks.clip(0, 1)
        best = np.lexsort((self.concepts.kb.tie_ranks[self.concepts.rows[places]], -ranks))[:k]
        added = self.weights.contributions(features[best]) if self.weights else [()] * len(best)
        return [
            RankedConcept(int(places[i]), float(scores[i]), _first_evidence(views, int(places[i])), contributions)
            for i, contributions in zip(best, added, strict=True)
        ]


def _combine_views(views: list[View], n: int) -> Candidates:
    places = np.unique(np.concatenate([view.nearest(n) for view in views]).astype(np.int64))
    return Candidates(places, np.concatenate([view.features(places) for view in views], axis=1), views)


def _first_evidence(views: Sequence[View], place: int) -> tuple[Characters, ...]:
    """Return the evidence of the first signal that has any."""
    for view in views:
        found = view.evidence(place)
        if found:
            return tuple(dict.fromkeys(found))
    return ()
