"""Candidate generators: from settings or a saved folder, and back to a folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

from ..encoders.lexical_model import NGRAMS_FOLDER
from ..encoders.ngrams import TEXT_NORMALIZER, NgramEncoder
from ..encoders.transformer import ENCODER_FOLDER, TransformerEncoder
from ..errors import Warnings
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mentions import TRAINING_SOURCE, add_training_mentions
from ..kb.storage import KB_FILE, copy_knowledge_base, open_saved_knowledge_base
from ..types import AnnotatedDocument
from ..vectors.flat import NameVectors, build_name_vectors
from ..vectors.storage import FLAT, VECTORS_FOLDER, open_index, save_index
from .candidates import CandidateGenerator
from .parameters import SPARSE_WEIGHT


def open_generator(
    kb: KnowledgeBase,
    encoder: TransformerEncoder | None,
    *,
    sparse: bool,
    text_normalizer: str = TEXT_NORMALIZER,
    index: str = FLAT,
) -> CandidateGenerator:
    """Prepare a store for search.

    Args:
        index: see `open_index`.
        sparse: use the sparse score; with the n-grams and λ that belong to the encoder, if any do.
        text_normalizer: the normal form in which other n-grams are counted, one of `TEXT_NORMALIZERS`.
    """
    ngrams = _ngrams(kb, encoder, text_normalizer) if sparse else None
    vectors = open_index(kb, encoder, index) if encoder else None
    part = encoder.lexical_model if encoder else None
    weight = part.sparse_weight if part else SPARSE_WEIGHT
    return CandidateGenerator(kb, ngrams, vectors, sparse_weight=weight)


def _ngrams(kb: KnowledgeBase, encoder: TransformerEncoder | None, text_normalizer: str) -> NgramEncoder:
    """Return `NgramEncoder`: that of the encoder, if one belongs to it, else that of the store's names."""
    part = encoder.lexical_model if encoder else None
    return part.ngrams if part else NgramEncoder.fit(kb.names(), text_normalizer=text_normalizer)


def with_mentions(
    generator: CandidateGenerator, documents: Iterable[AnnotatedDocument], folder: Path
) -> CandidateGenerator:
    """Make a generator like another one, to whose vocabulary the mentions of documents have been added.

    Args:
        folder: where the new store and the vectors of its names go.
    """
    kb = add_training_mentions(generator.kb, documents, TRAINING_SOURCE, folder / KB_FILE)
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

    Args:
        index: see `open_index`. One that was left for learning, or made void by it, is made anew.
    """
    copy_knowledge_base(generator.kb, folder)
    if generator.ngrams:
        generator.ngrams.save(folder / NGRAMS_FOLDER)
    if generator.vectors:
        save_index(generator.vectors, folder / VECTORS_FOLDER, index)
        generator.vectors.encoder.save(folder / ENCODER_FOLDER)


def load_generator(
    folder: Path, *, sparse: bool, text_normalizer: str = TEXT_NORMALIZER, index: str = FLAT, device: str = "auto"
) -> CandidateGenerator:
    """Open what `save_generator` wrote; with `sparse`, n-grams that were not saved are counted anew.

    Args:
        index: see `open_index`; it may be another than the one that was saved.
        text_normalizer: for these; n-grams that were saved keep theirs, with a warning (W401) where it is another.
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
