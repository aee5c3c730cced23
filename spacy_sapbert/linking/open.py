"""From the names in a component's config, or from a saved folder, to the candidate generator, and back to a folder."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Collection, Iterable
from pathlib import Path

from ..encoders.lexical_model import NGRAMS_FOLDER
from ..encoders.ngrams import TEXT_NORMALIZER, NgramEncoder
from ..encoders.transformer import TransformerEncoder
from ..errors import Errors, SapbertError, Warnings
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mentions import add_training_mentions
from ..types import AnnotatedDocument
from ..vectors.faiss_index import open_faiss, save_faiss
from ..vectors.flat import NameVectors, build_name_vectors, cached_name_vectors
from ..vectors.index import Index
from ..vectors.qdrant_collection import Address, is_address
from ..vectors.qdrant_index import QdrantVectors
from .candidates import CandidateGenerator
from .parameters import SPARSE_WEIGHT

STORE_FILE = "concepts.kb"
VECTORS_FOLDER = "vectors"
ENCODER_FOLDER = "encoder"
FLAT = "Flat"
"""The index that compares with every name."""
MENTIONS_SOURCE = "training"
"""The source of names that are mentions of the training data."""


def load_knowledge_base(kb: str) -> KnowledgeBase:
    """kb (str): "starter", or the path of a store."""
    if kb == "starter":
        from ..starter import starter_knowledge_base

        return starter_knowledge_base()
    return KnowledgeBase(kb)


def copy_knowledge_base(kb: KnowledgeBase, folder: Path) -> None:
    """Copy a store's file into a folder, where `open_saved_knowledge_base` finds it."""
    shutil.copyfile(kb.path, folder / STORE_FILE)


def open_saved_knowledge_base(folder: Path) -> KnowledgeBase:
    return KnowledgeBase(folder / STORE_FILE)


def check_filters(kb: KnowledgeBase, types: Collection[str], sources: Collection[str]) -> None:
    """RAISES (SapbertError): E404, E405 the vocabulary has no such type or source."""
    checks = ((Errors.E404, types, kb.type_counts), (Errors.E405, sources, kb.source_counts))
    for message, wanted, counts in checks:
        missing = sorted(set(wanted).difference(counts())) if wanted else []
        if missing:
            raise SapbertError(message.format(missing=missing, known=sorted(counts())))


def open_encoder(
    encoder: str, *, pooling: str | None = None, l2_normalized: bool | None = None, device: str = "auto"
) -> TransformerEncoder | None:
    """encoder (str): "none", "starter", a folder or a hub name."""
    if encoder == "none":
        return None
    return TransformerEncoder(encoder, pooling=pooling, l2_normalized=l2_normalized, device=device)


def open_index(kb: KnowledgeBase, encoder: TransformerEncoder, index: str, folder: Path | None = None) -> Index:
    """Open the vectors of a store's names.

    index (str): "Flat" (exact); another kind of index that faiss makes (see `faiss_vectors.index_kind`); or where in a
        database they are (see `qdrant_collection.Address`), which is not looked at before the first use.
    folder (Path | None): where they have been saved; else they come from the cache folder, or go there.
    """
    if is_address(index):
        return QdrantVectors(Address.parse(index), kb, encoder)
    vectors = NameVectors(folder, kb, encoder) if folder else cached_name_vectors(kb, encoder)
    return vectors if index == FLAT else open_faiss(vectors, kb, index)


def exact_vectors(index: Index, kb: KnowledgeBase) -> NameVectors:
    """RETURNS (NameVectors): the vectors of an index, with nothing that may miss some."""
    if not isinstance(index, NameVectors):
        return cached_name_vectors(kb, index.encoder)
    return index if index.exact else NameVectors(index.folder, kb, index.encoder)


def open_generator(
    kb: KnowledgeBase,
    encoder: TransformerEncoder | None,
    *,
    sparse: bool,
    text_normalizer: str = TEXT_NORMALIZER,
    index: str = FLAT,
) -> CandidateGenerator:
    """Prepare a store for search.

    index (str): see `open_index`.
    sparse (bool): use the sparse score; with the n-grams and λ that belong to the encoder, if any do.
    text_normalizer (str): the normal form in which other n-grams are counted, one of `TEXT_NORMALIZERS`.
    """
    ngrams = _ngrams(kb, encoder, text_normalizer) if sparse else None
    vectors = open_index(kb, encoder, index) if encoder else None
    part = encoder.lexical_model if encoder else None
    weight = part.fitted.sparse_weight if part else SPARSE_WEIGHT
    return CandidateGenerator(kb, ngrams, vectors, sparse_weight=weight)


def _ngrams(kb: KnowledgeBase, encoder: TransformerEncoder | None, text_normalizer: str) -> NgramEncoder:
    """RETURNS (NgramEncoder): that of the encoder, if one belongs to it, else that of the store's names."""
    part = encoder.lexical_model if encoder else None
    return part.ngrams if part else NgramEncoder.fit(kb.names(), text_normalizer=text_normalizer)


def with_mentions(
    generator: CandidateGenerator, documents: Iterable[AnnotatedDocument], folder: Path
) -> CandidateGenerator:
    """Make a generator like another one, to whose vocabulary the mentions of documents have been added.

    folder (Path): where the new store and the vectors of its names go.
    """
    kb = add_training_mentions(generator.kb, documents, MENTIONS_SOURCE, folder / STORE_FILE)
    encoder = generator.vectors.encoder if generator.vectors else None
    ngrams = _ngrams(kb, encoder, generator.ngrams.text_normalizer) if generator.ngrams else None
    vectors = None
    if generator.vectors and encoder:
        known = [generator.vectors.known] if isinstance(generator.vectors, NameVectors) else []
        build_name_vectors(kb, encoder, folder / VECTORS_FOLDER, known=known)
        vectors = NameVectors(folder / VECTORS_FOLDER, kb, encoder)
    return CandidateGenerator(kb, ngrams, vectors, sparse_weight=generator.sparse_weight)


def save_generator(generator: CandidateGenerator, folder: Path, index: str = FLAT) -> None:
    """Copy store, n-grams, vectors and encoder into a folder; with an index of the kind that is set.

    index (str): see `open_index`. One that was left for learning, or made void by it, is made anew.
    """
    copy_knowledge_base(generator.kb, folder)
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
    folder: Path, *, sparse: bool, text_normalizer: str = TEXT_NORMALIZER, index: str = FLAT, device: str = "auto"
) -> CandidateGenerator:
    """Open what `save_generator` wrote; with `sparse`, n-grams that were not saved are counted anew.

    index (str): see `open_index`; it may be another than the one that was saved.
    text_normalizer (str): for these; n-grams that were saved keep theirs, with a warning (W401) where it is another.
    """
    kb = open_saved_knowledge_base(folder)
    encoder = vectors = ngrams = None
    if (folder / ENCODER_FOLDER).is_dir():
        encoder = TransformerEncoder(str(folder / ENCODER_FOLDER), device=device)
        vectors = open_index(kb, encoder, index, folder / VECTORS_FOLDER)
    if sparse:
        saved = (folder / NGRAMS_FOLDER).is_dir()
        ngrams = NgramEncoder.load(folder / NGRAMS_FOLDER) if saved else _ngrams(kb, encoder, text_normalizer)
        given = encoder and encoder.lexical_model  # then the setting never counted
        if ngrams.text_normalizer != text_normalizer and not given:
            message = Warnings.W401.format(path=folder, saved=ngrams.text_normalizer, wanted=text_normalizer)
            warnings.warn(message, stacklevel=2)
    return CandidateGenerator(kb, ngrams, vectors)
