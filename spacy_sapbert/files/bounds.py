"""Bounds for what a file can make of the memory: the longest line, the longest text, and how far a file unpacks.

A packed file of a few kilobytes can hold a line of gigabytes. Such files are made to exhaust memory. The bounds are far
above those of real files: XML unpacks to about 30 times its size, and repetitive tables to about 200 times.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeVar, cast

from ..errors import LimitError, OptionError

LINE_VARIABLE, RATIO_VARIABLE = "SPACY_SAPBERT_MAX_LINE", "SPACY_SAPBERT_MAX_RATIO"
LONGEST_LINE = 1 << 29
"""The most bytes of a line, or of a text that is read as a whole: 512 MiB."""
LARGEST_RATIO = 400
"""How many times its own size a file may unpack to."""
FREE = 1 << 26
"""The unpacked bytes from which on the ratio counts: 64 MiB. Small files may unpack to any multiple."""

_BUFFER = 1 << 17
_Piece = TypeVar("_Piece", str, bytes)


def longest_line() -> int:
    """Return the most bytes of a line or a whole text. The environment variable SPACY_SAPBERT_MAX_LINE changes it."""
    return _setting(LINE_VARIABLE, LONGEST_LINE)


def largest_ratio() -> int:
    """Return how many times its size a file may unpack to. The variable SPACY_SAPBERT_MAX_RATIO changes it."""
    return _setting(RATIO_VARIABLE, LARGEST_RATIO)


def _setting(variable: str, default: int) -> int:
    given = os.environ.get(variable, "").strip()
    if not given:
        return default
    if not (given.isascii() and given.isdecimal() and len(given) <= 18 and int(given)):
        raise OptionError(
            option=f"The environment variable {variable}", reason=f"it is {given[:50]!r}, not a whole number from 1"
        )
    return int(given)


def check_ratio(path: Path, unpacked: int, packed: int) -> None:
    """Check that a file does not unpack to more than `largest_ratio` times its size, which is a `LimitError`."""
    if unpacked > FREE and unpacked > largest_ratio() * packed:
        reason = f"unpacks to more than {largest_ratio()} times its size, as files do that are made to exhaust memory"
        raise LimitError(path=path, reason=reason, variable=RATIO_VARIABLE)


def check_length(path: Path, length: int) -> None:
    """Check that a text that is held in memory is not longer than `longest_line`, which is a `LimitError`."""
    if length > longest_line():
        reason = f"has a text of more than {longest_line():,} bytes that must be held in memory"
        raise LimitError(path=path, reason=reason, variable=LINE_VARIABLE)


def up_to_bound(path: Path, pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """Pass on the pieces of a text that is held in memory as a whole, and check their total length."""
    length = 0
    for piece in pieces:
        length += len(piece)
        check_length(path, length)
        yield piece


def read_whole(path: Path, handle: TextIO) -> str:
    """Read a whole text, up to the bound."""
    return "".join(up_to_bound(path, iter(lambda: handle.read(1 << 20), "")))


def join_bounded(path: Path, chunks: Iterable[bytes]) -> bytes:
    """Return the chunks of a file as a whole, up to the bound."""
    return b"".join(up_to_bound(path, chunks))


def bounded(path: Path, stream: BinaryIO, packed: Callable[[], int] | None = None, *, lines: bool = True) -> BinaryIO:
    """Return a stream with the same bytes that raises a `LimitError` where a bound is passed.

    Closing it does not close the given stream.

    Args:
        path: The file, for messages.
        stream: The unpacked bytes.
        packed: Returns the number of packed bytes that were read. None if the file is not packed.
        lines: Whether the length of lines is bounded. Without it, the caller must not collect lines.
    """
    return cast(BinaryIO, io.BufferedReader(_BoundedReader(path, stream, packed, lines=lines), _BUFFER))


class _BoundedReader(io.RawIOBase):
    """Reads a stream, and counts its lines and bytes."""

    def __init__(self, path: Path, stream: BinaryIO, packed: Callable[[], int] | None, *, lines: bool) -> None:
        self._path, self._packed = path, packed
        self._stream: Any = stream  # BinaryIO lacks read1, but all that are given have it
        self._longest = longest_line() if lines else 0
        self._line, self._length, self._unpacked = 1, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        # one step at a time: what comes before damaged data is read before the damage is reported
        block = self._stream.read1(len(buffer))
        n = len(block)
        buffer[:n] = block
        self._unpacked += n
        if self._packed and self._unpacked > FREE:
            check_ratio(self._path, self._unpacked, self._packed())
        if self._longest:
            self._count_line(block)
        return n

    def _count_line(self, block: bytes) -> None:
        last = block.rfind(b"\n")
        if last < 0:
            self._length += len(block)
        else:
            self._line += block.count(b"\n")
            self._length = len(block) - last - 1
        if self._length > self._longest:
            reason = f"has more than {self._longest:,} bytes in line {self._line}, so it may not be a file of lines"
            raise LimitError(path=self._path, reason=reason, variable=LINE_VARIABLE)
