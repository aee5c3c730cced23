"""The variants of a document's mentions: as written, with abbreviations expanded, split, and with corrected spelling."""

from typing import TYPE_CHECKING, List, Optional

from spacy.tokens import Doc

from ..text.abbreviations import expand
from .attributes import get_abbreviation_occurrences, get_composite_splits, get_corrections, get_matched_name
from .mentions import mentions_of

if TYPE_CHECKING:
    from ..linking.variants import MentionVariants


def variants_of(doc: Doc, spans_key: Optional[str], *, resolve_abbreviations: bool = True) -> List["MentionVariants"]:
    """RETURNS (List[MentionVariants]): those of each mention, by what the components before have found."""
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
