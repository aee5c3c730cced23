"""The scorer of `sapbert_linker`, for `spacy train` and `spacy evaluate`."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacy.training import Example

    from ..kb.knowledge_base import KnowledgeBase
    from ..types import LinkedPart
    from .sapbert_linker import SapbertLinker

MEASURES = ("link_acc", "link_strict", "link_recall")


def make_linking_scorer() -> Callable[..., dict[str, Any]]:
    """Return `score_links`, which measures the links of gold mentions without a threshold."""
    return score_links


def score_links(examples: "Iterable[Example]", *, linker: "SapbertLinker", **_: Any) -> dict[str, Any]:
    """Measure the links of gold mentions, without a threshold. A mention that was not found counts as wrong.

    It also compares the ids of the predicted documents, as `evaluate pipeline` does.

    Args:
        examples: The examples.
        linker: The component.

    Returns:
        Measures from 0 to 1; λ may exceed 1. A measure is left out if there are no such mentions.

        - "link_acc" and "link_strict": lenient and strict accuracy over the mentions with all ids in the vocabulary.
        - "link_recall": lenient accuracy among the first 20 candidates.
        - "link_lambda": the weight λ of the sparse score.
        - "span_id_p", "span_id_r" and "span_id_f": precision, recall and F1 of mentions with their concept, without
          gold mentions with several ids.
    """
    pairs = list(examples)
    return {**_score_candidates(pairs, linker), **_score_ids(pairs, linker)}


def _score_candidates(pairs: "Sequence[Example]", linker: "SapbertLinker") -> dict[str, Any]:
    from ..metrics.linking_accuracy import RECALL_CUTOFF, gold_concepts, lenient_at, strict_at
    from .mentions import gold_ids, mentions_of, place_of

    kb = linker.kb
    measured: list[tuple[bool, bool, bool]] = []
    for example, predicted in zip(pairs, linker.predict([pair.predicted for pair in pairs]), strict=True):
        found = dict(zip(map(place_of, mentions_of(example.predicted, linker.spans_key)), predicted, strict=True))
        for place, ids in gold_ids(example.reference, linker.spans_key).items():
            if all(map(kb.find_id, ids)):
                gold = gold_concepts(ids, kb.find_id)
                parts = [_ids(part, kb) for part in found.get(place, ())]
                at_first = lenient_at(1, gold, parts), strict_at(1, gold, parts)
                measured.append((*at_first, lenient_at(RECALL_CUTOFF, gold, parts)))
    shares = (sum(right) / len(measured) for right in zip(*measured, strict=True))
    return {**dict(zip(MEASURES, shares, strict=False)), "link_lambda": linker.linker.sparse_weight}


def _score_ids(pairs: "Sequence[Example]", linker: "SapbertLinker") -> dict[str, Any]:
    from spacy.scorer import PRFScore

    from ..documents.docs import mention_of
    from ..metrics.spans import Comparison, single_id
    from .mentions import mentions_of

    compare = Comparison(linker.kb.find_id, linker.kb.ids)
    total = PRFScore()
    for example in pairs:
        docs = example.reference, example.predicted
        gold, found = ([mention_of(span) for span in mentions_of(doc, linker.spans_key)] for doc in docs)
        counts = compare.linked(*single_id(gold, found))
        total += PRFScore(tp=counts.hits, fp=counts.predicted - counts.hits, fn=counts.gold - counts.hits)
    if not total.tp + total.fn:
        return {}
    return {f"span_id_{name}": value for name, value in total.to_dict().items()}


def _ids(part: "LinkedPart", kb: "KnowledgeBase") -> list[frozenset[str]]:
    return [frozenset(kb.ids(candidate.concept_id)) for candidate in part.candidates]
