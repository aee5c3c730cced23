"""Open candidate generators from settings, save them to a folder, and load them."""

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
from ..vectors.stored import COMPRESSION
from .candidates import CandidateGenerator
from .parameters import SPARSE_WEIGHT


def open_generator(
    kb: KnowledgeBase,
    encoder: TransformerEncoder | None,
    *,
    sparse: bool,
    text_normalizer: str = TEXT_NORMALIZER,
    index: str = FLAT,
    compression: str = COMPRESSION,
) -> CandidateGenerator:
    """Make a candidate generator for a knowledge base.

    Args:
        kb: The knowledge base.
        encoder: The encoder of the dense score; None leaves it out.
        sparse: Whether to use the sparse score. If the encoder has a lexical model, its n-grams and λ are used.
        text_normalizer: The normal form for other n-grams, one of `TEXT_NORMALIZERS`.
        index: See `open_index`.
        compression: How new vectors are stored, one of `COMPRESSIONS`.
    """
    ngrams = _ngrams(kb, encoder, text_normalizer) if sparse else None
    vectors = open_index(kb, encoder, index, compression=compression) if encoder else None
    part = encoder.lexical_model if encoder else None
    weight = part.sparse_weight if part else SPARSE_WEIGHT
    return CandidateGenerator(kb, ngrams, vectors, sparse_weight=weight)


def _ngrams(kb: KnowledgeBase, encoder: TransformerEncoder | None, text_normalizer: str) -> NgramEncoder:
    """Return the n-grams of the encoder's lexical model, or else those of the names of the knowledge base."""
    part = encoder.lexical_model if encoder else None
    return part.ngrams if part else NgramEncoder.fit(kb.names(), text_normalizer=text_normalizer)


def with_mentions(
    generator: CandidateGenerator, documents: Iterable[AnnotatedDocument], folder: Path
) -> CandidateGenerator:
    """Make a similar generator with the mentions of documents added to its vocabulary.

    Args:
        generator: The generator to copy.
        documents: The annotated documents.
        folder: The folder for the new knowledge base and the vectors of its names.
    """
    kb = add_training_mentions(generator.kb, documents, TRAINING_SOURCE, folder / KB_FILE)
    encoder = generator.vectors.encoder if generator.vectors else None
    ngrams = _ngrams(kb, encoder, generator.ngrams.text_normalizer) if generator.ngrams else None
    vectors = None
    if generator.vectors and encoder:
        local = generator.vectors if isinstance(generator.vectors, NameVectors) else None
        known, compression = ([local.known], local.compression) if local else ([], COMPRESSION)
        build_name_vectors(kb, encoder, folder / VECTORS_FOLDER, known=known, compression=compression)
        vectors = NameVectors(folder / VECTORS_FOLDER, kb, encoder)
    return CandidateGenerator(kb, ngrams, vectors, sparse_weight=generator.sparse_weight)


def save_generator(generator: CandidateGenerator, folder: Path, index: str = FLAT) -> None:
    """Write knowledge base, n-grams, vectors and encoder into a folder.

    Args:
        generator: The generator.
        folder: The folder to write.
        index: The kind of index, see `open_index`. It is built again if training has replaced or invalidated it.
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
    """Open what `save_generator` wrote. N-grams that were not saved are counted again.

    Args:
        folder: The saved folder.
        sparse: Whether to use the sparse score.
        text_normalizer: The normal form for new n-grams. Saved n-grams keep their own, with the warning W401 if it
            differs.
        index: See `open_index`. It may differ from the saved one.
        device: The device of the encoder.
    """
    kb = open_saved_knowledge_base(folder)
    encoder = vectors = ngrams = None
    if (folder / ENCODER_FOLDER).is_dir():
        encoder = TransformerEncoder(str(folder / ENCODER_FOLDER), device=device)
        vectors = open_index(kb, encoder, index, folder / VECTORS_FOLDER)
    if sparse:
        saved = (folder / NGRAMS_FOLDER).is_dir()
        ngrams = NgramEncoder.load(folder / NGRAMS_FOLDER) if saved else _ngrams(kb, encoder, text_normalizer)
        has_own_ngrams = encoder and encoder.lexical_model  # they ignore the setting
        if ngrams.text_normalizer != text_normalizer and not has_own_ngrams:
            message = Warnings.W401.format(path=folder, saved=ngrams.text_normalizer, wanted=text_normalizer)
            warnings.warn(message, stacklevel=2)
    return CandidateGenerator(kb, ngrams, vectors)
