"""Vocabularies: the store, how it is built, and the readers of its formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .build import build_knowledge_base
    from .knowledge_base import KnowledgeBase
    from .readers import read_vocabulary
    from .readers.report import ReadReport

__all__ = [
    "KnowledgeBase",
    "ReadReport",
    "build_knowledge_base",
    "read_vocabulary",
]

__getattr__ = lazy_names(
    __name__,
    {
        "KnowledgeBase": "store",
        "ReadReport": "readers.report",
        "build_knowledge_base": "build",
        "read_vocabulary": "readers",
    },
)
