"""Open files in gzip and nested zip archives as streams, without unpacking them to disk."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, cast

from ...errors import CannotReadError, DamagedError
from ...files.opening import bounded, check_ratio
from .context import ReadReport

_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER = 1 << 20
# struct and Unicode: the table of contents of an archive is damaged
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile, struct.error, UnicodeDecodeError)


class PackedFile(NamedTuple):
    """A file of a release, on the disk or in an archive.

    Attributes:
        path: The file on disk.
        members: If the file is a zip archive, the name in it. For an archive within an archive, both names.
        size: Size in bytes, as packed.
    """

    path: Path
    members: tuple[str, ...]
    size: int

    @property
    def full_path(self) -> Path:
        """The path, with names in zip archives appended."""
        return self.path.joinpath(*self.members)

    @contextmanager
    def open(self, report: ReadReport, manifests: list[dict[str, Any]] | None = None) -> Iterator[IO[bytes]]:
        """Open the file and unpack it. Its first bytes show whether it is gzipped.

        Args:
            report: Its `bytes_read` counts the packed bytes.
            manifests: Takes the name, size and checksum of the file when it was read to its end.

        Yields:
            The open file. Errors while it is read are translated as well.
        """
        with readable(self.full_path), ExitStack() as opened:
            packed: IO[bytes] = opened.enter_context(self.path.open("rb"))
            size = share = self.path.stat().st_size  # share: the bytes of the file that a member takes
            for depth, member in enumerate(self.members):
                archive = opened.enter_context(inner_zip(packed, size) if depth else zipfile.ZipFile(packed))
                info = archive.getinfo(member)
                share = share * min(info.compress_size, size) // max(size, 1)
                size = info.file_size
                check_ratio(self.full_path, size, share)
                packed = opened.enter_context(archive.open(member))
            counted = _CountingReader(packed, report)
            buffered: Any = io.BufferedReader(counted, _BUFFER)
            if buffered.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
                unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=buffered))
                yield bounded(self.full_path, unpacked, lambda: counted.n_bytes * share // max(size, 1))
            else:
                yield bounded(self.full_path, buffered)
        if manifests is not None:
            name = "/".join([self.path.name, *self.members])
            manifests.append({"file": name, "bytes": self.size, "sha256": counted.digest.hexdigest()})


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Translate errors that occur while a possibly packed file is read."""
    try:
        yield
    except _DAMAGE as error:
        raise DamagedError(path=path, reason=f"it cannot be unpacked: {error}") from error
    except (NotImplementedError, RuntimeError) as error:  # unknown compression, or a password
        raise CannotReadError(path=path, reason=error, remedy="Unpack it first, and give the folder.") from error
    except OSError as error:
        if error.errno is None:  # bz2 has no error of its own
            raise DamagedError(path=path, reason=f"it cannot be unpacked: {error}") from error
        raise CannotReadError(path=path, reason=error.strerror or error) from error


def inner_zip(file: IO[bytes], size: int) -> zipfile.ZipFile:
    """Open a zip archive of a size in bytes within a zip archive."""
    return zipfile.ZipFile(_InnerZipReader(file, size))


class _CountingReader(io.RawIOBase):
    """A reader that counts and hashes what it reads."""

    def __init__(self, packed: IO[bytes], report: ReadReport) -> None:
        self._packed, self._report = packed, report
        self.n_bytes = 0
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        block = self._packed.read(len(buffer))
        buffer[: len(block)] = block
        self.digest.update(block)
        self.n_bytes += len(block)
        self._report.bytes_read += len(block)
        return len(block)


class _InnerZipReader(io.RawIOBase):
    """A seekable reader for a zip archive within a zip archive, in which seeking back unpacks it from the start.

    To read the table of contents, `zipfile` seeks back and forth near the end. So the end is kept in memory, and the
    reader seeks only when data are read.
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
