"""Find the files of a folder, in a stable order and without leaving the folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

Skip = Callable[[Path, str], object]
"""Takes a path that is left out, and the reason."""


def files_of(folder: Path, skip: Skip) -> Iterator[Path]:
    """Yield the files of a folder and of its subfolders.

    The entries of a folder are sorted by name. Hidden files and folders, whose names begin with a dot, are left out
    silently. Symbolic links to files of the same folder are followed. Other symbolic links are left out and reported,
    so the search never leaves the folder and never runs in circles.

    Args:
        folder: The folder.
        skip: Takes what is left out and why: links, folders that cannot be read, and pipes or devices.
    """
    root = os.path.realpath(folder)
    open_folders = [_entries(folder, skip)]
    while open_folders:
        entry = next(open_folders[-1], None)
        if entry is None:
            open_folders.pop()
            continue
        path = Path(entry.path)
        reason = _link_problem(entry, root) if entry.is_symlink() else ""
        if reason:
            skip(path, reason)
        elif entry.is_dir():
            open_folders.append(_entries(path, skip))
        elif entry.is_file():
            yield path
        else:
            skip(path, "this is neither a file nor a folder")


def _entries(folder: Path, skip: Skip) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = [entry for entry in found if not entry.name.startswith(".")]
    except OSError as error:
        skip(folder, f"this folder cannot be read ({error.strerror})")
        return
    yield from sorted(entries, key=lambda entry: entry.name)


def _link_problem(entry: os.DirEntry[str], root: str) -> str:
    """Return why a symbolic link is not followed; empty if it is."""
    try:
        target = os.path.realpath(entry.path, strict=True)
    except OSError as error:
        return f"this symbolic link leads nowhere ({error.strerror})"
    if not Path(target).is_relative_to(root):
        return "this symbolic link leaves the folder"
    return "this is a symbolic link to a folder, which is not followed" if os.path.isdir(target) else ""
