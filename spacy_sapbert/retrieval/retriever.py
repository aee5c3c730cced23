"""`Retriever`: find the concepts that documents are about, without spaCy's components."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, Span

from ..encoders.encoder import Encoder
from ..encoders.ngrams import NGRAMS_FOLDER, TEXT_NORMALIZER, NgramEncoder
from ..encoders.segments import DocumentEncoder
from ..files.output import ScratchFolder
from ..kb.filters import below
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mentions import TRAINING_SOURCE, add_training_mentions
from ..kb.storage import KB_FILE
from ..types import Document, DocumentConcept
from ..vectors.index import Index
from ..vectors.ngram_index import NgramIndex
from ..vectors.postings_build import build_ngram_index
from ..vectors.storage import FLAT, VECTORS_FOLDER, vectors_of_more_names
from .concepts import ConceptSet, ConceptVectors, LikelyNames, NearNames
from .phrase_signal import PhrasesSignal
from .phrases import Characters
from .settings import ConceptVectorSettings, RetrieverSettings
from .signals import ConceptRanker, DocumentSignal, MentionsSignal, PriorSignal, RankedConcept, Signal, SignalWeights
from .training_counts import MentionModel, TrainingCounts

N_FEATURES = {
    signal.name: len(signal.features) for signal in (DocumentSignal, PhrasesSignal, MentionsSignal, PriorSignal)
}
"""The number of features of each signal."""
FEW_NAMES = 5000
"""Every phrase is compared with all names of a vocabulary of at most this size."""


@dataclass(repr=False, eq=False)
class Retriever:
    """Ranks the concepts that a document is about.

    `ConceptRanker` compares documents with concepts. The retriever holds what its signals need. `retrieval.storage`
    opens, saves and loads it.

    Attributes:
        concepts: The concepts that can be predicted: those with one of `labels` (None for all) and of `types` (empty
            for all).
        signals: The signals, some of `SIGNALS`.
        settings: Shared with the caller, who may change them at any time.
        spans_key: The signal "mentions" reads `doc.spans[spans_key]` instead of `doc.ents`.
        encoder: Encodes names and concepts. It is never trained.
        concept_vectors: The vectors of the concepts, for "document".
        name_vectors: The vectors of the names, for "phrases".
        ngrams: The n-grams of the names, if `needs_ngrams`.
        index: The index of the names. With "Flat", "phrases" compares every phrase with all names.
        vector_settings: How vectors are made.
        document_encoder: The document encoder, for "document". It may be trained.
        counts: Counts from annotated documents, from which `mention_model` estimates how likely a phrase is a mention.
        stored_weights: The fitted weights of the signals.
    """

    concepts: ConceptSet
    signals: Sequence[str]
    settings: RetrieverSettings = field(default_factory=RetrieverSettings)
    spans_key: str | None = None
    encoder: Encoder | None = None
    concept_vectors: ConceptVectors | None = None
    name_vectors: Index | None = None
    ngrams: NgramIndex | None = None
    index: str = FLAT
    vector_settings: ConceptVectorSettings = field(default_factory=ConceptVectorSettings)
    document_encoder: DocumentEncoder | None = None
    labels: list[str] | None = None
    types: Sequence[str] = ()
    counts: TrainingCounts | None = None
    mention_model: MentionModel | None = None
    stored_weights: SignalWeights | None = None
    _ranker: ConceptRanker | None = field(default=None, init=False)
    _filtered: tuple[frozenset[str], Retriever] | None = field(default=None, init=False)
    _kb_without_training: KnowledgeBase | None = field(default=None, init=False)
    _folders: list[ScratchFolder] = field(default_factory=list, init=False)

    def __repr__(self) -> str:
        return f"Retriever({len(self.concepts)} concepts of {self.kb.path}, signals: {', '.join(self.signals)})"

    @property
    def kb(self) -> KnowledgeBase:
        """The vocabulary."""
        return self.concepts.kb

    @property
    def needs_ngrams(self) -> bool:
        """Whether "phrases" searches for a phrase by its n-grams first.

        The whole vocabulary decides, so that a subset of its concepts gets the same features.
        """
        if "phrases" not in self.signals or self.name_vectors is None or self.index == FLAT:
            return False
        is_local = self.name_vectors.local and self.name_vectors.encoder.l2_normalized
        return is_local and self.kb.n_names > FEW_NAMES

    # --- ranking

    def retrieve(self, docs: Sequence[Doc]) -> list[list[DocumentConcept]]:
        """Return the k best concepts above the threshold for each document, best first."""
        threshold = self.threshold
        ranked = self.ranker.rank(docs, self.settings.k)
        above = [[concept for concept in concepts if concept.score > threshold] for concepts in ranked]
        described = self._describe(docs, above)
        if self.settings.most_specific:
            for concepts in described:
                lowest = below([concept.concept_id for concept in concepts], self.kb)
                concepts[:] = [concept for concept in concepts if concept.concept_id in lowest]
        return described

    def rank(self, docs: Sequence[Doc], k: int, filter: Collection[str] | None = None) -> list[list[DocumentConcept]]:
        """Return the k best concepts of documents, best first, with any score. Ancestors of other concepts are
        included.

        `filter` has the ids that can be predicted; None for all.
        """
        retriever = self if filter is None else self._restricted_to(frozenset(filter))
        return retriever._describe(docs, retriever.ranker.rank(docs, k))

    @property
    def threshold(self) -> float:
        """The setting, or else the fitted threshold, or else that of the first signal."""
        setting = self.settings.threshold
        return self.ranker.threshold if setting is None else setting

    @property
    def weights(self) -> SignalWeights | None:
        """The fitted weights, if they belong to exactly these signals."""
        return self.ranker.weights

    @property
    def ranker(self) -> ConceptRanker:
        """The ranker, with the current weights."""
        if self._ranker is None:
            self._ranker = ConceptRanker(self.concepts, list(map(self._signal, self.signals)))
        weights = self.stored_weights
        is_of_these = weights is not None and dict(weights.signals) == self._ranker.n_features
        self._ranker.weights = weights if is_of_these else None
        return self._ranker

    def _describe(self, docs: Sequence[Doc], ranked: Sequence[Sequence[RankedConcept]]) -> list[list[DocumentConcept]]:
        """Return the concepts of documents with their names and spans. All names are read at once."""
        ids = self.concepts.ids
        summaries = self.kb.summaries_of(
            list(dict.fromkeys(ids[concept.position] for concepts in ranked for concept in concepts))
        )
        return [
            [
                DocumentConcept(
                    id := ids[position], score, summaries[id].preferred, tuple(_spans(doc, evidence)), contributions
                )
                for position, score, evidence, contributions in concepts
            ]
            for doc, concepts in zip(docs, ranked, strict=True)
        ]

    def _restricted_to(self, filter: frozenset[str]) -> Retriever:
        """Return a retriever for a subset of the concepts. It is cached, since its vectors take long to make."""
        if self._filtered is None or self._filtered[0] != filter:
            chosen = set(self.concepts.ids)
            ids = [primary for concept_id in filter for primary in self.kb.find_id(concept_id) if primary in chosen]
            restricted = replace(self, concepts=ConceptSet(self.kb, ids))
            if self.concept_vectors:
                restricted.concept_vectors = self.concept_vectors.subset(restricted.concepts, restricted._folder())
            self._filtered = filter, restricted
        restricted = self._filtered[1]
        restricted.stored_weights = self.weights
        return restricted

    def _signal(self, name: str) -> Signal:
        # whatever a signal needs was opened
        names: Any = self.name_vectors
        if name == "document":
            encoder: Any = self.document_encoder
            vectors: Any = self.concept_vectors
            return DocumentSignal(encoder, vectors)
        if name == "phrases":
            near = LikelyNames(names, self.concepts, self.ngrams) if self.ngrams else NearNames(names, self.concepts)
            return PhrasesSignal(near, self.counts, self.mention_model)
        if name == "mentions":
            return MentionsSignal(self.concepts, self.spans_key)
        return PriorSignal(self.concepts, self.counts)

    def forget(self) -> None:
        """Forget what was found for earlier texts."""
        for signal in self.ranker.signals:
            if isinstance(signal, PhrasesSignal):
                signal.near_names.forget()

    # --- what training changes

    def set_counts(self, counts: TrainingCounts, mention_model: MentionModel | None = None) -> None:
        """Set the counts from annotated documents, and the mention model that uses them."""
        self.counts, self.mention_model = counts, mention_model
        self._discard_signals()

    def add_training_mentions(self, documents: Iterable[Document]) -> None:
        """Add the mentions of annotated documents to the names. They replace mentions that were added before.

        Annotated labels that the vocabulary lacks become concepts, unless the concepts have vectors. Those do not
        change.
        """
        folder = self._folder()
        self._kb_without_training = self._kb_without_training or self.kb
        new_ids = () if self.concept_vectors else self.labels or ()
        plain, path = self._kb_without_training, folder / KB_FILE
        kb = add_training_mentions(plain, documents, TRAINING_SOURCE, path, new_ids=new_ids, new_types=self.types)
        if self.name_vectors:
            self.name_vectors = vectors_of_more_names(self.name_vectors, kb, folder / VECTORS_FOLDER)
        self.concepts = ConceptSet(kb, self.labels, self.types)
        self.ngrams = None
        if self.needs_ngrams:
            encoder = NgramEncoder.fit(kb.names(), text_normalizer=TEXT_NORMALIZER)
            build_ngram_index(kb, encoder, folder / NGRAMS_FOLDER)
            self.ngrams = NgramIndex(folder / NGRAMS_FOLDER, kb)
        self._discard_signals()

    def separate_document_encoder(self) -> DocumentEncoder:
        """Return the document encoder for training. From now on, it shares no weights with `encoder`."""
        assert self.encoder is not None  # it made the vectors of the concepts
        assert self.document_encoder is not None
        if self.document_encoder.encoder is self.encoder:
            self.document_encoder = DocumentEncoder(self.encoder.copy(), self.document_encoder.length)
            self._discard_signals()
        return self.document_encoder

    def _discard_signals(self) -> None:
        """Discard the signals, so that they are made again before the next use."""
        self._ranker = self._filtered = None

    def _folder(self) -> Path:
        """Return a new folder that exists as long as the retriever."""
        self._folders.append(ScratchFolder())
        return self._folders[-1].path


def _spans(doc: Doc, evidence: Iterable[Characters]) -> list[Span]:
    spans = (doc.char_span(start, end, alignment_mode="expand") for start, end in evidence)
    return [span for span in spans if span is not None]
