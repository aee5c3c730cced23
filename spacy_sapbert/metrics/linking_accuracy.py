"""Measure how often mentions are linked to the right concepts: Acc@1, Acc@5 and candidate recall.

There are two measures. *Lenient* is BioSyn's (Sung et al. 2020, section 4.2): every part that the linker looked up must
match any of the gold ids. *Strict* requires one part per gold concept, each with the right concept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np

from .counts import mean, percent

CUTOFFS = (1, 5)
RECALL_CUTOFF = 20
SLICES = ("seen", "unseen", "abbreviation", "composite")

Ids = AbstractSet[str]


# --- one mention


def lenient_at(k: int, gold: Collection[Ids], parts: Sequence[Sequence[Ids]]) -> bool:
    """Return whether there are parts, and each has a candidate that matches any gold id, among its first k candidates.

    Args:
        k: The number of candidates to look at.
        gold: The gold concepts, each as the set of the gold ids for it.
        parts: The candidates of each part, best first, each as the set of all its ids.
    """
    ids = frozenset().union(*gold)
    return bool(parts) and all(any(ids & candidate for candidate in part[:k]) for part in parts)


def strict_at(k: int, gold: Collection[Ids], parts: Sequence[Sequence[Ids]]) -> bool:
    """Return whether parts and gold concepts match one to one, each part by one of its first k candidates.

    The arguments are those of `lenient_at`. For k = 1, the first candidates of the parts must be the gold concepts, one
    to one. Two parts with the same first candidate are therefore always wrong.
    """
    from scipy.optimize import linear_sum_assignment

    if not parts or len(parts) != len(gold):
        return False
    met = np.array([[any(ids & candidate for candidate in part[:k]) for ids in gold] for part in parts])
    rows, columns = linear_sum_assignment(met, maximize=True)
    return bool(met[rows, columns].all())


def belb_at(k: int, gold: AbstractSet[str], parts: Sequence[Sequence[str]]) -> bool:
    """Return whether one of the first k ranks has a single concept, and that is any gold one: BELB's strict recall.

    It follows `multi_label_recall` of BELB's evaluation (Garda et al. 2023), where a rank with several ids is wrong.

    Args:
        k: The number of ranks to look at.
        gold: The primary ids of the gold concepts.
        parts: The primary ids of the candidates of each part, best first. A rank has those of all parts.
    """
    ranks = ({part[rank] for part in parts if rank < len(part)} for rank in range(k))
    return any(len(predicted) == 1 and predicted <= gold for predicted in ranks)


def gold_concepts(ids: Iterable[str], find_id: Callable[[str], Iterable[str]]) -> list[frozenset[str]]:
    """Group the gold ids of one concept, because one part can match all of them. An unknown id forms its own set.

    Args:
        ids: The gold ids of a mention.
        find_id: Returns the primary ids of the concepts with an id, such as `KnowledgeBase.find_id`.
    """
    groups: list[tuple[frozenset[str], frozenset[str]]] = []
    for concept_id in ids:
        group, concepts = frozenset([concept_id]), frozenset([concept_id, *find_id(concept_id)])
        for other in [other for other in groups if other[1] & concepts]:
            groups.remove(other)
            group, concepts = other[0] | group, other[1] | concepts
        groups.append((group, concepts))
    return [group for group, _ in groups]


# --- many mentions


class MentionScore(NamedTuple):
    """The scores of a linked mention. Accuracy is by cutoff.

    Attributes:
        covered: Every gold id is in the vocabulary. BioSyn's protocol keeps only such mentions.
        exact_match: The mention or its long form is a name of a gold concept.
        slices: The elements of `SLICES` that the mention belongs to.
    """

    covered: bool
    lenient: dict[int, bool]
    strict: dict[int, bool]
    exact_match: bool
    slices: tuple[str, ...]


def accuracies(scores: Sequence[MentionScore]) -> dict[str, dict[str, float | None]]:
    """Return "lenient" and "strict", each with the percentages "acc@1" and "acc@5"; None if there is no mention."""
    return {
        "lenient": {f"acc@{k}": percent(mean([score.lenient[k] for score in scores])) for k in CUTOFFS},
        "strict": {f"acc@{k}": percent(mean([score.strict[k] for score in scores])) for k in CUTOFFS},
    }


def standard_errors(scores: Sequence[MentionScore], doc_ids: Sequence[str]) -> dict[str, float | None]:
    """Return the standard errors of the "lenient" and "strict" accuracy at 1 in percent; None for under two documents.

    Args:
        scores: The scores of the covered mentions.
        doc_ids: The document of each mention.
    """
    measures = ("lenient", "strict")
    return {name: standard_error([getattr(score, name)[1] for score in scores], doc_ids) for name in measures}


def standard_error(values: Sequence[float], doc_ids: Sequence[str]) -> float | None:
    """Return the standard error of the mean of values in percent; None for under two documents.

    The mentions of a document are not independent, so documents are the sample: the mean is a ratio of two sums over
    documents (Cochran 1977, section 2.11).

    Args:
        values: The value of each mention.
        doc_ids: The document of each mention.
    """
    _, numbers, n = np.unique(np.array(doc_ids, dtype=object).astype(str), return_inverse=True, return_counts=True)
    if len(n) < 2:
        return None
    sums = np.bincount(numbers, weights=values)
    deviations = sums - sums.sum() / n.sum() * n
    return percent(float(np.sqrt(len(n) / (len(n) - 1) * (deviations**2).sum()) / n.sum()))


def summarize(scores: Sequence[MentionScore]) -> dict[str, Any]:
    """Return the measures of a corpus, as `evaluate_linking` reports them."""
    covered = [score for score in scores if score.covered]
    slices = {name: [score for score in covered if name in score.slices] for name in SLICES}
    over_all = accuracies(scores)
    return {
        "mentions": len(scores),
        "covered": len(covered),
        **accuracies(covered),
        "lenient_all": over_all["lenient"],
        "strict_all": over_all["strict"],
        "exact_match_floor": percent(mean([score.exact_match for score in covered])),
        f"candidate_recall@{RECALL_CUTOFF}": percent(mean([score.lenient[RECALL_CUTOFF] for score in covered])),
        "slices": {name: {"n": len(members), **accuracies(members)} for name, members in slices.items()},
    }
