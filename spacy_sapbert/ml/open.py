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
from .fitted import SPARSE_WEIGHT
from .name_vectors import NameVectors, build_name_vectors, cached_name_vectors
from .ngrams import NgramEncoder
from .sparse_part import NGRAMS_FOLDER
from .transformer_encoder import TransformerEncoder

STORE_FILE = "concepts.kb"
VECTORS_FOLDER = "vectors"
ENCODER_FOLDER = "encoder"
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


def open_encoder(encoder: str, *, pooling: str | None = None, device: str = "auto") -> TransformerEncoder | None:
    """encoder (str): "none", "starter", a folder or a hub name."""
    if encoder == "none":
        return None
    return TransformerEncoder(encoder, pooling=pooling, device=device)


def open_generator(
    store: ConceptStore, encoder: TransformerEncoder | None, *, sparse: bool, sparse_normaliser: str = "biosyn"
) -> CandidateGenerator:
    """Prepare a store for search; the vectors of its names come from the cache folder, or go there.

    sparse (bool): use the sparse score; with the n-grams and λ that belong to the encoder, if any do.
    sparse_normaliser (str): the normal form in which other n-grams are counted, one of `NORMALISERS`.
    """
    ngrams = _ngrams(store, encoder, sparse_normaliser) if sparse else None
    vectors = cached_name_vectors(store, encoder) if encoder else None
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
        build_name_vectors(store, encoder, folder / VECTORS_FOLDER, known=[generator.vectors.known])
        vectors = NameVectors(folder / VECTORS_FOLDER, store, encoder)
    return CandidateGenerator(store, ngrams, vectors, sparse_weight=generator.sparse_weight)


def save_generator(generator: CandidateGenerator, folder: Path) -> None:
    """Copy store, n-grams, vectors and encoder into a folder."""
    save_store(generator.store, folder)
    if generator.ngrams:
        generator.ngrams.save(folder / NGRAMS_FOLDER)
    if generator.vectors:
        generator.vectors.save(folder / VECTORS_FOLDER)
        generator.vectors.encoder.save(folder / ENCODER_FOLDER)


def load_generator(
    folder: Path, *, sparse: bool, sparse_normaliser: str = "biosyn", device: str = "auto"
) -> CandidateGenerator:
    """Open what `save_generator` wrote; with `sparse`, n-grams that were not saved are counted anew.

    sparse_normaliser (str): for these; n-grams that were saved keep theirs, with a warning (W401) where it is another.
    """
    store = load_store(folder)
    encoder = vectors = ngrams = None
    if (folder / ENCODER_FOLDER).is_dir():
        encoder = TransformerEncoder(str(folder / ENCODER_FOLDER), device=device)
        vectors = NameVectors(folder / VECTORS_FOLDER, store, encoder)
    if sparse:
        saved = (folder / NGRAMS_FOLDER).is_dir()
        ngrams = NgramEncoder.load(folder / NGRAMS_FOLDER) if saved else _ngrams(store, encoder, sparse_normaliser)
        given = encoder and encoder.sparse_part  # then the setting never counted
        if ngrams.normaliser != sparse_normaliser and not given:
            message = Warnings.W401.format(path=folder, saved=ngrams.normaliser, wanted=sparse_normaliser)
            warnings.warn(message, stacklevel=2)
    return CandidateGenerator(store, ngrams, vectors)
