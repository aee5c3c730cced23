"""Read documents for rule-based annotation from text and JSON lines files, and cut them into segments."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..documents.report import Report
from ..documents.source import BrokenRecord, Source
from ..errors import Errors, SapbertError
from ..files.bounds import read_whole
from ..files.opening import open_text, without_gz
from ..files.values import check_writable, parse_json

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

    Raises:
        SapbertError: E603 a path does not exist. E12x a file cannot be read. E124 the file name shows no known format.
    """
    for path in paths:
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if _format(file))
        if not files:
            raise SapbertError(Errors.E603.format(path=path))
        for file in files:
            yield from _read_file(file, report)


def _format(path: Path) -> str:
    suffix = without_gz(path).suffix.lower()
    return suffix if suffix in (TEXT_SUFFIX, *JSON_SUFFIXES) and path.is_file() else ""


def _read_file(path: Path, report: Report) -> Iterator[SourceDocument]:
    suffix = _format(path)
    if not suffix:
        formats = ", ".join((TEXT_SUFFIX, *JSON_SUFFIXES))
        raise SapbertError(Errors.E124.format(path=path, formats=formats))
    if suffix == TEXT_SUFFIX:
        with open_text(path) as handle:
            text = read_whole(path, handle).strip()
        if text:
            yield SourceDocument(without_gz(path).stem, text, source=path.name)
        else:
            Source(path, report).broken(1, "the file is empty")
        return
    source = Source(path, report)
    for number, line in source.lines():
        if line.strip():
            try:
                yield _json_document(line, path.name, number)
            except BrokenRecord as reason:
                source.broken(number, reason)


def _json_document(line: str, name: str, number: int) -> SourceDocument:
    try:
        record = parse_json(line)
        check_writable(record)
    except ValueError as error:
        raise BrokenRecord(f"this is not JSON in Unicode ({error})") from error
    if not isinstance(record, dict):
        raise BrokenRecord("this is not a JSON object")
    title, text = _field(record, "title"), _field(record, "text")
    if not text:
        raise BrokenRecord("there is no text")
    doc_id = _field(record, "id") or f"{name}:{number}"
    return SourceDocument(doc_id, f"{title} {text}" if title else text, title, _field(record, "pmid"), name)


def _field(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BrokenRecord(f"the value of {key!r} must be a string or a whole number")
    return str(value).strip()


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

    Raises:
        SapbertError: E301, E302 there is no such encoder. E610 its tokenizer has no offsets.
    """
    from ..encoders.folder import load_tokenizer, resolve

    tokenizer = load_tokenizer(resolve(encoder))
    if not tokenizer.is_fast:
        raise SapbertError(Errors.E610.format(name=encoder))

    def tokenize(text: str) -> list[tuple[int, int]]:
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [(start, end) for start, end in found["offset_mapping"] if start < end]

    return tokenize
