"""Measure how well the cosines of vectors separate synonyms from names of different concepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

BINS = 40
"""Bins of the histograms from -1 to 1, each 0.05 wide. Narrower bins underestimate the overlap of small samples."""

_STEPS = 20_000  # thresholds from -1 to 1, tried in addition to the cosines of synonyms
_COSINES_AT_ONCE = 4_000_000


class Separation(NamedTuple):
    """The cosines of synonyms, and the distribution of the cosines of names of different concepts.

    Attributes:
        positives: The cosines of synonyms, rising, float32, shape (n,).
        thresholds: Rising thresholds, float32, shape (t,): every 0.0001 from -1 to 1, each positive, the next number
            above each positive, and one above all cosines.
        below: The number of negatives below each threshold, int64, shape (t,). The last one counts all negatives.
    """

    positives: np.ndarray
    thresholds: np.ndarray
    below: np.ndarray
    negative_mean: float
    negative_sd: float


def measure_separation(left: np.ndarray, right: np.ndarray, synonyms: Sequence[np.ndarray]) -> Separation:
    """Measure the cosines of names, block by block. Memory grows with the number of pairs only.

    The vectors of the left and right names have any length, float32, shape (n, dim). `synonyms` has, for each left
    name, the positions of the right names that are not negatives.
    """
    left, right = to_unit_length(left), to_unit_length(right)
    positives = np.sort(np.clip(np.einsum("ij,ij->i", left, right), -1, 1))
    next_above = np.nextafter(positives, np.float32(2))
    thresholds = np.unique(np.concatenate([_grid(), positives, next_above, [np.float32(2)]]))
    below = np.zeros(len(thresholds), dtype=np.int64)
    total = squares = 0.0
    for cosines in _negatives(left, right, synonyms):
        below += np.searchsorted(np.sort(cosines), thresholds)
        total += cosines.sum(dtype=np.float64)
        squares += np.square(cosines, dtype=np.float64).sum()
    mean = total / below[-1]
    return Separation(positives, thresholds, below, mean, max(0.0, squares / below[-1] - mean**2) ** 0.5)


def to_unit_length(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors scaled to length 1, float32."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = vectors / np.where(lengths == 0, 1, lengths)
    return unit


def _grid() -> np.ndarray:
    return np.linspace(-1, 1, _STEPS + 1, dtype=np.float32)


def _negatives(left: np.ndarray, right: np.ndarray, synonyms: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the cosines of names of different concepts, float32, some rows of the matrix at a time."""
    rows = max(1, _COSINES_AT_ONCE // len(right))
    for start in range(0, len(left), rows):
        cosines = left[start : start + rows] @ right.T
        negative = np.ones(cosines.shape, dtype=bool)
        for row, places in zip(negative, synonyms[start : start + rows], strict=True):
            row[places] = False
        yield np.clip(cosines[negative], -1, 1)


def as_measures(separation: Separation) -> dict[str, Any]:
    """Compute the measures of a separation.

    The cosines are `mean` and `sd` (of the population) of `positive` and `negative`, the `difference` of the means, and
    `threshold_eer`. The percentages are `overlap`, `auc` and `eer`, the error rate at that threshold. `n` counts the
    positives and the negatives.
    """
    means = separation.positives.mean(dtype=np.float64), separation.negative_mean
    sds = separation.positives.std(dtype=np.float64), separation.negative_sd
    n = len(separation.positives), int(separation.below[-1])
    kinds = {
        kind: {"n": count, "mean": round(float(mean), 4), "sd": round(float(sd), 4)}
        for kind, count, mean, sd in zip(("positive", "negative"), n, means, sds, strict=True)
    }
    threshold, errors = equal_error(separation)
    return {
        **kinds,
        "difference": round(float(means[0] - means[1]), 4),
        "overlap": round(100 * overlap(separation), 2),
        "auc": round(100 * area_under_curve(separation), 2),
        "threshold_eer": round(threshold, 4),
        "eer": round(100 * errors, 2),
    }


def histograms(separation: Separation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the edges of the bins, and the share of the positives and of the negatives in each bin.

    The edges are float32, shape (BINS + 1,), and the shares are float64, shape (BINS,).
    """
    bounds = _grid()[:: _STEPS // BINS]
    starts = np.append(bounds[:-1], separation.thresholds[-1])  # a cosine of 1 is in the last bin
    of_positives = np.searchsorted(separation.positives, starts)
    of_negatives = separation.below[np.searchsorted(separation.thresholds, starts)]
    return bounds, np.diff(of_positives) / of_positives[-1], np.diff(of_negatives) / of_negatives[-1]


def overlap(separation: Separation) -> float:
    """Return the common area of both histograms, each of area 1, with bins 0.05 wide."""
    _, positives, negatives = histograms(separation)
    return float(np.minimum(positives, negatives).sum())


def area_under_curve(separation: Separation) -> float:
    """Return the area under the ROC curve.

    It is the share of all pairs of a positive and a negative in which the positive is higher. Ties count half. It
    equals Mann and Whitney's U divided by the number of these pairs (Hanley and McNeil 1982).
    """
    less, not_above = (
        separation.below[np.searchsorted(separation.thresholds, separation.positives, side=side)]
        for side in ("left", "right")
    )
    return float((less + not_above).mean() / 2 / separation.below[-1])


def equal_error(separation: Separation) -> tuple[float, float]:
    """Return the threshold from which on names count as synonyms with equal error rates, and the mean of both rates
    there.

    The share of positives below it equals the share of negatives at or above it. If several thresholds have the
    smallest difference, the one in the middle is chosen.
    """
    missed = np.searchsorted(separation.positives, separation.thresholds) / len(separation.positives)
    wrong = 1 - separation.below / separation.below[-1]
    differences = np.abs(missed - wrong)
    best = np.flatnonzero(differences == differences.min())
    place = best[len(best) // 2]
    return float(separation.thresholds[place]), float(missed[place] + wrong[place]) / 2
