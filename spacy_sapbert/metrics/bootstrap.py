"""Whether a difference between two systems is more than chance: the paired bootstrap over documents.

The mentions of a document depend on each other, so documents are drawn, with replacement, rather than mentions
(the cluster bootstrap; Davison and Hinkley 1997, section 3.8). Both systems are measured on each draw, as Koehn
(2004, doi:10.3115/1220355) does for translation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

RESAMPLES = 10_000
RESAMPLES_PER_BATCH = 500  # bounds the memory: one row of counts a resample, as long as there are documents
SEED = 0


def resample_means(gains: np.ndarray, sizes: np.ndarray, *, resamples: int = RESAMPLES, seed: int = SEED) -> np.ndarray:
    """Draw documents anew, and take the difference of two systems on each draw.

    Args:
        gains (float64, shape (documents, measures)): what the second system has more than the first, summed over the
            items of each document.
        sizes (shape (documents,)): how many items each document has.

    Returns:
        float64, shape (resamples, measures): the differences of the means over items, in points.
    """
    drawn = _draws(len(sizes), resamples, seed)
    return np.concatenate([100 * (counts @ gains) / (counts @ sizes)[:, None] for counts in drawn])


def resample_f1(a: np.ndarray, b: np.ndarray, *, resamples: int = RESAMPLES, seed: int = SEED) -> np.ndarray:
    """Draw documents anew, and take the difference of the F1 of two systems on each draw.

    Args:
        a (shape (documents, measures, 3)): hits, named and gold of each document.
        b (shape (documents, measures, 3)): hits, named and gold of each document.

    Returns:
        float64, shape (resamples, measures): the differences in points.
    """
    return np.concatenate([_f1(draws, b) - _f1(draws, a) for draws in _draws(len(a), resamples, seed)])


def f1_of_all(counts: np.ndarray) -> np.ndarray:
    """
    Args:
        counts (shape (documents, measures, 3)): hits, named and gold of each document.

    Returns:
        float64, shape (measures,): the F1 of all documents together, in points.
    """
    whole: np.ndarray = _f1(np.ones((1, len(counts))), counts)[0]
    return whole


def _f1(draws: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """
    Args:
        draws (shape (resamples, documents)): how often each document is drawn.

    Returns:
        float64, shape (resamples, measures): F1 in points; 0 where a draw has nothing named and nothing gold.
    """
    hits, named, gold = np.moveaxis(np.tensordot(draws, counts, axes=1), -1, 0)
    return 200 * hits / np.maximum(named + gold, 1)


def _draws(n: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield `int64, shape (resamples of a batch, n)`: how often each of n documents is drawn, with replacement."""
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, RESAMPLES_PER_BATCH):
        yield generator.multinomial(n, np.full(n, 1 / n), size=min(RESAMPLES_PER_BATCH, resamples - start))


def describe_difference(a: float, b: float, resampled: np.ndarray) -> dict[str, float]:
    """Put a difference and its resampled ones into numbers.

    Args:
        a: the measure of both systems, in percent.
        b: the measure of both systems, in percent.
        resampled (float64, shape (resamples,)): the difference in points on each draw.

    Returns:
        dict: `a`, `b`, their `difference` b - a, the ends `low` and `high` of its 95 % interval (percentiles of the
            resampled differences), and `p`, two-sided: twice the share of resampled differences on the other side of 0,
            or on it.
    """
    low, high = np.percentile(resampled, [2.5, 97.5])
    # the observed difference counts as one more draw, so that p is never 0
    tail = 1 + min((resampled <= 0).sum(), (resampled >= 0).sum())
    return {
        "a": round(a, 2),
        "b": round(b, 2),
        "difference": round(b - a, 2),
        "low": round(float(low), 2),
        "high": round(float(high), 2),
        "p": round(min(1.0, 2 * float(tail) / (1 + len(resampled))), 4),
    }
