"""Weigh the signals of a retriever: a logistic regression on annotated documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

STRENGTH = 0.3  # inverse regularization strength: scikit-learn's C


class SignalWeights(NamedTuple):
    """Weights of the features of signals.

    Attributes:
        signals: The names of the signals, and the number of their features.
        weights: The weight of each feature, in the order of the signals.
        means: The mean of each feature, in the order of the signals.
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
            missed: The number of annotated concepts that are not among the candidates of their document.

        Returns:
            The weights. None if no candidate is right, or all are: then nothing can be fitted.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        x, y = np.concatenate(features), np.concatenate(right)
        if y.all() or not y.any():
            return None
        scaler = StandardScaler().fit(x)
        model = LogisticRegression(C=STRENGTH, max_iter=5000).fit(scaler.transform(x), y)
        weights = model.coef_[0] / scaler.scale_
        fitted = cls(
            tuple(signals.items()),
            tuple(map(float, weights)),
            tuple(map(float, scaler.mean_)),
            float(model.intercept_[0]),
            0.5,
        )
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
        """Make weights from JSON data.

        Raises:
            ValueError, TypeError, KeyError: The data is not what `_asdict` gives.
        """
        signals = tuple((str(name), int(n)) for name, n in data["signals"])
        weights, means = (tuple(map(float, data[name])) for name in ("weights", "means"))
        if not len(weights) == len(means) == sum(n for _, n in signals):
            raise ValueError("the numbers of weights and features differ")
        bias, threshold = float(data["bias"]), float(data["threshold"])
        if not all(map(math.isfinite, (*weights, *means, bias))) or math.isnan(threshold):
            raise ValueError("a weight is not finite")
        return cls(signals, weights, means, bias, threshold)


def best_threshold(scores: np.ndarray, right: np.ndarray, missed: int) -> float:
    """Return the threshold with the best F1 over all candidates together.

    It lies halfway between the lowest score above it and the next score.

    Args:
        scores: The scores of the candidates.
        right: Which candidates are right.
        missed: The number of right concepts that are not candidates.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + hits[-1] + missed)
    ends = np.append(np.diff(ranked) != 0, True)  # a threshold cannot separate equal scores
    last = int(np.argmax(np.where(ends, f1, -1)))
    following = ranked[last + 1] if last + 1 < len(ranked) else 0.0
    return float((ranked[last] + following) / 2)
