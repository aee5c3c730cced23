"""From the names in a component's config, or from a saved folder, to the candidate generator, and back to a folder."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Collection, Iterable
from pathlib import Path

from ..errors import Errors, SapbertError, Warnings
from ..kb.mentions import join_mentions
from ..kb.store import ConceptStore
from ..types import AnnotatedDocument
from .candidates import CandidateGenerator
from .faiss_vectors import open_faiss, save_faiss
from .fitted import SPARSE_WEIGHT
from .index import Index
from .name_vectors import NameVectors, build_name_vectors, cached_name_vectors
from .ngrams import NORMALISER, NgramEncoder
from .qdrant_collection import Address, is_address
from .qdrant_vectors import QdrantVectors
from .sparse_part import NGRAMS_FOLDER
from .transformer_encoder import TransformerEncoder

STORE_FILE = "concepts.kb"
VECTORS_FOLDER = "vectors"
ENCODER_FOLDER = "encoder"
FLAT = "Flat"
"""The index that compares with every name."""
MENTIONS_SOURCE = "training"
"""The source of names that are mentions of the training data."""


def open_store(kb: str) -> ConceptStore:
    """kb (str): "starter", or the path of a store."""
    if kb == "starter":
        from ..starter import starter_store

        return starter_store()
    return ConceptStore(kb)


def save_store(store: ConceptStore, folder: Path) -> None:
    """Copy a store's file into a folder, where `load_store` finds it."""
    shutil.copyfile(store.path, folder / STORE_FILE)


def load_store(folder: Path) -> ConceptStore:
    return ConceptStore(folder / STORE_FILE)


def check_filters(store: ConceptStore, types: Collection[str], sources: Collection[str]) -> None:
    """RAISES (SapbertError): E404, E405 the vocabulary has no such type or source."""
    checks = ((Errors.E404, types, store.type_counts), (Errors.E405, sources, store.source_counts))
    for message, wanted, counts in checks:
        missing = sorted(set(wanted).difference(counts())) if wanted else []
        if missing:
            raise SapbertError(message.format(missing=missing, known=sorted(counts())))


def open_encoder(
    encoder: str, *, pooling: str | None = None, normalised: bool | None = None, device: str = "auto"
) -> TransformerEncoder | None:
    """encoder (str): "none", "starter", a folder or a hub name."""
    if encoder == "none":
        return None
    return TransformerEncoder(encoder, pooling=pooling, normalised=normalised, device=device)


def open_index(store: ConceptStore, encoder: TransformerEncoder, index: str, folder: Path | None = None) -> Index:
    """Open the vectors of a store's names.

    index (str): "Flat" (exact); another kind of index that faiss makes (see `faiss_vectors.index_kind`); or where in a
        database they are (see `qdrant_collection.Address`), which is not looked at before the first use.
    folder (Path | None): where they have been saved; else they come from the cache folder, or go there.
    """
    if is_address(index):
        return QdrantVectors(Address.parse(index), store, encoder)
    vectors = NameVectors(folder, store, encoder) if folder else cached_name_vectors(store, encoder)
    return vectors if index == FLAT else open_faiss(vectors, store, index)


def exact_vectors(index: Index, store: ConceptStore) -> NameVectors:
    """RETURNS (NameVectors): the vectors of an index, with nothing that may miss some."""
    if not isinstance(index, NameVectors):
        return cached_name_vectors(store, index.encoder)
    return index if index.exact else NameVectors(index.folder, store, index.encoder)


def open_generator(
    store: ConceptStore,
    encoder: TransformerEncoder | None,
    *,
    sparse: bool,
    sparse_normaliser: str = NORMALISER,
    index: str = FLAT,
) -> CandidateGenerator:
    """Prepare a store for search.

    index (str): see `open_index`.
    sparse (bool): use the sparse score; with the n-grams and λ that belong to the encoder, if any do.
    sparse_normaliser (str): the normal form in which other n-grams are counted, one of `NORMALISERS`.
    """
    ngrams = _ngrams(store, encoder, sparse_normaliser) if sparse else None
    vectors = open_index(store, encoder, index) if encoder else None
    part = encoder.sparse_part if encoder else None
    weight = part.fitted.sparse_weight if part else SPARSE_WEIGHT
    return CandidateGenerator(store, ngrams, vectors, sparse_weight=weight)


def _ngrams(store: ConceptStore, encoder: TransformerEncoder | None, normaliser: str) -> NgramEncoder:
    """RETURNS (NgramEncoder): that of the encoder, if one belongs to it, else that of the store's names."""
    part = encoder.sparse_part if encoder else None
    return part.ngrams if part else NgramEncoder.fit(store.names(), normaliser=normaliser)


def with_mentions(
    generator: CandidateGenerator, documents: Iterable[AnnotatedDocument], folder: Path
) -> CandidateGenerator:
    """Make a generator like another one, to whose vocabulary the mentions of documents have been added.

    folder (Path): where the new store and the vectors of its names go.
    """
    store = join_mentions(generator.store, documents, MENTIONS_SOURCE, folder / STORE_FILE)
    encoder = generator.vectors.encoder if generator.vectors else None
    ngrams = _ngrams(store, encoder, generator.ngrams.normaliser) if generator.ngrams else None
    vectors = None
    if generator.vectors and encoder:
        known = [generator.vectors.known] if isinstance(generator.vectors, NameVectors) else []
        build_name_vectors(store, encoder, folder / VECTORS_FOLDER, known=known)
        vectors = NameVectors(folder / VECTORS_FOLDER, store, encoder)
    return CandidateGenerator(store, ngrams, vectors, sparse_weight=generator.sparse_weight)


def save_generator(generator: CandidateGenerator, folder: Path, index: str = FLAT) -> None:
    """Copy store, n-grams, vectors and encoder into a folder; with an index of the kind that is set.

    index (str): see `open_index`. One that was left for learning, or made void by it, is made anew.
    """
    save_store(generator.store, folder)
    if generator.ngrams:
        generator.ngrams.save(folder / NGRAMS_FOLDER)
    if generator.vectors:
        save_index(generator.vectors, folder / VECTORS_FOLDER, index)
        generator.vectors.encoder.save(folder / ENCODER_FOLDER)


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


def load_generator(
    folder: Path, *, sparse: bool, sparse_normaliser: str = NORMALISER, index: str = FLAT, device: str = "auto"
) -> CandidateGenerator:
    """Open what `save_generator` wrote; with `sparse`, n-grams that were not saved are counted anew.

    index (str): see `open_index`; it may be another than the one that was saved.
    sparse_normaliser (str): for these; n-grams that were saved keep theirs, with a warning (W401) where it is another.
    """
    store = load_store(folder)
    encoder = vectors = ngrams = None
    if (folder / ENCODER_FOLDER).is_dir():
        encoder = TransformerEncoder(str(folder / ENCODER_FOLDER), device=device)
        vectors = open_index(store, encoder, index, folder / VECTORS_FOLDER)
    if sparse:
        saved = (folder / NGRAMS_FOLDER).is_dir()
        ngrams = NgramEncoder.load(folder / NGRAMS_FOLDER) if saved else _ngrams(store, encoder, sparse_normaliser)
        given = encoder and encoder.sparse_part  # then the setting never counted
        if ngrams.normaliser != sparse_normaliser and not given:
            message = Warnings.W401.format(path=folder, saved=ngrams.normaliser, wanted=sparse_normaliser)
            warnings.warn(message, stacklevel=2)
    return CandidateGenerator(store, ngrams, vectors)
