"""Which types a document annotates, for training on corpora that annotate different types."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from spacy.tokens import Doc, Span

ANNOTATED_TYPES = "annotated_types"
"""Key of `doc.user_data`: the types that the document annotates throughout. Without it, it annotates all."""
UNSURE = "unsure"
"""Key of `doc.spans`: spans that may be mentions of their label, although they are not annotated."""


def annotated_labels(doc: Doc) -> Collection[str] | None:
    """Return the types that the document annotates throughout; None for all."""
    labels: Sequence[str] | None = doc.user_data.get(ANNOTATED_TYPES)
    return labels


def unsure_spans(doc: Doc) -> list[Span]:
    """Return the spans that may be mentions of their label or not."""
    return list(doc.spans.get(UNSURE, ()))


def set_annotated(
    doc: Doc, labels: Sequence[str] | None, unsure: Mapping[str, Collection[str]] = MappingProxyType({})
) -> None:
    """State which types the document annotates.

    Args:
        doc: A document with its annotated entities.
        labels: The types that it annotates throughout. None means all.
        unsure: For a type, lowercase words that the corpus annotates at some places only. Those outside of entities
            become unsure spans.
    """
    if labels is not None:
        doc.user_data[ANNOTATED_TYPES] = list(labels)
    outside = [token for token in doc if not token.ent_type_]
    doc.spans[UNSURE] = [
        Span(doc, token.i, token.i + 1, label=label)
        for label, words in unsure.items()
        for token in outside
        if token.lower_ in words
    ]
