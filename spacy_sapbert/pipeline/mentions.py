"""The mentions that components process: the entities of a document, or a span group."""

from typing import TYPE_CHECKING, List, Optional

from spacy.tokens import Doc, Span

from ..text.abbreviations import expand
from .attributes import get_abbreviation_occurrences, get_composite_splits, get_corrections, get_matched_name
from .component_settings import language_rules

if TYPE_CHECKING:
    from ..linking.variants import MentionVariants


def mentions_of(doc: Doc, spans_key: Optional[str]) -> List[Span]:
    """Return the mentions of a document.

    Args:
        doc: The document.
        spans_key: The span group, or None for `doc.ents`. A missing group has no mentions.
    """
    if spans_key is None:
        return list(doc.ents)
    return list(doc.spans[spans_key]) if spans_key in doc.spans else []


def set_kb_ids(doc: Doc, kb_ids: List[str], spans_key: Optional[str]) -> List[Span]:
    """Set the id of each mention, in the order of `mentions_of`, and return the mentions with their ids."""
    mentions = mentions_of(doc, spans_key)
    if spans_key is None:
        for mention, kb_id in zip(mentions, kb_ids):
            for token in mention:
                token.ent_kb_id_ = kb_id
    elif spans_key in doc.spans:
        group = doc.spans[spans_key]
        for i, (mention, kb_id) in enumerate(zip(mentions, kb_ids)):
            # a group returns copies of its spans, so replace the span
            group[i] = Span(doc, mention.start, mention.end, label=mention.label, kb_id=kb_id, span_id=mention.id)
    return mentions_of(doc, spans_key)


def variants_of(doc: Doc, spans_key: Optional[str], *, resolve_abbreviations: bool = True) -> List["MentionVariants"]:
    """Return the variants of each mention that earlier components found."""
    from ..linking.variants import MentionVariants, with_likely_long_forms

    occurrences = get_abbreviation_occurrences(doc) if resolve_abbreviations else []
    text = doc.text if occurrences else ""  # spaCy builds the text on each access
    rules = language_rules(None, doc.vocab)
    found = []
    for mention in mentions_of(doc, spans_key):
        written = mention.text
        expanded = expand(text, mention.start_char, mention.end_char, occurrences, rules) if occurrences else written
        long_form = expanded if expanded != written else None
        splits, name, corrections = get_composite_splits(mention), get_matched_name(mention), get_corrections(mention)
        found.append((MentionVariants(written, long_form, splits, name, corrections), mention.label_))
    return with_likely_long_forms(found, rules) if resolve_abbreviations else [one for one, _ in found]
