"""Vocabularies: the store, how it is built, and the readers of its formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .build import build_store
    from .readers import read_vocabulary
    from .readers.report import ReadReport
    from .store import ConceptStore

__all__ = [
    "ConceptStore",
    "ReadReport",
    "build_store",
    "read_vocabulary",
]

__getattr__ = lazy_names(
    __name__,
    {
        "ConceptStore": "store",
        "ReadReport": "readers.report",
        "build_store": "build",
        "read_vocabulary": "readers",
    },
)
