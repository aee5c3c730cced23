"""`ConceptRanker`: rank the concepts of a document by one signal, or by several signals weighed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..types import SCORE_DIGITS
from .concepts import ConceptSet
from .phrases import Characters
from .signals import Signal, View
from .training_counts import DocumentCounts, fit_logistic

CANDIDATES = 60  # of each signal
STRENGTH = 0.3  # inverse regularization strength: scikit-learn's C


class RankedConcept(NamedTuple):
    """A concept of one document, by its position in the concept set.

    Attributes:
        score: The score, from 0 to 1.
        evidence: The supporting parts of the text, as character offsets.
        contributions: What each signal adds to the score.
    """

    position: int
    score: float
    evidence: tuple[Characters, ...]
    contributions: tuple[tuple[str, float], ...]


class Candidates(NamedTuple):
    """The candidate concepts of one document: their positions, their features, and the view of each signal."""

    positions: np.ndarray
    features: np.ndarray
    views: list[View]


class ConceptRanker:
    """Ranks the concepts of a set for documents. Without weights, which can change at any time, the first signal ranks
    alone.
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
        signals = self.signals if self.weights else self.signals[:1]
        documents = self.candidates(docs, signals=signals, n=max(k, CANDIDATES))
        return [self._rank(candidates, k) for candidates in documents]

    def candidates(
        self,
        docs: Sequence[Doc],
        own: Sequence[DocumentCounts] | None = None,
        *,
        signals: Sequence[Signal] | None = None,
        n: int = CANDIDATES,
    ) -> list[Candidates]:
        """Collect at most n candidates of each signal, with the features of all. For `own`, see `Signal.read`."""
        views_of_signals = [signal.read(docs, own) for signal in (self.signals if signals is None else signals)]
        documents = []
        for views in zip(*views_of_signals, strict=True):
            positions = np.unique(np.concatenate([view.nearest(n) for view in views]).astype(np.int64))
            features = np.concatenate([view.features(positions) for view in views], axis=1)
            documents.append(Candidates(positions, features, list(views)))
        return documents

    def _rank(self, candidates: Candidates, k: int) -> list[RankedConcept]:
        positions, features, views = candidates
        if not len(positions):
            return []
        exact = self.weights.scores(features) if self.weights else features[:, 0].astype(np.float64)
        scores = exact.round(SCORE_DIGITS)
        best = np.lexsort((self.concepts.kb.tie_ranks[self.concepts.rows[positions]], -scores))[:k]
        scores = scores.clip(0, 1)
        added = self.weights.contributions(features[best]) if self.weights else [()] * len(best)
        return [
            RankedConcept(int(positions[i]), float(scores[i]), _first_evidence(views, int(positions[i])), contributions)
            for i, contributions in zip(best, added, strict=True)
        ]


def _first_evidence(views: Sequence[View], position: int) -> tuple[Characters, ...]:
    """Return the evidence of the first signal that has any."""
    return next((tuple(dict.fromkeys(evidence)) for view in views if (evidence := view.evidence(position))), ())


# --- the weights of the signals


class SignalWeights(NamedTuple):
    """Weights of the features of signals.

    Attributes:
        signals: The names of the signals, and the number of their features.
        bias: The score of a concept with mean features, before the logistic function.
        threshold: The least probability, exclusive.
    """

    signals: tuple[tuple[str, int], ...]
    weights: tuple[float, ...]
    means: tuple[float, ...]
    bias: float
    threshold: float

    @classmethod
    def fit(
        cls, signals: Mapping[str, int], features: Sequence[np.ndarray], right: Sequence[np.ndarray], missed: int
    ) -> SignalWeights | None:
        """Fit the weights, and the threshold with the best F1 over all documents.

        Args:
            signals: The number of features of each signal.
            features: For each document, the features of its candidates, float32, shape (candidates, features).
            right: For each document, which candidates are right, bool, shape (candidates,).
            missed: The number of annotated concepts that are not candidates.

        Returns:
            None if no candidate is right, or all are: then nothing can be fitted.
        """
        x, y = np.concatenate(features), np.concatenate(right)
        if (model := fit_logistic(x, y, STRENGTH)) is None:
            return None
        weights, means, bias = model
        fitted = cls(tuple(signals.items()), tuple(weights.tolist()), tuple(means.tolist()), bias, 0.5)
        return fitted._replace(threshold=best_threshold(fitted.scores(x), y, missed))

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return probabilities, float64, shape (candidates,)."""
        scores: np.ndarray = 1 / (1 + np.exp(-(self.bias + self._terms(features).sum(axis=1))))
        return scores

    def contributions(self, features: np.ndarray) -> list[tuple[tuple[str, float], ...]]:
        """Return for each candidate what each signal adds to the bias."""
        ends = np.cumsum([n for _, n in self.signals])
        parts = [part.sum(axis=1) for part in np.split(self._terms(features), ends[:-1], axis=1)]
        names = [name for name, _ in self.signals]
        return [tuple(zip(names, map(float, values), strict=True)) for values in zip(*parts, strict=True)]

    def _terms(self, features: np.ndarray) -> np.ndarray:
        terms: np.ndarray = (features - np.array(self.means)) * np.array(self.weights)
        return terms

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SignalWeights:
        """Make weights from the JSON data of `_asdict`."""
        signals = tuple((name, n) for name, n in data["signals"])
        return cls(signals, tuple(data["weights"]), tuple(data["means"]), data["bias"], data["threshold"])


def best_threshold(scores: np.ndarray, right: np.ndarray, missed: int) -> float:
    """Return the threshold with the best F1 over all candidates together. `missed` counts right concepts without one.

    It lies halfway between the lowest score above it and the next score.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + hits[-1] + missed)
    ends = np.append(np.diff(ranked) != 0, True)  # a threshold cannot separate equal scores
    last = int(np.argmax(np.where(ends, f1, -1)))
    following = ranked[last + 1] if last + 1 < len(ranked) else 0.0
    return float((ranked[last] + following) / 2)
