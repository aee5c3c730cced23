"""Open, save and load a vector index by its setting."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from ..encoders.transformer import TransformerEncoder
from ..errors import Errors, SapbertError, Warnings
from ..kb.knowledge_base import KnowledgeBase
from ..store.assets import AssetWriter, fingerprint_of
from ..store.shared import shared
from .faiss_index import (
    AUTO,
    EXACT_NAMES,
    INDEX_SUFFIX,
    description,
    file_name,
    index_kind,
    open_faiss,
    save_faiss,
    saved_index,
)
from .flat import VECTORS_ASSET, NameVectors, cached_name_vectors, vectors_cache
from .index import Index
from .qdrant_collection import Address, is_address
from .qdrant_index import QdrantVectors
from .stored import COMPRESSION

VECTORS_FOLDER = "vectors"
VECTORS, INDEX = "vectors", "index"
"""The roles of vectors and of their faiss index among the assets of a component."""
FLAT = "Flat"
"""The index that compares a query with all names."""


def open_index(
    kb: KnowledgeBase,
    encoder: TransformerEncoder,
    index: str,
    assets: Mapping[str, Path] | None = None,
    compression: str = COMPRESSION,
) -> Index:
    """Open the vectors of the names of a knowledge base. All users in a process share them.

    Args:
        kb: The knowledge base.
        encoder: The encoder.
        index: "auto" (chosen by the number of names), "Flat" (exact), another kind of faiss index (see
            `faiss_index.index_kind`), or the address of a database (see `qdrant_collection.Address`). A database is
            opened at the first use.
        assets: The assets of a saved component, by role. None takes the vectors from the cache folder, or makes them
            there.
        compression: How new vectors are stored, one of `COMPRESSIONS`.

    Raises:
        SapbertError: E306 the component was saved without vectors.
    """
    if is_address(index):
        return QdrantVectors(Address.parse(index), kb, encoder)
    vectors = _name_vectors(kb, encoder, assets, compression)
    return vectors if _is_flat(index, kb.n_names) else open_faiss(vectors, kb, index, (assets or {}).get(INDEX))


def _name_vectors(
    kb: KnowledgeBase, encoder: TransformerEncoder, assets: Mapping[str, Path] | None, compression: str
) -> NameVectors:
    def make() -> NameVectors:
        if assets is None:
            return cached_name_vectors(kb, encoder, compression=compression)
        return NameVectors(folder, kb, encoder)

    if assets is not None and VECTORS not in assets:
        raise SapbertError(Errors.E306.format(path=kb.path.parent, reason="the component was saved without vectors"))
    folder = vectors_cache(kb, encoder, compression) if assets is None else assets[VECTORS]
    return shared((NameVectors, folder.resolve(), kb.fingerprint, id(encoder)), make)


def _is_flat(index: str, names: int) -> bool:
    return index == FLAT or (index == AUTO and names <= EXACT_NAMES)


def exact_vectors(index: Index, kb: KnowledgeBase) -> NameVectors:
    """Return the vectors of an index with an exact search."""
    if not isinstance(index, NameVectors):
        return cached_name_vectors(kb, index.encoder)
    return index if index.exact else NameVectors(index.folder, kb, index.encoder)


def save_index(vectors: Index, assets: AssetWriter, index: str) -> None:
    """Add vectors to the assets of a component, with an index of the given kind.

    Vectors in a database stay there, with the warning W412.

    Args:
        vectors: The vectors.
        assets: The assets.
        index: See `open_index`.
    """
    if is_address(index):
        warnings.warn(Warnings.W412.format(address=Address.parse(index)), stacklevel=2)
        return
    assert isinstance(vectors, NameVectors)
    # the cache folder of the vectors may also hold the indexes of other pipelines
    parts = [path.name for path in vectors.folder.iterdir() if path.is_file() and INDEX_SUFFIX not in path.suffixes]
    source = vectors.folder
    assets.add(VECTORS, VECTORS_ASSET, vectors.fingerprint, vectors.save, large=True, source=source, parts=parts)
    if not _is_flat(index, len(vectors.vectors)):
        _save_faiss_index(vectors, assets, index)


def _save_faiss_index(vectors: NameVectors, assets: AssetWriter, index: str) -> None:
    kind, _ = index_kind(index, *vectors.vectors.shape)
    path = saved_index(vectors, kind) or Path(file_name(kind))
    source = path.parent if path.is_absolute() else None

    def write(folder: Path) -> None:
        save_faiss(vectors, kind, folder)

    fingerprint = fingerprint_of(vectors.fingerprint, kind)
    parts = [path.name, description(path).name]
    assets.add(INDEX, "index", fingerprint, write, large=True, source=source, parts=parts)
