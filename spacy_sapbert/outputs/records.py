"""Make records of linked documents: JSON values with all that an output needs, without spaCy and the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from spacy.tokens import Doc, Span

from ..documents.docs import DOC_ID, offsets_of
from ..kb.knowledge_base import ConceptLabel, KnowledgeBase
from ..pipeline.attributes import (
    get_abbreviation_occurrences,
    get_assertion,
    get_concepts,
    get_drug,
    get_kb_ents,
    get_links,
    get_section,
)
from ..text.snippets import part_offsets, snippet
from ..types import Alternative, Document, DocumentConcept, Link

if TYPE_CHECKING:
    from ..kb.code_systems import CodeSystems

LISTED = "candidates"
"""The key of the listed candidates of a link, and of their number in a record."""
_UNKNOWN = ConceptLabel("", ())
Record = dict[str, Any]


class LinkedDocument(NamedTuple):
    """A document with its linked mentions.

    Attributes:
        document: The document as it was read.
        doc: The document as the pipeline returned it.
        mentions: The mentions, in order of their offsets.
    """

    document: Document
    doc: Doc
    mentions: list[Span]


def record_of(
    item: LinkedDocument, kb: KnowledgeBase, *, language: str = "", codes: CodeSystems | None = None
) -> Record:
    """Return the record of a linked document, from which every output can be written, see `doc_record`."""
    return doc_record(item.doc, item.mentions, kb, document=item.document, language=language, codes=codes)


def doc_record(
    doc: Doc,
    mentions: Sequence[Span],
    kb: KnowledgeBase,
    *,
    doc_id: str | None = None,
    document: Document | None = None,
    language: str = "",
    codes: CodeSystems | None = None,
) -> Record:
    """Return the record of a `Doc`, from which every output can be written.

    Args:
        mentions: Its mentions, in the order of the record.
        kb: The knowledge base of the linker, for the names and types of concepts.
        doc_id: The id. None takes that of `document` or of the `Doc`, if it has one.
        document: The document as it was read, for its title, passages and metadata.
        language: See `KnowledgeBase.labels_of`.
        codes: Finds the codes of each link in other vocabularies.

    Returns:
        JSON values with the keys "id", "text", "title" (if there is one), "passages" (if several records are one
        document), "entities", "abbreviations", "concepts" (if there are any), "code_systems" (with `codes`) and "meta"
        (if there is any).
    """
    if document is None:
        document = Document(str(doc.user_data.get(DOC_ID, "")), doc.text)
    # spaCy builds the text on each access; a tokenizer that changes it changes its length
    text = document.text if len(document.text) == _length(doc) else doc.text
    links = [get_links(mention) for mention in mentions]
    kb_ents = [get_kb_ents(mention) for mention in mentions]
    labels = kb.labels_of(list(_concept_ids(links, kb_ents)), language)
    pieces = offsets_of(doc)
    record: Record = {"id": document.doc_id if doc_id is None else doc_id, "text": text}
    if document.title:
        record["title"] = document.title
    if document.passages:
        record["passages"] = [passage._asdict() for passage in document.passages]
    record["entities"] = [
        _entity(text, mention, mention_links, candidates, labels, pieces)
        for mention, mention_links, candidates in zip(mentions, links, kb_ents, strict=True)
    ]
    record["abbreviations"] = [
        {"start": start, "end": end, "text": text[start:end], "long_form": long_form}
        for start, end, long_form, *_ in get_abbreviation_occurrences(doc)
    ]
    concepts = get_concepts(doc)
    if concepts:
        shown = kb.labels_of([concept.concept_id for concept in concepts], language) if language else {}
        record["concepts"] = [_concept(concept, shown) for concept in concepts]
    if codes:
        _add_codes(record, codes)
    if document.meta:
        record["meta"] = dict(document.meta)
    return record


def _length(doc: Doc) -> int:
    """Return the number of characters, without building the text."""
    return doc[-1].idx + len(doc[-1].text_with_ws) if len(doc) else 0


def _concept_ids(links: Sequence[Sequence[Link]], kb_ents: Sequence[Sequence[tuple[str, float]]]) -> Iterator[str]:
    for mention_links in links:
        for link in mention_links:
            others = [other.concept_id for other in (link.runner_up, link.rejected, *link.candidates) if other]
            yield from [link.concept_id, *others] if link.concept_id else others
    yield from (concept_id for candidates in kb_ents for concept_id, _ in candidates)


def _entity(
    text: str,
    mention: Span,
    links: Sequence[Link],
    candidates: Sequence[tuple[str, float]],
    labels: Mapping[str, ConceptLabel],
    pieces: Mapping[tuple[int, int, str], Sequence[tuple[int, int]]],
) -> Record:
    start, end, label = mention.start_char, mention.end_char, mention.label_
    drug = get_drug(mention)
    entity: Record = {
        "start": start,
        "end": end,
        "text": text[start:end],
        "label": label,
        "snippet": snippet(text, start, end),
        "assertion": list(get_assertion(mention)),
        "drug_state": drug.state or None,
        "dosage": drug.dosage or None,
        "value": drug.value or None,
        "section": get_section(mention),
        "kb_id": mention.kb_id_,
        "kb_ents": [
            {"id": concept_id, "score": score, "preferred_name": _preferred(labels, concept_id)}
            for concept_id, score in candidates
        ],
        "links": [_link(text, start, end, link, labels) for link in links],
    }
    offsets = pieces.get((start, end, label))
    if offsets:
        entity["offsets"] = [list(piece) for piece in offsets]
    return entity


def _link(text: str, start: int, end: int, link: Link, labels: Mapping[str, ConceptLabel]) -> Record:
    record: Record = {
        "text": link.text,
        "concept_id": link.concept_id,
        "name": link.name,
        "preferred_name": _preferred(labels, link.concept_id),
        "types": list(labels.get(link.concept_id or "", _UNKNOWN).types),
        "score": link.score,
        "probability": link.probability,
        "long_form": link.long_form,
        "split": link.split,
        "reason": link.reason,
        "tie": link.tie,
        "reasons": list(link.reasons),
        "runner_up": _alternative(link.runner_up, labels),
        "rejected": _alternative(link.rejected, labels),
    }
    pieces = part_offsets(text[start:end], link.text) if link.split else []
    if link.candidates:
        record[LISTED] = [_alternative(candidate, labels) for candidate in link.candidates]
    if pieces:
        record["offsets"] = [[start + first, start + last] for first, last in pieces]
    return record


def _alternative(other: Alternative | None, labels: Mapping[str, ConceptLabel]) -> Record | None:
    if other is None:
        return None
    return {
        "concept_id": other.concept_id,
        "name": other.name,
        "preferred_name": _preferred(labels, other.concept_id),
        "score": other.score,
        "probability": other.probability,
    }


def _preferred(labels: Mapping[str, ConceptLabel], concept_id: str | None) -> str | None:
    return labels.get(concept_id or "", _UNKNOWN).preferred or None


def _add_codes(record: Record, codes: CodeSystems) -> None:
    """Add the codes of each link, and the systems, so that the columns of a table are known."""
    links = [link for entity in record["entities"] for link in entity["links"]]
    by_concept = codes.of([link["concept_id"] for link in links if link["concept_id"]])
    record["code_systems"] = list(codes.systems)
    for link in links:
        given = by_concept[link["concept_id"]] if link["concept_id"] else ()
        link["codes"] = [{**code._asdict(), "predicate": code.predicate or None} for code in given]


def _concept(concept: DocumentConcept, labels: Mapping[str, ConceptLabel]) -> Record:
    evidence = [{"start": span.start_char, "end": span.end_char, "text": span.text} for span in concept.evidence]
    return {
        "id": concept.concept_id,
        "score": concept.score,
        "name": _preferred(labels, concept.concept_id) or concept.name,
        "evidence": evidence,
        "contributions": dict(concept.contributions),
    }
