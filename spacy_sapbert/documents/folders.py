"""Find the files of a folder, in a stable order, without leaving it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..files.opening import file_name

_SHOWN = 5
Skip = Callable[[Path, str], object]
"""Takes a path that is left out, and the reason."""


def files_of(folder: Path, skip: Skip = lambda *_: None) -> Iterator[Path]:
    """Yield the files of a folder and of its subfolders.

    The entries of a folder are sorted by name. Hidden files and folders, whose names begin with a dot, are left out
    silently. Symbolic links to files of the same folder are followed. Other symbolic links are left out and reported,
    so the search never leaves the folder.

    Args:
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


def others_message(folder: Path, others: Sequence[Path]) -> str:
    """Return how many files of a folder have no known format, and the names of the first ones."""
    names = ", ".join(file_name(Path(path.name)) for path in others[:_SHOWN])
    more = ", …" if len(others) > _SHOWN else ""
    return f"{file_name(folder)}: {len(others):,} files of no known format left out ({names}{more})"
