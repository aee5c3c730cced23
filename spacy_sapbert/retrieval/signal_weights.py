"""How much each signal counts: a logistic regression on annotated documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

STRENGTH = 0.3  # of regularisation: scikit-learn's C


class SignalWeights(NamedTuple):
    """Weights of the features of some signals.

    Attributes:
        signals: names of the signals, and how many features each has.
        weights: of the features, in the order of the signals.
        means: of the features, in the order of the signals.
        bias: the score of a concept whose features are all as they are on average, before it is squeezed.
        threshold: on the probability.
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
        """Fit weights, and the threshold with the best F1 over all documents.

        Args:
            features (Sequence[float32, shape (candidates, features)]), right (Sequence[bool, shape (candidates,)]): of
                each document.
            missed: annotated concepts that are among no document's candidates.

        Returns:
            SignalWeights | None: None where no candidate is right, or all are: there is nothing to fit then.
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
        """Return `float64, shape (candidates,)`: probabilities."""
        scores: np.ndarray = 1 / (1 + np.exp(-(self.bias + self._terms(features).sum(axis=1))))
        return scores

    def contributions(self, features: np.ndarray) -> list[tuple[tuple[str, float], ...]]:
        """Return `list[tuple[tuple[str, float], ...]]`: of each candidate, what the signals add to the bias."""
        ends = np.cumsum([n for _, n in self.signals])
        parts = [part.sum(axis=1) for part in np.split(self._terms(features), ends[:-1], axis=1)]
        names = [name for name, _ in self.signals]
        return [tuple(zip(names, map(float, values), strict=True)) for values in zip(*parts, strict=True)]

    def _terms(self, features: np.ndarray) -> np.ndarray:
        terms: np.ndarray = (features - np.array(self.means)) * np.array(self.weights)
        return terms

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SignalWeights:
        """Raise ValueError, TypeError, KeyError: it is not what `_asdict` gives."""
        signals = tuple((str(name), int(n)) for name, n in data["signals"])
        weights, means = (tuple(map(float, data[name])) for name in ("weights", "means"))
        if not len(weights) == len(means) == sum(n for _, n in signals):
            raise ValueError("there are not as many weights as features")
        return cls(signals, weights, means, float(data["bias"]), float(data["threshold"]))


def best_threshold(scores: np.ndarray, right: np.ndarray, missed: int) -> float:
    """Return what scores must be above for the best F1 of all candidates together; half way between the lowest that is
    named then and the next one.

    Args:
        missed: right ones that are no candidates.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + hits[-1] + missed)
    ends = np.append(np.diff(ranked) != 0, True)  # equal scores are named together
    last = int(np.argmax(np.where(ends, f1, -1)))
    following = ranked[last + 1] if last + 1 < len(ranked) else 0.0
    return float((ranked[last] + following) / 2)
