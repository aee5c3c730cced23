"""Compute percentages, precision, recall and F1 from counts, and the same of rankings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple


class SetCounts(NamedTuple):
    """The counts behind precision, recall and F1.

    Attributes:
        hits: The number of predicted items that are gold.
        predicted: The number of predicted items.
        gold: The number of gold items.
    """

    hits: int
    predicted: int
    gold: int


def compare_sets(gold: AbstractSet[object], predicted: AbstractSet[object]) -> SetCounts:
    """Count the predicted items that are gold."""
    return SetCounts(len(gold & predicted), len(predicted), len(gold))


def total(counts: Iterable[SetCounts]) -> SetCounts:
    """Return the sums of the counts; zeros if there are none."""
    return SetCounts(*map(sum, zip(SetCounts(0, 0, 0), *counts, strict=True)))


def percent(share: float | None) -> float | None:
    """Return a share from 0 to 1 in percent, with 2 decimals; None if the share is None."""
    return None if share is None else round(100 * share, 2)


def ratio(part: float, whole: float) -> float:
    """Return the part divided by the whole; 0 if the whole is 0."""
    return part / whole if whole else 0.0


def mean(values: Collection[float]) -> float | None:
    """Return the mean of numbers, or the share of true values; None if there are no values."""
    return float(sum(values) / len(values)) if len(values) else None


def f1_score(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0 if both are 0."""
    return ratio(2 * precision * recall, precision + recall)


def precision_recall_f1(precision: float | None, recall: float | None) -> dict[str, float | None]:
    """Return the percentages "p", "r" and "f1".

    A value that does not count is None, and then F1 is None, too.
    """
    f1 = None if precision is None or recall is None else f1_score(precision, recall)
    return {"p": percent(precision), "r": percent(recall), "f1": percent(f1)}


def micro(counts: Iterable[SetCounts]) -> dict[str, float | None]:
    """Return the percentages "p", "r" and "f1" of all counts together; 0 if the denominator is 0."""
    hits, predicted, gold = total(counts)
    return precision_recall_f1(ratio(hits, predicted), ratio(hits, gold))


def macro(counts: Sequence[SetCounts]) -> dict[str, float | None]:
    """Return the percentages "p" and "r", averaged over documents, and "f1" of the two.

    A document without predictions has a precision of 0.
    """
    precisions = [ratio(hits, predicted) for hits, predicted, _ in counts]
    return precision_recall_f1(mean(precisions), mean([hits / gold for hits, _, gold in counts]))


PLACES = 10
FEW_PLACES = 5


class RankingScore(NamedTuple):
    """The scores of the ranking of one document, as shares.

    Attributes:
        p: Precision. None if only concepts that do not count are predicted.
        few_r: Recall of the first `FEW_PLACES` predictions.
        ap: Average precision. Its mean over documents is MAP.
    """

    p: float | None
    r: float
    few_r: float
    ap: float


def score_ranking(
    ranked: Sequence[str], gold: Collection[str], subset: Collection[str] | None = None, *, k: int = PLACES
) -> RankingScore:
    """Score the first k concepts of a ranking, best first, on a subset of the gold concepts, or on all.

    Gold concepts outside the subset are neither right nor wrong: P and average precision ignore them. R is the share of
    the subset among the first k of the whole ranking. If there are fewer than k, the missing ones count as wrong.
    """
    subset = gold if subset is None else subset
    others = set(gold) - set(subset)
    places = k - sum(concept_id in others for concept_id in ranked[:k])
    hits, few_hits = (sum(concept_id in subset for concept_id in ranked[:n]) for n in (k, FEW_PLACES))
    ap = average_precision([concept_id for concept_id in ranked if concept_id not in others], subset)
    return RankingScore(hits / places if places else None, hits / len(subset), few_hits / len(subset), ap)


def average_precision(ranked: Iterable[str], gold: Collection[str]) -> float:
    """Return the mean precision at the ranks of the gold concepts; a missing concept counts as 0."""
    hits, total = 0, 0.0
    for rank, concept_id in enumerate(ranked, start=1):
        if concept_id in gold:
            hits += 1
            total += hits / rank
    return total / len(gold)
