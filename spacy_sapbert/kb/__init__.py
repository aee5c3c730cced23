"""Knowledge bases: build them from vocabulary files, open them and filter them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .build import build_knowledge_base
    from .filters import Filter
    from .knowledge_base import KnowledgeBase
    from .readers import read_vocabulary
    from .readers.context import ReadReport
    from .storage import load_knowledge_base

__all__ = [
    "Filter",
    "KnowledgeBase",
    "ReadReport",
    "build_knowledge_base",
    "load_knowledge_base",
    "read_vocabulary",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Filter": "filters",
        "KnowledgeBase": "knowledge_base",
        "ReadReport": "readers.report",
        "build_knowledge_base": "build",
        "load_knowledge_base": "storage",
        "read_vocabulary": "readers",
    },
)
