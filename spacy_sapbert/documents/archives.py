"""Read the files in a tar archive as a stream. Nothing is written to the disk, and no link is followed."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, cast

from ..errors import DamagedError
from ..files.opening import open_unpacked, without_gz

_ENDINGS = (".tar", ".tgz")


class DamagedArchiveError(DamagedError):
    """An archive that cannot be read any further."""


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
    """
    with open_unpacked(path) as unpacked, translated(path):
        stream = _Unpacked(unpacked)
        with tarfile.open(fileobj=cast(BinaryIO, stream), mode="r|") as archive:
            while (member := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]  # or they would fill the memory
                if not member.isdir():
                    yield Packed(member.name, member.size, _content(archive, member, endings))
        stream.check_end()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate the errors of a damaged archive."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, OverflowError) as error:
        raise DamagedArchiveError(path=path, reason=f"this is not a complete tar archive: {error}") from error


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, endings: Collection[str]) -> BinaryIO | None:
    is_file = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)  # neither a link nor a file with holes
    is_read = is_file and PurePosixPath(member.name).suffix.lower() in endings
    return cast(BinaryIO, archive.extractfile(member)) if is_read else None


class _Unpacked:
    """The unpacked bytes of an archive, of which the last block is kept."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self._last = b""

    def read(self, size: int) -> bytes:
        data = self._handle.read(size)
        self._last = (self._last + data)[-tarfile.BLOCKSIZE :]
        return data

    def check_end(self) -> None:
        """Check that the archive ends with the empty block that marks its end, and not with damaged data."""
        if len(self._last) != tarfile.BLOCKSIZE or any(self._last):
            raise tarfile.ReadError("it ends without the mark of its end")
