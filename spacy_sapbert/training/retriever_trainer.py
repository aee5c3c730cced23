"""`RetrieverTrainer`: train the document encoder of a retriever, and fit the weights of its signals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import minibatch

from ..documents.docs import WEIGHT, from_doc, is_augmented
from ..encoders.encoder import history_kept
from ..encoders.segments import DocumentModel, document_model
from ..errors import Errors, TrainingDataError, Warnings
from ..files.values import hash64
from ..kb.ids import some_ids
from ..retrieval.phrases import phrases
from ..retrieval.retriever import Retriever
from ..retrieval.signals import Candidates, SignalWeights
from ..retrieval.training_counts import DocumentCounts, MentionModel, TrainingCounts, count_document, phrase_features
from ..settings_block import check_counts
from ..types import Document
from .settings import ConceptRetrieval

if TYPE_CHECKING:
    from spacy.training import Example
    from thinc.api import Optimizer
    from thinc.types import Floats2d

    from ..retrieval.concepts import ConceptVectors

ExampleBatcher = Callable[[Iterable[Any]], Iterator[list[Any]]]  # of examples
MOST_DOCUMENTS = 5000  # that fit the mention model: those of a larger corpus would need much memory
BATCH = 32  # documents that are read together to weigh the signals


class TrainingDocument(NamedTuple):
    """A document to train on, the positions of its concepts, and the weight of its loss."""

    doc: Doc
    positions: tuple[int, ...]
    weight: float


class HeldOutDocument(NamedTuple):
    """A document on which the encoder is not trained, but the signals are weighed; its counts and its concepts."""

    doc: Doc
    counts: DocumentCounts
    positions: tuple[int, ...]


class RetrieverTrainer:
    """Trains the document encoder of a retriever, and fits the weights of its signals.

    The vectors of the concepts and their encoder do not change. `refresh` weighs the signals on documents that are held
    out of the training of the encoder. If no encoder is trained, these are all documents.

    Attributes:
        steps: The number of updates.
        held_out: The held-out documents seen so far.
        model: The model that is trained; None if no signal encodes documents.
    """

    def __init__(self, retriever: Retriever, settings: ConceptRetrieval) -> None:
        self.retriever = retriever
        self.settings = settings
        self.steps = 0
        self.held_out: dict[int, HeldOutDocument] = {}
        self._counts: dict[int, DocumentCounts] = {}
        self._is_stale = False
        self.model: DocumentModel | None = None
        if retriever.concept_vectors:
            encoder = retriever.separate_document_encoder()
            self.model = document_model(encoder, trained_layers=settings.trained_layers, dropout=settings.dropout)
            self._loss = DocumentLoss(retriever.concept_vectors, settings)

    # --- training data

    def begin(self, references: Sequence[Doc]) -> None:
        """Count the annotations, and add the annotated mentions as names.

        Args:
            references: The training documents, annotated.
        """
        documents = [(reference, from_doc(reference)) for reference in references]
        manual = [(doc, document) for doc, document in documents if not is_augmented(doc)]
        if self.settings.add_training_mentions:
            self.retriever.add_training_mentions(document for _, document in manual)
        self._check_concepts([document for _, document in documents])
        self.held_out = {}
        self._counts = {_key(doc): count_document(doc, self._predictable(document)) for doc, document in manual}
        counts = TrainingCounts.of(self._counts.values())
        self.retriever.set_counts(counts, self._fit_mention_model(manual, counts))

    def _check_concepts(self, documents: Sequence[Document]) -> None:
        if not any(map(self._positions, documents)):
            ids = [id for document in documents for mention in document.mentions for id in mention.ids]
            some, known = some_ids(ids), some_ids(self.retriever.kb.concept_ids())
            raise TrainingDataError(Errors.E346.format(documents=len(documents), n=len(ids), some=some, known=known))

    def _predictable(self, document: Document) -> Document:
        """Return a document with the mentions of concepts that can be predicted."""
        positions_of = self.retriever.concepts.positions_of
        mentions = tuple(mention for mention in document.mentions if any(map(positions_of, mention.ids)))
        return document._replace(mentions=mentions)

    def _fit_mention_model(
        self, documents: Sequence[tuple[Doc, Document]], counts: TrainingCounts
    ) -> MentionModel | None:
        """Fit how likely phrases are mentions, if this matters. The counts of a document leave out its own."""
        if not documents or "phrases" not in self.retriever.signals:
            return None
        features, is_mention = [], []
        for doc, document in documents[:: -(-len(documents) // MOST_DOCUMENTS)]:
            doc_phrases, own = phrases(doc), self._counts[_key(doc)]
            features.append(phrase_features(document.text, doc_phrases, counts, own))
            is_mention.append(np.array([own.marked[phrase.text] > 0 for phrase in doc_phrases], dtype=bool))
        return MentionModel.fit(np.concatenate(features), np.concatenate(is_mention))

    def training_documents(self, examples: Sequence[Example]) -> list[TrainingDocument]:
        """Select the documents to train on. Held-out documents are kept, to weigh the signals.

        Returns:
            The documents. There are none without a model.
        """
        self._is_stale |= self.model is not None or "mentions" in self.retriever.signals
        documents = []
        for example in examples:
            key, positions = _key(example.reference), self._positions(from_doc(example.reference))
            # without an encoder to train, all documents fit the weights of the signals
            is_drawn = self.model is None or hash64(f"{self.settings.seed} {key}") / 2**64 < self.settings.held_out
            if is_drawn and key in self._counts:
                self._is_stale |= key not in self.held_out
                self.held_out[key] = HeldOutDocument(example.predicted, self._counts[key], positions)
                positions = ()
            if self.model is not None and positions:
                documents.append(TrainingDocument(example.predicted, positions, self._weight(example.reference)))
        return documents

    def _weight(self, reference: Doc) -> float:
        if is_augmented(reference) and self.settings.augmented_weight is not None:
            return self.settings.augmented_weight
        return float(reference.user_data.get(WEIGHT, 1.0))

    def _positions(self, document: Document) -> tuple[int, ...]:
        ids = dict.fromkeys(id for mention in document.mentions for id in mention.ids)
        positions_of = self.retriever.concepts.positions_of
        return tuple(dict.fromkeys(position for id in ids for position in positions_of(id)[:1]))

    # --- a step

    def begin_update(self, documents: Sequence[TrainingDocument]) -> tuple[float, Callable[[], Any]]:
        """Compare documents with their annotated concepts and with others.

        Returns:
            The mean loss per document, and a function that propagates its gradient back.
        """
        assert self.model is not None
        segments, backprop = self.model.begin_update([document.doc for document in documents])
        total, gradients = 0.0, []
        share = 1 / len(documents)
        for vectors, document in zip(segments, documents, strict=True):
            loss, gradient = 0.0, np.zeros_like(vectors)
            if document.positions and len(vectors):
                loss, gradient = self._loss(np.asarray(vectors), document.positions)
            total += share * document.weight * loss
            gradients.append((share * document.weight * gradient).astype(np.float32))
        return total, lambda: backprop(cast("list[Floats2d]", gradients))

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the weights of the model with the gradients added up so far."""
        if self.model is not None:
            self.model.finish_update(sgd)
            self.steps += 1
            self._is_stale = True

    # --- the weights of the signals

    def refresh(self) -> None:
        """Weigh the signals, if anything was trained since they were weighed."""
        if self._is_stale:
            self._is_stale = False
            self._weigh()

    def _weigh(self) -> None:
        held_out = [self.held_out[key] for key in sorted(self.held_out)]
        if not held_out:
            return
        candidates: list[Candidates] = []
        for batch in minibatch(held_out, size=BATCH):
            docs, counts = [document.doc for document in batch], [document.counts for document in batch]
            candidates += self.retriever.ranker.candidates(docs, counts)
        pairs = zip(candidates, held_out, strict=True)
        right = [np.isin(ranked.positions, document.positions) for ranked, document in pairs]
        n_right = sum(int(flags.sum()) for flags in right)
        missed = sum(len(document.positions) for document in held_out) - n_right
        features = [ranked.features for ranked in candidates]
        weights = SignalWeights.fit(self.retriever.ranker.n_features, features, right, missed)
        if weights is None:
            n_candidates = sum(map(len, right))
            message = Warnings.W413.format(documents=len(held_out), right=n_right, candidates=n_candidates)
            warnings.warn(message, stacklevel=2)
        else:
            self.retriever.stored_weights = weights

    # --- saving

    @contextmanager
    def trained_retriever(self) -> Iterator[Retriever]:
        """Give the retriever to save: with weighed signals, and a record of the training in the document encoder.

        Training can continue afterwards, since the retriever itself does not change.
        """
        self.refresh()
        documents = self.retriever.document_encoder
        with ExitStack() as stack:
            if self.steps and documents is not None:
                stack.enter_context(history_kept(documents.encoder))
                documents.encoder.record("concept retrieval", steps=self.steps, settings=vars(self.settings))
            yield self.retriever


def _key(doc: Doc) -> int:
    return hash64(doc.text)


# --- the loss of a document


class DocumentLoss:
    """Compares a document with the concepts annotated in it, and with wrong concepts that it draws.

    Args:
        settings: The number of wrong concepts, the seed, and the temperature.
    """

    def __init__(self, vectors: ConceptVectors, settings: ConceptRetrieval) -> None:
        self.vectors = vectors
        self.settings = settings
        self._random = np.random.default_rng(settings.seed)

    def __call__(self, segments: np.ndarray, right: Sequence[int]) -> tuple[float, np.ndarray]:
        """InfoNCE: −log softmax of each right concept among the drawn wrong ones, averaged over the right ones.

        Args:
            segments: The vectors of one document, float32, shape (segments, dim). The cosine with a concept is that of
                the nearest segment.
            right: The positions of the right concepts.

        Returns:
            The loss, and its gradient, float32, of the shape of `segments`.
        """
        drawn = np.array([*right, *self.wrong(segments, right)])
        n_right = len(right)
        concepts = np.asarray(self.vectors.vectors[drawn])
        cosines = segments @ concepts.T
        nearest = cosines.argmax(axis=0)
        scores = cosines[nearest, np.arange(len(drawn))].astype(np.float64) / self.settings.temperature
        wrong = np.logaddexp.reduce(scores[n_right:])
        total = np.logaddexp(scores[:n_right], wrong)
        loss = float((total - scores[:n_right]).mean())
        gradient_of_right = (np.exp(scores[:n_right] - total) - 1) / n_right
        gradient_of_wrong = np.exp(scores[None, n_right:] - total[:, None]).sum(axis=0) / n_right
        gradient_of_scores = np.concatenate([gradient_of_right, gradient_of_wrong]) / self.settings.temperature
        gradient = np.zeros_like(segments)
        np.add.at(gradient, nearest, gradient_of_scores[:, None].astype(np.float32) * concepts)
        return loss, gradient

    def wrong(self, segments: np.ndarray, right: Sequence[int]) -> np.ndarray:
        """Return the positions of wrong concepts, int64: the nearest ones, and random ones."""
        n_concepts = len(self.vectors.concepts)
        cosines, positions = self.vectors.nearest(segments, self.settings.hard + len(right))
        order = np.argsort(-cosines.ravel(), kind="stable")
        ranked = list(dict.fromkeys(position for position in positions.ravel()[order].tolist() if position >= 0))
        taken = set(right)
        hard = [position for position in ranked if position not in taken][: self.settings.hard]
        taken.update(hard)
        n_random = min(self.settings.random, n_concepts - len(taken))
        drawn: dict[int, None] = {}
        while len(drawn) < n_random:
            position = int(self._random.integers(n_concepts))
            if position not in taken:
                drawn[position] = None
        return np.array([*hard, *drawn], dtype=np.int64)


# --- batches


def mixed_batches(manual: int = 16, augmented: int = 16) -> ExampleBatcher:
    """Put fixed numbers of manually annotated documents and of documents annotated by rules into each batch.

    An epoch uses each manual document once, and the first documents annotated by rules. These differ in each epoch,
    since `spacy train` shuffles. If all documents are of one kind, so are the batches.

    Args:
        manual: Manually annotated documents per batch.
        augmented: Documents annotated by rules per batch.
    """
    check_counts("MixedBatches", manual=manual, augmented=augmented)

    def batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
        by_people: list[Example] = []
        by_rule: list[Example] = []
        for example in examples:
            (by_rule if is_augmented(example.reference) else by_people).append(example)
        if not by_people:
            by_people, by_rule = by_rule, []
        added = cycle(by_rule)
        for start in range(0, len(by_people), manual):
            yield [*by_people[start : start + manual], *islice(added, augmented)]

    return batches
