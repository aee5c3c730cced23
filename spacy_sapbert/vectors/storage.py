"""Open, save and load a vector index by its setting."""

from __future__ import annotations

import warnings
from pathlib import Path

from ..encoders.transformer import TransformerEncoder
from ..errors import Warnings
from ..kb.knowledge_base import KnowledgeBase
from .faiss_index import AUTO, EXACT_NAMES, open_faiss, save_faiss
from .flat import NameVectors, cached_name_vectors
from .index import Index
from .qdrant_collection import Address, is_address
from .qdrant_index import QdrantVectors
from .stored import COMPRESSION

VECTORS_FOLDER = "vectors"
FLAT = "Flat"
"""The index that compares a query with all names."""


def open_index(
    kb: KnowledgeBase,
    encoder: TransformerEncoder,
    index: str,
    folder: Path | None = None,
    compression: str = COMPRESSION,
) -> Index:
    """Open the vectors of the names of a knowledge base.

    Args:
        kb: The knowledge base.
        encoder: The encoder.
        index: "auto" (chosen by the number of names), "Flat" (exact), another kind of faiss index (see
            `faiss_index.index_kind`), or the address of a database (see `qdrant_collection.Address`). A database is
            opened at the first use.
        folder: The folder of saved vectors. None takes them from the cache folder, or makes them there.
        compression: How new vectors are stored, one of `COMPRESSIONS`.
    """
    if is_address(index):
        return QdrantVectors(Address.parse(index), kb, encoder)
    vectors = NameVectors(folder, kb, encoder) if folder else cached_name_vectors(kb, encoder, compression=compression)
    return vectors if _is_flat(index, kb.n_names) else open_faiss(vectors, kb, index)


def _is_flat(index: str, names: int) -> bool:
    return index == FLAT or (index == AUTO and names <= EXACT_NAMES)


def exact_vectors(index: Index, kb: KnowledgeBase) -> NameVectors:
    """Return the vectors of an index with an exact search."""
    if not isinstance(index, NameVectors):
        return cached_name_vectors(kb, index.encoder)
    return index if index.exact else NameVectors(index.folder, kb, index.encoder)


def save_index(vectors: Index, folder: Path, index: str) -> None:
    """Write vectors into a folder, with an index of the given kind.

    Vectors in a database stay there, with the warning W412.

    Args:
        vectors: The vectors.
        folder: The folder to write.
        index: See `open_index`.
    """
    if is_address(index):
        warnings.warn(Warnings.W412.format(address=Address.parse(index)), stacklevel=2)
        return
    assert isinstance(vectors, NameVectors)
    if _is_flat(index, len(vectors.vectors)):
        vectors.save(folder)
    else:
        save_faiss(vectors, index, folder)
