"""A component that ranks concepts, keeps all that it needs for that, and learns from annotated documents."""

import copy
import warnings
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    cast,
)

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.util import minibatch

from ..corpora.docs import WEIGHT, from_doc, is_augmented
from ..errors import Errors, SapbertError, Warnings
from ..text.hashing import hash64
from ..training.concept_retrieval import ConceptRetrieval
from ..types import AnnotatedDocument
from .base import BatchedPipe

if TYPE_CHECKING:
    import numpy as np
    from thinc.api import Model, Optimizer
    from thinc.types import Floats2d

    from ..encoders.thinc_layer import DocumentModel
    from ..retrieval.parts import RetrieverParts
    from ..retrieval.retriever import Candidates, Retriever
    from ..retrieval.signals.document import EncodeDocuments
    from ..retrieval.training_counts import DocumentCounts
    from ..training.concept_retrieval import AnnotatedPlaces, RetrieverTrainer


BATCH = 32  # documents that are read together to weigh the signals


class HeldOut(NamedTuple):
    """A document from which the encoder does not learn."""

    doc: Doc
    counts: "DocumentCounts"
    places: Tuple[int, ...]


class RetrievalPipe(BatchedPipe):
    """Opens vocabulary and encoder at first use, saves them, and learns as its `learning` says.

    A subclass keeps what its config names in attributes that begin with `_`.
    """

    _kb: str
    _encoder: str
    _pooling: Optional[str]
    _device: str
    _index: str
    _labels: Optional[str]
    _types: List[str]
    _signals: List[str]
    _concept_text: str
    _segment_length: int
    _spans_key: Optional[str]

    def __init__(
        self,
        model: Optional["Model[List[Doc], List[Floats2d]]"],
        learning: Optional[ConceptRetrieval],
        scorer: Optional[Callable],
    ) -> None:
        self._model = model
        self.model: Any = model  # or its own, once it learns
        self.training = learning
        self.scorer = scorer
        self._parts: Optional[RetrieverParts] = None
        self._retriever: Optional[Retriever] = None
        self._trainer: Optional[RetrieverTrainer] = None
        self._held_out: Dict[int, HeldOut] = {}
        self._counts: Dict[int, DocumentCounts] = {}
        self._upstream: Optional[Callable[[Doc], Doc]] = None
        self._is_stale = False

    # --- vocabulary and encoder

    @property
    def parts(self) -> "RetrieverParts":
        """What concepts are ranked by. What the config names is opened here, at the first use."""
        if self._parts is None:
            from ..encoders.transformer import open_encoder
            from ..retrieval.parts import open_parts

            self._parts = open_parts(
                self._kb,
                open_encoder(self._encoder, pooling=self._pooling, l2_normalized=True, device=self._device),
                self._signals,
                labels=self._labels,
                types=self._types,
                index=self._index,
                concept_text=self._concept_text,
                length=self._segment_length,
            )
        return self._parts

    @property
    def retriever(self) -> "Retriever":
        """Ranks the concepts; it weighs the signals anew where the encoder has learnt since."""
        if self._is_stale:
            self._is_stale = False
            self._weigh()
        return self._open_retriever()

    def _open_retriever(self) -> "Retriever":
        if self._retriever is None:
            self._retriever = self.parts.retriever(self._signals, self._spans_key, self._read)
        return self._retriever

    @property
    def _read(self) -> Optional["EncodeDocuments"]:
        """Reads documents by a model that was given, if one was."""
        model = self._model
        return None if model is None else lambda docs: cast("List[np.ndarray]", model.predict(list(docs)))

    # --- learning

    def initialize(self, get_examples: Callable[[], Iterable[Example]], *, nlp: Optional[Language] = None) -> None:
        """Get ready to learn: count what is annotated, and make the annotated mentions names. A component without
        `learning` stays as it is.

        get_examples (Callable[[], Iterable[Example]]): gives the training data.
        RAISES (SapbertError): E645 no document is annotated with a concept that can be named.
        """
        if self.training is None:
            return
        from ..retrieval.training_counts import TrainingCounts

        examples = list(get_examples())
        validate_examples(examples, f"{type(self).__name__}.initialize")
        documents = [(example, from_doc(example.reference)) for example in examples]
        if not any(self._places(document) for _, document in documents):
            n_ids = sum(len(mention.ids) for _, document in documents for mention in document.mentions)
            raise SapbertError(Errors.E645.format(documents=len(documents), ids=n_ids))
        self._held_out = {}
        manual = [(example, document) for example, document in documents if not is_augmented(example.reference)]
        self._counts = {_key(example.reference): _count(example.reference, document) for example, document in manual}
        self.parts.counts = TrainingCounts.of(self._counts.values())
        if self.training.add_training_mentions:
            self.parts.add_training_mentions(document for _, document in manual)
        self._retriever = None
        components = nlp.pipeline if nlp and self._model is not None else ()
        listened = (one for _, one in components if self.name in getattr(one, "listening_components", ()))
        self._upstream = next(listened, None)
        self._start_learning()

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional["Optimizer"] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Learn which concepts documents are about.

        examples (Iterable[Example]): what linked mentions say must be in the predicted documents, so let the components
            before this one annotate.
        drop (float): not used; dropout is a setting of `learning`.
        RETURNS (Dict[str, float]): `losses`, to which the mean loss of a document was added.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        if self.training is None:
            self._learn_nothing(examples)
            return losses
        documents = self._training_documents(examples)
        learner = self._start_learning()
        if documents and learner is not None:
            loss, backprop = learner.begin_update(documents)
            backprop()
            losses[self.name] += loss
            if sgd not in (None, False):
                self.finish_update(sgd)
        self._is_stale = True
        return losses

    def _learn_nothing(self, examples: Sequence[Example]) -> None:
        """Components that share a transformer wait for what each of them gives back."""
        if self._model is not None:
            vectors, backprop = self._model.begin_update([example.predicted for example in examples])
            backprop([one * 0 for one in vectors])

    def finish_update(self, sgd: "Optimizer") -> None:
        if self._trainer is not None:
            self._trainer.finish_update(sgd)

    def score(self, examples: Iterable[Example], **settings: Any) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): what the `scorer` measures; it is given the component as `retriever`."""
        return self.scorer(examples, retriever=self, **settings) if self.scorer else {}

    def _start_learning(self) -> Optional["RetrieverTrainer"]:
        """RETURNS (RetrieverTrainer | None): None where no signal has an encoder that could learn."""
        assert self.training is not None
        parts = self.parts
        if self._trainer is None and parts.vectors:
            from ..training.concept_retrieval import RetrieverTrainer

            if self._model is None:
                self.model = self._own_model(self.training)
            self._trainer = RetrieverTrainer(self.model, parts.vectors, self.training)
        return self._trainer

    def _own_model(self, learning: ConceptRetrieval) -> "DocumentModel":
        from ..encoders.documents import DocumentEncoder
        from ..encoders.thinc_layer import document_model

        parts = self.parts
        assert parts.encoder  # it has made the vectors of the concepts
        assert parts.documents
        if parts.documents.encoder is parts.encoder:  # which stays as it is
            parts.documents = DocumentEncoder(parts.encoder.copy(), self._segment_length)
            self._retriever = None
        return document_model(parts.documents, trained_layers=learning.trained_layers, dropout=learning.dropout)

    def _training_documents(self, examples: Sequence[Example]) -> List["AnnotatedPlaces"]:
        """RETURNS (List[AnnotatedPlaces]): those to learn from, or all where a shared model has to read them. What is
        held out is kept to weigh the signals."""
        from ..training.concept_retrieval import AnnotatedPlaces

        documents = []
        for example in examples:
            key, places = _key(example.reference), self._places(from_doc(example.reference))
            if key in self._counts and self._is_held_out(key):
                self._held_out[key] = HeldOut(example.predicted, self._counts[key], places)
                places = ()
            if places or self._model is not None:
                documents.append(AnnotatedPlaces(example.predicted, places, self._weight(example)))
        return documents

    def _is_held_out(self, key: int) -> bool:
        assert self.training is not None
        drawn = hash64(f"{self.training.seed} {key}") / 2**64
        return drawn < self.training.held_out

    def _weight(self, example: Example) -> float:
        assert self.training is not None
        if is_augmented(example.reference) and self.training.augmented_weight is not None:
            return self.training.augmented_weight
        return float(example.reference.user_data.get(WEIGHT, 1.0))

    def _places(self, document: AnnotatedDocument) -> Tuple[int, ...]:
        concepts = self.parts.concepts
        ids = dict.fromkeys(one for mention in document.mentions for one in mention.ids)
        return tuple(dict.fromkeys(place for one in ids for place in concepts.places_of(one)[:1]))

    def _weigh(self) -> None:
        """Learn from the documents held out how much each signal counts."""
        import numpy as np

        from ..retrieval.signal_weights import SignalWeights

        held_out = [self._held_out[key] for key in sorted(self._held_out)]
        if not held_out:
            return
        retriever = self._open_retriever()
        found = [one for some in minibatch(held_out, size=BATCH) for one in self._candidates(retriever, some)]
        right = [np.isin(candidates.places, one.places) for candidates, one in zip(found, held_out)]
        missed = sum(len(one.places) for one in held_out) - sum(int(one.sum()) for one in right)
        features = [candidates.features for candidates in found]
        weights = SignalWeights.fit(retriever.n_features, features, right, missed)
        if weights is None:
            n_right, n_candidates = sum(int(one.sum()) for one in right), sum(map(len, right))
            message = Warnings.W413.format(documents=len(held_out), right=n_right, candidates=n_candidates)
            warnings.warn(message, stacklevel=2)
            return
        retriever.weights = self.parts.weights = weights

    def _candidates(self, retriever: "Retriever", held_out: Sequence[HeldOut]) -> List["Candidates"]:
        docs = [one.doc for one in held_out]
        if self._upstream is not None:  # what the transformer has read is large, and it has learnt since
            docs = [self._upstream(doc.copy()) for doc in docs]
        return retriever.candidates(docs, [one.counts for one in held_out])

    # --- saving

    def _save(self, folder: Path) -> None:
        _ = self.retriever  # which weighs the signals if they are not yet
        documents = self.parts.documents
        if self._model is not None or not (self._trainer and self._trainer.steps and documents and self.training):
            self.parts.save(folder, self._index)
            return
        before = copy.deepcopy(documents.encoder.trained)  # it may go on to learn
        documents.encoder.record("concept retrieval", steps=self._trainer.steps, settings=vars(self.training))
        self.parts.save(folder, self._index)
        documents.encoder.trained = before

    def _load(self, folder: Path) -> None:
        from ..retrieval.parts import load_parts

        self._parts = load_parts(
            folder,
            self._signals,
            types=self._types,
            index=self._index,
            length=self._segment_length,
            device=self._device,
        )
        self._retriever = self._trainer = None
        self.model = self._model
        self._held_out, self._counts = {}, {}
        self._is_stale = False


def _key(doc: Doc) -> int:
    return hash64(doc.text)


def _count(doc: Doc, document: AnnotatedDocument) -> "DocumentCounts":
    from ..retrieval.signals.phrases import count_document

    mentions = [mention for mention in document.mentions if mention.ids]
    return count_document(doc, [one.text for one in mentions], [one_id for one in mentions for one_id in one.ids])
