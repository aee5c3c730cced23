"""The mentions that components work on: the entities of a document, or one of its span groups."""

from typing import TYPE_CHECKING, List, Optional

from spacy.tokens import Doc, Span

from ..text.abbreviations import expand
from .attributes import get_abbreviation_occurrences, get_composite_splits, get_corrections, get_matched_name

if TYPE_CHECKING:
    from ..linking.variants import MentionVariants


def mentions_of(doc: Doc, spans_key: Optional[str]) -> List[Span]:
    """
    Args:
        spans_key: the span group, or None for `doc.ents`. A group that is not there has no mentions.
    """
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


def variants_of(doc: Doc, spans_key: Optional[str], *, resolve_abbreviations: bool = True) -> List["MentionVariants"]:
    """Return `List[MentionVariants]`: those of each mention, by what the components before have found."""
    from ..linking.variants import MentionVariants

    text = doc.text  # which spaCy puts together anew each time
    occurrences = get_abbreviation_occurrences(doc) if resolve_abbreviations else []
    found = []
    for mention in mentions_of(doc, spans_key):
        expanded = expand(text, mention.start_char, mention.end_char, occurrences) if occurrences else mention.text
        long_form = expanded if expanded != mention.text else None
        variants = MentionVariants(mention.text, long_form, get_composite_splits(mention), get_matched_name(mention))
        found.append(variants._replace(corrections=get_corrections(mention)))
    return found
