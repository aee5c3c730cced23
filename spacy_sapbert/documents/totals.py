"""Count the documents of inputs before they are read, for a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from ..errors import SapbertError
from ..files.opening import open_text, without_gz
from .archives import is_archive
from .folders import files_of
from .formats import STDIN, InputFormat, suffix_format, xml_format
from .input_source import ReadOptions
from .table_files import open_parquet

_CHUNK = 1 << 20


def total_documents(sources: Sequence[tuple[Path, ReadOptions]]) -> int | None:
    """Count the documents of inputs without reading them as documents.

    The number is meant for a progress bar. It can be too high, because it includes broken records, blank lines and each
    passage of an article.

    Args:
        sources: Files and folders, each with its options; `-` is standard input.

    Returns:
        The number; None if it is not known, as for standard input, `.spacy` files, archives and
        files that cannot be read.
    """
    total = 0
    for path, options in sources:
        if path == STDIN:
            return None
        for file in files_of(path, lambda *_: None) if path.is_dir() else [path]:
            format = options.format or suffix_format(file)
            if format is None:
                continue
            count = _count(file, options.format, format)
            if count is None:
                return None
            total += count
    return total


def _count(path: Path, given: InputFormat | None, format: InputFormat) -> int | None:
    if format is InputFormat.text:
        return 1
    suffix = without_gz(path).suffix.lower()
    if is_archive(path):
        return None
    try:
        if given is None and suffix == ".xml":
            format = xml_format(path)
        if format is InputFormat.parquet:
            with open_parquet(path) as file:
                return int(file.metadata.num_rows)
        if format not in _COUNTERS or suffix == ".json":
            return None
        with open_text(path) as handle:
            return _COUNTERS[format](handle.buffer)
    except (SapbertError, OSError):
        return None  # reading the file reports the reason


def _count_lines(handle: BinaryIO) -> int:
    count, last = 0, b"\n"
    for chunk in _chunks(handle):
        count += chunk.count(b"\n")
        last = chunk[-1:]
    return count + (last != b"\n")


def _count_rows(handle: BinaryIO) -> int:
    """Count the rows below a header. Line ends between quotation marks do not count."""
    rows = quotes = 0
    for line in handle:
        quotes += line.count(b'"')
        rows += quotes % 2 == 0
    return max(0, rows - 1)


def _counter(*marks: bytes) -> Callable[[BinaryIO], int]:
    def count(handle: BinaryIO) -> int:
        found, ends = 0, [b""] * len(marks)
        for chunk in _chunks(handle):
            for row, mark in enumerate(marks):
                found += (ends[row] + chunk).count(mark)
                ends[row] = (ends[row] + chunk)[-len(mark) + 1 :]
        return found

    return count


def _chunks(handle: BinaryIO) -> Iterator[bytes]:
    while chunk := handle.read(_CHUNK):
        yield chunk


_COUNTERS: dict[InputFormat, Callable[[BinaryIO], int]] = {
    InputFormat.lines: _count_lines,
    InputFormat.jsonl: _count_lines,
    InputFormat.names: _count_lines,
    InputFormat.tsv: lambda handle: max(0, _count_lines(handle) - 1),
    InputFormat.csv: _count_rows,
    InputFormat.pubtator: _counter(b"|t|"),
    InputFormat.bioc: _counter(b"<document>"),
    InputFormat.pubmed: _counter(b"</MedlineCitation>", b"</BookDocument>"),
    InputFormat.jats: _counter(b"</article>"),
}
