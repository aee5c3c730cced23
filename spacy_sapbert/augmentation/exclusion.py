"""Leave out documents of evaluation sets, found by PMID and by title."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from ..types import Document
from .documents import SourceDocument, first_sentence, fold, sentence_starts

PMID, TITLE = "pmid", "title"
"""The reasons for an overlap."""

# A shorter title ("Case report.") is not specific, so it must equal the first sentence of a document.
MIN_WORDS = 5
_MAX_COMPARED = 300  # characters of a title or a first sentence

_PMID = re.compile(r"(?:pmid|pubmed)?\s*(?::\s*)?(\d+)", re.IGNORECASE)


def pmid_of(doc_id: str) -> str:
    """Return the number in "PMID:123", "00123" or "123"; an empty string for another id."""
    found = _PMID.fullmatch(doc_id.strip())
    return (found[1].lstrip("0") or "0") if found else ""


class EvaluationSets:
    """Finds documents that are in evaluation sets.

    Titles are compared without case, punctuation and blanks. If a document has no title, its first sentence is used. A
    document overlaps if this title occurs at the start of any sentence in the sets. The title need not be at the start
    of a text, because some collections have abstracts without titles.

    Args:
        documents: The documents of the sets.
    """

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._pmids: set[str] = set()
        self._titles: set[str] = set()
        beginnings: set[str] = set()
        for document in documents:
            self._pmids.add(pmid_of(document.doc_id))
            self._titles.add(fold(first_sentence(document.text)))
            beginnings.update(_beginning(document.text, start) for start in sentence_starts(document.text))
        self._beginnings = sorted(beginnings)
        self._pmids.discard("")
        self._titles.discard("")

    def overlap(self, document: SourceDocument) -> str | None:
        """Return "pmid" or "title", by which the document was found in the sets; None if it was not found."""
        if not self._pmids.isdisjoint((document.pmid and pmid_of(document.pmid), pmid_of(document.doc_id))):
            return PMID
        title = fold(document.title or first_sentence(document.text))
        if title in self._titles or (title.count(" ") + 1 >= MIN_WORDS and self._begins_with(title[:_MAX_COMPARED])):
            return TITLE
        return None

    def _begins_with(self, title: str) -> bool:
        place = bisect_left(self._beginnings, title)
        wanted = title if len(title) == _MAX_COMPARED else f"{title} "  # the last word must match as a whole
        return place < len(self._beginnings) and f"{self._beginnings[place]} ".startswith(wanted)


def _beginning(text: str, start: int) -> str:
    # four times as many characters are enough after folding
    return fold(text[start : start + 4 * _MAX_COMPARED])[:_MAX_COMPARED]
