"""`concept_retriever`: predict the concepts of whole documents."""

from contextlib import nullcontext
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Collection,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab

from ..retrieval.settings import ConceptVectorSettings, RetrieverSettings
from ..retrieval.signals import OF_ENCODER, SIGNALS
from ..store.assets import AssetWriter
from ..training.retriever_settings import ConceptRetrieval
from ..types import DocumentConcept
from .attributes import register, set_concepts
from .base import BatchedPipe
from .component_settings import check_setting, shared_setting
from .concepts_scorer import score_concepts
from .external_assets import INSIDE, check_storage

if TYPE_CHECKING:
    from thinc.api import Optimizer

    from ..kb.knowledge_base import KnowledgeBase
    from ..retrieval.retriever import Retriever
    from ..training.retriever_trainer import RetrieverTrainer

_DEFAULTS = RetrieverSettings()


@Language.factory(
    "concept_retriever",
    assigns=["doc._.concepts"],
    default_config={
        "kb": "starter",
        "encoder": "starter",
        "device": "auto",
        "index": "auto",
        "storage": INSIDE,
        "labels": None,
        "types": [],
        "signals": ["phrases"],
        "spans_key": None,
        "k": _DEFAULTS.k,
        "threshold": None,
        "most_specific": _DEFAULTS.most_specific,
        "vectors": ConceptVectorSettings().as_dict(),
        "training": None,
        "scorer": {"@scorers": "spacy-sapbert.concepts_scorer.v1"},
    },
    default_score_weights={"concepts_r": 1.0, "concepts_p": 0.0, "concepts_f": 0.0, "concepts_r5": 0.0},
)
def make_concept_retriever(
    nlp: Language,
    name: str,
    kb: str,
    encoder: str,
    device: str,
    index: str,
    storage: str,
    labels: Optional[str],
    types: List[str],
    signals: List[str],
    spans_key: Optional[str],
    k: int,
    threshold: Optional[float],
    most_specific: bool,
    vectors: Dict[str, Any],
    training: Optional[ConceptRetrieval],
    scorer: Optional[Callable],
    model: None = None,
) -> "ConceptRetriever":
    """Make a `ConceptRetriever` from a config. Version 1.0.0 wrote the last setting, which must be None."""
    return ConceptRetriever(
        nlp.vocab,
        name,
        kb=kb,
        encoder=encoder,
        device=device,
        index=index,
        storage=storage,
        labels=labels,
        types=types,
        signals=signals,
        spans_key=spans_key,
        k=k,
        threshold=threshold,
        most_specific=most_specific,
        vectors=vectors,
        training=training,
        scorer=scorer,
    )


class ConceptRetriever(BatchedPipe):
    """Predicts the concepts that a document is about, with or without a mention of them.

    `retrieval.retriever.Retriever` does the work. The component reads documents and writes their concepts.

    Several signals rank concepts, alone or together with weights that were fitted on annotated documents. Without
    fitted weights, the first signal in the list ranks alone:

    - "document" is the bi-encoder of Shao et al. (2024). It compares the document with one vector per concept.
    - "sentences" compares each sentence with each name.
    - "phrases" compares each run of a few words with each name.
    - "mentions" takes the links of a linker earlier in the pipeline.
    - "prior" is how often annotators mean the concept.

    `k`, `threshold`, `most_specific` and `vectors.batch_size` can be changed at any time. The change is not saved.

    Args:
        vocab: The vocabulary of the pipeline.
        name: The name of the component.
        kb: "starter", the path of a knowledge base that `spacy-sapbert kb build` made, or the folder of a saved
            pipeline, for its vocabulary.
        encoder: "starter", a folder or a hub name; "none" if only "mentions" and "prior" are used.
        device: The device of the encoder: "auto", "cpu", "cuda", …
        index: The index of the names, for "phrases" and "sentences"; see `SapbertLinker`.
        storage: See `SapbertLinker`.
        labels: A file with the ids that can be predicted, one per line; None for all of the vocabulary.
        types: Only concepts of these types. An empty list allows all.
        signals: The signals.
        spans_key: The signal "mentions" reads `doc.spans[spans_key]` instead of `doc.ents`.
        k: The most concepts per document.
        threshold: A concept needs a higher score. None takes the fitted threshold, else that of the signal.
        most_specific: Leave out concepts that are ancestors of another concept of the document.
        vectors: Expert settings, see `retrieval.settings.ConceptVectorSettings`.
        training: How `spacy train` trains the retriever on annotated documents; None for no training.
        scorer: Compares predicted documents with annotated ones.

    Raises:
        SapbertError: E406 a setting cannot have its value.
    """

    k = shared_setting("k")
    threshold = shared_setting("threshold")
    most_specific = shared_setting("most_specific")

    def __init__(
        self,
        vocab: Vocab,
        name: str = "concept_retriever",
        *,
        kb: str = "starter",
        encoder: str = "starter",
        device: str = "auto",
        index: str = "auto",
        storage: str = INSIDE,
        labels: Optional[str] = None,
        types: Sequence[str] = (),
        signals: Sequence[str] = ("phrases",),
        spans_key: Optional[str] = None,
        k: int = _DEFAULTS.k,
        threshold: Optional[float] = None,
        most_specific: bool = _DEFAULTS.most_specific,
        vectors: Optional[Dict[str, Any]] = None,
        training: Optional[ConceptRetrieval] = None,
        scorer: Optional[Callable] = score_concepts,
    ) -> None:
        self.vocab = vocab
        self.name = name
        self._kb = kb
        self._encoder = encoder
        self._device = device
        self._index = index
        self.storage = storage
        self._labels = labels
        self._types = list(types)
        self._signals = list(signals)
        self._spans_key = spans_key
        self.model: Any = None  # the document encoder during training
        self.training = training
        self.scorer = scorer
        self.vectors = ConceptVectorSettings.read(name, "vectors", vectors or {})
        self.settings = RetrieverSettings(k=k, threshold=threshold, most_specific=most_specific)
        check_storage(self)
        self.settings.check(name)
        self._check_signals()
        self._retriever: Optional[Retriever] = None
        self._trainer: Optional[RetrieverTrainer] = None
        register()

    @property
    def batch_size(self) -> int:  # type: ignore[override]
        """The number of documents that are read together."""
        return self.vectors.batch_size

    # --- retrieving

    @property
    def retriever(self) -> "Retriever":
        """The retriever. What the config refers to is opened at the first use."""
        if self._retriever is None:
            from ..encoders.transformer import open_encoder
            from ..kb.storage import load_knowledge_base
            from ..retrieval.storage import open_retriever

            retriever = open_retriever(
                load_knowledge_base(self._kb),
                open_encoder(self._encoder, pooling=self.vectors.pooling, l2_normalized=True, device=self._device),
                self._signals,
                labels=None if self._labels is None else Path(self._labels),
                types=self._types,
                index=self._index,
                vectors=self.vectors,
            )
            self._use(retriever)
        assert self._retriever is not None
        if self._trainer:
            self._trainer.refresh()
        return self._retriever

    @property
    def kb(self) -> "KnowledgeBase":
        """The vocabulary."""
        return self.retriever.kb

    # not `labels`: spaCy writes those into the pipeline's meta before anything is loaded
    @property
    def concept_ids(self) -> Tuple[str, ...]:
        """The primary ids of all concepts that can be predicted."""
        return tuple(self.retriever.concepts.ids)

    def predict(self, docs: Sequence[Doc]) -> List[List[DocumentConcept]]:
        """Return the k best concepts above the threshold for each document, best first."""
        return self.retriever.retrieve(docs)

    def set_annotations(self, docs: Sequence[Doc], predictions: Sequence[Sequence[DocumentConcept]]) -> None:
        """Write `_.concepts` of each document."""
        register()  # another plugin may have replaced the attribute meanwhile
        for doc, concepts in zip(docs, predictions):
            set_concepts(doc, concepts)

    def rank(
        self, docs: Sequence[Doc], k: int, filter: Optional[Collection[str]] = None
    ) -> List[List[DocumentConcept]]:
        """Rank the concepts of documents, with any score. Ancestors of other concepts are included.

        Args:
            docs: The documents.
            k: The most concepts per document.
            filter: The ids that can be predicted; None for all.

        Returns:
            The concepts of each document, best first.
        """
        return self.retriever.rank(docs, k, filter)

    def set_kb(self, kb: str) -> None:
        """Predict concepts of another vocabulary from now on, with the same encoders, labels and fitted weights.

        Names that training added to the vocabulary are dropped.

        Args:
            kb: "starter", or the path of a knowledge base.

        Raises:
            SapbertError: E642 none of the labels is a concept of the vocabulary.
        """
        from ..kb.storage import load_knowledge_base
        from ..retrieval.storage import with_vocabulary

        trained = self._trainer.trained_retriever() if self._trainer else nullcontext(self.retriever)
        with trained as retriever:
            other = with_vocabulary(
                retriever, load_knowledge_base(kb), types=self._types, index=self._index, vectors=self.vectors
            )
        self._kb = kb
        self._use(other)

    def _forget(self) -> None:
        if self._retriever is not None:
            self._retriever.forget()

    def _use(self, retriever: "Retriever") -> None:
        retriever.settings = self.settings
        retriever.spans_key = self._spans_key
        self._retriever = retriever
        self._trainer = self.model = None  # they belong to the old retriever

    # --- training

    def initialize(self, get_examples: Callable[[], Iterable[Example]], *, nlp: Optional[Language] = None) -> None:
        """Prepare for training: count the annotations, and add the annotated mentions as names.

        A component without `training` does not change.

        Args:
            get_examples: Returns the training data.
            nlp: The pipeline.

        Raises:
            SapbertError: E645 no document is annotated with a concept that can be predicted.
        """
        if self.training is None:
            return
        examples = list(get_examples())
        validate_examples(examples, f"{type(self).__name__}.initialize")
        self._start_training().begin([example.reference for example in examples])

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional["Optimizer"] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Train on the annotated concepts of examples.

        Args:
            examples: The training data. The signal "mentions" needs linked mentions in the predicted documents, so make
                the earlier components annotating components.
            drop: Ignored. Dropout is a setting of `training`.
            sgd: The optimizer.
            losses: Losses by component.

        Returns:
            The `losses`, with the mean loss per document added.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        if self.training is None:
            return losses
        trainer = self._start_training()
        documents = trainer.training_documents(examples)
        if documents:
            loss, backprop = trainer.begin_update(documents)
            backprop()
            losses[self.name] += loss
            if sgd not in (None, False):
                self.finish_update(sgd)
        return losses

    def finish_update(self, sgd: "Optimizer") -> None:
        """Update the weights. The signals are weighed again at the next use."""
        if self._trainer is not None:
            self._trainer.finish_update(sgd)

    def score(self, examples: Iterable[Example], **settings: Any) -> Dict[str, Any]:
        """Return the measures of the `scorer`. It receives the component as `retriever`."""
        return self.scorer(examples, retriever=self, **settings) if self.scorer else {}

    def _start_training(self) -> "RetrieverTrainer":
        if self._trainer is None:
            from ..training.retriever_trainer import RetrieverTrainer

            assert self.training is not None
            self._trainer = RetrieverTrainer(self.retriever, self.training)
            self.model = self._trainer.model
        return self._trainer

    # --- saving

    def _save(self, folder: Path, assets: AssetWriter) -> None:
        from ..retrieval.storage import save_retriever

        trained = self._trainer.trained_retriever() if self._trainer else nullcontext(self.retriever)
        with trained as retriever:
            save_retriever(retriever, folder, assets, self._index)

    def _load(self, folder: Path, assets: Mapping[str, Path]) -> None:
        from ..retrieval.storage import load_retriever

        retriever = load_retriever(
            folder,
            assets,
            self._signals,
            types=self._types,
            index=self._index,
            vectors=self.vectors,
            device=self._device,
        )
        self._use(retriever)

    # --- settings

    def _check_signals(self) -> None:
        known = f"some of {', '.join(SIGNALS)}, each once"
        holds = self._signals and len(set(self._signals) & set(SIGNALS)) == len(self._signals)
        check_setting(self, "signals", bool(holds), known)
        needs_encoder = OF_ENCODER.intersection(self._signals)
        check_setting(self, "encoder", self._encoder != "none" or not needs_encoder, "an encoder for these signals")
