"""Find the files of folders and of tar archives, in a stable order, without leaving them and without unpacking."""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, cast

from ..errors import DamagedError
from ..files.source import Source

Skip = Callable[[Path, str], object]
"""Takes a path that is left out, and the reason."""


def files_of(folder: Path, skip: Skip = lambda *_: None) -> Iterator[Path]:
    """Yield the files of a folder and of its subfolders.

    The entries of a folder are sorted by name. Hidden files and folders, whose names begin with a dot, are left out
    silently. Symbolic links to files of the same folder are followed. Other symbolic links are left out and reported,
    so the search never leaves the folder.

    Args:
        folder: The folder.
        skip: Takes what is left out and why: links, folders that cannot be read, and pipes or devices.
    """
    root = os.path.realpath(folder)
    open_folders = [_entries(folder, skip)]
    while open_folders:
        path = next(open_folders[-1], None)
        if path is None:
            open_folders.pop()
        elif path.is_symlink() and not (path.is_file() and Path(os.path.realpath(path)).is_relative_to(root)):
            skip(path, "this symbolic link leaves the folder, or does not lead to a file")
        elif path.is_dir():
            open_folders.append(_entries(path, skip))
        elif path.is_file():
            yield path
        else:
            skip(path, "this is neither a file nor a folder")


def _entries(folder: Path, skip: Skip) -> Iterator[Path]:
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        skip(folder, f"this folder cannot be read ({error.strerror})")
        return
    yield from map(folder.joinpath, names)


# --- archives


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


def files_in(source: Source, endings: Collection[str]) -> Iterator[Packed]:
    """Yield each file, link and device of an archive.

    Args:
        source: The archive, plain or gzipped.
        endings: The endings of the files that are read, in lower case.
    """
    with source.open_bytes() as unpacked, translated(source.path):
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
