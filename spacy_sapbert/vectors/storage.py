"""Open, save and load a vector index by its setting."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Warnings
from ..files.postgres import is_postgres
from ..kb.knowledge_base import KnowledgeBase
from ..store.artifact import ArtifactWriter
from ..store.cache import shared
from .faiss_index import AUTO, EXACT_NAMES, faiss_artifact, open_faiss
from .flat import VECTORS, NameVectors, build_name_vectors, cached_name_vectors, vectors_cache
from .index import Index
from .on_demand import OnDemandVectors
from .postgres_index import PostgresVectors
from .qdrant_index import Address, QdrantVectors, is_address
from .stored import COMPRESSION

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder

VECTORS_FOLDER = "vectors"
INDEX = "index"
"""The role of a faiss index among the artifacts of a component."""
FLAT = "Flat"
"""The index that compares a query with all names."""


def open_index(
    kb: KnowledgeBase,
    encoder: Encoder,
    index: str,
    artifacts: Mapping[str, Path] | None = None,
    compression: str = COMPRESSION,
) -> Index:
    """Open the vectors of the names of a knowledge base. All users in a process share them.

    Args:
        index: "auto" (chosen by the number of names), "Flat" (exact), another kind of faiss index (see
            `faiss_index.index_kind`), or the address of a database (see `qdrant_index.Address` and
            `files.postgres.Database`). A database is opened at the first use.
        artifacts: The artifacts of a saved component, by role. If it has no vectors, they come from the cache folder,
            or are made there.
        compression: How new vectors are stored, one of `COMPRESSIONS`.
    """
    if is_postgres(index):
        return PostgresVectors(index, kb, encoder)
    if is_address(index):
        return QdrantVectors(Address.parse(index), kb, encoder)
    saved = (artifacts or {}).get(VECTORS)

    def make() -> NameVectors:
        if saved is None:
            return cached_name_vectors(kb, encoder, compression=compression)
        return NameVectors(saved, kb, encoder)

    folder = saved or vectors_cache(kb, encoder, compression)
    vectors = shared((NameVectors, folder.resolve(), kb.fingerprint, id(encoder)), make)
    return vectors if _is_flat(index, kb.n_names) else open_faiss(vectors, kb, index, (artifacts or {}).get(INDEX))


def _is_flat(index: str, names: int) -> bool:
    return index == FLAT or (index == AUTO and names <= EXACT_NAMES)


def exact_vectors(index: Index | OnDemandVectors, kb: KnowledgeBase) -> NameVectors:
    """Return the vectors of all names by the encoder of an index, with an exact search."""
    if not isinstance(index, NameVectors):
        return cached_name_vectors(kb, index.encoder)
    return index if index.exact else NameVectors(index.folder, kb, index.encoder)


def vectors_of_more_names(vectors: Index, kb: KnowledgeBase, folder: Path) -> NameVectors:
    """Make the vectors of another knowledge base in a folder. Local vectors of the same names are taken over."""
    local = vectors if isinstance(vectors, NameVectors) else None
    known, compression = ([local.known], local.compression) if local else ([], COMPRESSION)
    build_name_vectors(kb, vectors.encoder, folder, known=known, compression=compression)
    return NameVectors(folder, kb, vectors.encoder)


def save_index(vectors: Index, artifacts: ArtifactWriter, index: str, prefix: str = "") -> None:
    """Add vectors to the artifacts of a component, with an index of the given kind.

    Vectors in a database stay there, with the warning W412.

    Args:
        prefix: What their roles begin with.
    """
    if is_postgres(index) or is_address(index):
        address = index if is_postgres(index) else Address.parse(index)
        warnings.warn(Warnings.W412.format(address=address), stacklevel=2)
        return
    assert isinstance(vectors, NameVectors)
    artifacts.add(f"{prefix}{VECTORS}", vectors.artifact())
    if not _is_flat(index, len(vectors.vectors)):
        artifacts.add(f"{prefix}{INDEX}", faiss_artifact(vectors, index))
