"""The mentions that components work on: a document's entities, or one of its span groups."""

from typing import List, Optional

from spacy.tokens import Doc, Span


def mentions_of(doc: Doc, spans_key: Optional[str]) -> List[Span]:
    """spans_key (str | None): the span group, or None for `doc.ents`. A group that is not there has no mentions."""
    if spans_key is None:
        return list(doc.ents)
    return list(doc.spans[spans_key]) if spans_key in doc.spans else []


def set_kb_ids(doc: Doc, kb_ids: List[str], spans_key: Optional[str]) -> None:
    """Give each mention, in the order of `mentions_of`, its id."""
    mentions = mentions_of(doc, spans_key)
    if spans_key is None:
        for mention, kb_id in zip(mentions, kb_ids):
            for token in mention:
                token.ent_kb_id_ = kb_id
    elif spans_key in doc.spans:
        group = doc.spans[spans_key]
        for i, (mention, kb_id) in enumerate(zip(mentions, kb_ids)):
            # a span of a group is a copy, so its place takes a new one
            group[i] = Span(doc, mention.start, mention.end, label=mention.label, kb_id=kb_id, span_id=mention.id)
