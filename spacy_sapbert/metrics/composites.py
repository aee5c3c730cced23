"""Compare predicted and gold parts of composite mentions, as sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .counts import SetCounts, compare_sets, micro, percent, ratio


def compare_parts(gold: Iterable[str], predicted: Iterable[str]) -> SetCounts:
    """Count the predicted parts that are gold parts, with case and blanks folded."""
    return compare_sets(_folded(gold), _folded(predicted))


def is_exact(counts: SetCounts) -> bool:
    """Return whether the predicted parts are exactly the gold parts."""
    return counts.hits == counts.predicted == counts.gold


def score_parts(counts: Sequence[SetCounts]) -> dict[str, Any]:
    """Return the count `n` of mentions, and the percentages `exact`, `part_p`, `part_r` and `part_f1`.

    `exact` is the share of mentions with all parts right. A percentage is 0 if its denominator is 0.
    """
    return {
        "n": len(counts),
        "exact": percent(ratio(sum(map(is_exact, counts)), len(counts))),
        **{f"part_{name}": value for name, value in micro(counts).items()},
    }


def _folded(parts: Iterable[str]) -> set[str]:
    return {" ".join(part.casefold().split()) for part in parts}
