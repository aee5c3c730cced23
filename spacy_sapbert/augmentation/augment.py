"""Turn found documents into training documents with rule-based annotations."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..documents.docs import PROVENANCE, WEIGHT, to_doc
from ..kb.knowledge_base import KnowledgeBase
from ..types import Document, Mention
from .annotations import Annotation, Annotator, IdMapping
from .documents import Tokenize, cut
from .search import Choice

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

AnnotationFilter = Callable[[str, Sequence[Annotation]], list[Annotation]]


class Segment(NamedTuple):
    """A segment of a document, numbered from 0, with its annotations and the concepts that it was chosen for."""

    document: Document
    concepts: tuple[str, ...]
    number: int
    text: str
    annotations: tuple[Annotation, ...] = ()

    @property
    def ids(self) -> set[str]:
        return {concept_id for annotation in self.annotations for concept_id in annotation.ids}


def segments_of(choice: Choice, tokenize: Tokenize, limit: int) -> Iterator[Segment]:
    """Cut the documents of a choice into segments of at most `limit` tokens."""
    for key, document in choice.documents.items():
        if concepts := tuple(choice.concepts[key]):
            for number, text in enumerate(cut(document.text, tokenize(document.text), limit)):
                yield Segment(document, concepts, number, text)


class RuleAnnotation:
    """Annotates segments, maps their ids and filters the annotations. With labels, only those of these concepts stay.

    Attributes:
        left: The number of annotations after each step, in order.
        without_answer: The number of segments without an answer from the annotator.
    """

    def __init__(
        self,
        annotator: Annotator,
        mapping: IdMapping,
        filters: Mapping[str, AnnotationFilter],
        labels: Collection[str] | None = None,
    ) -> None:
        self.name = annotator.name
        self.filters = tuple(filters)
        self.without_answer = 0
        self._annotator = annotator
        self._steps: dict[str, AnnotationFilter] = {
            "found": lambda _, annotations: list(annotations),
            "mapped": lambda text, annotations: list(filter(None, (mapping.map(text, each) for each in annotations))),
            **{f"after_{name}": step for name, step in filters.items()},
        }
        if labels is not None:
            relevant = frozenset(labels)
            self._steps["of_labels"] = lambda _, annotations: [
                annotation._replace(ids=ids)
                for annotation in annotations
                if (ids := tuple(concept_id for concept_id in annotation.ids if concept_id in relevant))
            ]
        self.left = dict.fromkeys(self._steps, 0)

    def __call__(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        """Yield each segment with its annotations."""
        stream = iter(segments)
        while batch := list(islice(stream, 500)):
            answers = self._annotator.annotate([segment.text for segment in batch])
            for segment, answer in zip(batch, answers, strict=True):
                self.without_answer += answer is None
                yield segment._replace(annotations=tuple(self._filtered(segment.text, answer or [])))

    def _filtered(self, text: str, annotations: list[Annotation]) -> list[Annotation]:
        for name, step in self._steps.items():
            annotations = step(text, annotations)
            self.left[name] += len(annotations)
        return annotations


def without_irrelevant(segments: Sequence[Segment]) -> list[Segment]:
    """Leave out documents without an annotation of any concept that they were chosen for."""
    ids: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for segment in segments:
        ids[_key(segment)] |= segment.ids
    return [segment for segment in segments if not ids[_key(segment)].isdisjoint(segment.concepts)]


def _key(segment: Segment) -> tuple[str, str]:
    return segment.document.doc_id, segment.document.text


class TrainingDocs:
    """Creates training documents. `doc.user_data` has their weight and provenance.

    The first type of a concept is the label of its mentions.
    """

    def __init__(self, nlp: Language, kb: KnowledgeBase, weight: float, made_by: RuleAnnotation) -> None:
        self._nlp = nlp
        self._kb = kb
        self._weight = weight
        self._made_by = made_by
        self._labels: dict[str, str] = {}

    def make(self, segment: Segment) -> Doc:
        """Return a Doc with the annotations as entities and as the span group "gold", with ids of the vocabulary."""
        document = segment.document
        mentions = tuple(
            Mention(start, end, segment.text[start:end], self._label(ids[0]), ids)
            for start, end, ids, _ in segment.annotations
        )
        annotated = Document(f"{document.doc_id}:{segment.number}", segment.text, mentions)
        doc = to_doc(self._nlp, annotated, split_tokens=True)
        doc.user_data[WEIGHT] = self._weight
        doc.user_data[PROVENANCE] = {
            "document": document.doc_id,
            "pmid": str(document.meta.get("pmid", "")),
            "source": Path(document.position.partition(", line ")[0]).name,
            "segment": segment.number,
            "concepts": list(segment.concepts),
            "annotator": self._made_by.name,
            "filters": list(self._made_by.filters),
        }
        return doc

    def _label(self, concept_id: str) -> str:
        if concept_id not in self._labels:
            concept = self._kb.get(concept_id)
            self._labels[concept_id] = concept.types[0] if concept and concept.types else "CONCEPT"
        return self._labels[concept_id]


def shuffled(segments: Iterable[Segment], make: TrainingDocs, manual: Iterable[Doc], seed: int) -> Iterator[Doc]:
    """Mix automatically and manually annotated documents. The latter get the weight 1, if they have none."""
    items: list[Segment | Doc] = [*segments, *manual]
    random.Random(seed).shuffle(items)
    for item in items:
        if isinstance(item, Segment):
            yield make.make(item)
        else:
            item.user_data.setdefault(WEIGHT, 1.0)
            yield item


def count_documents(segments: Iterable[Segment]) -> Counter[str]:
    """Return the number of segments with an annotation of each concept."""
    return Counter(concept_id for segment in segments for concept_id in segment.ids)
