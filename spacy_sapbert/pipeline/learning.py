"""A component that looks up candidates, keeps all that it needs for that, and learns from annotated documents."""

import copy
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_examples

from ..corpora.docs import from_doc
from ..errors import Errors, SapbertError
from ..linking.parameters import LinkerParameters
from ..training.biosyn import BioSyn
from ..types import AnnotatedDocument
from .batched import BatchedPipe
from .gold_mentions import gold_ids, training_mentions
from .settings import check_setting

if TYPE_CHECKING:
    import numpy as np
    from thinc.api import Optimizer

    from ..encoders.transformer import TransformerEncoder
    from ..kb.knowledge_base import KnowledgeBase
    from ..linking.candidates import CandidateGenerator, Filter
    from ..linking.prior import Prior
    from ..linking.variants import MentionVariants
    from ..training.biosyn import CandidateScores, Learner, TrainingMention


class LearningPipe(BatchedPipe):
    """Opens vocabulary and encoder at first use, saves them, and trains the encoder as its `learning` says.

    A subclass sets what its config names in `_kb`, `_encoder`, `_pooling`, `_device`, `_index`, `_sparse` and
    `_sparse_normaliser`, and says of a document's mentions by which forms and among which names they are looked up.
    """

    spans_key: Optional[str]
    _kb: str
    _encoder: str
    _pooling: Optional[str]
    _device: str
    _index: str
    _sparse: bool
    _sparse_normaliser: str
    _sparse_weight: Optional[float]
    _prior_weight: Optional[float]

    def __init__(self, learning: Optional[BioSyn], scorer: Optional[Callable]) -> None:
        self.model: Any = None  # until it learns
        self.training = learning
        self.scorer = scorer
        self._fitted = LinkerParameters()
        self._prior: Optional[Prior] = None
        self._generator: Optional[CandidateGenerator] = None
        self._trainer: Optional[Learner] = None
        self._steps = 0
        self._docs_since_renewal = 0
        self._renew_after: Optional[int] = None
        self._gold: List[AnnotatedDocument] = []
        self._vectors_folder: Optional[tempfile.TemporaryDirectory[str]] = None

    def _forms(self, doc: Doc) -> List["MentionVariants"]:
        raise NotImplementedError

    def _filter(self, mention: Span) -> "Filter":
        raise NotImplementedError

    def _check_filters(self, kb: "KnowledgeBase") -> None:
        raise NotImplementedError

    # --- vocabulary and encoder

    @property
    def kb(self) -> "KnowledgeBase":
        """The vocabulary; `kb.cui_to_entity` and `kb.alias_to_cuis` read it as scispaCy's linker does."""
        return self.generator.kb

    @property
    def generator(self) -> "CandidateGenerator":
        """Finds the candidates. What the config names is opened here, at the first use."""
        if self._generator is None:
            self._use(self._open())
        assert self._generator is not None
        if self._docs_since_renewal:
            self._renew(self._generator)
        self._generator.sparse_weight = self.sparse_weight
        return self._generator

    @property
    def sparse_weight(self) -> float:
        """λ: as it was set, else as it was learnt or fitted."""
        return self._fitted.sparse_weight if self._sparse_weight is None else self._sparse_weight

    @sparse_weight.setter
    def sparse_weight(self, value: Optional[float]) -> None:
        self._sparse_weight = value

    @property
    def prior_weight(self) -> float:
        """μ: as it was set, else as it was fitted."""
        return self._fitted.prior_weight if self._prior_weight is None else self._prior_weight

    @prior_weight.setter
    def prior_weight(self, value: Optional[float]) -> None:
        self._prior_weight = value

    @property
    def prior(self) -> Optional["Prior"]:
        """What counts beside the similarity of names, where it was fitted or learnt."""
        from ..linking.prior import Prior

        counts, weight = self._fitted.annotated, self.prior_weight
        if not (counts and weight):
            return None
        if self._prior is None or not self._prior.is_of(counts, weight, self.kb):
            self._prior = Prior(counts, weight, self.kb)
        return self._prior

    @contextmanager
    def weighing(self, counts: Mapping[str, int], weight: float) -> Iterator[None]:
        """Link for a while as if these counts and this μ had been fitted."""
        before = self._fitted, self._prior_weight
        self._fitted, self._prior_weight = self._fitted._replace(annotated=counts), weight
        try:
            yield
        finally:
            self._fitted, self._prior_weight = before

    @property
    def fitted(self) -> LinkerParameters:
        """What was learnt or fitted, as far as it holds.

        Threshold and probabilities hold for the scores with which `spacy-sapbert calibrate` fitted them. They are left
        out, so that links have no probability and the threshold is the default one, while λ, μ or `sparse` is set to
        something else; and for good with another vocabulary, and once the linker learns.
        """
        fitted = self._fitted
        if fitted.sparse_share is None:
            return fitted
        same = fitted.sparse_share == self.generator.sparse_share and fitted.prior_weight == self.prior_weight
        return fitted if same else fitted.without_calibration()

    @fitted.setter
    def fitted(self, fitted: LinkerParameters) -> None:
        self._fitted = fitted

    def set_kb(self, kb: str) -> None:
        """Link to another vocabulary from now on, with the encoder that is open; a calibration is dropped.

        kb (str): "starter", or the path of a store.
        """
        from ..linking.open import load_knowledge_base

        vectors, ngrams = self.generator.vectors, self.generator.ngrams
        text_normalizer = ngrams.text_normalizer if ngrams else self._sparse_normaliser
        encoder = vectors.encoder if vectors else None
        if encoder and self._note:
            encoder.record("BioSyn", **self._note)
        self._use(self._generate(load_knowledge_base(kb), encoder, text_normalizer))
        self._fitted = self._fitted.without_calibration()

    def _open(self) -> "CandidateGenerator":
        from ..linking.open import load_knowledge_base, open_encoder

        encoder = open_encoder(self._encoder, pooling=self._pooling, device=self._device)
        if encoder and encoder.lexical_model:
            self._fitted = encoder.lexical_model.fitted
        return self._generate(load_knowledge_base(self._kb), encoder, self._sparse_normaliser)

    def _generate(
        self, kb: "KnowledgeBase", encoder: Optional["TransformerEncoder"], text_normalizer: str
    ) -> "CandidateGenerator":
        from ..linking.open import open_generator

        return open_generator(kb, encoder, sparse=self._sparse, text_normalizer=text_normalizer, index=self._index)

    def _use(self, generator: "CandidateGenerator") -> None:
        self._check_filters(generator.kb)
        self._generator = generator
        self._trainer = self.model = None  # they belong to the one before
        self._steps = 0
        self._gold = []

    # --- learning

    def initialize(self, get_examples: Callable[[], Iterable[Example]], *, nlp: Optional[Language] = None) -> None:
        """Get ready to learn; a component without `learning` stays as it is.

        get_examples (Callable[[], Iterable[Example]]): gives the training data.
        RAISES (SapbertError): E406 λ or μ is set, but is to be learnt; E342 there is no encoder; E346 no mention has a
            concept of the vocabulary.
        """
        if self.training is None:
            return
        for setting, value in (("sparse_weight", self._sparse_weight), ("prior_weight", self._prior_weight)):
            check_setting(self, setting, value is None, "null: what it begins with stands in `learning`")
        examples = list(get_examples())
        validate_examples(examples, f"{type(self).__name__}.initialize")
        self._start_learning()
        self._count_gold(examples)
        self._renew_after = self._renew_after or len(examples)
        if self.training.add_training_mentions:
            key = self.spans_key or ""
            self._gold = [from_doc(example.reference, spans_key=key) for example in examples]

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional["Optimizer"] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Learn which candidates of the gold mentions are right.

        examples (Iterable[Example]): with mentions in the predicted documents, or else the gold ones are taken. What
            abbreviations and composites stand for must be there, so let the resolver and the splitter annotate.
        drop (float): not used; dropout is a setting of `learning`.
        RETURNS (Dict[str, float]): `losses`, to which the mean loss of a mention was added.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        mentions = self._training_mentions(examples) if self.is_trainable else []
        if mentions:
            scores, backprop = self._start_learning().begin_update(mentions)
            loss, gradient = self.get_loss(examples, scores)
            backprop(gradient)
            losses[self.name] += loss
            if sgd not in (None, False):
                self.finish_update(sgd)
        return losses

    def get_loss(self, examples: Iterable[Example], scores: "CandidateScores") -> Tuple[float, "np.ndarray"]:
        """RETURNS (Tuple[float, float32]): the mean loss of a mention, and its gradient by the scores."""
        assert self.training is not None
        losses, gradients = self.training.loss(scores.scores, scores.right)
        return float(losses.mean()), gradients / len(gradients)

    def finish_update(self, sgd: "Optimizer") -> None:
        """Change the weights. Names are encoded anew when they are needed next, or after as many documents as set."""
        if self._trainer is not None:
            self._trainer.finish_update(sgd)
            self._fitted = self._fitted._replace(sparse_weight=self._trainer.sparse_weight)
            self._steps += 1

    def score(self, examples: Iterable[Example], **settings: Any) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): what the `scorer` measures; it is given the component as `linker`."""
        return self.scorer(examples, linker=self, **settings) if self.scorer else {}

    def _start_learning(self) -> "Learner":
        from ..linking.open import exact_vectors
        from ..training.biosyn import Learner

        if self._trainer is None:
            assert self.training is not None
            generator = self.generator
            if generator.vectors and not generator.vectors.exact:  # an index would be void after the first step
                generator.renew(exact_vectors(generator.vectors, generator.kb))
            self._trainer = Learner(generator, self.training)
            self._fitted = self._fitted.without_calibration()
            self.model = self._trainer.model
            self._renew_after = self.training.reencode_every
        return self._trainer

    def _count_gold(self, examples: Sequence[Example]) -> None:
        gold = (gold_ids(example.reference, self.spans_key).values() for example in examples)
        counts = Counter(one for of_doc in gold for ids in of_doc for one in ids)
        if not any(map(self.kb.concept_rows, counts)):
            some = ", ".join(list(counts)[:3]) or "none"
            raise SapbertError(Errors.E346.format(documents=len(examples), n=counts.total(), some=some))
        assert self.training is not None
        self._fitted = self._fitted._replace(annotated=dict(counts), prior_weight=self.training.prior_weight)

    def _training_mentions(self, examples: Sequence[Example]) -> List["TrainingMention"]:
        learner = self._start_learning()
        if self._renew_after and self._docs_since_renewal >= self._renew_after:
            self._renew(learner.generator)
        self._docs_since_renewal += len(examples)
        found = training_mentions(
            examples, self.spans_key, self._forms, self._filter, learner.generator.kb, learner.counts
        )
        return learner.pick(found)

    def _renew(self, generator: "CandidateGenerator") -> None:
        """Encode the names by what was learnt."""
        from ..vectors.flat import NameVectors, build_name_vectors

        assert generator.vectors is not None
        encoder = generator.vectors.encoder
        encoder.replace(encoder.model)  # which has another fingerprint now
        folder = tempfile.TemporaryDirectory(prefix="spacy_sapbert_", ignore_cleanup_errors=True)
        build_name_vectors(generator.kb, encoder, Path(folder.name))
        generator.renew(NameVectors(Path(folder.name), generator.kb, encoder))
        if self._trainer:
            self._trainer.names_are_renewed()
        if self._vectors_folder:
            self._vectors_folder.cleanup()
        self._vectors_folder = folder
        self._docs_since_renewal = 0

    # --- saving

    def _save(self, folder: Path) -> None:
        from ..linking.open import save_generator, with_mentions

        generator = self.generator
        encoder = generator.vectors.encoder if generator.vectors else None
        if encoder and encoder.lexical_model:  # the encoder's folder shall not say what was true before it learnt
            encoder.lexical_model = encoder.lexical_model._replace(fitted=self._fitted)
        with _noted(generator, self._note), tempfile.TemporaryDirectory() as temporary:
            if self._gold:
                generator = with_mentions(generator, self._gold, Path(temporary))
            save_generator(generator, folder, self._index)
        self._fitted.save(folder)

    def _load(self, folder: Path) -> None:
        from ..linking.open import load_generator

        fitted = LinkerParameters.load(folder)
        generator = load_generator(
            folder,
            sparse=self._sparse,
            text_normalizer=self._sparse_normaliser,
            index=self._index,
            device=self._device,
        )
        self._use(generator)
        self._fitted = fitted

    @property
    def _note(self) -> Dict[str, Any]:
        """What is noted with the encoder of how it has learnt; nothing before it has."""
        if not (self._trainer and self.training and self._steps):
            return {}
        found = {"sparse_weight": self._trainer.sparse_weight, "temperature": self._trainer.temperature}
        return {"steps": self._steps, **found, **dict(+self._trainer.counts), "settings": self.training.described}


@contextmanager
def _noted(generator: "CandidateGenerator", note: Dict[str, Any]) -> Iterator[None]:
    """Let the encoder say how it has learnt while it is saved: it may go on to learn."""
    if not (generator.vectors and note):
        yield
        return
    encoder = generator.vectors.encoder
    before = copy.deepcopy(encoder.trained)
    encoder.record("BioSyn", **note)
    yield
    encoder.trained = before
