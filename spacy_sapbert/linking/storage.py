"""Open candidate generators from settings, save them to a folder, and load them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..encoders.encoder import Encoder, open_encoder
from ..encoders.folder import STARTER
from ..encoders.ngrams import NGRAMS_FOLDER, TEXT_NORMALIZER, NgramEncoder
from ..encoders.static import StaticEncoder
from ..errors import Warnings
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mentions import TRAINING_SOURCE, add_training_mentions
from ..kb.storage import KB_FILE, kb_artifact, load_knowledge_base
from ..store.artifact import ENCODER_FOLDER, KB, ArtifactWriter
from ..types import Document
from ..vectors.faiss_index import AUTO
from ..vectors.flat import VECTORS, saved_with
from ..vectors.index import Index
from ..vectors.ngram_index import NgramIndex, ngram_index_beside, open_ngram_index
from ..vectors.on_demand import OnDemandVectors
from ..vectors.postings_build import build_ngram_index
from ..vectors.storage import FLAT, VECTORS_FOLDER, open_index, save_index, vectors_of_more_names
from ..vectors.stored import COMPRESSION
from .candidates import EXACT_LIMIT, CandidateGenerator
from .settings import SPARSE_WEIGHT

PROPOSER = "proposer-"
"""The beginning of the roles of the proposing encoder and of its vectors among the artifacts of a component."""


def open_generator(
    kb: KnowledgeBase,
    encoder: Encoder | None,
    *,
    sparse: bool,
    text_normalizer: str = TEXT_NORMALIZER,
    index: str = FLAT,
    compression: str = COMPRESSION,
    saved: Mapping[str, Path] | None = None,
) -> CandidateGenerator:
    """Make a candidate generator for a knowledge base.

    Args:
        encoder: The encoder of the dense score; None leaves it out.
        sparse: Whether to use the sparse score. If the encoder has a lexical model, its n-grams and λ are used.
        text_normalizer: The normal form for other n-grams, one of `TEXT_NORMALIZERS`. Saved n-grams keep their own,
            with the warning W401 if it differs.
        index: See `open_index`. It may differ from the saved one.
        compression: How new vectors are stored, one of `COMPRESSIONS`.
        saved: What `save_generator` wrote, by role. What was not saved comes from the cache folder, or is made there.
    """
    model, artifacts = encoder.lexical_model if encoder else None, saved or {}
    vectors = rescorer = None
    is_alone = sparse and not model and NGRAMS_FOLDER not in artifacts
    with ngram_index_beside(kb, text_normalizer) if encoder and is_alone else nullcontext():
        all_saved = encoder and (VECTORS in artifacts if saved else saved_with(kb, encoder, compression))
        if encoder and not all_saved and _rescores(kb, encoder, index, sparse=sparse):
            vectors, rescorer = open_proposer(kb, saved), OnDemandVectors(kb, encoder, compression)
        elif encoder:
            vectors = open_index(kb, encoder, index, saved, compression)
    ngrams = None
    if sparse:
        path = artifacts.get(NGRAMS_FOLDER)
        ngrams = open_ngram_index(kb, text_normalizer, model.ngrams if model else None, path)
        form = ngrams.ngrams.text_normalizer
        if form != text_normalizer and not model:
            warnings.warn(Warnings.W401.format(path=path, saved=form, wanted=text_normalizer), stacklevel=2)
    weight = model.sparse_weight if model else SPARSE_WEIGHT
    return CandidateGenerator(
        kb, ngrams, vectors, sparse_weight=weight, exact_limit=_exact_limit(index), rescorer=rescorer
    )


def with_mentions(
    generator: CandidateGenerator, documents: Iterable[Document], folder: Path, *, without: Iterable[Document] = ()
) -> CandidateGenerator:
    """Make a similar generator with the mentions of documents added to its vocabulary.

    Args:
        generator: The generator to copy.
        documents: The annotated documents.
        folder: The folder for the new knowledge base and its indexes.
        without: Documents whose mentions were added before, and are left out now.
    """
    kb = add_training_mentions(generator.kb, documents, TRAINING_SOURCE, folder / KB_FILE, without=without)
    ngrams = vectors = rescorer = None
    if generator.ngrams:
        part = generator.encoder.lexical_model if generator.encoder else None
        form = generator.ngrams.ngrams.text_normalizer
        fitted = part.ngrams if part else NgramEncoder.fit(kb.names(), text_normalizer=form)
        build_ngram_index(kb, fitted, folder / NGRAMS_FOLDER)
        ngrams = NgramIndex(folder / NGRAMS_FOLDER, kb)
    if generator.vectors:
        vectors = vectors_of_more_names(generator.vectors, kb, folder / VECTORS_FOLDER)
    if generator.rescorer:
        rescorer = OnDemandVectors(kb, generator.rescorer.encoder, generator.rescorer.compression)
    weight, limit = generator.sparse_weight, generator.exact_limit
    return CandidateGenerator(kb, ngrams, vectors, sparse_weight=weight, exact_limit=limit, rescorer=rescorer)


def save_generator(generator: CandidateGenerator, artifacts: ArtifactWriter, index: str = FLAT) -> None:
    """Add knowledge base, indexes and encoder to the artifacts of a component.

    Args:
        artifacts: The artifacts of the component.
        index: The kind of index, see `open_index`. It is built again if training has replaced or invalidated it.
    """
    artifacts.add(KB, kb_artifact(generator.kb))
    if generator.ngrams:
        artifacts.add(NGRAMS_FOLDER, generator.ngrams.artifact())
    if generator.vectors and generator.rescorer:
        save_index(generator.vectors, artifacts, AUTO, PROPOSER)
        artifacts.add(f"{PROPOSER}{ENCODER_FOLDER}", generator.vectors.encoder.artifact()._replace(kind="proposer"))
    elif generator.vectors:
        save_index(generator.vectors, artifacts, index)
    if generator.encoder:
        artifacts.add(ENCODER_FOLDER, generator.encoder.artifact())


def load_generator(artifacts: Mapping[str, Path], *, device: str = "auto", **settings: Any) -> CandidateGenerator:
    """Open what `save_generator` wrote, with the knowledge base and the encoder.

    Args:
        artifacts: The saved artifacts, by role.
        device: The device of the encoder.
        settings: See `open_generator`.
    """
    kb, encoder = load_knowledge_base(artifacts[KB]), _saved_encoder(artifacts, device)
    return open_generator(kb, encoder, **settings, saved=artifacts)


def open_proposer(kb: KnowledgeBase, saved: Mapping[str, Path] | None = None) -> Index | None:
    """Return the vectors of a fast encoder that proposes names to another one: the saved one, or the starter."""
    own = {role.removeprefix(PROPOSER): path for role, path in (saved or {}).items() if role.startswith(PROPOSER)}
    encoder = open_encoder(STARTER) if saved is None else _saved_encoder(own)
    return open_index(kb, encoder, AUTO, own) if encoder else None


def _rescores(kb: KnowledgeBase, encoder: Encoder, index: str, *, sparse: bool) -> bool:
    """Return whether an encoder scores only the names that n-grams and `open_proposer` propose.

    It needs vectors of unit length: the longest vector of other encoders is not known before all names are encoded. A
    table of sub-word vectors is fast enough for all names.
    """
    is_slow = not isinstance(encoder, StaticEncoder)
    return index == AUTO and sparse and is_slow and encoder.l2_normalized and kb.n_names > EXACT_LIMIT


def _saved_encoder(artifacts: Mapping[str, Path], device: str = "auto") -> Encoder | None:
    return open_encoder(str(artifacts.get(ENCODER_FOLDER, "none")), device=device)


def _exact_limit(index: str) -> float:
    return math.inf if index == FLAT else EXACT_LIMIT
