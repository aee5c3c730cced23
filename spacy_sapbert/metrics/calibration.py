"""How well numbers say which links are right: precision and recall at thresholds, calibration, risk and coverage."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

BINS = 10
COVERAGES = 20


class Curve(NamedTuple):
    """Links at every threshold that tells some of them apart, as arrays of one shape, thresholds rising.

    Attributes:
        n (int64): links with a higher score than the threshold.
        precision (float64): of these, from 0 to 1.
        recall (float64): of these, from 0 to 1.
        f1 (float64): of these, from 0 to 1.
    """

    thresholds: np.ndarray
    n: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray


def threshold_curve(scores: np.ndarray, right: np.ndarray, found: np.ndarray) -> Curve:
    """Measure links at the threshold 0 and at every score but the highest, above which there are no links.

    Args:
        scores (float64, shape (links,)): above 0.
        right (bool, shape (links,)): whether each link is right.
        found (float64, shape (gold,)): for each gold concept the highest score of a right link to it; -inf without one.
    """
    thresholds = np.unique(np.append(scores, 0.0))[:-1]
    n = _above(scores, thresholds)
    hits = _above(scores[right], thresholds)
    precision = hits / n
    recall = _above(found, thresholds) / max(len(found), 1)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return Curve(thresholds, n, precision, recall, f1)


def _above(values: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    return len(values) - np.searchsorted(np.sort(values), thresholds, side="right")


def reliability(probabilities: np.ndarray, right: np.ndarray, bins: int = BINS) -> list[dict[str, Any]]:
    """Put links into bins by their probability.

    All bins hold about the same number of links; those of equal probability are never parted, so that a bin may hold
    more, and there may be fewer bins.

    Returns:
        for each bin, by rising probability, `mean`, its mean probability, `right`, the share of its links that are
            right, and `n`.
    """
    _, group, sizes = np.unique(probabilities, return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - sizes / 2
    bin_of_link = np.floor(bins * middle / len(probabilities)).astype(int)[group]
    members = [bin_of_link == number for number in np.unique(bin_of_link)]
    return [
        {"mean": float(probabilities[one].mean()), "right": float(right[one].mean()), "n": int(one.sum())}
        for one in members
    ]


def calibration_error(table: list[dict[str, Any]]) -> float:
    """Return expected calibration error (Naeini et al. 2015) over the bins of a `reliability` table."""
    n = sum(row["n"] for row in table)
    return float(sum(row["n"] * abs(row["mean"] - row["right"]) for row in table) / n)


def brier_score(probabilities: np.ndarray, right: np.ndarray) -> float:
    """Return mean squared difference of probability and outcome (Brier 1950)."""
    return float(np.mean((probabilities - right) ** 2))


def risks(scores: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The risk–coverage curve (El-Yaniv and Wiener 2010): how many links are wrong where only the surest are taken.

    Its mean is the area under the curve. Links of equal score count as if drawn in random order: each with the share
    of them that is wrong.

    Returns:
        float64, shape (links,): at place i, the share of wrong ones among the i + 1 links of highest score.
    """
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    wrong = np.bincount(group, weights=~right) / sizes
    return np.cumsum(np.repeat(wrong, sizes)) / np.arange(1, len(scores) + 1)


def risk_points(curve: np.ndarray, points: int = COVERAGES) -> list[dict[str, float]]:
    """Return `coverage` and `risk` at so many coverages, evenly spaced up to 1."""
    coverages = [number / points for number in range(1, points + 1)]
    places = [max(round(coverage * len(curve)), 1) - 1 for coverage in coverages]
    return [{"coverage": c, "risk": float(curve[place])} for c, place in zip(coverages, places, strict=True)]
