"""Test whether a difference between two systems is chance: the paired bootstrap over documents.

The mentions of a document depend on each other. Therefore documents are drawn with replacement, not mentions (the
cluster bootstrap; Davison and Hinkley 1997, section 3.8). Both systems are measured on each draw, as in Koehn (2004,
doi:10.3115/1220355) for translation.

Repeated measurements, of several folds or of training with several seeds, are combined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

import numpy as np

RESAMPLES = 10_000
RESAMPLES_PER_BATCH = 500  # limits the memory: each resample is a row with one count per document
SEED = 0


def resample_means(gains: np.ndarray, sizes: np.ndarray, *, resamples: int = RESAMPLES, seed: int = SEED) -> np.ndarray:
    """Resample documents, and return the difference of two systems on each draw, in points, shape (resamples,
    measures).

    Args:
        gains: The second system's value minus the first's, summed over the items of each document. float64, shape
            (documents, measures).
        sizes: The number of items of each document, shape (documents,).
        resamples: The number of draws.
        seed: The seed of the draws.
    """
    drawn = _draws(len(sizes), resamples, seed)
    return np.concatenate([100 * (counts @ gains) / (counts @ sizes)[:, None] for counts in drawn])


def resample_f1(a: np.ndarray, b: np.ndarray, *, resamples: int = RESAMPLES, seed: int = SEED) -> np.ndarray:
    """Resample documents, and return the difference of the F1 of two systems on each draw.

    Each system has the counts hits, predicted and gold of each document, shape (documents, measures, 3). The
    differences in points are float64, shape (resamples, measures).
    """
    return np.concatenate([_f1(draws, b) - _f1(draws, a) for draws in _draws(len(a), resamples, seed)])


def f1_of_all(counts: np.ndarray) -> np.ndarray:
    """Return the F1 of all documents together in points, float64, shape (measures,), see `resample_f1`."""
    whole: np.ndarray = _f1(np.ones((1, len(counts))), counts)[0]
    return whole


def _f1(draws: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the F1 of each draw in points, shape (resamples, measures); 0 if a draw has no prediction and no gold."""
    hits, predicted, gold = np.moveaxis(np.tensordot(draws, counts, axes=1), -1, 0)
    return 200 * hits / np.maximum(predicted + gold, 1)


def _draws(n: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield batches that count how often each of n documents is drawn, int64, shape (resamples of a batch, n)."""
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, RESAMPLES_PER_BATCH):
        yield generator.multinomial(n, np.full(n, 1 / n), size=min(RESAMPLES_PER_BATCH, resamples - start))


def describe_difference(a: float, b: float, resampled: np.ndarray) -> dict[str, float]:
    """Return the percentages `a` and `b`, their `difference` b - a in points, `low`, `high` and `p`.

    `low` and `high` are the ends of the 95 % interval: percentiles of the resampled differences, float64, shape
    (resamples,). `p` is two-sided: twice the share of resampled differences on the other side of 0, or on it.
    """
    low, high = np.percentile(resampled, [2.5, 97.5])
    # the observed difference counts as one more draw, so p is never 0
    tail = 1 + min((resampled <= 0).sum(), (resampled >= 0).sum())
    return {
        "a": round(a, 2),
        "b": round(b, 2),
        "difference": round(b - a, 2),
        "low": round(float(low), 2),
        "high": round(float(high), 2),
        "p": round(min(1.0, 2 * float(tail) / (1 + len(resampled))), 4),
    }


# --- repeated measurements: of several folds, or of training with several seeds


Results = Sequence[Mapping[str, Any]]
_DIGITS = 4


def mean_of(results: Results) -> dict[str, Any]:
    """Return the mean of each number."""
    return _combined(results, fmean)


def deviation_of(results: Results) -> dict[str, Any]:
    """Return the sample standard deviation of each number; None for a single one."""
    return _combined(results, lambda values: stdev(values) if len(values) > 1 else None)


def error_of(results: Results) -> dict[str, Any]:
    """Return the standard error of each mean, the sample standard deviation / √n; None for a single number."""
    return _combined(results, lambda values: stdev(values) / len(values) ** 0.5 if len(values) > 1 else None)


def _combined(results: Results, function: Callable[[Sequence[float]], float | None]) -> dict[str, Any]:
    """Combine the numbers that stand at the same place of all results. Texts, lists and truth values are left out.

    None is a measure without a case in one of the results. The others are then combined.
    """
    combined: dict[str, Any] = {}
    everywhere = set(results[0]).intersection(*results)
    for key in filter(everywhere.__contains__, results[0]):
        values = [result[key] for result in results]
        if isinstance(values[0], Mapping):
            combined[key] = _combined(values, function)
        elif {int, float, type(None)}.issuperset(map(type, values)):
            numbers = [value for value in values if value is not None]
            value = function(numbers) if numbers else None
            combined[key] = None if value is None else round(value, _DIGITS)
    return combined
