"""Combine the results of repeated measurements: of several folds, or of training with several seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

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
    for key in (key for key in results[0] if all(key in result for result in results)):
        values = [result[key] for result in results]
        if isinstance(values[0], Mapping):
            combined[key] = _combined(values, function)
        elif all(value is None or type(value) in (int, float) for value in values):
            numbers = [value for value in values if value is not None]
            value = function(numbers) if numbers else None
            combined[key] = None if value is None else round(value, _DIGITS)
    return combined
