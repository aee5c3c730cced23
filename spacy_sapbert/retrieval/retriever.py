"""`Retriever`: from documents to the concepts that they are about, without spaCy's components."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spacy.tokens import Doc

from ..encoders.documents import DocumentEncoder
from ..encoders.transformer import TransformerEncoder
from ..kb.hierarchy import below
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mentions import TRAINING_SOURCE, add_training_mentions
from ..kb.storage import KB_FILE
from ..types import AnnotatedDocument, DocumentConcept
from ..vectors.flat import NameVectors, build_name_vectors
from ..vectors.index import Index
from ..vectors.storage import VECTORS_FOLDER
from .concept_set import ConceptSet
from .concept_vectors import ConceptVectors
from .ranker import ConceptRanker, RankedConcept
from .settings import RetrieverSettings
from .signal_weights import SignalWeights
from .signals.document import DocumentSignal, EncodeDocuments
from .signals.mentions import MentionsSignal
from .signals.near_names import NearNames
from .signals.phrases import PhrasesSignal
from .signals.prior import PriorSignal
from .signals.sentences import SentencesSignal
from .signals.signal import Signal
from .training_counts import TrainingCounts

NAMES_FOR_A_SENTENCE = 200


@dataclass(repr=False, eq=False)
class Retriever:
    """Ranks the concepts that a document is about.

    `ConceptRanker` compares documents with concepts. The retriever has all that its signals need.
    `retrieval.storage` opens, saves and loads it.

    Attributes:
        concepts: what can be predicted.
        signals: what speaks for a concept, some of `SIGNALS`.
        settings: shared with the caller, who may change them at any time.
        spans_key: "mentions" are `doc.spans[spans_key]` instead of `doc.ents`.
        encoder: encodes names and concepts; it is never trained.
        concept_vectors: for "document".
        name_vectors: for "phrases" and "sentences".
        document_encoder: for "document"; it may be trained.
        encode_documents: encodes documents in place of `document_encoder`.
        labels: the ids that the concepts were chosen by.
        counts: what was fitted on annotated documents.
    """

    concepts: ConceptSet
    signals: Sequence[str]
    settings: RetrieverSettings = field(default_factory=RetrieverSettings)
    spans_key: str | None = None
    encoder: TransformerEncoder | None = None
    concept_vectors: ConceptVectors | None = None
    name_vectors: Index | None = None
    document_encoder: DocumentEncoder | None = None
    encode_documents: EncodeDocuments | None = None
    labels: list[str] | None = None
    counts: TrainingCounts | None = None
    stored_weights: SignalWeights | None = None
    _ranker: ConceptRanker | None = field(default=None, init=False)
    _filtered: tuple[frozenset[str], Retriever] | None = field(default=None, init=False)
    _kb_without_training: KnowledgeBase | None = field(default=None, init=False)
    _folders: list[tempfile.TemporaryDirectory[str]] = field(default_factory=list, init=False)

    def __repr__(self) -> str:
        return f"Retriever({len(self.concepts)} concepts of {self.kb.path}, signals: {', '.join(self.signals)})"

    @property
    def kb(self) -> KnowledgeBase:
        """The vocabulary."""
        return self.concepts.kb

    # --- ranking

    def retrieve(self, docs: Sequence[Doc]) -> list[list[DocumentConcept]]:
        """Return `list[list[DocumentConcept]]`: for each document the k best concepts above the threshold, best first."""
        threshold = self.threshold
        found = [
            [self._describe(doc, concept) for concept in ranked if concept.score > threshold]
            for doc, ranked in zip(docs, self.ranker.rank(docs, self.settings.k), strict=True)
        ]
        return list(map(self._most_specific, found)) if self.settings.most_specific else found

    def rank(self, docs: Sequence[Doc], k: int, filter: Collection[str] | None = None) -> list[list[DocumentConcept]]:
        """Rank the concepts of documents, whatever their score, those above others included.

        Args:
            k: so many concepts of each document, at most.
            filter: ids that can be predicted.

        Returns:
            best first.
        """
        retriever = self if filter is None else self._of(frozenset(filter))
        ranked = retriever.ranker.rank(docs, k)
        return [[retriever._describe(doc, one) for one in of_doc] for doc, of_doc in zip(docs, ranked, strict=True)]

    @property
    def threshold(self) -> float:
        """The setting, else the fitted threshold, or that of the first signal."""
        given = self.settings.threshold
        return self.ranker.threshold if given is None else given

    @property
    def weights(self) -> SignalWeights | None:
        """The fitted weights, if they are of just these signals."""
        return self.ranker.weights

    @property
    def ranker(self) -> ConceptRanker:
        """Compares documents with concepts, with the present weights."""
        if self._ranker is None:
            self._ranker = ConceptRanker(self.concepts, list(map(self._signal, self.signals)))
        weights = self.stored_weights
        is_of_these = weights is not None and dict(weights.signals) == self._ranker.n_features
        self._ranker.weights = weights if is_of_these else None
        return self._ranker

    def _most_specific(self, found: Sequence[DocumentConcept]) -> list[DocumentConcept]:
        """Return `list[DocumentConcept]`: those concepts of a document that are above none of the others."""
        lowest = below([concept.concept_id for concept in found], self.kb)
        return [concept for concept in found if concept.concept_id in lowest]

    def _describe(self, doc: Doc, ranked: RankedConcept) -> DocumentConcept:
        concept_id = self.concepts.ids[ranked.place]
        concept = self.kb.get(concept_id)
        assert concept is not None  # the set has concepts of the store only
        spans = (doc.char_span(start, end, alignment_mode="expand") for start, end in ranked.evidence)
        evidence = tuple(span for span in spans if span is not None)
        return DocumentConcept(concept_id, ranked.score, concept.canonical_name, evidence, ranked.contributions)

    def _of(self, filter: frozenset[str]) -> Retriever:
        """Return `Retriever`: one for some of the concepts. It is kept: its vectors take long to make."""
        if self._filtered is None or self._filtered[0] != filter:
            chosen = set(self.concepts.ids)
            ids = [one for given in filter for one in self.kb.find_id(given) if one in chosen]
            some = replace(self, concepts=ConceptSet(self.kb, ids))
            if self.concept_vectors:
                some.concept_vectors = self.concept_vectors.of(some.concepts, some._folder())
            self._filtered = filter, some
        some = self._filtered[1]
        some.stored_weights = self.weights
        return some

    def _signal(self, name: str) -> Signal:
        make: dict[str, Callable[[], Signal]] = {
            "document": lambda: DocumentSignal(
                _given(self.encode_documents or self.document_encoder), _given(self.concept_vectors)
            ),
            "sentences": lambda: SentencesSignal(
                NearNames(_given(self.name_vectors), self.concepts, NAMES_FOR_A_SENTENCE)
            ),
            "phrases": lambda: PhrasesSignal(NearNames(_given(self.name_vectors), self.concepts), self.counts),
            "mentions": lambda: MentionsSignal(self.concepts, self.spans_key),
            "prior": lambda: PriorSignal(self.concepts, self.counts),
        }
        return make[name]()

    # --- what training changes

    def set_counts(self, counts: TrainingCounts) -> None:
        """Take over what was counted in annotated documents."""
        self.counts = counts
        self._renew()

    def add_training_mentions(self, documents: Iterable[AnnotatedDocument]) -> None:
        """Add the mentions of annotated documents to the names, in place of those that were added before. The vectors
        of the concepts stay as they are."""
        folder = self._folder()
        self._kb_without_training = self._kb_without_training or self.kb
        knowledge_base = add_training_mentions(self._kb_without_training, documents, TRAINING_SOURCE, folder / KB_FILE)
        if self.name_vectors and self.encoder:
            known = [self.name_vectors.known] if isinstance(self.name_vectors, NameVectors) else []
            build_name_vectors(knowledge_base, self.encoder, folder / VECTORS_FOLDER, known=known)
            self.name_vectors = NameVectors(folder / VECTORS_FOLDER, knowledge_base, self.encoder)
        self.concepts = ConceptSet(knowledge_base, self.concepts.ids)
        self._renew()

    def separate_document_encoder(self) -> DocumentEncoder:
        """Return `DocumentEncoder`: that of the retriever, which can be trained: it shares no weights with `encoder`
        from now on.
        """
        assert self.encoder is not None  # it has made the vectors of the concepts
        assert self.document_encoder is not None
        if self.document_encoder.encoder is self.encoder:
            self.document_encoder = DocumentEncoder(self.encoder.copy(), self.document_encoder.length)
            self._renew()
        return self.document_encoder

    def _renew(self) -> None:
        """Make the signals anew before they are used next."""
        self._ranker = self._filtered = None

    def _folder(self) -> Path:
        """Return a new folder that lives as long as the retriever does."""
        self._folders.append(tempfile.TemporaryDirectory(prefix="spacy_sapbert_", ignore_cleanup_errors=True))
        return Path(self._folders[-1].name)


def _given(part: Any) -> Any:
    assert part is not None  # opened for the signals that need it
    return part
