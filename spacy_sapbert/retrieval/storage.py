"""Open retrievers from settings, save them to a folder, and load them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..encoders.encoder import Encoder, as_transformer, open_encoder
from ..encoders.ngrams import NGRAMS_FOLDER, TEXT_NORMALIZER
from ..encoders.segments import DocumentEncoder
from ..encoders.transformer import TransformerEncoder
from ..errors import DamagedError, EmptyError
from ..files.output import replacing
from ..files.values import parse_json
from ..kb.ids import read_labels, write_labels
from ..kb.knowledge_base import KnowledgeBase
from ..kb.storage import kb_artifact, load_knowledge_base
from ..store.artifact import ENCODER_FOLDER, KB, ArtifactWriter, opening
from ..vectors.ngram_index import open_ngram_index
from ..vectors.storage import FLAT, open_index, save_index
from .concepts import ConceptSet, ConceptVectors, cached_concept_vectors
from .retriever import N_FEATURES, Retriever
from .settings import ConceptVectorSettings
from .signals import SignalWeights
from .training_counts import MentionModel, TrainingCounts

CONCEPT_VECTORS, DOCUMENT_ENCODER = "concept_vectors", "document_encoder"
"""The roles of concept vectors and of a trained document encoder among the artifacts of a component."""
LABELS_FILE = "labels.txt"
FITTED_FILE = "retrieval.json"


def open_retriever(
    kb: KnowledgeBase,
    encoder: Encoder | None,
    signals: Sequence[str],
    *,
    labels: Path | None = None,
    types: Sequence[str] = (),
    index: str = FLAT,
    vectors: ConceptVectorSettings | None = None,
) -> Retriever:
    """Open what the signals need. Vectors come from the cache folder, or are made there.

    Args:
        encoder: The encoder; None if no signal needs one.
        signals: The signals, some of `SIGNALS`.
        labels: A file with the ids that can be predicted; None for all of the vocabulary.
        types: Only concepts of these types; empty for all.
        index: See `open_index`. With "Flat", every phrase is compared with all names.
        vectors: How vectors are made.

    Raises:
        EmptyError: None of the labels is a concept of the vocabulary.
    """
    retriever = _without_vectors(kb, encoder, signals, labels, types, index, vectors)
    _check_concepts(retriever, labels)
    _open_vectors(retriever)
    return retriever


def _without_vectors(
    kb: KnowledgeBase,
    encoder: Encoder | None,
    signals: Sequence[str],
    labels: Path | None,
    types: Sequence[str] = (),
    index: str = FLAT,
    vectors: ConceptVectorSettings | None = None,
) -> Retriever:
    ids, settings = None if labels is None else read_labels(labels), vectors or ConceptVectorSettings()
    concepts = ConceptSet(kb, ids, types)
    return Retriever(concepts, signals, encoder=encoder, labels=ids, types=types, index=index, vector_settings=settings)


def with_vocabulary(retriever: Retriever, kb: KnowledgeBase) -> Retriever:
    """Return a retriever for another vocabulary. It keeps the settings, the encoders, the labels and what was fitted.

    Raises:
        EmptyError: None of the labels is a concept of the vocabulary.
    """
    concepts = ConceptSet(kb, retriever.labels, retriever.types)
    other = replace(retriever, concepts=concepts, concept_vectors=None, name_vectors=None, ngrams=None)
    _check_concepts(other, "the pipeline's own")
    _open_vectors(other)
    if retriever.document_encoder and retriever.document_encoder.encoder is not retriever.encoder:
        other.document_encoder = retriever.document_encoder
    return other


def _check_concepts(retriever: Retriever, labels: Path | str | None) -> None:
    """Check that there is a concept to predict. The message says where the labels come from."""
    if not len(retriever.concepts):
        types = ", ".join(retriever.types) or "any"
        what = f"concept of {retriever.kb.path} with a label of {labels} and a type of {types}"
        remedy = "Check the settings `labels` and `types`. Write ids as `spacy-sapbert kb search` shows them."
        raise EmptyError(remedy, what=what, consequence="there is nothing to predict")


def _open_vectors(retriever: Retriever, saved: Mapping[str, Path] | None = None) -> None:
    """Open the vectors that the signals need: saved ones, or else those of the cache folder, which are made there.

    The n-grams have the normal form that a linker has by default, so that both share them. If they were not saved, they
    are counted again.
    """
    kb, encoder, signals = retriever.kb, retriever.encoder, retriever.signals
    if encoder is None:
        return
    if "document" in signals:
        trained = saved.get(DOCUMENT_ENCODER) if saved else None
        opened = open_encoder(str(trained), device=encoder.device) if trained else encoder
        assert opened is not None
        reader = as_transformer(opened, 'The signal "document"')
        settings = retriever.vector_settings
        retriever.document_encoder = DocumentEncoder(reader, settings.segment_length)
        if saved is None:
            # the same weights, but longer texts
            longer_settings = {**reader.settings, "max_length": retriever.document_encoder.length}
            longer = TransformerEncoder(reader.name, **longer_settings, device=reader.device)
            longer.replace(reader.model, reader.tokenizer)
            retriever.concept_vectors = cached_concept_vectors(retriever.concepts, longer, settings.concept_text)
        elif CONCEPT_VECTORS in saved:
            retriever.concept_vectors = ConceptVectors(saved[CONCEPT_VECTORS], retriever.concepts)
        else:
            raise DamagedError(path=saved[ENCODER_FOLDER], reason="it was saved without concept vectors")
    if "phrases" in signals:
        retriever.name_vectors = open_index(kb, encoder, retriever.index, saved)
        if retriever.needs_ngrams:
            retriever.ngrams = open_ngram_index(kb, TEXT_NORMALIZER, saved=(saved or {}).get(NGRAMS_FOLDER))


def save_retriever(retriever: Retriever, folder: Path, artifacts: ArtifactWriter) -> None:
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
        save_index(retriever.name_vectors, artifacts, retriever.index)
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


def load_retriever(
    folder: Path, artifacts: Mapping[str, Path], signals: Sequence[str], *, device: str = "auto", **settings: Any
) -> Retriever:
    """Open what `save_retriever` wrote, with the other arguments of `open_retriever`.

    Raises:
        DamagedError: A part is missing or damaged.
    """
    labels = folder / LABELS_FILE if (folder / LABELS_FILE).is_file() else None
    encoder = open_encoder(str(artifacts.get(ENCODER_FOLDER, "none")), device=device)
    retriever = _without_vectors(load_knowledge_base(artifacts[KB]), encoder, signals, labels, **settings)
    _open_vectors(retriever, artifacts)
    with opening(folder / FITTED_FILE):
        fitted: dict[str, Any] = parse_json((folder / FITTED_FILE).read_text(encoding="utf-8"))
        counts, mention_model, weights = fitted["counts"], fitted.get("mention_model"), fitted["weights"]
        retriever.counts = TrainingCounts.from_json(counts) if counts else None
        retriever.mention_model = MentionModel.from_json(mention_model) if mention_model else None
        retriever.stored_weights = SignalWeights.from_json(weights) if weights else None
        if weights and any(N_FEATURES.get(name) != n for name, n in weights["signals"]):
            raise ValueError("its weights are those of another version of spacy-sapbert; train it again")
    return retriever
