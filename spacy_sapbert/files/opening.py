"""Read plain or gzipped files of any encoding, with bounds for their lines."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from ..errors import Errors, SapbertError
from .bounds import bounded

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 16
# codecs of Python that take text and bytes, but in which nobody writes text
_NOT_OF_TEXT = ("idna", "punycode", "unicode-escape", "raw-unicode-escape")


@contextmanager
def open_text(
    path: Path, encoding: str = "utf-8", newline: str | None = None, *, lines: bool = True
) -> Iterator[TextIO]:
    """Open a text file for reading. The first bytes, not the file name, show whether it is gzipped.

    Args:
        path: The file.
        encoding: The encoding. With "utf-8", a byte order mark at the start is skipped.
        newline: As for `open`. The csv module needs "".
        lines: Whether to bound the length of lines. Without it, the caller must not collect lines.

    Yields:
        The open file. Errors during reading are translated, too.

    Raises:
        SapbertError: E120 the file does not exist or cannot be read, E121 the gzip data is damaged or cut off, E122 the
            file is not in that encoding (with the line), E123 the encoding does not exist, E586 a line is too long,
            E587 the file unpacks to too many bytes.
    """
    text_encoding = "utf-8-sig" if check_encoding(path, encoding) == "utf-8" else encoding
    if has_line_ends(encoding):
        opened = _open_bytes(path, lines=lines)
    else:  # only in UTF-8 can the length of lines be bounded
        recoded = io.BufferedReader(_Recoded(_open_bytes(path, lines=False), encoding))
        opened, text_encoding = bounded(path, cast(BinaryIO, recoded), lines=lines), "utf-8"
    with (
        opened as binary,
        io.TextIOWrapper(binary, text_encoding, newline=newline) as handle,
        _translate_gzip_errors(path),
    ):
        try:
            yield handle
        except UnicodeEncodeError:
            raise  # not from this file: the caller wrote something meanwhile
        except UnicodeError as error:
            line = _undecodable_line(path, encoding)
            reason = getattr(error, "reason", error)
            raise SapbertError(Errors.E122.format(path=path, line=line, encoding=encoding, reason=reason)) from error


def check_encoding(path: Path, encoding: str, *, of_lines: bool = False) -> str:
    """Check that text can have an encoding.

    Args:
        path: The file to read, for messages.
        encoding: The name of the encoding.
        of_lines: Whether the bytes of the file are split into lines before they are decoded.

    Returns:
        The usual name of the encoding.

    Raises:
        SapbertError: E122 lines cannot be split in this encoding, E123 there is no such encoding for text.
    """
    try:
        name = codecs.lookup(encoding).name
        "\n".encode(encoding)  # raises for codecs that are not for text
    except (LookupError, ValueError) as error:
        raise SapbertError(Errors.E123.format(path=path, encoding=encoding)) from error
    if name.replace("_", "-") in _NOT_OF_TEXT:
        raise SapbertError(Errors.E123.format(path=path, encoding=encoding))
    if of_lines and not has_line_ends(encoding):
        reason = "a file with this format needs an encoding with one byte for a line end"
        raise SapbertError(Errors.E122.format(path=path, line=1, encoding=encoding, reason=reason))
    return name


def has_line_ends(encoding: str) -> bool:
    """Return whether the byte for a line end means a line end in an encoding of text, as it does not in UTF-16."""
    try:
        return b"\n".decode(encoding) == "\n"
    except UnicodeError:
        return False


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes. The first bytes, not the file name, show whether it is gzipped.

    Raises:
        SapbertError: E120 the file does not exist or cannot be read, E121 the gzip data is damaged or cut off, E587 the
            file unpacks to too many bytes.
    """
    with _open_bytes(path, lines=False) as binary, _translate_gzip_errors(path):
        yield binary


@contextmanager
def _translate_gzip_errors(path: Path) -> Iterator[None]:
    """Translate gzip errors.

    They take precedence over decoding errors, since finding the bad line reads the file again.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SapbertError(Errors.E121.format(path=path, reason=error)) from error


def _is_pipe(path: Path) -> bool:
    with suppress(OSError, ValueError):  # opening an impossible path tells why
        return path.is_fifo()
    return False


def _open_bytes(path: Path, *, lines: bool = True) -> BinaryIO:
    if _is_pipe(path):  # which would wait for a writer, and could be read only once
        raise SapbertError(Errors.E120.format(path=path, reason="it is a pipe; write its content to a file first"))
    try:
        binary = path.open("rb")
        gzipped = binary.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
    except (OSError, ValueError) as error:  # a path with a zero is a ValueError
        raise SapbertError(Errors.E120.format(path=path, reason=getattr(error, "strerror", error))) from error
    if not gzipped:
        return bounded(path, binary, lines=lines)
    unpacked = cast(BinaryIO, _GzipReader(fileobj=binary, mode="rb"))
    return bounded(path, unpacked, binary.tell, lines=lines)


class _Recoded(io.RawIOBase):
    """Reads text of any encoding as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        texts = codecs.iterdecode(iter(lambda: stream.read(_CHUNK), b""), encoding)
        self._pieces = (text.encode() for text in texts)
        self._piece = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self._piece or next(self._pieces, b"")
        n = min(len(piece), len(buffer))
        buffer[:n], self._piece = piece[:n], piece[n:]
        return n

    def close(self) -> None:
        self._stream.close()
        super().close()


class _GzipReader(gzip.GzipFile):
    """Unpacks a file, and closes it at the end."""

    def close(self) -> None:
        binary = cast(BinaryIO | None, self.fileobj)
        super().close()
        if binary:
            binary.close()


def _undecodable_line(path: Path, encoding: str) -> int:
    """Return the line that cannot be decoded. The decode error only knows the position in a buffer."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 0
    with _open_bytes(path) as binary:
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
