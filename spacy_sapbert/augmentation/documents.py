"""Leave out documents of evaluation sets, and cut the others into segments."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from ..errors import MismatchError
from ..types import Document

_SENTENCE_END = re.compile(r"[.?!][\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\W_a-z])|\n\s*")
_WORD = re.compile(r"[^\W_]+")


def fold(text: str) -> str:
    """Return the words of a text in lower case, without punctuation, with single blanks."""
    return " ".join(_WORD.findall(text.casefold()))


def sentence_starts(text: str) -> list[int]:
    """Return the positions at which sentences start.

    An abbreviation before a capital letter can look like the end of a sentence.
    """
    return [0, *(end.end() for end in _SENTENCE_END.finditer(text) if end.end() < len(text))]


def first_sentence(text: str) -> str:
    starts = sentence_starts(text)
    return text[: starts[1]] if len(starts) > 1 else text


# --- documents of evaluation sets


PMID, TITLE = "pmid", "title"
"""The reasons for an overlap."""

# A shorter title ("Case report.") is not specific, so it must equal the first sentence of a document.
MIN_WORDS = 5
_MAX_COMPARED = 300  # characters of a title or a first sentence

_PMID = re.compile(r"(?:pmid|pubmed)?\s*(?::\s*)?(\d+)", re.IGNORECASE)


def pmid_of(doc_id: object) -> str:
    """Return the number in "PMID:123", "00123" or "123"; an empty string for another id."""
    number = _PMID.fullmatch(str(doc_id).strip())
    return (number[1].lstrip("0") or "0") if number else ""


def pmids_of(document: Document) -> set[str]:
    """Return the PMIDs of a document, from its id and its record."""
    return {pmid_of(document.doc_id), pmid_of(document.meta.get("pmid", ""))} - {""}


class EvaluationSets:
    """Finds documents that are in evaluation sets.

    Titles are compared without case, punctuation and blanks. If a document has no title, its first sentence is used. A
    document overlaps if this title occurs at the start of any sentence in the sets. The title need not be at the start
    of a text, because some collections have abstracts without titles.
    """

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._pmids: set[str] = set()
        self._titles: set[str] = set()
        beginnings: set[str] = set()
        for document in documents:
            self._pmids.add(pmid_of(document.doc_id))
            self._titles.add(fold(first_sentence(document.text)))
            # four times as many characters are enough after folding
            beginnings.update(
                fold(document.text[start : start + 4 * _MAX_COMPARED])[:_MAX_COMPARED]
                for start in sentence_starts(document.text)
            )
        self._beginnings = sorted(beginnings)
        self._pmids.discard("")
        self._titles.discard("")

    def overlap(self, document: Document) -> str | None:
        """Return "pmid" or "title", by which the document was found in the sets; None if it was not found."""
        if not self._pmids.isdisjoint(pmids_of(document)):
            return PMID
        title = fold(document.title or first_sentence(document.text))
        if title in self._titles or (title.count(" ") + 1 >= MIN_WORDS and self._begins_with(title[:_MAX_COMPARED])):
            return TITLE
        return None

    def _begins_with(self, title: str) -> bool:
        position = bisect_left(self._beginnings, title)
        beginning = title if len(title) == _MAX_COMPARED else f"{title} "  # the last word must match as a whole
        return position < len(self._beginnings) and f"{self._beginnings[position]} ".startswith(beginning)


# --- cutting


def cut(text: str, tokens: Sequence[tuple[int, int]], limit: int) -> list[str]:
    """Cut a text into segments of at most `limit` tokens, without blanks at their ends.

    A segment ends at a sentence end in its second half, or else between two words.
    """
    starts = sentence_starts(text)
    segments, first = [], 0
    while first < len(tokens):
        end = min(first + limit, len(tokens))
        if end < len(tokens):
            end = _best_end(tokens, first + max(limit // 2, 1), end, starts)
        segments.append(text[tokens[first][0] : tokens[end - 1][1]].strip())
        first = end
    return [segment for segment in segments if segment]


def _best_end(tokens: Sequence[tuple[int, int]], low: int, high: int, starts: Sequence[int]) -> int:
    """Return the last token from low to high that starts a sentence, or else a word, or else high."""
    ends = range(high, low - 1, -1)

    def starts_sentence(end: int) -> bool:
        # a sentence can start anywhere in the blanks between two tokens
        position = bisect_left(starts, tokens[end - 1][1])
        return position < len(starts) and starts[position] <= tokens[end][0]

    sentences = (end for end in ends if starts_sentence(end))
    words = (end for end in ends if tokens[end - 1][1] < tokens[end][0])
    return next(sentences, next(words, high))


Tokenize = Callable[[str], Sequence[tuple[int, int]]]
"""Returns the start and end of each token of a text."""


def spacy_tokens() -> Tokenize:
    """Return a function that splits a text into spaCy tokens."""
    from ..pipeline.tokenizer import blank_pipeline

    nlp = blank_pipeline("en")
    return lambda text: [(token.idx, token.idx + len(token)) for token in nlp.make_doc(text)]


def wordpieces(encoder: str) -> Tokenize:
    """Return a function that splits a text into the wordpieces of an encoder, such as "starter-transformer"."""
    from ..encoders.folder import load_tokenizer, resolve

    tokenizer = load_tokenizer(resolve(encoder))
    if not tokenizer.is_fast:
        reason = "its tokenizer does not give the offsets of wordpieces"
        raise MismatchError("Use an encoder with a fast tokenizer.", path=encoder, reason=reason)

    def tokenize(text: str) -> list[tuple[int, int]]:
        pieces = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [(start, end) for start, end in pieces["offset_mapping"] if start < end]

    return tokenize
