"""Open gzipped files and those of zip archives as streams, without unpacking them to disk."""

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
        member: If the file is a zip archive, the name in it; else empty.
        size: Size in bytes, as packed.
    """

    path: Path
    member: str
    size: int

    @property
    def full_path(self) -> Path:
        """The path, with the name in a zip archive appended."""
        return self.path / self.member

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
            if self.member:
                archive = opened.enter_context(zipfile.ZipFile(packed))
                info = archive.getinfo(self.member)
                check_ratio(self.full_path, info.file_size, min(info.compress_size, self.path.stat().st_size))
                packed = opened.enter_context(archive.open(self.member))
            counted = _CountingReader(packed, report)
            buffered: Any = io.BufferedReader(counted, _BUFFER)
            if buffered.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
                unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=buffered))
                yield bounded(self.full_path, unpacked, lambda: counted.n_bytes)
            else:
                yield bounded(self.full_path, buffered)
        if manifests is not None:
            name = f"{self.path.name}/{self.member}".removesuffix("/")
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
