"""Vector indexes: find the names nearest to a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .flat import NameVectors
    from .index import Index
    from .storage import open_index

__all__ = [
    "Index",
    "NameVectors",
    "open_index",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Index": "index",
        "NameVectors": "flat",
        "open_index": "storage",
    },
)
