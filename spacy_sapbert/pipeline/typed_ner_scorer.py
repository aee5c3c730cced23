"""Scores of an NER on documents that annotate some types only."""

from typing import Any, Callable, Dict, Iterable, Tuple

from spacy.scorer import PRFScore
from spacy.tokens import Span
from spacy.training import Example

from ..documents.docs import annotated_labels, unsure_spans


def make_typed_ner_scorer() -> Callable[..., Dict[str, Any]]:
    """Return the scorer, for a config."""
    return score_annotated_types


def score_annotated_types(examples: Iterable[Example], **settings: Any) -> Dict[str, Any]:
    """Compare entities with annotated ones, to the character.

    A predicted entity counts only if the document annotates its type, and if it is not one of the unsure spans.

    Returns:
        `ents_p`, `ents_r`, `ents_f`, and `ents_per_type` with the same three per type. None without annotated
        entities.
    """
    total, annotated_any = PRFScore(), False
    per_type: Dict[str, PRFScore] = {}
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


def _place(span: Span) -> Tuple[int, int, str]:
    return span.start_char, span.end_char, span.label_


def _counts(entity: Span, example: Example) -> bool:
    annotated = annotated_labels(example.reference)
    return annotated is None or entity.label_ in annotated
