"""Write files completely or not at all, and make temporary folders."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from ..errors import CannotWriteError, OptionError

if TYPE_CHECKING:
    from filelock import BaseFileLock

TEMPORARY = "spacy_sapbert_tmp_"
"""How the names of temporary folders begin whose files are used as long as an object exists."""
LOCK_FILE = "spacy-sapbert.lock"
"""The file in each temporary folder that its process keeps locked as long as it lives."""
_LONGEST_PREFIX = 40  # characters of a name, so that the name of its temporary folder is not too long either
_MADE_BY_MKDTEMP = re.compile(r"[._][a-z0-9_]{8}\.tmp$")


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], object]]:
    """Open an output. The file appears at `path` when the block ends without an error.

    Args:
        path: The file, gzipped if its name ends in `.gz`. None for standard output. A device or a pipe is written to
            directly.

    Yields:
        A function that writes a text as UTF-8.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    if path is None:
        yield _to_stdout
        return
    with replacing(path) as temporary, _open_binary(temporary, gzipped=path.suffix.lower() == ".gz") as handle:
        yield lambda text: handle.write(text.encode())


def refuse_input(
    output: Path | None, inputs: Iterable[Path | None], option: str = "--output", *, in_folders: bool = False
) -> None:
    """Refuse an output that is one of the inputs, also through links, since writing it would destroy the input.

    Commands call this before they write anything. A device or a pipe can be both.

    Args:
        output: The file or folder to write. None for standard output.
        inputs: The files and folders to read. None is left out.
        option: The option that names the output, for the message.
        in_folders: Whether an output inside an input folder is refused, since the next run would read it.

    Raises:
        OptionError: The output is an input, or an input lies in it.
    """
    if output is None or (is_special(output) and not output.is_dir()):
        return
    target = Path(os.path.realpath(output))
    for path in filter(None, inputs):
        source = Path(os.path.realpath(path))
        if target == source or (target.is_file() and source.is_file() and target.samefile(source)):
            reason = f"{path} is also read, and it would be replaced"
        elif target in source.parents and target.is_dir():
            reason = f"{path} is read and lies in it, so it would be replaced"
        elif in_folders and source in target.parents:
            reason = f"it lies in the folder {path}, so the next run would read it"
        else:
            continue
        raise OptionError(option=f"{option} {output}", reason=reason, remedy="Choose another output.")


@contextmanager
def replacing(path: Path, *, parents: bool = False) -> Iterator[Path]:
    """Write a file under a temporary name, and move it to `path` when the block ends without an error.

    Args:
        path: The file.
        parents: Whether to make the folder of the file.

    Yields:
        The path to write to. A device or a pipe is written to directly.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    if "\0" in str(path):
        raise CannotWriteError(path=path, reason="a path has no zero")
    try:
        if is_special(path):
            yield path
            return
        target = Path(os.path.realpath(path))  # a symbolic link keeps pointing to the file
        if parents:
            target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target) as folder:
            temporary = folder / path.name
            yield temporary
            os.replace(temporary, target)
    except OSError as error:
        raise CannotWriteError(path=path, reason=error.strerror or error) from error


def is_special(path: Path) -> bool:
    """Return whether a path is a device, a pipe or a folder, which no new file can replace."""
    return path.exists() and not path.is_file()


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Make a hidden folder next to a file or folder that is being written, and remove it at the end of the block.

    Its name is `.NAME.*.tmp`. The first call for a parent folder removes what killed processes left there.

    Args:
        path: The file or folder that is being written. Its parent folder must exist.

    Yields:
        The hidden folder, on the same disk.

    Raises:
        OSError: The folder cannot be made.
    """
    parent = Path(os.path.abspath(path)).parent
    tidy(parent)
    folder, lock = _locked_folder(f".{path.name[:_LONGEST_PREFIX]}.", parent)
    try:
        yield folder
    finally:
        _remove_locked(folder, lock)


class ScratchFolder:
    """A folder in the system's folder for temporary files. It exists as long as this object, or a `with` block.

    Attributes:
        path: The folder.
    """

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        tidy(parent)
        folder, lock = _locked_folder(TEMPORARY, parent)
        self.path = folder / "files"
        self.path.mkdir()
        self._remove = weakref.finalize(self, _remove_in_process, os.getpid(), folder, lock)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder."""
        self._remove()


def tidy(parent: Path) -> None:
    """Remove the temporary folders in a folder that killed processes left there, once in a process."""
    if parent not in _tidied:
        remove_leftovers(parent)
        _tidied.add(parent)


def remove_leftovers(parent: Path) -> None:
    """Remove the temporary folders in a folder that killed processes left there.

    A temporary folder holds a lock file. The system frees the lock when the process ends, however it ends. A folder
    with a lock that is held, or of another user, stays. So does one without this file, unless it is empty and has such
    a name as ours: the lock file is removed just before the folder.
    """
    from filelock import FileLock

    found: list[Path] = []
    with suppress(OSError), os.scandir(parent) as entries:
        found = [Path(entry.path) for entry in entries if _is_temporary(entry.name) and _is_own_folder(entry)]
    for folder in found:
        if (folder / LOCK_FILE).is_file():
            lock = FileLock(folder / LOCK_FILE, timeout=0)
            with suppress(OSError, NotImplementedError):  # Timeout, if the process lives, is an OSError
                lock.acquire()
                _remove_locked(folder, lock)
        elif _MADE_BY_MKDTEMP.search(folder.name):
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def replace_folder(new: Path, folder: Path) -> None:
    """Move a new folder to the place of another one, if there is one.

    The other one is renamed just before (see `replaced_folder`), and removed at the end.

    Raises:
        OSError: It cannot be moved. The other one is then where it was.
    """
    aside = replaced_folder(folder)
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    try:
        new.rename(folder)
    except OSError:
        if aside.exists():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def replaced_folder(folder: Path) -> Path:
    """Return the temporary name of a folder while another one replaces it."""
    folder = Path(os.path.realpath(folder))  # does not fail for links in a circle
    return folder.with_name(f".{folder.name}.replaced")


# the folders in which this process has removed the temporary folders of killed processes
_tidied: set[Path] = set()


def _is_temporary(name: str) -> bool:
    return name.startswith(TEMPORARY) or (name.startswith(".") and name.endswith(".tmp"))


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    of_user = not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()
    return of_user and entry.is_dir(follow_symlinks=False)


def _locked_folder(prefix: str, parent: Path) -> tuple[Path, BaseFileLock]:
    """Make a new folder, and lock it. Another process can remove it just before that, so this may need more tries."""
    from filelock import FileLock, Timeout

    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=".tmp", dir=parent))
        lock = FileLock(folder / LOCK_FILE, timeout=0)
        try:
            lock.acquire()
        except (Timeout, FileNotFoundError):
            continue
        except BaseException:  # also on Ctrl-C: nobody removes a folder without a lock file
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder, lock


def _remove_in_process(process: int, folder: Path, lock: BaseFileLock) -> None:
    if os.getpid() == process:  # not in a forked process, which has a copy of the object
        _remove_locked(folder, lock)


def _remove_locked(folder: Path, lock: BaseFileLock) -> None:
    """Remove a folder. The lock file comes last: without it, nobody would remove the rest after a kill."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK_FILE:
                path.unlink()
        (folder / LOCK_FILE).unlink()
        folder.rmdir()
    lock.release()


def _to_stdout(text: str) -> None:
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


@contextmanager
def _open_binary(path: Path, *, gzipped: bool) -> Iterator[BinaryIO]:
    with path.open("wb") as handle:
        if not gzipped:
            yield handle
            return
        # no name and no time in the header, so that the same documents give the same bytes
        with gzip.GzipFile("", "wb", fileobj=handle, mtime=0) as packed:
            yield cast(BinaryIO, packed)
