"""Make records of linked documents: JSON values with all that an output needs, without spaCy and the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from spacy.tokens import Doc, Span

from ..corpora.docs import DOC_ID, offsets_of
from ..corpora.passages import Passage
from ..kb.code_systems import CodeSystems
from ..kb.knowledge_base import ConceptLabel, KnowledgeBase
from ..pipeline.attributes import get_abbreviation_occurrences, get_assertion, get_concepts, get_kb_ents, get_links
from ..text.words import word_columns
from ..types import Alternative, DocumentConcept, Link
from .pipelines import LinkedDocument

REACH = 60
"""The most characters of a snippet on each side of its mention."""

_LONGEST_MENTION = 2 * REACH
_CUT = "..."
_UNKNOWN = ConceptLabel("", ())
Record = dict[str, Any]


def record_of(
    item: LinkedDocument, kb: KnowledgeBase, *, language: str = "", codes: CodeSystems | None = None
) -> Record:
    """Return the record of a linked document, from which every output can be written.

    Args:
        item: The linked document.
        kb: The knowledge base of the linker, for the names and types of concepts.
        language: See `KnowledgeBase.labels_of`.
        codes: Finds the codes of each link in other vocabularies.

    Returns:
        JSON values with the keys "id", "text", "title" (if there is one), "passages" (if several records are one
        document), "entities", "abbreviations", "concepts" (if there are any), "code_systems" (with `codes`) and "meta"
        (if there is any).
    """
    document = item.document
    # a tokenizer that changes the text changes its length
    text = document.text if len(document.text) == _length(item.doc) else None
    return doc_record(
        item.doc,
        item.mentions,
        kb,
        doc_id=document.doc_id,
        title=document.title,
        meta=dict(document.meta),
        text=text,
        language=language,
        codes=codes,
        passages=document.passages,
    )


def doc_record(
    doc: Doc,
    mentions: Sequence[Span],
    kb: KnowledgeBase,
    *,
    doc_id: str | None = None,
    title: str = "",
    meta: Mapping[str, Any] | None = None,
    text: str | None = None,
    language: str = "",
    codes: CodeSystems | None = None,
    passages: Sequence[Passage] = (),
) -> Record:
    """Return the record of a `Doc`, see `record_of`.

    Args:
        doc: The document.
        mentions: Its mentions, in the order of the record.
        kb: The knowledge base of the linker.
        doc_id: The id. None takes that of the `Doc`, if it has one.
        title: The title, with which the text starts.
        meta: Other values of the document.
        text: The text of the `Doc`, if it is known. spaCy builds it on each access.
        language: See `KnowledgeBase.labels_of`.
        codes: Finds the codes of each link in other vocabularies.
        passages: The places of the joined records in the text.
    """
    text = doc.text if text is None else text
    links = [get_links(mention) for mention in mentions]
    kb_ents = [get_kb_ents(mention) for mention in mentions]
    labels = kb.labels_of(list(_concept_ids(links, kb_ents)), language)
    pieces = offsets_of(doc)
    record: Record = {"id": str(doc.user_data.get(DOC_ID, "")) if doc_id is None else doc_id, "text": text}
    if title:
        record["title"] = title
    if passages:
        record["passages"] = [passage._asdict() for passage in passages]
    record["entities"] = [
        _entity(text, mention, of_mention, candidates, labels, pieces)
        for mention, of_mention, candidates in zip(mentions, links, kb_ents, strict=True)
    ]
    record["abbreviations"] = [
        {
            "start": occurrence.start,
            "end": occurrence.end,
            "text": text[occurrence.start : occurrence.end],
            "long_form": occurrence.long,
        }
        for occurrence in get_abbreviation_occurrences(doc)
    ]
    concepts = get_concepts(doc)
    if concepts:
        shown = kb.labels_of([concept.concept_id for concept in concepts], language) if language else {}
        record["concepts"] = [_concept(concept, shown) for concept in concepts]
    if codes:
        _add_codes(record, codes)
    if meta:
        record["meta"] = dict(meta)
    return record


def snippet(text: str, start: int, end: int) -> str:
    """Return a mention in brackets with up to 60 characters before and after it, on one line, without cut words."""
    left, right = text[max(0, start - REACH) : start], text[end : end + REACH]
    if start > REACH and not text[start - REACH - 1].isspace():
        left = _after_first_blank(left)
    if end + REACH < len(text) and not text[end + REACH].isspace():
        right = _after_first_blank(right[::-1])[::-1]
    mention = text[start:end]
    if len(mention) > _LONGEST_MENTION:
        mention = f"{mention[:REACH]}{_CUT}{mention[-REACH:]}"
    shown = " ".join(f"{left}[{mention}]{right}".split())
    return (_CUT if start > REACH else "") + shown + (_CUT if end + REACH < len(text) else "")


def part_offsets(mention: str, part: str) -> list[tuple[int, int]]:
    """Find the words of one part of a composite in the mention.

    Args:
        mention: The text of the mention.
        part: The text of the part, which repeats words of the mention in their order.

    Returns:
        The start and end of each piece in the mention. Empty if the mention does not contain all words of the part.
    """
    columns = word_columns(mention)
    folded = [word.casefold() for word in columns.written]
    wanted = [word.casefold() for word in word_columns(part).written]
    last = _match(folded, wanted)
    if not last:
        return []
    # The words nearest to the last one: "cancer of the breast and cancer of the ovary" has a word twice.
    backwards = _match(folded[last[-1] :: -1], wanted[::-1])
    found = [last[-1] - row for row in reversed(backwards)]
    gaps = [(before, row) for before, row in pairwise(found) if row != before + 1]
    starts = [found[0], *(row for _, row in gaps)]
    ends = [*(before for before, _ in gaps), found[-1]]
    return [(columns.starts[first], columns.ends[final]) for first, final in zip(starts, ends, strict=True)]


def _match(texts: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the first row of each wanted text after the row of the one before; empty if one is missing."""
    rows: list[int] = []
    remaining = enumerate(texts)
    for text in wanted:
        row = next((row for row, other in remaining if other == text), None)
        if row is None:
            return []
        rows.append(row)
    return rows


def _length(doc: Doc) -> int:
    """Return the number of characters, without building the text."""
    return doc[-1].idx + len(doc[-1].text_with_ws) if len(doc) else 0


def _concept_ids(links: Sequence[Sequence[Link]], kb_ents: Sequence[Sequence[tuple[str, float]]]) -> Iterator[str]:
    for of_mention in links:
        for link in of_mention:
            others = [other.concept_id for other in (link.runner_up, link.rejected) if other]
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
    entity: Record = {
        "start": start,
        "end": end,
        "text": text[start:end],
        "label": label,
        "snippet": snippet(text, start, end),
        "assertion": list(get_assertion(mention)),
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
    found = codes.of([link["concept_id"] for link in links if link["concept_id"]])
    record["code_systems"] = list(codes.systems)
    for link in links:
        of_link = found[link["concept_id"]] if link["concept_id"] else ()
        link["codes"] = [{**code._asdict(), "predicate": code.predicate or None} for code in of_link]


def _concept(concept: DocumentConcept, labels: Mapping[str, ConceptLabel]) -> Record:
    evidence = [{"start": span.start_char, "end": span.end_char, "text": span.text} for span in concept.evidence]
    return {
        "id": concept.concept_id,
        "score": concept.score,
        "name": _preferred(labels, concept.concept_id) or concept.name,
        "evidence": evidence,
        "contributions": dict(concept.contributions),
    }


def _after_first_blank(text: str) -> str:
    """Remove the first word, which is cut. A text without a blank stays as it is."""
    pieces = text.split(maxsplit=1)
    return pieces[1] if len(pieces) > 1 and not text[:1].isspace() else text
