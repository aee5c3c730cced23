"""Measure a ranking of concepts against the gold concepts of a document.

Every document gets the same number of predicted concepts, ten by default. P is the share of the predictions that are
gold, and R the share of the gold concepts that are predicted (Shao et al. 2024). The number of gold concepts therefore
limits P.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

PLACES = 10
FEW_PLACES = 5


class RankingScore(NamedTuple):
    """The scores of the ranking of one document, as shares.

    Attributes:
        p: Precision. None if only concepts that do not count are predicted.
        r: Recall of all predictions.
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
    """Score the first concepts of a ranking on a subset of the gold concepts.

    Gold concepts outside the subset are neither right nor wrong: P and average precision ignore them. R is the share of
    the subset among the first k of the whole ranking.

    Args:
        ranked: Concept ids, best first. If there are fewer than k, the missing ones count as wrong.
        gold: The gold concepts.
        subset: The subset to score, not empty. None is all gold concepts.
        k: The number of predictions.
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
