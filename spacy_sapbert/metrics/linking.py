"""How often mentions are linked to the right concepts: Acc@1, Acc@5 and the recall of candidates.

Two measures stand side by side. *Lenient* is that of BioSyn (Sung et al. 2020, section 4.2): every part that the linker
looked up must meet any of the gold ids. *Strict* asks for one part a gold concept, and for the right one.
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
    """Whether every part has, among its first k candidates, one that meets any gold id.

    Args:
        gold: the gold concepts, each as the set of the gold ids that name it.
        parts: for each part its candidates, best first, each as the set of all its ids.

    Returns:
        False where there is no part.
    """
    ids = frozenset().union(*gold)
    return bool(parts) and all(any(ids & candidate for candidate in part[:k]) for part in parts)


def strict_at(k: int, gold: Collection[Ids], parts: Sequence[Sequence[Ids]]) -> bool:
    """Whether parts and gold concepts can be paired off so that each part has its concept among its first k candidates.

    The arguments are those of `lenient_at`. For k = 1 this means: the first candidates of the parts are the gold
    concepts, one to one. Two parts with the same first candidate are therefore wrong, whatever the gold is.
    """
    from scipy.optimize import linear_sum_assignment

    if not parts or len(parts) != len(gold):
        return False
    met = np.array([[any(ids & candidate for candidate in part[:k]) for ids in gold] for part in parts])
    rows, columns = linear_sum_assignment(met, maximize=True)
    return bool(met[rows, columns].all())


def gold_concepts(ids: Iterable[str], find_id: Callable[[str], Iterable[str]]) -> list[frozenset[str]]:
    """Put together the gold ids that name one concept, so that one part can answer for all of them.

    Args:
        find_id: gives the primary ids of the concepts that have an id, such as `KnowledgeBase.find_id`; nothing for an
            unknown id.

    Returns:
        one set of ids a concept; an unknown id is alone.
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
    """What is right about a linked mention.

    Attributes:
        covered: every gold id is in the vocabulary, as BioSyn's protocol asks of a mention that it keeps.
        lenient: by cutoff.
        strict: by cutoff.
        exact_match: a name of the vocabulary that equals the mention, or its long form, belongs to a gold concept.
        slices: those of `SLICES` that the mention is in.
    """

    covered: bool
    lenient: dict[int, bool]
    strict: dict[int, bool]
    exact_match: bool
    slices: tuple[str, ...]


def accuracies(scores: Sequence[MentionScore]) -> dict[str, dict[str, float | None]]:
    """Return "lenient" and "strict", each with the percentages "acc@1" and "acc@5"; None of no mention."""
    return {
        "lenient": {f"acc@{k}": percent(mean([score.lenient[k] for score in scores])) for k in CUTOFFS},
        "strict": {f"acc@{k}": percent(mean([score.strict[k] for score in scores])) for k in CUTOFFS},
    }


def summarize(scores: Sequence[MentionScore]) -> dict[str, Any]:
    """Return `dict`: what `evaluate_linking` reports of a corpus."""
    covered = [score for score in scores if score.covered]
    of_slice = {name: [score for score in covered if name in score.slices] for name in SLICES}
    over_all = accuracies(scores)
    return {
        "mentions": len(scores),
        "covered": len(covered),
        **accuracies(covered),
        "lenient_all": over_all["lenient"],
        "strict_all": over_all["strict"],
        "exact_match_floor": percent(mean([score.exact_match for score in covered])),
        f"candidate_recall@{RECALL_CUTOFF}": percent(mean([score.lenient[RECALL_CUTOFF] for score in covered])),
        "slices": {name: {"n": len(members), **accuracies(members)} for name, members in of_slice.items()},
    }
