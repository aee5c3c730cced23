"""`concept_retriever`: the concepts of a whole document."""

from typing import (
    TYPE_CHECKING,
    Callable,
    Collection,
    FrozenSet,
    List,
    Optional,
    Sequence,
    Tuple,
)

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model
from thinc.types import Floats2d

from ..retrieval.signals import OF_ENCODER, SIGNALS
from ..training.concept_retrieval import ConceptRetrieval
from ..types import DocumentConcept
from .attributes import register, set_concepts
from .concepts_scorer import score_concepts
from .retrieval_learning import RetrievalPipe
from .settings import check_setting

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..retrieval.concept_set import ConceptSet
    from ..retrieval.parts import RetrieverParts
    from ..retrieval.retriever import RankedConcept, Retriever

CONCEPT_TEXTS = ("packed", "mean")


@Language.factory(
    "concept_retriever",
    assigns=["doc._.concepts"],
    default_config={
        "kb": "starter",
        "encoder": "starter",
        "pooling": None,
        "device": "auto",
        "index": "Flat",
        "labels": None,
        "types": [],
        "signals": ["phrases"],
        "concept_text": "packed",
        "segment_length": 512,
        "spans_key": None,
        "k": 10,
        "threshold": None,
        "most_specific": False,
        "batch_size": 32,
        "model": None,
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
    pooling: Optional[str],
    device: str,
    index: str,
    labels: Optional[str],
    types: List[str],
    signals: List[str],
    concept_text: str,
    segment_length: int,
    spans_key: Optional[str],
    k: int,
    threshold: Optional[float],
    most_specific: bool,
    batch_size: int,
    model: Optional[Model[List[Doc], List[Floats2d]]],
    learning: Optional[ConceptRetrieval],
    scorer: Optional[Callable],
) -> "ConceptRetriever":
    settings = locals()
    return ConceptRetriever(settings.pop("nlp").vocab, **settings)


class ConceptRetriever(RetrievalPipe):
    """Names the concepts that a document is about, whether or not a mention of them was found.

    Several signals speak for a concept, alone or weighed together as was learnt from annotated documents: "document",
    the bi-encoder of Shao et al. (2024), which compares the document with one vector a concept; "sentences", the best
    sentence beside the best name; "phrases", every run of a few words beside every name; "mentions", what a linker
    before this component has linked; "prior", how often annotators name the concept. Until it was learnt how much
    each counts, the first in the list ranks alone.

    kb (str): "starter", or the path of a store that `spacy-sapbert kb build` made.
    encoder (str): "starter", a folder or a hub name; "none" for "mentions" and "prior" alone.
    pooling (str | None): "cls" or "mean"; None takes what the encoder says.
    device (str): where the encoder runs: "auto", "cpu", "cuda", …
    index (str): how near names are found, for "phrases" and "sentences"; see `SapbertLinker`.
    labels (str | None): a file with the ids that can be named, one a line; None for all of the vocabulary.
    types (List[str]): only concepts of these types. An empty list lets all pass.
    signals (List[str]): what speaks for a concept.
    concept_text (str): what of a concept is encoded for "document": "packed", one text of all names and the
        definition; or "mean", the mean of the names' vectors.
    segment_length (int): wordpieces that are read at once, for "document"; no more than the encoder can read.
    spans_key (str | None): "mentions" are `doc.spans[spans_key]` instead of `doc.ents`.
    k (int): concepts of a document at most.
    threshold (float | None): a concept needs a higher score; None takes what was fitted, or that of the signal.
    most_specific (bool): leave out concepts above another one of the document in the vocabulary's hierarchy.
    batch_size (int): documents that are read together.
    model (Model[List[Doc], List[Floats2d]] | None): reads documents for "document", e.g. by the transformer that the
        pipeline's components share ("spacy-sapbert.SharedTransformer.v1"); `encoder` should be the same model, and is
        that of the concepts. None for an encoder of the component's own.
    learning (ConceptRetrieval | None): how it learns from annotated documents in `spacy train`; None for not at all.
    scorer (Callable | None): measures predicted documents beside annotated ones.

    `k`, `threshold`, `most_specific` and `batch_size` can be changed at any time; the change is not saved.
    RAISES (SapbertError): E406 a setting that cannot be.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "concept_retriever",
        *,
        kb: str = "starter",
        encoder: str = "starter",
        pooling: Optional[str] = None,
        device: str = "auto",
        index: str = "Flat",
        labels: Optional[str] = None,
        types: Sequence[str] = (),
        signals: Sequence[str] = ("phrases",),
        concept_text: str = "packed",
        segment_length: int = 512,
        spans_key: Optional[str] = None,
        k: int = 10,
        threshold: Optional[float] = None,
        most_specific: bool = False,
        batch_size: int = 32,
        model: Optional[Model[List[Doc], List[Floats2d]]] = None,
        learning: Optional[ConceptRetrieval] = None,
        scorer: Optional[Callable] = score_concepts,
    ) -> None:
        super().__init__(model, learning, scorer)
        self.vocab = vocab
        self.name = name
        self._kb = kb
        self._encoder = encoder
        self._pooling = pooling
        self._device = device
        self._index = index
        self._labels = labels
        self._types = list(types)
        self._signals = list(signals)
        self._concept_text = concept_text
        self._segment_length = segment_length
        self._spans_key = spans_key
        self.k = k
        self._threshold = threshold
        self.most_specific = most_specific
        self.batch_size = batch_size
        self._some: Optional[Tuple[FrozenSet[str], ConceptSet, RetrieverParts]] = None
        self._check_settings()
        register()

    # --- retrieving

    def predict(self, docs: Sequence[Doc]) -> List[List["RankedConcept"]]:
        """RETURNS (List[List[RankedConcept]]): for each document the k best concepts above the threshold, best first."""
        threshold = self.threshold
        ranked = self.retriever.rank(docs, self.k)
        named = [[concept for concept in of_doc if concept.score > threshold] for of_doc in ranked]
        return list(map(self._lowest, named)) if self.most_specific else named

    def set_annotations(self, docs: Sequence[Doc], predictions: Sequence[Sequence["RankedConcept"]]) -> None:
        """Write `_.concepts` of every document."""
        register()  # another plugin may have replaced the attribute since
        for doc, ranked in zip(docs, predictions):
            set_concepts(doc, [self._told(doc, concept, self.retriever) for concept in ranked])

    def rank(
        self, docs: Sequence[Doc], k: int, filter: Optional[Collection[str]] = None
    ) -> List[List[DocumentConcept]]:
        """Rank the concepts of documents, whatever their score, those above others included.

        k (int): so many concepts of each document, at most.
        filter (Collection[str] | None): ids that can be named.
        RETURNS (List[List[DocumentConcept]]): best first.
        """
        retriever = self.retriever if filter is None else self._retriever_of(frozenset(filter))
        ranked = retriever.rank(docs, k)
        return [[self._told(doc, one, retriever) for one in of_doc] for doc, of_doc in zip(docs, ranked)]

    @property
    def threshold(self) -> float:
        """As it was set, else as it was fitted, or as the first signal has it."""
        return self.retriever.threshold if self._threshold is None else self._threshold

    @threshold.setter
    def threshold(self, value: Optional[float]) -> None:
        self._threshold = value

    @property
    def kb(self) -> "KnowledgeBase":
        """The vocabulary."""
        return self.parts.kb

    # not `labels`: spaCy lists those of every component in the pipeline's meta, before anything was loaded
    @property
    def concept_ids(self) -> Tuple[str, ...]:
        """The primary ids of all concepts that can be named."""
        return tuple(self.parts.concepts.ids)

    def _lowest(self, named: Sequence["RankedConcept"]) -> List["RankedConcept"]:
        """RETURNS (List[RankedConcept]): those concepts of a document that are above none of the others."""
        from ..kb.hierarchy import below

        ids = [self.parts.concepts.ids[concept.place] for concept in named]
        lowest = below(ids, self.kb)
        return [concept for concept, concept_id in zip(named, ids) if concept_id in lowest]

    def _told(self, doc: Doc, concept: "RankedConcept", retriever: "Retriever") -> DocumentConcept:
        concept_id = retriever.concepts.ids[concept.place]
        known = self.kb.get(concept_id)
        assert known is not None  # the set has concepts of the store only
        spans = (doc.char_span(start, end, alignment_mode="expand") for start, end in concept.evidence)
        evidence = tuple(span for span in spans if span is not None)
        return DocumentConcept(concept_id, concept.score, known.canonical_name, evidence, concept.contributions)

    def _retriever_of(self, filter: FrozenSet[str]) -> "Retriever":
        """RETURNS (Retriever): one that names only some; what it takes long to make is kept for the next time."""
        weights, whole = self.retriever.weights, self.parts
        if self._some is None or self._some[0] != filter or self._some[1] is not whole.concepts:
            self._some = filter, whole.concepts, whole.filter(filter)
        parts = self._some[2]
        parts.documents, parts.counts, parts.weights = whole.documents, whole.counts, weights
        return parts.retriever(self._signals, self._spans_key, self._read)

    def _check_settings(self) -> None:
        known = f"some of {', '.join(SIGNALS)}, each once"
        holds = self._signals and len(set(self._signals) & set(SIGNALS)) == len(self._signals)
        check_setting(self, "signals", bool(holds), known)
        needs = OF_ENCODER.intersection(self._signals)
        check_setting(self, "encoder", self._encoder != "none" or not needs, "an encoder, for these signals")
        reads = self._model is None or "document" in self._signals
        check_setting(self, "model", reads, 'null, where "document" is none of the signals')
        check_setting(self, "concept_text", self._concept_text in CONCEPT_TEXTS, f"one of {', '.join(CONCEPT_TEXTS)}")
        for setting in ("k", "batch_size"):
            check_setting(self, setting, getattr(self, setting) >= 1, "at least 1")
        check_setting(self, "segment_length", self._segment_length >= 8, "at least 8")
        check_setting(self, "threshold", self._threshold is None or 0 <= self._threshold <= 1, "from 0 to 1")
