"""`concept_retriever`: predict the concepts of whole documents."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..retrieval.settings import SIGNALS, SIGNALS_WITH_ENCODER, ConceptVectorSettings, RetrieverSettings
from ..store.artifact import ArtifactWriter
from ..training.settings import ConceptRetrieval
from ..types import DocumentConcept
from .attributes import register, set_concepts
from .base import BatchedPipe
from .component_settings import INSIDE, add_factory, check_setting
from .scorers import score_concepts

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..retrieval.retriever import Retriever
    from ..training.retriever_trainer import RetrieverTrainer

_DEFAULTS = RetrieverSettings()


class ConceptRetriever(BatchedPipe):
    """Predicts the concepts that a document is about, with or without a mention of them.

    `retrieval.retriever.Retriever` does the work. The component reads documents and writes their concepts.

    Several signals rank concepts, alone or together with weights that were fitted on annotated documents. Without
    fitted weights, the first signal in the list ranks alone:

    - "document" is the bi-encoder of Shao et al. (2024). It compares the document with one vector per concept.
    - "phrases" compares each run of a few words with each name.
    - "mentions" takes the links of a linker earlier in the pipeline.
    - "prior" is how often annotators mean the concept.

    `k`, `threshold`, `most_specific` and `vectors.batch_size` can be changed at any time. The change is not saved.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        kb: "starter", the path of a knowledge base that `spacy-sapbert kb build` made, or the folder of a saved
            pipeline, for its vocabulary.
        encoder: "starter", a folder or a hub name; "none" if only "mentions" and "prior" are used. The signal
            "document" needs a transformer, such as "starter-transformer".
        device: The device of the encoder: "auto", "cpu", "cuda", …
        index: The index of the names, for "phrases"; see `SapbertLinker`.
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

    blocks = {"vectors": ConceptVectorSettings}
    shared = RetrieverSettings
    fixed = ("kb", "encoder", "device", "index", "labels", "types", "signals", "spans_key")
    shown = ("kb", "encoder", "spans_key")
    scored_as = "retriever"

    def __init__(
        self,
        nlp: Language,
        name: str = "concept_retriever",
        *,
        kb: str = "starter",
        encoder: str = "starter",
        device: str = "auto",
        index: str = "auto",
        storage: str = INSIDE,
        labels: Optional[str] = None,
        types: List[str] = [],
        signals: List[str] = ["phrases"],
        spans_key: Optional[str] = None,
        k: int = _DEFAULTS.k,
        threshold: Optional[float] = None,
        most_specific: bool = _DEFAULTS.most_specific,
        vectors: Optional[Dict[str, Any]] = None,
        training: Optional[ConceptRetrieval] = None,
        scorer: Optional[Callable] = score_concepts,
        model: None = None,
    ) -> None:
        self.keep(nlp, name, locals())
        self.model: Any = None  # the document encoder during training
        known = len(set(signals) & set(SIGNALS)) == len(signals) > 0
        check_setting(self, "signals", known, f"some of {', '.join(SIGNALS)}, each once")
        needs_encoder = not SIGNALS_WITH_ENCODER.isdisjoint(signals)
        check_setting(self, "encoder", encoder != "none" or not needs_encoder, "an encoder for these signals")
        self._retriever: Optional[Retriever] = None
        self._trainer: Optional[RetrieverTrainer] = None

    @property
    def batch_size(self) -> int:  # type: ignore[override]
        """The number of documents that are read together."""
        return self.vectors.batch_size

    # --- retrieving

    @property
    def retriever(self) -> "Retriever":
        """The retriever. What the config refers to is opened at the first use."""
        if self._retriever is None:
            from ..encoders.encoder import open_encoder
            from ..kb.storage import load_knowledge_base
            from ..retrieval.storage import open_retriever

            pooling, labels = self.vectors.pooling, None if self._labels is None else Path(self._labels)
            encoder = open_encoder(self._encoder, pooling=pooling, l2_normalized=True, device=self._device)
            kb = load_knowledge_base(self._kb)
            self._use(open_retriever(kb, encoder, self._signals, labels=labels, **self._sources))
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
            EmptyError: None of the labels is a concept of the vocabulary.
        """
        from ..kb.storage import load_knowledge_base
        from ..retrieval.storage import with_vocabulary

        trained = self._trainer.trained_retriever() if self._trainer else nullcontext(self.retriever)
        with trained as retriever:
            other = with_vocabulary(retriever, load_knowledge_base(kb))
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

    def _begin_training(self, examples: List[Example]) -> None:
        self._start_training().begin([example.reference for example in examples])

    def _train(self, examples: List[Example]) -> Optional[float]:
        trainer = self._start_training()
        documents = trainer.training_documents(examples)
        if not documents:
            return None
        loss, backprop = trainer.begin_update(documents)
        backprop()
        return loss

    def _start_training(self) -> "RetrieverTrainer":
        if self._trainer is None:
            from ..training.retriever_trainer import RetrieverTrainer

            assert self.training is not None
            self._trainer = RetrieverTrainer(self.retriever, self.training)
            self.model = self._trainer.model
        return self._trainer

    # --- saving

    def _save(self, folder: Path, artifacts: ArtifactWriter) -> None:
        from ..retrieval.storage import save_retriever

        trained = self._trainer.trained_retriever() if self._trainer else nullcontext(self.retriever)
        with trained as retriever:
            save_retriever(retriever, folder, artifacts)

    def _load(self, folder: Path, artifacts: Mapping[str, Path]) -> None:
        from ..retrieval.storage import load_retriever

        self._use(load_retriever(folder, artifacts, self._signals, device=self._device, **self._sources))

    # --- settings

    @property
    def _sources(self) -> Dict[str, Any]:
        return {"types": self._types, "index": self._index, "vectors": self.vectors}


add_factory(
    ConceptRetriever,
    assigns=["doc._.concepts"],
    score_weights={"concepts_r": 1.0, "concepts_p": 0.0, "concepts_f": 0.0, "concepts_r5": 0.0},
    scorer={"@scorers": "spacy-sapbert.concepts_scorer.v1"},
)
