"""The concepts of a document, ranked by one signal or by several together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..types import SCORE_DIGITS
from .concept_set import ConceptSet
from .signal_weights import SignalWeights
from .signals.signal import Characters, Signal, View
from .training_counts import DocumentCounts

CANDIDATES = 60  # of each signal


class RankedConcept(NamedTuple):
    """A concept of one document, by its place in the set."""

    place: int
    score: float
    evidence: tuple[Characters, ...]
    contributions: tuple[tuple[str, float], ...]


class Candidates(NamedTuple):
    """What may be named for one document: places (int64), features (float32, shape (candidates, features)), views."""

    places: np.ndarray
    features: np.ndarray
    views: list[View]


class ConceptRanker:
    """Ranks the concepts of a set for documents.

    Args:
        concepts: what can be named.
        signals: what speaks for them; without weights the first alone ranks.
        weights: how much each counts; they can be changed at any time.
    """

    def __init__(self, concepts: ConceptSet, signals: Sequence[Signal], weights: SignalWeights | None = None) -> None:
        self.concepts = concepts
        self.signals = signals
        self.weights = weights

    @property
    def n_features(self) -> dict[str, int]:
        """How many features each signal has."""
        return {signal.name: len(signal.features) for signal in self.signals}

    @property
    def threshold(self) -> float:
        """What a score must be above, as fitted, or else as the only signal has it by default."""
        return self.weights.threshold if self.weights else self.signals[0].threshold

    def rank(self, docs: Sequence[Doc], k: int) -> list[list[RankedConcept]]:
        """Return the k best concepts of each document, whatever their score. Equal ones are ordered as ties are, see
        `KnowledgeBase.tie_ranks`.
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
        """Put together what the signals see.

        Args:
            own: see `Signal.read`.
            n: so many concepts are taken from each signal.
        """
        of_signals = [signal.read(docs, own) for signal in (self.signals if signals is None else signals)]
        return [_candidates(list(views), n) for views in zip(*of_signals, strict=True)]

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
            RankedConcept(int(places[i]), float(scores[i]), _evidence(views, int(places[i])), contributions)
            for i, contributions in zip(best, added, strict=True)
        ]


def _candidates(views: list[View], n: int) -> Candidates:
    places = np.unique(np.concatenate([view.nearest(n) for view in views]).astype(np.int64))
    return Candidates(places, np.concatenate([view.features(places) for view in views], axis=1), views)


def _evidence(views: Sequence[View], place: int) -> tuple[Characters, ...]:
    """Return ``: that of the first signal that has any."""
    for view in views:
        found = view.evidence(place)
        if found:
            return tuple(dict.fromkeys(found))
    return ()
