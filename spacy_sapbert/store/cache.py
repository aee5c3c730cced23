"""Files that can be made again, in the cache folder, and objects that a process shares."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Callable, Hashable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ..errors import CannotWriteError

Made = TypeVar("Made")
_MEMORY = "/dev/shm"  # a file system in memory
logger = logging.getLogger(__name__)

_objects: WeakValueDictionary[tuple[Hashable, ...], Any] = WeakValueDictionary()
_lock = threading.Lock()


def cache_dir() -> Path:
    """Return the folder for files that can be made again. The environment variable SPACY_SAPBERT_CACHE changes it.

    If it is empty and nothing may be written there, the folder is a temporary one that lasts as long as the process. A
    complete cache may be for reading only.
    """
    folder = os.environ.get("SPACY_SAPBERT_CACHE")
    if not folder:
        import platformdirs  # imported here, so that training also runs if it is not installed

        folder = platformdirs.user_cache_dir("spacy-sapbert")
    path = Path(folder)
    existing = next((place for place in (path, *path.absolute().parents) if place.exists()), path)
    is_refused = existing.is_dir() and not os.access(existing, os.W_OK)
    return _of_process(path) if is_refused and not (existing == path and any(path.iterdir())) else path


@cache
def _of_process(path: Path) -> Path:
    """Return a folder of this process, in memory if there is no room for temporary files either."""
    try:
        folder = TemporaryDirectory(prefix="spacy-sapbert-")
    except OSError:
        folder = TemporaryDirectory(prefix="spacy-sapbert-", dir=_MEMORY)
    atexit.register(folder.cleanup)
    logger.warning("%s cannot be written, so indexes are made for this process only, in %s", path, folder.name)
    return Path(folder.name)


def make_once(path: Path, is_made: Callable[[], bool], make: Callable[[], object]) -> None:
    """Make a file or folder in the cache, unless it is there. Of several processes, only one makes it.

    Nothing is written if it is there, so a complete cache may be on a disk for reading only.

    Args:
        is_made: Whether it is complete.
    """
    from filelock import FileLock

    if is_made():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if not is_made():
                make()
    except (OSError, CannotWriteError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        remedy = "Make room on the disk, or set the environment variable SPACY_SAPBERT_CACHE to another folder."
        reason = getattr(cause, "strerror", None) or cause or error
        raise CannotWriteError(remedy, path=path, reason=reason) from error


def cached_folder(folder: Path, marker: str, build: Callable[[Path], object]) -> Path:
    """Return a folder of the cache. It is built, unless it has the file that marks it as complete."""
    make_once(folder, (folder / marker).is_file, lambda: build(folder))
    return folder


def shared(key: tuple[Hashable, ...], make: Callable[[], Made]) -> Made:
    """Return the object with a key that is in use in this process, or a new one.

    The object must never change, because its other users do not expect it. It is kept as long as one of them has it.

    Args:
        key: All that decides what the object is: its class, its files and its settings.
        make: Makes the object. Two threads may call it at the same time. Then one of the two objects is dropped.
    """
    present = _objects.get(key)
    if present is None:
        made = make()  # without the lock: this may take minutes, and may ask for other objects
        with _lock:
            present = _objects.setdefault(key, made)
    result: Made = present
    return result


def file_states(path: Path) -> tuple[tuple[str, int, int, int], ...]:
    """Return name, size, time and inode of all files in a folder. They change when a file is replaced."""
    states = ((file, file.stat()) for file in sorted(file for file in path.rglob("*") if file.is_file()))
    return tuple(
        (file.relative_to(path).as_posix(), state.st_size, state.st_mtime_ns, state.st_ino) for file, state in states
    )


def _unlock() -> None:
    """Let a forked process start with a free lock, since the thread that held it is not in that process."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def drop_oldest(cache: dict[Any, Any], most: int) -> None:
    """Remove the oldest entries of a dict if it has more than `most`, and some more, so that this is rare."""
    if len(cache) > most:
        for key in list(cache)[: len(cache) - most + most // 8]:
            cache.pop(key, None)  # another thread may have removed it
