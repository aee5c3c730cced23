"""Read plain or gzipped files of any encoding, with bounds for their lines."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

from ..errors import BadRecordError, CannotReadError, DamagedError, OptionError
from .bounds import bounded

STDIN = Path("-")
"""The path that stands for standard input."""

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = _BUFFER = 1 << 16
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
        marks = _MARKS.items() if given == "utf-8" else ()
        beginning = stream.peek(4) if marks else b""
        text_encoding = next((name for mark, name in marks if beginning.startswith(mark)), encoding)
        decoded_lines = lines and has_line_ends(text_encoding)
        binary = bounded(path, stream, packed, lines=decoded_lines)
        if not has_line_ends(text_encoding):  # only in UTF-8 can the length of lines be bounded
            binary = bounded(path, cast(BinaryIO, _Recoded(binary, text_encoding)), lines=lines)
            text_encoding = "utf-8"
        with io.TextIOWrapper(binary, text_encoding, errors, newline) as handle:
            try:
                yield handle
            except UnicodeEncodeError:
                raise  # not from this file: the caller wrote something meanwhile
            except UnicodeError as error:
                line = "?" if path == STDIN else _undecodable_line(path, encoding)
                raise undecodable(path, line, encoding, error) from error


def undecodable(path: object, line: int | str, encoding: str, error: UnicodeError) -> BadRecordError:
    """Return the error for a file that does not have its encoding."""
    reason = f"this is not {encoding} ({getattr(error, 'reason', error)})"
    return BadRecordError(path=path, line=line, reason=reason, remedy=_CONVERT)


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
    """Open the unpacked bytes of a file or of standard input, unless they are open already."""
    if opened or path == STDIN:
        yield opened or OpenedFile(sys.stdin.buffer, None, lambda: 0)
        return
    with ExitStack() as stack:
        with reading(path):
            if path.is_fifo():  # which would wait for a writer, and could be read only once
                raise CannotReadError(path=path, reason="it is a pipe", remedy="Write its content to a file first.")
            binary: Any = stack.enter_context(path.open("rb", _BUFFER))
            gzipped = binary.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
        if not gzipped:
            yield OpenedFile(binary, None, binary.tell)
            return
        try:
            yield OpenedFile(stack.enter_context(gzip.GzipFile(fileobj=binary)), binary.tell, binary.tell)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            # before errors of decoding, since finding their line reads the file again
            raise DamagedError(path=path, reason=f"its gzip data cannot be unpacked: {error}") from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Translate the errors of a path that cannot be read or is not possible."""
    try:
        yield
    except CannotReadError:
        raise
    except (OSError, ValueError) as error:  # a path with a zero is a ValueError
        raise CannotReadError(path=path, reason=getattr(error, "strerror", error)) from error


def file_name(path: Path) -> str:
    """Return the path of an input for messages. Bytes of it that are not UTF-8 are replaced."""
    return "standard input" if path == STDIN else os.fsencode(path).decode(errors="replace")


def check_encoding(path: Path, encoding: str, *, of_lines: bool = False) -> str:
    """Check that text can have an encoding.

    Args:
        path: The file to read, for messages.
        encoding: The name of the encoding.
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
    if of_lines and not has_line_ends(encoding):
        reason = "the format needs an encoding with one byte for a line end"
        raise OptionError(option=option, reason=reason, remedy=_CONVERT)
    return name


def has_line_ends(encoding: str) -> bool:
    """Return whether the byte for a line end means a line end in an encoding of text, as it does not in UTF-16."""
    try:
        return b"\n".decode(encoding) == "\n"
    except UnicodeError:
        return False


class _Recoded(io.RawIOBase):
    """Reads text of any encoding as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        texts = codecs.iterdecode(iter(lambda: stream.read(_CHUNK), b""), encoding)
        self._pieces = (text.encode() for text in texts)
        self._piece = b""

    def read1(self, size: int) -> bytes:
        """Return at most so many bytes; none at the end."""
        piece = self._piece or next(self._pieces, b"")
        self._piece = piece[size:]
        return piece[:size]


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


def without_gz(path: Path) -> Path:
    """Return the path without a final `.gz`, so that its suffix is that of the packed file."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path
