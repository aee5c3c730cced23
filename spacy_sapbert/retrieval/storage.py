"""Open retrievers from settings, save them to a folder, and load them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..encoders.ngrams import NGRAMS_FOLDER, TEXT_NORMALIZER
from ..encoders.segments import DocumentEncoder
from ..encoders.transformer import ENCODER_FOLDER, TransformerEncoder, open_encoder
from ..errors import DamagedError, EmptyError
from ..files.output import replacing
from ..files.values import parse_json
from ..kb.ids import read_labels, write_labels
from ..kb.knowledge_base import KnowledgeBase
from ..kb.storage import kb_artifact, open_saved_knowledge_base
from ..store.artifact import KB, ArtifactWriter, opening
from ..vectors.ngram_index import cached_ngram_index, open_ngram_index
from ..vectors.storage import FLAT, open_index, save_index
from .concepts import ConceptSet, ConceptVectors, cached_concept_vectors
from .ranker import SignalWeights
from .retriever import FEW_NAMES, N_FEATURES, Retriever
from .settings import SIGNALS_WITH_NAMES, ConceptVectorSettings
from .training_counts import MentionModel, TrainingCounts

CONCEPT_VECTORS, DOCUMENT_ENCODER = "concept_vectors", "document_encoder"
"""The roles of concept vectors and of a trained document encoder among the artifacts of a component."""
LABELS_FILE = "labels.txt"
FITTED_FILE = "retrieval.json"


def open_retriever(
    kb: KnowledgeBase,
    encoder: TransformerEncoder | None,
    signals: Sequence[str],
    *,
    labels: Path | None = None,
    types: Sequence[str] = (),
    index: str = FLAT,
    vectors: ConceptVectorSettings | None = None,
) -> Retriever:
    """Open what the signals need. Vectors come from the cache folder, or are made there.

    Args:
        kb: The vocabulary.
        encoder: The encoder; None if no signal needs one.
        signals: The signals, some of `SIGNALS`.
        labels: A file with the ids that can be predicted; None for all of the vocabulary.
        types: Only concepts of these types; empty for all.
        index: See `open_index`. With "Flat", every phrase is compared with all names.
        vectors: How vectors are made.

    Raises:
        EmptyError: None of the labels is a concept of the vocabulary.
    """
    ids = None if labels is None else read_labels(labels)
    retriever = Retriever(ConceptSet(kb, ids, types), signals, encoder=encoder, labels=ids, types=types)
    _open_vectors(retriever, types, index, vectors or ConceptVectorSettings(), labels)
    return retriever


def with_vocabulary(
    retriever: Retriever,
    kb: KnowledgeBase,
    *,
    types: Sequence[str] = (),
    index: str = FLAT,
    vectors: ConceptVectorSettings | None = None,
) -> Retriever:
    """Return a retriever for another vocabulary. It keeps the encoders, the labels and what was fitted.

    The arguments are those of `open_retriever`. The given retriever does not change.

    Raises:
        EmptyError: None of the labels is a concept of the vocabulary.
    """
    other = Retriever(
        ConceptSet(kb, retriever.labels, types),
        retriever.signals,
        encoder=retriever.encoder,
        labels=retriever.labels,
        types=types,
    )
    _open_vectors(other, types, index, vectors or ConceptVectorSettings(), "the pipeline's own")
    if retriever.document_encoder and retriever.document_encoder.encoder is not retriever.encoder:
        other.document_encoder = retriever.document_encoder
    other.counts, other.mention_model = retriever.counts, retriever.mention_model
    other.stored_weights = retriever.stored_weights
    return other


def _open_vectors(
    retriever: Retriever, types: Sequence[str], index: str, vectors: ConceptVectorSettings, labels: Path | str | None
) -> None:
    """Open the vectors that the signals need. They come from the cache folder, or are made there."""
    kb, encoder, signals = retriever.kb, retriever.encoder, retriever.signals
    if not len(retriever.concepts):
        what = f"concept of {kb.path} with a label of {labels} and a type of {', '.join(types) or 'any'}"
        remedy = "Check the settings `labels` and `types`. Write ids as `spacy-sapbert kb search` shows them."
        raise EmptyError(remedy, what=what, consequence="there is nothing to predict")
    retriever.exact_limit = _exact_limit(index)
    if encoder and "document" in signals:
        retriever.document_encoder = DocumentEncoder(encoder, vectors.segment_length)
        longer = _with_length(encoder, retriever.document_encoder.length)
        retriever.concept_vectors = cached_concept_vectors(retriever.concepts, longer, vectors.concept_text)
    if encoder and SIGNALS_WITH_NAMES & set(signals):
        retriever.name_vectors = open_index(kb, encoder, index)
        _open_ngrams(retriever)


def save_retriever(retriever: Retriever, folder: Path, artifacts: ArtifactWriter, index: str = FLAT) -> None:
    """Write all that a retriever needs, except its settings. Knowledge base, encoders and vectors are artifacts."""
    folder.mkdir(parents=True, exist_ok=True)
    artifacts.add(KB, kb_artifact(retriever.kb))
    if retriever.labels is not None:
        write_labels(retriever.labels, folder / LABELS_FILE)
    if retriever.encoder:
        artifacts.add(ENCODER_FOLDER, retriever.encoder.artifact())
    if retriever.concept_vectors:
        artifacts.add(CONCEPT_VECTORS, retriever.concept_vectors.artifact())
    if retriever.name_vectors:
        save_index(retriever.name_vectors, artifacts, index)
    if retriever.ngrams:
        artifacts.add(NGRAMS_FOLDER, retriever.ngrams.artifact())
    if retriever.document_encoder and retriever.document_encoder.encoder is not retriever.encoder:
        artifacts.add(DOCUMENT_ENCODER, retriever.document_encoder.encoder.artifact())
    fitted = {
        "counts": retriever.counts.as_json() if retriever.counts else None,
        "mention_model": retriever.mention_model._asdict() if retriever.mention_model else None,
        "weights": retriever.stored_weights._asdict() if retriever.stored_weights else None,
    }
    with replacing(folder / FITTED_FILE) as temporary:
        temporary.write_text(json.dumps(fitted), encoding="utf-8")


def _open_ngrams(retriever: Retriever, artifacts: Mapping[str, Path] | None = None) -> None:
    """Open the n-grams if the retriever needs them. If they were not saved, they are counted again.

    Their normal form is the default of a linker, so that both share them.
    """
    if retriever.needs_ngrams:
        saved = (artifacts or {}).get(NGRAMS_FOLDER)
        kb = retriever.kb
        retriever.ngrams = open_ngram_index(kb, saved) if saved else cached_ngram_index(kb, TEXT_NORMALIZER)


def _exact_limit(index: str) -> float:
    return math.inf if index == FLAT else FEW_NAMES


def load_retriever(
    folder: Path,
    artifacts: Mapping[str, Path],
    signals: Sequence[str],
    *,
    types: Sequence[str] = (),
    index: str = FLAT,
    vectors: ConceptVectorSettings | None = None,
    device: str = "auto",
) -> Retriever:
    """Open what `save_retriever` wrote; see `open_retriever`.

    Raises:
        DamagedError: A part is missing or damaged.
    """
    vectors = vectors or ConceptVectorSettings()
    kb = open_saved_knowledge_base(artifacts)
    ids = read_labels(folder / LABELS_FILE) if (folder / LABELS_FILE).is_file() else None
    concepts = ConceptSet(kb, ids, types)
    retriever = Retriever(concepts, signals, labels=ids, types=types, exact_limit=_exact_limit(index))
    if ENCODER_FOLDER in artifacts:
        encoder = retriever.encoder = open_encoder(str(artifacts[ENCODER_FOLDER]), device=device)
        assert encoder is not None
        if "document" in signals:
            trained = artifacts.get(DOCUMENT_ENCODER)
            reader = open_encoder(str(trained), device=device) if trained else encoder
            assert reader is not None
            retriever.document_encoder = DocumentEncoder(reader, vectors.segment_length)
            if CONCEPT_VECTORS not in artifacts:
                raise DamagedError(path=folder, reason="it was saved without concept vectors")
            retriever.concept_vectors = ConceptVectors(artifacts[CONCEPT_VECTORS], retriever.concepts)
        if SIGNALS_WITH_NAMES & set(signals):
            retriever.name_vectors = open_index(kb, encoder, index, artifacts)
            _open_ngrams(retriever, artifacts)
    _load_fitted(retriever, folder / FITTED_FILE)
    return retriever


def _load_fitted(retriever: Retriever, path: Path) -> None:
    with opening(path):
        fitted: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        counts, mention_model, weights = fitted["counts"], fitted.get("mention_model"), fitted["weights"]
        retriever.counts = TrainingCounts.from_json(counts) if counts else None
        retriever.mention_model = MentionModel.from_json(mention_model) if mention_model else None
        retriever.stored_weights = SignalWeights.from_json(weights) if weights else None
        if retriever.stored_weights:
            _check_weights(retriever.stored_weights)


def _check_weights(weights: SignalWeights) -> None:
    """Check that weights have the features of the present signals."""
    if any(N_FEATURES.get(name) != n for name, n in weights.signals):
        raise ValueError("its weights are those of another version of spacy-sapbert; train it again")


def _with_length(encoder: TransformerEncoder, length: int) -> TransformerEncoder:
    """Return an encoder with the same weights that reads longer texts."""
    settings = {**encoder.settings, "max_length": length}
    longer = TransformerEncoder(encoder.name, **settings, device=encoder.device)
    longer.replace(encoder.model, encoder.tokenizer)
    return longer
