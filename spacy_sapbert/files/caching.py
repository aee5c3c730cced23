"""Keep caches small."""

from __future__ import annotations

from typing import Any


def drop_oldest(cache: dict[Any, Any], most: int) -> None:
    """Remove the oldest entries of a cache if it has more than `most`, and some more, so that this is rare."""
    if len(cache) > most:
        for key in list(cache)[: len(cache) - most + most // 8]:
            cache.pop(key, None)  # another thread may have removed it
