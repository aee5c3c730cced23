"""How well a ranking of concepts meets the gold concepts of a document.

Every document is given as many concepts as there are places, ten by default, and its hits are counted: P is their share
of the places, R their share of its gold concepts (Shao et al. 2024). So P is bounded by the number of gold concepts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

PLACES = 10
FEW_PLACES = 5


class RankingScore(NamedTuple):
    """How good the ranking of one document is, as shares.

    Attributes:
        p: None where all places are taken by what does not count.
        r: with all places, and with the first `FEW_PLACES`.
        few_r: with all places, and with the first `FEW_PLACES`.
        ap: average precision, of which the mean over documents is MAP.
    """

    p: float | None
    r: float
    few_r: float
    ap: float


def score_ranking(
    ranked: Sequence[str], gold: Collection[str], subset: Collection[str] | None = None, *, k: int = PLACES
) -> RankingScore:
    """Measure how well the first of a ranking meet a subset of the gold concepts.

    Gold concepts outside the subset are neither right nor wrong: P and average precision are counted as if they were
    not there. R is the share of the subset that is among the first k of the ranking as it is.

    Args:
        ranked: ids, best first; fewer than k leave places empty, which count as wrong.
        subset: None for all gold concepts; must not be empty.
    """
    subset = gold if subset is None else subset
    others = set(gold) - set(subset)
    places = k - sum(concept_id in others for concept_id in ranked[:k])
    hits, few_hits = (sum(concept_id in subset for concept_id in ranked[:n]) for n in (k, FEW_PLACES))
    ap = average_precision([concept_id for concept_id in ranked if concept_id not in others], subset)
    return RankingScore(hits / places if places else None, hits / len(subset), few_hits / len(subset), ap)


def average_precision(ranked: Iterable[str], gold: Collection[str]) -> float:
    """Return the mean, over the gold concepts, of the precision where each stands; 0 for what is missing."""
    hits, total = 0, 0.0
    for place, concept_id in enumerate(ranked, start=1):
        if concept_id in gold:
            hits += 1
            total += hits / place
    return total / len(gold)
