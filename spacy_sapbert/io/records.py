"""Describe a linked document as JSON values, from which every output can be written."""

from __future__ import annotations

from typing import Any

from spacy.tokens import Span

from ..kb.knowledge_base import KnowledgeBase
from ..pipeline.attributes import get_abbreviation_occurrences, get_concepts, get_kb_ents, get_links
from ..types import DocumentConcept
from .pipelines import LinkedDocument


def record_of(item: LinkedDocument, kb: KnowledgeBase) -> dict[str, Any]:
    """Return the record of a document. It is also the line of the JSON lines output."""
    text = item.doc.text
    title = {"title": item.document.title} if item.document.title else {}
    record: dict[str, Any] = {
        "id": item.document.doc_id,
        "text": text,
        **title,
        "entities": [_entity(mention) for mention in item.mentions],
        "abbreviations": [
            {
                "start": occurrence.start,
                "end": occurrence.end,
                "text": text[occurrence.start : occurrence.end],
                "long_form": occurrence.long,
            }
            for occurrence in get_abbreviation_occurrences(item.doc)
        ],
    }
    concepts = get_concepts(item.doc)
    if concepts:
        record["concepts"] = [_concept(concept) for concept in concepts]
    if item.document.meta:
        record["meta"] = item.document.meta
    return record


def _entity(mention: Span) -> dict[str, Any]:
    return {
        "start": mention.start_char,
        "end": mention.end_char,
        "text": mention.text,
        "label": mention.label_,
        "kb_id": mention.kb_id_,
        "kb_ents": [{"id": concept_id, "score": score} for concept_id, score in get_kb_ents(mention)],
        "links": [link._asdict() for link in get_links(mention)],
    }


def _concept(concept: DocumentConcept) -> dict[str, Any]:
    evidence = [{"start": span.start_char, "end": span.end_char, "text": span.text} for span in concept.evidence]
    return {
        "id": concept.concept_id,
        "score": concept.score,
        "name": concept.name,
        "evidence": evidence,
        "contributions": dict(concept.contributions),
    }
