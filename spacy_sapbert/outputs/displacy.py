"""Give linked documents to displaCy, spaCy's visualizer, with links to the web pages of concepts."""

from __future__ import annotations

from html import escape
from typing import Any

from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from ..documents.docs import DOC_ID
from ..pipeline.attributes import get_links
from ..pipeline.mentions import mentions_of
from ..types import NIL
from .addresses import concept_url


def to_displacy(doc: Doc, *, spans_key: str | None = None) -> dict[str, Any]:
    """Return a document for `displacy.render(…, manual=True)`, in the style "ent" or "span".

    Each id leads to the web page of its concept. A composite leads to that of its first concept. An id of an unknown
    vocabulary is part of the label, without a link.

    Args:
        doc: A document of a pipeline with a `sapbert_linker`.
        spans_key: Show the mentions of `doc.spans[spans_key]` instead of `doc.ents`. Of overlapping mentions, the style
            "ent" shows the longest only. The style "span" shows all.
    """
    mentions = mentions_of(doc, spans_key)
    return {
        "text": doc.text,
        "ents": [
            {"start": mention.start_char, "end": mention.end_char, **_shown(mention)}
            for mention in filter_spans(mentions)
        ],
        "spans": [{"start_token": mention.start, "end_token": mention.end, **_shown(mention)} for mention in mentions],
        "tokens": [token.text for token in doc],
        "title": escape(str(doc.user_data.get(DOC_ID, ""))) or None,
    }


def _shown(mention: Span) -> dict[str, str]:
    """Return label, id and URL of a mention. displaCy writes them into the page as they are."""
    kb_id = "" if mention.kb_id_ == NIL else mention.kb_id_
    first = next((link.concept_id for link in get_links(mention) if link.concept_id), kb_id)
    url = concept_url(first)
    if url:
        return {"label": escape(mention.label_), "kb_id": escape(kb_id), "kb_url": escape(url)}
    return {"label": escape(f"{mention.label_} {kb_id}".strip()), "kb_id": "", "kb_url": "#"}
