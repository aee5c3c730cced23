"""Read documents for rule-based annotation, leave out those of evaluation sets, and cut the others into segments."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..documents.folders import files_of
from ..documents.formats import InputFormat, suffix_format, unknown_format
from ..documents.report import Report
from ..documents.source import DocumentSource
from ..documents.text_files import read_jsonl, read_text
from ..errors import MismatchError, NotFoundError
from ..files.opening import without_gz
from ..types import Document

TEXT_SUFFIX = ".txt"
JSON_SUFFIXES = (".jsonl", ".ndjson")

_SENTENCE_END = re.compile(r"[.?!][\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\W_a-z])|\n\s*")
_WORD = re.compile(r"[^\W_]+")


class SourceDocument(NamedTuple):
    """A document before annotation.

    Attributes:
        text: The text. If there is a title, the text starts with it and a blank.
        pmid: The PubMed id, empty if unknown.
        source: The file or database of the document.
    """

    doc_id: str
    text: str
    title: str = ""
    pmid: str = ""
    source: str = ""


# --- read documents


def read_folder(paths: Iterable[Path], report: Report) -> Iterator[SourceDocument]:
    """Read documents as a stream.

    A `.txt` file is one document, and its name is the id. Each line of a `.jsonl` file is one document, with `text` and
    optionally `id`, `pmid` and `title`. Both can be gzipped. Broken records are counted.

    Args:
        paths: Files and folders. Folders are searched recursively, in alphabetical order.
        report: Collects broken records.
    """
    for path in paths:
        files = [path] if path.is_file() else [file for file in files_of(path) if suffix_format(file) in _READERS]
        if not files:
            remedy = f"Give files, or a folder with files that end in {', '.join((TEXT_SUFFIX, *JSON_SUFFIXES))}."
            raise NotFoundError(what=f"document to annotate in {path}", remedy=remedy)
        for file in files:
            yield from _read_file(file, report)


def _read_file(path: Path, report: Report) -> Iterator[SourceDocument]:
    format = suffix_format(path)
    if format not in _READERS:
        raise unknown_format(path, (TEXT_SUFFIX, *JSON_SUFFIXES))
    name = without_gz(path).stem if format is InputFormat.text else path.name
    source = DocumentSource(path, report=report, name=name)
    for number, document in enumerate(_READERS[format](source), start=1):
        text, pmid = document.text.strip(), document.meta.get("pmid") or ""
        if not text:
            source.broken(number, "there is no text", "document")
        elif isinstance(pmid, bool) or not isinstance(pmid, str | int):
            source.broken(number, "the value of 'pmid' must be a string or a whole number", "document")
        else:
            yield SourceDocument(document.doc_id, text, document.title.strip(), str(pmid), path.name)


_READERS: dict[InputFormat | None, Callable[[DocumentSource], Iterator[Document]]] = {
    InputFormat.text: read_text,
    InputFormat.jsonl: read_jsonl,
}


# --- comparing and splitting texts


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


# --- cutting


def cut(text: str, tokens: Sequence[tuple[int, int]], limit: int) -> list[str]:
    """Cut a text into segments.

    A segment ends at a sentence end in its second half, or else between two words.

    Args:
        text: The text.
        tokens: The start and end of each token.
        limit: The maximum number of tokens per segment.

    Returns:
        The segments, without blanks at their ends.
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
    # a sentence can start anywhere in the blanks between two tokens
    sentences = (end for end in ends if _any_between(starts, tokens[end - 1][1], tokens[end][0]))
    words = (end for end in ends if tokens[end - 1][1] < tokens[end][0])
    return next(sentences, next(words, high))


def _any_between(starts: Sequence[int], low: int, high: int) -> bool:
    place = bisect_left(starts, low)
    return place < len(starts) and starts[place] <= high


Tokenize = Callable[[str], Sequence[tuple[int, int]]]
"""Returns the start and end of each token of a text."""


def spacy_tokens() -> Tokenize:
    """Return a function that splits a text into spaCy tokens."""
    from ..pipeline.tokenizer import blank_pipeline

    nlp = blank_pipeline("en")
    return lambda text: [(token.idx, token.idx + len(token)) for token in nlp.make_doc(text)]


def wordpieces(encoder: str) -> Tokenize:
    """Return a function that splits a text into the wordpieces of an encoder.

    Args:
        encoder: "starter", a folder or a hub name.
    """
    from ..encoders.folder import load_tokenizer, resolve

    tokenizer = load_tokenizer(resolve(encoder))
    if not tokenizer.is_fast:
        reason = "its tokenizer does not give the offsets of wordpieces"
        raise MismatchError("Use an encoder with a fast tokenizer.", path=encoder, reason=reason)

    def tokenize(text: str) -> list[tuple[int, int]]:
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [(start, end) for start, end in found["offset_mapping"] if start < end]

    return tokenize
