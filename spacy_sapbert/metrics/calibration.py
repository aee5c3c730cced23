"""Measure scores and probabilities of links: precision and recall by threshold, and calibration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

BINS = 10


class Curve(NamedTuple):
    """The number of links above each of some rising thresholds, and their precision, recall and F1, from 0 to 1."""

    thresholds: np.ndarray
    n: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray


def threshold_curve(scores: np.ndarray, right: np.ndarray, found: np.ndarray) -> Curve:
    """Measure links at the threshold 0 and at every score except the highest, since no link is above it.

    Args:
        scores: The scores of the links, float64, shape (links,), above 0.
        right: Whether each link is right, bool, shape (links,).
        found: The highest score of a right link to each gold concept, float64, shape (gold,); -inf without such a link.
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
    """Group links into bins by their probability: `mean` probability, share that is `right`, and number `n` of each
    bin.

    All bins have about the same number of links. Links with equal probability stay together, so a bin can be larger,
    and there can be fewer bins.
    """
    _, group, sizes = np.unique(probabilities, return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - sizes / 2
    bin_of_link = np.floor(bins * middle / len(probabilities)).astype(int)[group]
    members = [bin_of_link == number for number in np.unique(bin_of_link)]
    return [
        {"mean": float(probabilities[links].mean()), "right": float(right[links].mean()), "n": int(links.sum())}
        for links in members
    ]


def wilson_interval(share: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest plausible share of right links, by the score interval of Wilson (1927), for 95 %.

    The formula is that of Brown, Cai and DasGupta (2001, equation 4). It takes links as independent. Links of one
    document are not, so true intervals are somewhat wider. The shares and the numbers of links have the shape (bins,).
    """
    z = 1.959964  # of the standard normal distribution, for 95 %
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return np.clip(center - half, 0, 1), np.clip(center + half, 0, 1)


def calibration_error(table: list[dict[str, Any]]) -> float:
    """Return the expected calibration error (Naeini et al. 2015) over the bins of a `reliability` table."""
    n = sum(row["n"] for row in table)
    return float(sum(row["n"] * abs(row["mean"] - row["right"]) for row in table) / n)


def brier_score(probabilities: np.ndarray, right: np.ndarray) -> float:
    """Return the mean squared difference between probability and outcome (Brier 1950)."""
    return float(np.mean((probabilities - right) ** 2))
