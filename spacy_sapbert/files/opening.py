"""Open plain or gzipped files of any encoding, with bounds for what a file can make of the memory.

A packed file of a few kilobytes can hold a line of gigabytes. Such files are made to exhaust memory. The bounds are far
above those of real files: XML unpacks to about 30 times its size, and repetitive tables to about 200 times.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, TypeVar, cast

from ..errors import BadRecordError, CannotReadError, DamagedError, LimitError, OptionError
from .tables import is_workbook, sheet_lines

STDIN = Path("-")
"""The path that stands for standard input."""
LONGEST_LINE = 1 << 29
"""The most bytes of a line, or of a text that is read as a whole: 512 MiB."""
LARGEST_RATIO = 400
"""How many times its own size a file may unpack to."""
FREE = 1 << 26
"""The unpacked bytes from which on the ratio counts: 64 MiB. Small files may unpack to any multiple."""

_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER, _BOUNDED_BUFFER = 1 << 16, 1 << 17
_CONVERT = "Convert the file to UTF-8, or give its encoding."
# codecs of Python that take text and bytes, but in which nobody writes text
_NOT_OF_TEXT = ("idna", "punycode", "unicode-escape", "raw-unicode-escape")
# longest first, because the mark of UTF-16 begins that of UTF-32
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
_Piece = TypeVar("_Piece", str, bytes)


class OpenedFile(NamedTuple):
    """An open file, plain or gzipped.

    Attributes:
        stream: The unpacked bytes, without bounds.
        packed: Returns the number of packed bytes that were read, if the file is packed.
        position: Returns the number of bytes of the file that were read.
    """

    stream: Any
    packed: Callable[[], int] | None
    position: Callable[[], int]


@contextmanager
def open_file(path: Path, opened: OpenedFile | None = None) -> Iterator[OpenedFile]:
    """Open the unpacked bytes of a file or of standard input, unless they are open already.

    Those of a workbook are its first sheet as CSV, see `sheet_lines`.
    """
    if opened or path == STDIN:
        yield opened or OpenedFile(sys.stdin.buffer, None, lambda: 0)
        return
    with ExitStack() as stack:
        with reading(path):
            if path.is_fifo():  # which would wait for a writer, and could be read only once
                raise CannotReadError(path=path, reason="it is a pipe", remedy="Write its content to a file first.")
            binary: Any = stack.enter_context(path.open("rb", _BUFFER))
            gzipped = binary.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
        if gzipped and is_workbook(without_gz(path)):
            raise CannotReadError(path=path, reason="a workbook cannot be read gzipped", remedy="Unpack it first.")
        if is_workbook(path):
            sheet = io.BufferedReader(Pieces(sheet_lines(path, binary)), _BUFFER)
            yield OpenedFile(sheet, None, binary.tell)
            return
        if not gzipped:
            yield OpenedFile(binary, None, binary.tell)
            return
        try:
            yield OpenedFile(stack.enter_context(gzip.GzipFile(fileobj=binary)), binary.tell, binary.tell)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            # before errors of decoding, since finding their line reads the file again
            raise DamagedError(path=path, reason=f"its gzip data cannot be unpacked: {error}") from error


@contextmanager
def open_unpacked(path: Path, *, lines: bool = False, opened: OpenedFile | None = None) -> Iterator[BinaryIO]:
    """Open a file for reading bytes. The first bytes, not the file name, show whether it is gzipped.

    Args:
        path: The file. `STDIN` is standard input, which is not unpacked.
        lines: Whether to bound the length of lines. Without it, the caller must not collect lines.
        opened: The file, if it is open already.
    """
    with open_file(path, opened) as (stream, packed, _):
        yield bounded(path, stream, packed, lines=lines)


@contextmanager
def open_text(
    path: Path,
    encoding: str = "utf-8",
    newline: str | None = None,
    *,
    lines: bool = True,
    errors: str = "strict",
    opened: OpenedFile | None = None,
) -> Iterator[TextIO]:
    """Open a text file for reading. The first bytes, not the file name, show whether it is gzipped.

    Args:
        path: The file. `STDIN` is standard input, which is not unpacked.
        encoding: The encoding. With "utf-8", a byte order mark at the start is skipped, or shows another encoding.
        newline: As for `open`. The csv module needs "".
        lines: Whether to bound the length of lines. Without it, the caller must not collect lines.
        errors: How to decode what is not in that encoding, as for `open`.
        opened: The file, if it is open already.

    Yields:
        The open file. Errors during reading are translated, too.
    """
    given = check_encoding(path, encoding)
    with open_file(path, opened) as (stream, packed, _):
        text_encoding = _marked(stream) or encoding if given == "utf-8" else encoding
        has_lines = _has_line_ends(text_encoding)
        binary = bounded(path, stream, packed, lines=lines and has_lines)
        if not has_lines:  # only in UTF-8 can the length of lines be bounded
            texts = codecs.iterdecode(iter(partial(binary.read, _BUFFER), b""), text_encoding)
            recoded = io.BufferedReader(Pieces(text.encode() for text in texts), _BUFFER)
            binary = bounded(path, recoded, lines=lines)
            text_encoding = "utf-8"
        with io.TextIOWrapper(binary, text_encoding, errors, newline) as handle:
            try:
                yield handle
            except UnicodeEncodeError:
                raise  # not from this file: the caller wrote something meanwhile
            except UnicodeError as error:
                line = "?" if path == STDIN else _undecodable_line(path, encoding)
                raise undecodable(path, line, encoding, error) from error


def _marked(stream: Any) -> str | None:
    """Return the encoding that a byte order mark shows, if there is one."""
    beginning = stream.peek(4)
    for mark, encoding in _MARKS.items():
        if beginning.startswith(mark):
            return encoding
    return None


def decoded_head(stream: Any, encoding: str, size: int) -> str:
    """Return the first characters of an opened file, which can still be read. Wrong bytes are replaced."""
    head = stream.peek(4 * size)
    text: str = head.decode((codecs.lookup(encoding).name == "utf-8" and _marked(stream)) or encoding, "replace")
    return text[:size]


def undecodable(path: object, line: int | str, encoding: str, error: UnicodeError) -> BadRecordError:
    """Return the error for a file that does not have its encoding."""
    reason = f"this is not {encoding} ({getattr(error, 'reason', error)})"
    return BadRecordError(path=path, line=line, reason=reason, remedy=_CONVERT)


def _undecodable_line(path: Path, encoding: str) -> int:
    """Return the line that cannot be decoded. The decode error only knows the position in a buffer."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 0
    with open_unpacked(path, lines=True) as binary:
        for raw in binary:
            line += 1
            try:
                decoder.decode(raw)
            except UnicodeError:
                break
    return line


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Translate the errors of a path that cannot be read or is not possible."""
    try:
        yield
    except CannotReadError:
        raise
    except (OSError, ValueError) as error:  # a path with a zero is a ValueError
        raise CannotReadError(path=path, reason=getattr(error, "strerror", error)) from error


def sha256_of(path: Path, *, unpacked: bool = False) -> str:
    """Return the SHA-256 of a file, as it is on the disk, or unpacked if it is gzipped."""
    digest = hashlib.sha256()
    with reading(path), open_unpacked(path) if unpacked else path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def file_manifest(path: Path) -> dict[str, str | int]:
    """Return name, size and checksum of a file, for the metadata of what is made from it."""
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}


def file_name(path: Path) -> str:
    """Return the path of an input for messages. Bytes of it that are not UTF-8 are replaced."""
    return "standard input" if path == STDIN else os.fsencode(path).decode(errors="replace")


def without_gz(path: Path) -> Path:
    """Return the path without a final `.gz`, so that its suffix is that of the packed file."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


# --- encodings


def check_encoding(path: Path, encoding: str, *, of_lines: bool = False) -> str:
    """Check that text can have an encoding.

    Args:
        path: The file to read, for messages.
        of_lines: Whether the bytes of the file are split into lines before they are decoded.

    Returns:
        The usual name of the encoding.
    """
    try:
        name = codecs.lookup(encoding).name
        "\n".encode(encoding)  # raises for codecs that are not for text
    except (LookupError, ValueError):
        name = ""
    option = f"The encoding {encoding[:100]!r} of {path}"
    if not name or name.replace("_", "-") in _NOT_OF_TEXT:
        remedy = "Give one that Python knows, such as utf-8 or latin-1."
        raise OptionError(option=option, reason="Python has no such encoding of text", remedy=remedy)
    if of_lines and not _has_line_ends(encoding):
        reason = "the format needs an encoding with one byte for a line end"
        raise OptionError(option=option, reason=reason, remedy=_CONVERT)
    return name


def _has_line_ends(encoding: str) -> bool:
    """Return whether the byte for a line end means a line end in an encoding of text, as it does not in UTF-16."""
    try:
        return b"\n".decode(encoding) == "\n"
    except UnicodeError:
        return False


class Pieces(io.RawIOBase):
    """Reads pieces of bytes, of which none is empty, as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._piece = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self._piece or next(self._pieces, b"")
        n = min(len(piece), len(buffer))
        buffer[:n], self._piece = piece[:n], piece[n:]
        return n


# --- bounds


def check_ratio(path: Path, unpacked: int, packed: int) -> None:
    """Check that a file does not unpack to more than `LARGEST_RATIO` times its size, which is a `LimitError`."""
    if unpacked > FREE and unpacked > LARGEST_RATIO * packed:
        reason = f"unpacks to more than {LARGEST_RATIO} times its size, as files do that are made to exhaust memory"
        raise LimitError(path=path, reason=reason)


def check_length(path: Path, length: int) -> None:
    """Check that a text that is held in memory is not longer than `LONGEST_LINE`, which is a `LimitError`."""
    if length > LONGEST_LINE:
        reason = f"has a text of more than {LONGEST_LINE:,} bytes that must be held in memory"
        raise LimitError(path=path, reason=reason)


def read_whole(path: Path, pieces: Iterable[_Piece]) -> list[_Piece]:
    """Return the pieces of a text that is held in memory as a whole, up to the bound."""
    held, length = [], 0
    for piece in pieces:
        length += len(piece)
        check_length(path, length)
        held.append(piece)
    return held


def bounded(path: Path, stream: BinaryIO, packed: Callable[[], int] | None = None, *, lines: bool = True) -> BinaryIO:
    """Return a stream with the same bytes that raises a `LimitError` where a bound is passed.

    Closing it does not close the given stream.

    Args:
        path: The file, for messages.
        stream: The unpacked bytes.
        packed: Returns the number of packed bytes that were read. None if the file is not packed.
        lines: Whether the length of lines is bounded. Without it, the caller must not collect lines.
    """
    return cast(BinaryIO, io.BufferedReader(_BoundedReader(path, stream, packed, lines=lines), _BOUNDED_BUFFER))


class _BoundedReader(io.RawIOBase):
    def __init__(self, path: Path, stream: BinaryIO, packed: Callable[[], int] | None, *, lines: bool) -> None:
        self._path, self._packed = path, packed
        self._stream: Any = stream  # BinaryIO lacks read1, but all that are given have it
        self._longest = LONGEST_LINE if lines else 0
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
            raise LimitError(path=self._path, reason=reason)
