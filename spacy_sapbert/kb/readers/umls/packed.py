"""Opening what is packed, gzip in zip in zip, as a stream: nothing is unpacked to disk or as a whole."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from ....errors import Errors, SapbertError

_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER = 1 << 20


class RrfPart(NamedTuple):
    """A file of a release, or one part of it.

    Attributes:
        path: the file on disk.
        members: where that is a zip file, the name in it; in a zip file in it, both names.
        size: bytes, as packed.
    """

    path: Path
    members: tuple[str, ...]
    size: int

    @property
    def place(self) -> Path:
        """Where the part lies, names in zip files joined to the path."""
        return self.path.joinpath(*self.members)

    @contextmanager
    def open(self, watch: Callable[[bytes], object]) -> Iterator[IO[bytes]]:
        """Open the part, unpacked; whether it is gzipped is seen from its first bytes.

        Args:
            watch: called with the bytes as they are packed, block by block.

        Yields:
            the open part. Errors that come up while it is read are translated as well.

        Raises:
            SapbertError: E120 it cannot be read, E143 it is damaged, E144 its packing is not known.
        """
        with readable(self.place), ExitStack() as opened:
            size = 0
            packed: IO[bytes] = opened.enter_context(self.path.open("rb"))
            for depth, member in enumerate(self.members):
                archive = opened.enter_context(inner_zip(packed, size) if depth else zipfile.ZipFile(packed))
                size = archive.getinfo(member).file_size
                packed = opened.enter_context(archive.open(member))
            watched = io.BufferedReader(_Watched(packed, watch), _BUFFER)
            gzipped = watched.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
            yield io.BufferedReader(gzip.GzipFile(fileobj=watched), _BUFFER) if gzipped else watched


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Translate the errors of reading what may be packed."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise SapbertError(Errors.E143.format(path=path, reason=error)) from error
    except (NotImplementedError, RuntimeError) as error:  # an unknown compression; a password
        raise SapbertError(Errors.E144.format(path=path, reason=error)) from error
    except OSError as error:
        raise SapbertError(Errors.E120.format(path=path, reason=error.strerror or error)) from error


def inner_zip(file: IO[bytes], size: int) -> zipfile.ZipFile:
    """Open a zip file in a zip file. size (int): its bytes."""
    return zipfile.ZipFile(_Inner(file, size))


class _Watched(io.RawIOBase):
    """Hands on what it reads to a second reader."""

    def __init__(self, packed: IO[bytes], watch: Callable[[bytes], object]) -> None:
        self._packed, self._watch = packed, watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        block = self._packed.read(len(buffer))
        buffer[: len(block)] = block
        self._watch(block)
        return len(block)


class _Inner(io.RawIOBase):
    """A zip file in a zip file, for which going back means unpacking it from its start.

    To read its list of contents, `zipfile` goes to and fro at its end: so the end is kept, and a place is gone to only
    when something is read there.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._size, self._position = file, size, 0
        self._end_from = max(size - _BUFFER, 0)
        self._end: bytes | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._position >= self._end_from:
            if self._end is None:
                self._file.seek(self._end_from)
                self._end = self._file.read()
            start = self._position - self._end_from
            block = self._end[start : start + len(buffer)]
        else:
            self._file.seek(self._position)
            block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        self._position += len(block)
        return len(block)
