"""Find the folder for files that can be made again, and make each of them once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..errors import Errors, SapbertError

_CANNOT_WRITE = ("[E104]", "[E507]")


def cache_dir() -> Path:
    """Return the folder for files that can be made again. The environment variable SPACY_SAPBERT_CACHE changes it."""
    if chosen := os.environ.get("SPACY_SAPBERT_CACHE"):
        return Path(chosen)
    import platformdirs  # imported here, so that training also runs if it is not installed

    return Path(platformdirs.user_cache_dir("spacy-sapbert"))


def make_once(path: Path, is_made: Callable[[], bool], make: Callable[[], object]) -> None:
    """Make a file or folder in the cache, unless it is there. Of several processes, only one makes it.

    Nothing is written if it is there, so a complete cache may be on a disk for reading only. What killed processes left
    beside it is removed.

    Args:
        path: The file or folder.
        is_made: Whether it is complete.
        make: Makes it.

    Raises:
        SapbertError: E118 the cache cannot be written.
    """
    from filelock import FileLock

    if is_made():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            if not is_made():
                make()
    except OSError as error:
        raise SapbertError(Errors.E118.format(path=path, reason=error.strerror or error)) from error
    except SapbertError as error:
        if not str(error).startswith(_CANNOT_WRITE):
            raise
        reason = getattr(error.__cause__, "strerror", None) or error.__cause__
        raise SapbertError(Errors.E118.format(path=path, reason=reason)) from error
