"""What a `concept_retriever` is made of: from its settings or a saved folder, and back to a folder."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..encoders.documents import DocumentEncoder
from ..encoders.transformer import ENCODER_FOLDER, TransformerEncoder
from ..errors import Errors, SapbertError
from ..files import replacing
from ..kb.knowledge_base import KnowledgeBase
from ..kb.labels import read_labels, write_labels
from ..kb.mentions import TRAINING_SOURCE, add_training_mentions
from ..kb.storage import KB_FILE, copy_knowledge_base, load_knowledge_base, open_saved_knowledge_base
from ..types import AnnotatedDocument
from ..vectors.flat import NameVectors, build_name_vectors
from ..vectors.index import Index
from ..vectors.storage import VECTORS_FOLDER, open_index, save_index
from .concept_set import ConceptSet
from .concept_vectors import ConceptVectors, cached_concept_vectors
from .retriever import Retriever
from .signal_weights import SignalWeights
from .signals import OF_NAMES
from .signals.document import DocumentSignal, EncodeDocuments
from .signals.mentions import MentionsSignal
from .signals.near_names import NearNames
from .signals.phrases import PhrasesSignal
from .signals.prior import PriorSignal
from .signals.sentences import SentencesSignal
from .signals.signal import Signal
from .training_counts import TrainingCounts

CONCEPTS_FOLDER = "concept_vectors"
DOCUMENTS_FOLDER = "document_encoder"
LABELS_FILE = "labels.txt"
LEARNT_FILE = "retrieval.json"
NAMES_FOR_A_SENTENCE = 200


@dataclass
class RetrieverParts:
    """All that is needed to rank concepts.

    concepts (ConceptSet): what can be named.
    encoder (TransformerEncoder | None): encodes names and concepts; it never learns.
    vectors (ConceptVectors | None): of the concepts, for the signal "document".
    names (Index | None): the vectors of the names, for "phrases" and "sentences".
    documents (DocumentEncoder | None): encodes documents; it may have learnt.
    counts (TrainingCounts | None), weights (SignalWeights | None): what was learnt besides.
    labels (list[str] | None): the ids that the concepts were chosen by.
    """

    concepts: ConceptSet
    encoder: TransformerEncoder | None = None
    vectors: ConceptVectors | None = None
    names: Index | None = None
    documents: DocumentEncoder | None = None
    counts: TrainingCounts | None = None
    weights: SignalWeights | None = None
    labels: list[str] | None = None
    _before_joining: KnowledgeBase | None = None
    _folders: list[tempfile.TemporaryDirectory[str]] = field(default_factory=list)

    @property
    def kb(self) -> KnowledgeBase:
        return self.concepts.kb

    def retriever(self, signals: Sequence[str], spans_key: str | None, encode: EncodeDocuments | None) -> Retriever:
        """RETURNS (Retriever): that weighs these signals, if that was learnt for just these.

        encode (EncodeDocuments | None): encodes documents in place of `documents`.
        """
        made = [self._signal(name, spans_key, encode or self.documents) for name in signals]
        retriever = Retriever(self.concepts, made)
        if self.weights and dict(self.weights.signals) == retriever.n_features:
            retriever.weights = self.weights
        return retriever

    def filter(self, ids: Collection[str]) -> RetrieverParts:
        """RETURNS (RetrieverParts): the same for some of the concepts."""
        chosen = set(self.concepts.ids)
        concepts = ConceptSet(self.kb, [one for given in ids for one in self.kb.find_id(given) if one in chosen])
        parts = RetrieverParts(**{**vars(self), "concepts": concepts, "_folders": []})
        if self.vectors:
            parts.vectors = self.vectors.of(concepts, parts.folder())
        return parts

    def folder(self) -> Path:
        """RETURNS (Path): a new folder that lives as long as the parts do."""
        self._folders.append(tempfile.TemporaryDirectory(prefix="spacy_sapbert_", ignore_cleanup_errors=True))
        return Path(self._folders[-1].name)

    def add_training_mentions(self, documents: Iterable[AnnotatedDocument]) -> None:
        """Add the mentions of annotated documents to the names, in place of those that were added before. The vectors
        of the concepts stay as they are."""
        folder = self.folder()
        self._before_joining = self._before_joining or self.kb
        knowledge_base = add_training_mentions(self._before_joining, documents, TRAINING_SOURCE, folder / KB_FILE)
        if self.names and self.encoder:
            known = [self.names.known] if isinstance(self.names, NameVectors) else []
            build_name_vectors(knowledge_base, self.encoder, folder / VECTORS_FOLDER, known=known)
            self.names = NameVectors(folder / VECTORS_FOLDER, knowledge_base, self.encoder)
        self.concepts = ConceptSet(knowledge_base, self.concepts.ids)

    def _signal(self, name: str, spans_key: str | None, encode: EncodeDocuments | None) -> Signal:
        make: dict[str, Callable[[], Signal]] = {
            "document": lambda: DocumentSignal(_given(encode), _given(self.vectors)),
            "sentences": lambda: SentencesSignal(NearNames(_given(self.names), self.concepts, NAMES_FOR_A_SENTENCE)),
            "phrases": lambda: PhrasesSignal(NearNames(_given(self.names), self.concepts), self.counts),
            "mentions": lambda: MentionsSignal(self.concepts, spans_key),
            "prior": lambda: PriorSignal(self.concepts, self.counts),
        }
        return make[name]()

    def save(self, folder: Path, index: str) -> None:
        """Write all of it into a folder. index (str): the kind of index of the names, see `open.open_index`."""
        copy_knowledge_base(self.kb, folder)
        if self.labels is not None:
            write_labels(self.labels, folder / LABELS_FILE)
        if self.encoder:
            self.encoder.save(folder / ENCODER_FOLDER)
        if self.vectors:
            self.vectors.save(folder / CONCEPTS_FOLDER)
        if self.names:
            save_index(self.names, folder / VECTORS_FOLDER, index)
        if self.documents and self.documents.encoder is not self.encoder:
            self.documents.encoder.save(folder / DOCUMENTS_FOLDER)
        learnt = {
            "counts": self.counts.as_json() if self.counts else None,
            "weights": self.weights._asdict() if self.weights else None,
        }
        with replacing(folder / LEARNT_FILE) as temporary:
            temporary.write_text(json.dumps(learnt), encoding="utf-8")


def open_parts(
    kb: str,
    encoder: TransformerEncoder | None,
    signals: Collection[str],
    *,
    labels: str | None,
    types: Sequence[str],
    index: str,
    concept_text: str,
    length: int,
) -> RetrieverParts:
    """Open what the settings name; vectors come from the cache folder, or are made there.

    RAISES (SapbertError): E642 none of the labels is a concept of the vocabulary.
    """
    knowledge_base = load_knowledge_base(kb)
    ids = None if labels is None else read_labels(Path(labels))
    concepts = ConceptSet(knowledge_base, ids, types)
    if not len(concepts):
        raise SapbertError(Errors.E642.format(labels=labels, types=", ".join(types) or "any", path=knowledge_base.path))
    parts = RetrieverParts(concepts, encoder, labels=ids)
    if encoder and "document" in signals:
        parts.documents = DocumentEncoder(encoder, length)
        longer = _with_length(encoder, parts.documents.length)
        parts.vectors = cached_concept_vectors(concepts, longer, concept_text)
    if encoder and OF_NAMES & set(signals):
        parts.names = open_index(knowledge_base, encoder, index)
    return parts


def load_parts(
    folder: Path, signals: Collection[str], *, types: Sequence[str], index: str, length: int, device: str
) -> RetrieverParts:
    """Open what `RetrieverParts.save` wrote. RAISES (SapbertError): E306 a part is missing or damaged."""
    knowledge_base = open_saved_knowledge_base(folder)
    ids = read_labels(folder / LABELS_FILE) if (folder / LABELS_FILE).is_file() else None
    parts = RetrieverParts(ConceptSet(knowledge_base, ids, types), labels=ids)
    if (folder / ENCODER_FOLDER).is_dir():
        parts.encoder = TransformerEncoder(str(folder / ENCODER_FOLDER), device=device)
    if parts.encoder and "document" in signals:
        learnt = folder / DOCUMENTS_FOLDER
        reader = TransformerEncoder(str(learnt), device=device) if learnt.is_dir() else parts.encoder
        parts.documents = DocumentEncoder(reader, length)
        parts.vectors = ConceptVectors(folder / CONCEPTS_FOLDER, parts.concepts)
    if parts.encoder and OF_NAMES & set(signals):
        parts.names = open_index(knowledge_base, parts.encoder, index, folder / VECTORS_FOLDER)
    _load_learnt(parts, folder / LEARNT_FILE)
    return parts


def _load_learnt(parts: RetrieverParts, path: Path) -> None:
    try:
        learnt: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        counts, weights = learnt["counts"], learnt["weights"]
        parts.counts = TrainingCounts(**counts) if counts else None
        parts.weights = SignalWeights.from_json(weights) if weights else None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SapbertError(Errors.E306.format(path=path, reason=repr(error))) from error


def _with_length(encoder: TransformerEncoder, length: int) -> TransformerEncoder:
    """RETURNS (TransformerEncoder): one that reads longer texts, with the same weights."""
    settings = {**encoder.settings, "max_length": length}
    longer = TransformerEncoder(encoder.name, **settings, device=encoder.device)
    longer.replace(encoder.model, encoder.tokenizer)
    return longer


def _given(part: Any) -> Any:
    assert part is not None  # opened for the signals that need it
    return part
