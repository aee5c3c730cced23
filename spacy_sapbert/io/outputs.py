"""Write linked documents as a stream: JSON lines, PubTator, TSV or HTML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from spacy.tokens import Span

from ..kb.knowledge_base import KnowledgeBase
from ..pipeline.attributes import get_abbreviation_occurrences, get_concepts, get_kb_ents, get_links
from ..types import NIL, DocumentConcept, Link
from .formats import OutputFormat
from .html import render_parts
from .pipelines import LinkedDocument

TSV_COLUMNS = (
    "doc_id",
    "start",
    "end",
    "mention",
    "label",
    "text",
    "long_form",
    "concept_id",
    "name",
    "score",
    "probability",
    "split",
    "reason",
    "tie",
)

# characters that some programs read as the end of a line or a column; one blank each, so that offsets stay
_ONE_LINE = dict.fromkeys(map(ord, "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")
# JSON allows these characters, but some programs read them as the end of a line
_JSON_LINE = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def write_linked(linked: Iterable[LinkedDocument], format: OutputFormat, kb: KnowledgeBase) -> Iterator[str]:
    """Write linked documents as a stream.

    Args:
        linked: The linked documents.
        format: The format to write.
        kb: The knowledge base, for the names of concepts on an HTML page.

    Yields:
        Pieces of the output, at least one per document.
    """
    if format is OutputFormat.html:
        yield from render_parts(((item.doc, item.mentions) for item in linked), kb, "Linked documents")
        return
    if format is OutputFormat.tsv:
        yield "\t".join(TSV_COLUMNS) + "\n"
    for item in linked:
        yield _WRITERS[format](item)


def linked_record(item: LinkedDocument) -> dict[str, Any]:
    """Return the record of a document in the JSON lines output."""
    text = item.doc.text
    record: dict[str, Any] = {
        "id": item.document.doc_id,
        "text": text,
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


def _jsonl(item: LinkedDocument) -> str:
    return json.dumps(linked_record(item), ensure_ascii=False).translate(_JSON_LINE) + "\n"


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


def _pubtator(item: LinkedDocument) -> str:
    doc_id = _one_line(item.document.doc_id).replace("|", " ")
    text, title = item.doc.text, item.document.title
    # without a title, the whole text takes its place: an empty title would shift all offsets by one
    head, body = (title, text[len(title) + 1 :]) if title else (text, "")
    lines = [f"{doc_id}|t|{_one_line(head)}", f"{doc_id}|a|{_one_line(body)}"]
    for mention in item.mentions:
        kb_id = "-" if mention.kb_id_ in ("", NIL) else mention.kb_id_
        lines.append(_row(doc_id, mention.start_char, mention.end_char, mention.text, mention.label_, kb_id))
    return "\n".join(lines) + "\n\n"


def _tsv(item: LinkedDocument) -> str:
    rows = []
    for mention in item.mentions:
        place = (item.document.doc_id, mention.start_char, mention.end_char, mention.text, mention.label_)
        for link in get_links(mention) or [Link(mention.text, None, None, None)]:
            numbers = [None if value is None else f"{value:.4f}" for value in (link.score, link.probability)]
            split = "true" if link.split else "false"
            named = (link.text, link.long_form, link.concept_id, link.name)
            rows.append(_row(*place, *named, *numbers, split, link.reason, link.tie))
    return "".join(f"{row}\n" for row in rows)


def _row(*values: object) -> str:
    return "\t".join("" if value is None else _one_line(str(value)) for value in values)


def _one_line(text: str) -> str:
    return text.translate(_ONE_LINE)


_WRITERS: dict[OutputFormat, Callable[[LinkedDocument], str]] = {
    OutputFormat.jsonl: _jsonl,
    OutputFormat.pubtator: _pubtator,
    OutputFormat.tsv: _tsv,
}
