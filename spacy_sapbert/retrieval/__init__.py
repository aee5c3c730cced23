"""Retrieve the concepts of whole documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
    from .retriever import Retriever
    from .settings import ConceptVectorSettings, RetrieverSettings
    from .storage import load_retriever, open_retriever, save_retriever

__all__ = [
    "ConceptVectorSettings",
    "Retriever",
    "RetrieverSettings",
    "load_retriever",
    "open_retriever",
    "save_retriever",
]

__getattr__ = lazy_names(
    __name__,
    {
        "ConceptVectorSettings": "settings",
        "Retriever": "retriever",
        "RetrieverSettings": "settings",
        "load_retriever": "storage",
        "open_retriever": "storage",
        "save_retriever": "storage",
    },
)
