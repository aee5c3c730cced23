"""Read the lines of a corpus file, report broken records, and check mentions against their text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import BadRecordError
from ..files.opening import open_text, open_unpacked
from ..types import Mention
from .report import Report

UNTYPED = "Mention"
"""The label of mentions without a type in their corpus."""

NEAR = 20
"""If the text of a mention is not at its offsets, it is searched within this number of characters."""

_CHUNK = 1 << 16


class BrokenRecord(Exception):
    """A record that cannot be read. The message gives the reason, without position or full stop."""


@dataclass(frozen=True)
class Source:
    """A corpus file, plain or gzipped.

    Attributes:
        path: The file.
        report: Takes the counts and the problems.
        encoding: Encoding of text files.
        strict: Whether a broken record raises an error instead of being reported.
    """

    path: Path
    report: Report = field(default_factory=Report)
    encoding: str = "utf-8"
    strict: bool = False

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers from 1, without line ends: LF, CR LF, or CR in a file without LF.

        Any other CR belongs to its line: some abstracts contain one where their source had a line break.

        Raises:
            SapbertError: E120 to E123 if the file cannot be read, unpacked or decoded.
        """
        number = 0
        with open_text(self.path, encoding=self.encoding, newline="\n") as handle:
            for line in handle:
                # Only the last line may lack an LF. If that is also the first line, the file has no LF.
                pieces = line.split("\r") if number == 0 and not line.endswith("\n") else [line]
                for piece in pieces:
                    number += 1
                    yield number, piece.removesuffix("\n").removesuffix("\r")

    def chunks(self) -> Iterator[bytes]:
        """Yield the unpacked bytes, at most 64 KB at a time, and an empty chunk at the end.

        Raises:
            SapbertError: E120 or E121 if the file cannot be read or unpacked.
        """
        chunk = b" "
        with open_unpacked(self.path) as handle:
            while chunk:
                chunk = handle.read(_CHUNK)
                yield chunk

    def broken(self, line: int, reason: object) -> None:
        """Report a record that cannot be read.

        Raises:
            BadRecordError: `strict` is set.
        """
        if self.strict:
            raise BadRecordError(path=self.path, line=line, reason=reason)
        self.report.add_broken(self.path, line, str(reason))

    def placed(self, line: int, text: str, mention: Mention) -> Mention:
        """Return the mention at its position in the document (see `locate`), and report a mismatch.

        Args:
            line: Line of the mention in the file.
            text: Text of the document.
            mention: The mention as annotated. An empty text is not compared.

        Raises:
            BrokenRecord: If the offsets are outside the text, or cover only whitespace.
        """
        span = locate(text, mention)
        if span is None:
            raise BrokenRecord(f"offsets {mention.start}-{mention.end} are outside the text of {len(text)} characters")
        placed = mention._replace(start=span[0], end=span[1], text=text[span[0] : span[1]])
        if not placed.text.strip():
            raise BrokenRecord(f"only blanks at {placed.start}-{placed.end}")
        if mention.text and placed[:3] != mention[:3]:
            annotated, used = (f"{item.start}-{item.end} {item.text!r}" for item in (mention, placed))
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
