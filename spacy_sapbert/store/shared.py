"""Objects that the users of one file or folder share within a process, as long as one of them is in use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

Made = TypeVar("Made")

_objects: WeakValueDictionary[tuple[Hashable, ...], Any] = WeakValueDictionary()
_lock = threading.Lock()


def shared(key: tuple[Hashable, ...], make: Callable[[], Made]) -> Made:
    """Return the object with a key that is in use in this process, or a new one.

    The object must never change, because its other users do not expect it.

    Args:
        key: All that decides what the object is: its class, its files and its settings.
        make: Makes the object. Two threads may call it at the same time. Then one of the two objects is dropped.
    """
    found = _objects.get(key)
    if found is None:
        made = make()  # without the lock: this may take minutes, and may ask for other objects
        with _lock:
            found = _objects.setdefault(key, made)
    assert found is not None
    result: Made = found
    return result


def file_states(path: Path) -> tuple[tuple[str, int, int, int], ...]:
    """Return name, size, time and inode of all files in a folder. They change when a file is replaced."""
    files = sorted(one for one in path.rglob("*") if one.is_file())
    states = ((one, one.stat()) for one in files)
    return tuple(
        (one.relative_to(path).as_posix(), state.st_size, state.st_mtime_ns, state.st_ino) for one, state in states
    )


def _unlock() -> None:
    """Let a forked process start with a free lock, since the thread that held it is not in that process."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)
