"""A corpus file on its way in: its lines, and what the readers of all formats do alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import Errors, SapbertError
from ..files import open_text
from ..types import Mention
from .report import Report

UNTYPED = "Mention"
"""The label of mentions to which their corpus gives no type."""

NEAR = 20
"""How far from its offsets, in characters, a mention is looked for when its text is not there."""

_CHUNK = 1 << 16


class BrokenRecord(Exception):
    """A record that cannot be read. The message says why, without place or full stop."""


@dataclass(frozen=True)
class Source:
    """One corpus file, plain or gzipped.

    Attributes:
        report: takes the counts and the problems.
        strict: whether a broken record is an error rather than an entry of the report.
    """

    path: Path
    report: Report = field(default_factory=Report)
    encoding: str = "utf-8"
    strict: bool = False

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers from 1, without their line ends: LF, CR LF, or CR in a file that has no LF.

        A CR elsewhere belongs to its line: some abstracts hold one where their source had a line break.

        Raises:
            SapbertError: E120 to E123 the file cannot be read, unpacked or decoded.
        """
        number = 0
        with open_text(self.path, encoding=self.encoding, newline="\n") as handle:
            for line in handle:
                # Only the last line may lack an LF; if that is the first one too, the file has none.
                pieces = line.split("\r") if number == 0 and not line.endswith("\n") else [line]
                for piece in pieces:
                    number += 1
                    yield number, piece.removesuffix("\n").removesuffix("\r")

    def chunks(self) -> Iterator[bytes]:
        """The unpacked bytes, at most 64 KB at a time, and an empty chunk at the end.

        Raises:
            SapbertError: E120, E121 the file cannot be read or unpacked.
        """
        chunk = b" "
        with open_text(self.path) as handle:
            while chunk:
                chunk = handle.buffer.read(_CHUNK)
                yield chunk

    def broken(self, line: int, reason: object) -> None:
        """Report a record that cannot be read.

        Raises:
            SapbertError: E201 if reading is strict.
        """
        if self.strict:
            raise SapbertError(Errors.E201.format(path=self.path, line=line, reason=reason))
        self.report.add_broken(self.path, line, str(reason))

    def placed(self, line: int, text: str, mention: Mention) -> Mention:
        """The mention as it stands in the text of its document (see `locate`); a disagreement is reported.

        Args:
            mention: as annotated; an empty text is not compared.

        Raises:
            BrokenRecord: the offsets are outside the text, or there are only blanks.
        """
        span = locate(text, mention)
        if span is None:
            raise BrokenRecord(f"offsets {mention.start}-{mention.end} are outside the text of {len(text)} characters")
        placed = mention._replace(start=span[0], end=span[1], text=text[span[0] : span[1]])
        if not placed.text.strip():
            raise BrokenRecord(f"only blanks at {placed.start}-{placed.end}")
        if mention.text and placed[:3] != mention[:3]:
            annotated, taken = (f"{item.start}-{item.end} {item.text!r}" for item in (mention, placed))
            reason = f"offsets and text disagree: {annotated}; used: {taken}"
            self.report.add_mismatch(self.path, line, reason, moved=placed[:2] != mention[:2])
        return placed


def locate(text: str, mention: Mention) -> tuple[int, int] | None:
    """Where a mention stands in the text of its document.

    Its offsets count. But where another text stands there, and the mention's own is found exactly once at most 20
    characters away, it is there.

    Returns:
        start and end; None where the offsets are no part of the text.
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
