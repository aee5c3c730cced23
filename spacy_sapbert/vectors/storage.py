"""Vector indexes by name: open the one a setting names, save it, and load it."""

from __future__ import annotations

import warnings
from pathlib import Path

from ..encoders.transformer import TransformerEncoder
from ..errors import Warnings
from ..kb.knowledge_base import KnowledgeBase
from .faiss_index import open_faiss, save_faiss
from .flat import NameVectors, cached_name_vectors
from .index import Index
from .qdrant_collection import Address, is_address
from .qdrant_index import QdrantVectors

VECTORS_FOLDER = "vectors"
FLAT = "Flat"
"""The index that compares with every name."""


def open_index(kb: KnowledgeBase, encoder: TransformerEncoder, index: str, folder: Path | None = None) -> Index:
    """Open the vectors of a store's names.

    Args:
        index: "Flat" (exact); another kind of index that faiss makes (see `faiss_vectors.index_kind`); or where in a
            database they are (see `qdrant_collection.Address`), which is not looked at before the first use.
        folder: where they have been saved; else they come from the cache folder, or go there.
    """
    if is_address(index):
        return QdrantVectors(Address.parse(index), kb, encoder)
    vectors = NameVectors(folder, kb, encoder) if folder else cached_name_vectors(kb, encoder)
    return vectors if index == FLAT else open_faiss(vectors, kb, index)


def exact_vectors(index: Index, kb: KnowledgeBase) -> NameVectors:
    """Return the vectors of an index, with nothing that may miss some."""
    if not isinstance(index, NameVectors):
        return cached_name_vectors(kb, index.encoder)
    return index if index.exact else NameVectors(index.folder, kb, index.encoder)


def save_index(vectors: Index, folder: Path, index: str) -> None:
    """Write vectors into a folder, with an index of the kind that is set; see `open_index`. Those in a database stay
    there, with a warning (W412)."""
    if is_address(index):
        warnings.warn(Warnings.W412.format(address=Address.parse(index)), stacklevel=2)
        return
    assert isinstance(vectors, NameVectors)
    if index == FLAT:
        vectors.save(folder)
    else:
        save_faiss(vectors, index, folder)
