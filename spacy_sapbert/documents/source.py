"""A file of documents: how it is read, and how its mentions are checked against its text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import DamagedError
from ..files.report import excerpt
from ..files.source import BrokenRecord, Source
from ..types import Mention
from .formats import InputFormat
from .report import Report

UNTYPED = "Mention"
"""The label of mentions without a type in their corpus."""

NEAR = 20
"""If the text of a mention is not at its offsets, it is searched within this number of characters."""


class OtherFormatError(DamagedError):
    """A file that is not of the format that its name shows."""


class ReadOptions(NamedTuple):
    """How to read documents.

    A column is named by its header in CSV, TSV and Parquet, by its key in JSON lines, and by its number, from 1, in
    tables without a header.

    Attributes:
        format: The format. None if the name of each file shows it.
        text_column: The column of the text. Default: "text", or 1 for names.
        id_column: The column of the id. Default: "id", if there is one.
        title_column: The column of the title. Default: "title", if there is one.
        encoding: The encoding of text files. Default: UTF-8, or the one that a byte order mark shows.
        gold: Keep the annotated mentions of the documents.
        join_passages: Read consecutive records of PubTator and BioC with the same id as one document.
    """

    format: InputFormat | None = None
    text_column: str | None = None
    id_column: str | None = None
    title_column: str | None = None
    encoding: str | None = None
    gold: bool = False
    join_passages: bool = True


@dataclass(frozen=True, kw_only=True)
class DocumentSource(Source):
    """A file of documents, or standard input.

    Attributes:
        report: Takes the counts and the problems.
        name: The id of the file's only document, and the beginning of the ids of documents without an id.
        options: How to read it.
    """

    report: Report = field(default_factory=Report)
    name: str = ""
    options: ReadOptions = field(default_factory=ReadOptions)

    def numbered(self, number: int) -> str:
        """Return the id of a document that has none, from the number of its line."""
        return f"{self.name}:{number}"

    def placed(self, line: int, text: str, mention: Mention) -> Mention:
        """Return the mention at its position in the document (see `locate`), and report a mismatch.

        Args:
            line: Line of the mention in the file.
            text: Text of the document.
            mention: The mention as annotated. An empty text is not compared.
        """
        span = locate(text, mention)
        if span is None:
            raise BrokenRecord(f"offsets {mention.start}-{mention.end} are outside the text of {len(text)} characters")
        placed = mention._replace(start=span[0], end=span[1], text=text[span[0] : span[1]])
        if not placed.text.strip():
            raise BrokenRecord(f"only blanks at {placed.start}-{placed.end}")
        if mention.text and placed[:3] != mention[:3]:
            annotated, used = (f"{item.start}-{item.end} {excerpt(item.text)!r}" for item in (mention, placed))
            reason = f"offsets and text disagree: {annotated}; used: {used}"
            self.report.add_mismatch(self.path, line, reason, moved=placed[:2] != mention[:2])
        return placed


def locate(text: str, mention: Mention) -> tuple[int, int] | None:
    """Find a mention in the text of its document.

    The offsets of the mention count. But if another text is there, the mention's own text is searched at most 20
    characters away. If it occurs there exactly once, that position is returned.

    Returns:
        Start and end, or None if the offsets are outside the text.
    """
    start, end, surface = mention[:3]
    inside = 0 <= start < end <= len(text)
    if inside and surface in ("", text[start:end]):
        return start, end
    low = max(0, start - NEAR)
    window = text[low : max(0, start + len(surface) + NEAR)]
    first = window.find(surface)
    if surface and first >= 0 and first == window.rfind(surface):
        return low + first, low + first + len(surface)
    return (start, end) if inside else None
