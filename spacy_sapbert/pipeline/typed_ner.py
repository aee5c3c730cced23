"""`typed_ner`: an NER that learns each type from the corpora that annotate it."""

import warnings
from collections import Counter
from itertools import islice
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import numpy as np
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_get_examples
from thinc.api import Model
from thinc.types import Floats2d

from ..documents.docs import annotated_labels, unsure_spans
from ..errors import Errors, SapbertError, TrainingDataError, Warnings
from ..text.formulas import ELEMENTS
from ..text.general_text import after_citation, general_mentions, lead_in
from ..text.languages import ENGLISH
from ..text.notes.sections import is_note
from ..training import tagging
from .component_settings import check_setting
from .scorers import score_annotated_types

_INITIAL_EXAMPLES = 10
_MODEL = {
    "@architectures": "spacy-sapbert.TypedTagger.v1",
    "tok2vec": {
        "@architectures": "spacy.HashEmbedCNN.v2",
        "pretrained_vectors": None,
        "width": 128,
        "depth": 4,
        "embed_size": 10000,
        "window_size": 1,
        "maxout_pieces": 3,
        "subword_features": True,
    },
}


class TypedNer(TrainablePipe):
    """Finds mentions of several types. Each type is learned from the documents that annotate it.

    Each type has its own linear-chain CRF; all share the vectors of the tokens. A document may say which types it
    annotates (`corpora.annotated_types`): it teaches nothing about the others. So corpora of genes and corpora of
    diseases train one NER.

    Entities that a document has already stay. A found mention that overlaps one of them is left out. In English text,
    the names of persons, numbers of grants and figures, and common words that are taken for genes are left out, too.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        model: The network, such as `spacy-sapbert.TypedTagger.v1`.
        only_labels: Only find mentions with these labels. An empty list finds all.
        scorer: Compares predicted entities with annotated ones.
    """

    def __init__(
        self,
        nlp: Language,
        name: str = "typed_ner",
        *,
        model: Model[List[Doc], List[Floats2d]],
        only_labels: List[str] = [],
        scorer: Optional[Callable] = score_annotated_types,
    ) -> None:
        self.vocab = nlp.vocab
        self.model = model
        self.name = name
        self.only_labels = only_labels
        self.cfg: Dict[str, Any] = {"labels": []}
        self.scorer = scorer
        self.warns_of_notes = False  # that of the pipeline for abstracts does so, once

    @property
    def labels(self) -> Tuple[str, ...]:
        """The types of mentions."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> List[str]:
        """The types of mentions, as `spacy init labels` saves them."""
        return list(self.labels)

    def add_label(self, label: str) -> int:
        """Add a type before the network is initialized.

        Returns:
            1, or 0 if the type is there already.

        Raises:
            SapbertError: E363 the network has been initialized.
        """
        if label in self.labels:
            return 0
        if tagging.is_initialized(self.model):
            raise SapbertError(Errors.E363.format(label=label, labels=", ".join(self.labels)))
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        return 1

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Optional[Language] = None,
        labels: Optional[Sequence[str]] = None,
    ) -> None:
        """Prepare for training.

        Args:
            get_examples: Returns training examples.
            nlp: The pipeline.
            labels: The types. None takes those of the entities in the examples.

        Raises:
            TrainingDataError: E364 there are no types.
        """
        validate_get_examples(get_examples, "TypedNer.initialize")
        if labels is None:  # the most frequent first
            counts = Counter(entity.label_ for example in get_examples() for entity in example.reference.ents)
            labels = [label for label, _ in counts.most_common()]
        for label in labels:
            self.add_label(label)
        if not self.labels:
            raise TrainingDataError(Errors.E364.format(name=self.name))
        tagging.set_number_of_labels(self.model, len(self.labels))
        docs = (example.predicted for example in islice(get_examples(), _INITIAL_EXAMPLES))
        self.model.initialize(X=next(tagging.in_batches(docs, tagging.MOST, len), None))

    def to_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> None:
        """Save the component. Its weights are saved with 16 bits, which halves the file."""
        with tagging.half_precision(self.model):
            super().to_disk(path, exclude=exclude)

    def from_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> "TypedNer":
        """Load what `to_disk` saved."""
        super().from_disk(path, exclude=exclude)
        tagging.restore_precision(self.model)
        return self

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Process a stream of documents, of which those that have `tagging.MAX_TOKENS` are in memory.

        Args:
            stream: The documents.
            batch_size: Ignored. spaCy passes the pipeline's own value, which says nothing of their length.
        """
        for docs in tagging.in_batches(stream, tagging.MAX_TOKENS, len):
            yield from super().pipe(docs, batch_size=len(docs))

    def predict(self, docs: Iterable[Doc]) -> "List[List[tagging.TokenSpan]]":
        """Return the mentions of each document, without changing the documents."""
        docs = list(docs)
        if not any(map(len, docs)):
            return [[] for _ in docs]
        if self.warns_of_notes and any(is_note(doc.text, doc.lang_) for doc in docs):
            self.warns_of_notes = False
            warnings.warn(Warnings.W421, stacklevel=2)
        members, n_labels = tagging.members_of(self.model), len(self.labels)
        scores = [
            self._shaped(of_doc).reshape(len(of_doc), members, n_labels, tagging.N_TAGS).mean(axis=1)
            for of_doc in tagging.scores_of(self.model, docs)
        ]
        transitions = self._transitions().reshape(members, n_labels, tagging.N_TAGS, tagging.N_TAGS).mean(axis=0)
        found = tagging.find_spans(scores, transitions, self.labels)
        chemical = next((label for label in self.labels if label.upper() == "CHEMICAL"), None)
        return [_without_general(doc, spans, chemical) for doc, spans in zip(docs, found)]

    def set_annotations(self, docs: Iterable[Doc], spans_of_docs: "List[List[tagging.TokenSpan]]") -> None:
        """Add the mentions to `doc.ents`.

        Raises:
            SettingError: `only_labels` has a label that is not one of `labels`.
        """
        known = set(self.labels).issuperset(self.only_labels)
        check_setting(self, "only_labels", known, f"a list of labels of this NER: {', '.join(self.labels)}")
        for doc, spans in zip(docs, spans_of_docs):
            existing = list(doc.ents)
            occupied = {token for entity in existing for token in range(entity.start, entity.end)}
            wanted = [span for span in spans if not self.only_labels or span.label in self.only_labels]
            found = [span for span in wanted if occupied.isdisjoint(range(span.start, span.end))]
            doc.set_ents(existing + [Span(doc, span.start, span.end, label=span.label) for span in found])

    def get_loss(self, examples: Iterable[Example], scores: List[Floats2d]) -> Tuple[float, List[Floats2d]]:
        """Return the loss and its gradient by the scores. The gradient of the transitions is added to the network.

        The loss is the negative log-likelihood of the annotation (see `tagging.crf`). Examples without annotation of
        entities do not count.

        Args:
            examples: The examples.
            scores: One array per example, shape (tokens, members * labels * tags). Each member has its own loss.
        """
        shaped = [self._shaped(of_doc) for of_doc in scores]
        if not any(map(len, shaped)):
            return 0.0, scores
        joined, transitions = tagging.padded(shaped), self._transitions()
        exists, allowed = (np.zeros(joined.shape, dtype=np.bool_) for _ in range(2))
        exists[..., 0] = allowed[..., 0] = True
        for column, example in enumerate(examples):
            exists[: len(shaped[column]), :, column] = True
            allowed[: len(shaped[column]), :, column] = np.tile(
                self._allowed(example), (1, tagging.members_of(self.model), 1)
            )
        free, gold = (
            tagging.expectations(joined, transitions, exists),
            tagging.expectations(joined, transitions, allowed),
        )
        tagging.add_transition_gradient(self.model, self._to_ops((free.pairs - gold.pairs).sum(axis=1)))
        difference = free.tags - gold.tags
        gradients = [
            self._to_ops(difference[: len(of_doc), :, column].reshape(len(of_doc), -1))
            for column, of_doc in enumerate(shaped)
        ]
        return float((free.log_weight - gold.log_weight).sum()), gradients

    def _allowed(self, example: Example) -> np.ndarray:
        """Return the allowed tags of the predicted tokens, shape (tokens, labels, tags)."""
        reference, n_tokens = example.reference, len(example.predicted)
        if not reference.has_annotation("ENT_IOB"):
            return tagging.allowed_tags(n_tokens, self.labels, (), ())
        aligned = example.get_aligned_spans_y2x(reference.ents)
        spans = [tagging.TokenSpan(span.start, span.end, span.label_) for span in aligned]
        inside = {(span.start_char, span.end_char) for span in aligned}
        cut = [entity for entity in reference.ents if (entity.start_char, entity.end_char) not in inside]
        open_spans = [*unsure_spans(reference), *cut]  # a cut entity begins or ends inside a predicted token
        unsure = [_expanded(span, example.predicted) for span in open_spans]
        annotated = annotated_labels(reference)
        return tagging.allowed_tags(
            n_tokens, self.labels, spans, self.labels if annotated is None else annotated, unsure
        )

    def _shaped(self, scores: Any) -> "tagging.Floats":
        """Return the scores of tags, shape (tokens, members * labels, tags)."""
        n_columns = tagging.members_of(self.model) * len(self.labels)
        array: tagging.Floats = self.model.ops.to_numpy(scores).reshape(len(scores), n_columns, tagging.N_TAGS)
        return array

    def _transitions(self) -> "tagging.Floats":
        return np.asarray(self.model.ops.to_numpy(tagging.transitions_of(self.model)), dtype=np.float64)

    def _to_ops(self, array: Any) -> Any:
        return self.model.ops.asarray(array, dtype="float32")


Language.factory(
    "typed_ner",
    func=TypedNer,
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config={"model": _MODEL, "only_labels": [], "scorer": {"@scorers": "spacy-sapbert.typed_ner_scorer.v1"}},
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)


def _without_general(
    doc: Doc, spans: "Sequence[tagging.TokenSpan]", chemical: Optional[str]
) -> "List[tagging.TokenSpan]":
    """Leave out what means no concept in English text, such as the names of persons, and find ions whole."""
    if not spans or doc.lang_ != ENGLISH.code:
        return list(spans)
    spans = [_without_citation(doc, span) if doc[span.start].text[0] == "[" else span for span in spans]
    mentions = [(doc[span.start].idx, doc[span.end - 1].idx + len(doc[span.end - 1]), span.label) for span in spans]
    general = set(general_mentions(doc.text, sorted(mentions)))
    wanted = (_without_lead_in(doc, span) for span, mention in zip(spans, mentions) if mention not in general)
    return [_with_charge(doc, span, chemical) for span in wanted]


def _without_lead_in(doc: Doc, span: "tagging.TokenSpan") -> "tagging.TokenSpan":
    return span._replace(start=span.start + lead_in([token.text_with_ws for token in doc[span.start : span.end]]))


def _without_citation(doc: Doc, span: "tagging.TokenSpan") -> "tagging.TokenSpan":
    """Cut the number of a reference off: "[11] Propofol"."""
    start = after_citation(doc.text, doc[span.start].idx)
    return span._replace(start=next((i for i in range(span.start, span.end) if doc[i].idx >= start), span.start))


def _with_charge(doc: Doc, span: "tagging.TokenSpan", chemical: Optional[str]) -> "tagging.TokenSpan":
    """Widen a symbol such as "Ca2" to the ion "Ca2+", which has the label of chemicals."""
    symbol = doc[span.start : span.end].text_with_ws
    if len(symbol) == 3 and symbol[:2] in ELEMENTS and symbol[2] in "234":  # not "B2+", which may be a gene
        after = doc[span.end : span.end + 2].text
        if after.startswith("+") and not after[1:2].isalnum():
            return span._replace(end=span.end + 1, label=chemical or span.label)
    return span


def _expanded(span: Span, doc: Doc) -> "tagging.TokenSpan":
    """Return the tokens of another document with the same text that the span touches."""
    touched: Any = doc.char_span(span.start_char, span.end_char, alignment_mode="expand")
    return tagging.TokenSpan(touched.start, touched.end, span.label_)
