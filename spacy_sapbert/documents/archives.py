"""Read the files in a tar archive as a stream. Nothing is written to the disk, and no link is followed."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, cast

from ..errors import Errors, SapbertError
from ..files.opening import open_unpacked, without_gz

_ENDINGS = (".tar", ".tgz")
_LARGEST_READ = 1 << 20  # also a header with long names is smaller


class Packed(NamedTuple):
    """A file in an archive, or a link or device.

    Attributes:
        name: Its path in the archive.
        size: Its number of bytes.
        content: Its bytes, which can be read once, before the next file. None for a link or device, and for a file with
            another ending.
    """

    name: str
    size: int
    content: BinaryIO | None


def is_archive(path: Path) -> bool:
    """Return whether the name of a file is that of a tar archive, plain or gzipped."""
    return without_gz(path).suffix.lower() in _ENDINGS


def files_in(path: Path, endings: Collection[str]) -> Iterator[Packed]:
    """Yield each file, link and device of an archive.

    Args:
        path: The archive, plain or gzipped.
        endings: The endings of the files that are read, in lower case.

    Raises:
        SapbertError: E120, E121 the archive cannot be read or unpacked. E580 it is damaged.
    """
    with open_unpacked(path) as unpacked, translated(path):
        forward = _Forward(unpacked)
        with tarfile.open(fileobj=cast(BinaryIO, forward), mode="r:") as archive:
            while (member := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]  # or they would fill the memory
                if not member.isdir():
                    yield Packed(member.name, member.size, _content(archive, member, endings))
        forward.check_end()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate the errors of a damaged archive.

    Args:
        path: The archive, for messages.

    Raises:
        SapbertError: E121, E580 it is damaged.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SapbertError(Errors.E121.format(path=path, reason=error)) from error
    except (tarfile.TarError, OverflowError) as error:
        raise SapbertError(Errors.E580.format(path=path, reason=error)) from error


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, endings: Collection[str]) -> BinaryIO | None:
    is_file = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)  # neither a link nor a file with holes
    is_read = is_file and PurePosixPath(member.name).suffix.lower() in endings
    return cast(BinaryIO, archive.extractfile(member)) if is_read else None


class _Forward:
    """The unpacked bytes of an archive, which are read once from begin to end, a bounded part at a time."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self._at = 0
        self._last = b""

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError(f"it asks for {size:,} bytes at once")
        self._last = self._handle.read(size)
        self._at += len(self._last)
        return self._last

    def seek(self, place: int) -> None:
        if place < self._at:
            raise tarfile.ReadError("it leads backwards")
        while self._at < place and self.read(min(_LARGEST_READ, place - self._at)):
            pass

    def check_end(self) -> None:
        """Check that the archive ends with the empty block that marks its end, and not with damaged data."""
        if len(self._last) != tarfile.BLOCKSIZE or any(self._last):
            raise tarfile.ReadError("it ends without the mark of its end")
