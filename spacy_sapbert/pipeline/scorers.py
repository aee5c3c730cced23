"""The scorers of the components, for `spacy train` and `spacy evaluate`."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from spacy.scorer import PRFScore

from ..documents.docs import annotated_labels, unsure_spans

if TYPE_CHECKING:
    from spacy.tokens import Span
    from spacy.training import Example

    from ..kb.knowledge_base import KnowledgeBase
    from ..types import LinkedPart
    from .sapbert_linker import SapbertLinker

MEASURES = ("link_acc", "link_strict", "link_recall")


# --- links


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
    from ..documents.docs import mention_of
    from ..metrics.linking_accuracy import Comparison, single_id
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


# --- concepts of documents


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


# --- entities of documents that annotate some types only


def make_typed_ner_scorer() -> Callable[..., dict[str, Any]]:
    """Return the scorer, for a config."""
    return score_annotated_types


def score_annotated_types(examples: "Iterable[Example]", **settings: Any) -> dict[str, Any]:
    """Compare entities with annotated ones, to the character.

    A predicted entity counts only if the document annotates its type, and if it is not one of the unsure spans.

    Returns:
        `ents_p`, `ents_r`, `ents_f`, and `ents_per_type` with the same three per type. None without annotated
        entities.
    """
    total, annotated_any = PRFScore(), False
    per_type: dict[str, PRFScore] = {}
    for example in examples:
        if not example.reference.has_annotation("ENT_IOB"):
            continue
        annotated_any = True
        gold = set(map(_place, example.reference.ents))
        predicted = {_place(entity) for entity in example.predicted.ents if _counts(entity, example)} - (
            set(map(_place, unsure_spans(example.reference))) - gold
        )
        for label in {label for *_, label in gold | predicted}:
            of_label = per_type.setdefault(label, PRFScore())
            of_label.score_set({x for x in predicted if x[2] == label}, {x for x in gold if x[2] == label})
        total.score_set(predicted, gold)
    if not annotated_any:
        return {"ents_p": None, "ents_r": None, "ents_f": None, "ents_per_type": None}
    return {
        "ents_p": total.precision,
        "ents_r": total.recall,
        "ents_f": total.fscore,
        "ents_per_type": {label: per_type[label].to_dict() for label in sorted(per_type)},
    }


def _place(span: "Span") -> tuple[int, int, str]:
    return span.start_char, span.end_char, span.label_


def _counts(entity: "Span", example: "Example") -> bool:
    annotated = annotated_labels(example.reference)
    return annotated is None or entity.label_ in annotated
