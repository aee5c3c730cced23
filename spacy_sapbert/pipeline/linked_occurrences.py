"""List the linked occurrences of names in a document: the text, the concept, and a snippet."""

import re
from typing import Iterator, List

from spacy.tokens import Span

from ..kb.new_names import LinkedOccurrence
from .attributes import get_abbreviation_occurrences, get_composite_splits, get_links

MARGIN = 80  # characters on each side of an example


def linked_occurrences(mention: Span) -> Iterator[LinkedOccurrence]:
    """Yield one occurrence per linked part of a mention. For an abbreviation, its text is the long form."""
    short_forms = _short_forms_in(mention)
    written = {mention.text, *(part for split in get_composite_splits(mention) for part in split)}
    for link in get_links(mention):
        if link.concept_id is not None and link.name is not None and link.score is not None:
            is_corrected = link.text not in (link.long_form, *written)
            yield LinkedOccurrence(
                link.text,
                link.concept_id,
                link.name,
                link.score,
                _snippet(mention.doc.text, mention.start_char, mention.end_char),
                (link.long_form or mention.text) if is_corrected else "",
                link.long_form is None and any(_has_word(link.text, short) for short in short_forms),
            )


def _short_forms_in(mention: Span) -> List[str]:
    """Return the short forms in a mention that have a known long form."""
    start, end = mention.start_char, mention.end_char
    return [
        mention.doc.text[occurrence.start : occurrence.end]
        for occurrence in get_abbreviation_occurrences(mention.doc)
        if start <= occurrence.start < occurrence.end <= end
    ]


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _snippet(text: str, start: int, end: int) -> str:
    """Return the mention between asterisks, with whole words of context."""
    before, after = text[max(0, start - MARGIN) : start], text[end : end + MARGIN]
    if start > MARGIN:
        before = f"… {before.partition(' ')[2]}"
    if end + MARGIN < len(text):
        after = f"{after.rpartition(' ')[0]} …"
    return " ".join(f"{before}**{text[start:end]}**{after}".split())
