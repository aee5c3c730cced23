"""The scorer of `concept_retriever`, for `spacy train` and `spacy evaluate`."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacy.training import Example


def make_concepts_scorer() -> Callable[..., dict[str, Any]]:
    """Return `score_concepts`, which measures how a `concept_retriever` ranks the gold concepts of documents."""
    return score_concepts


def score_concepts(examples: "Iterable[Example]", *, retriever: Any, **_: Any) -> dict[str, Any]:
    """Measure the ranking of each document's gold concepts, without a threshold.

    The predicted documents are ranked as they are. Gold concepts are the ids of the reference's entities that the
    vocabulary has. Documents without any are left out.

    Args:
        examples: The examples.
        retriever: A component with `rank(docs, k)` and `kb`.

    Returns:
        "concepts_p", "concepts_r" and "concepts_f" at 10, and "concepts_r5", as in `evaluate concepts`, but from 0 to
        1. Empty if there are no such documents.
    """
    from ..documents.docs import from_doc, gold_of, primary_id
    from ..metrics.counts import PLACES, f1_score, score_ranking

    primary = lru_cache(maxsize=100_000)(lambda concept_id: primary_id(concept_id, retriever.kb))
    pairs = list(examples)
    measured = []
    for pair, ranked in zip(pairs, retriever.rank([pair.predicted for pair in pairs], PLACES), strict=True):
        gold = [one for one in gold_of(from_doc(pair.reference), primary) if retriever.kb.find_id(one)]
        if gold:
            measured.append(score_ranking([concept.concept_id for concept in ranked], gold))
    if not measured:
        return {}
    p, r, few_r, _ = (sum(column) / len(measured) for column in zip(*measured, strict=True))
    return {"concepts_p": p, "concepts_r": r, "concepts_f": f1_score(p, r), "concepts_r5": few_r}
