"""The signals that support a concept in a document: whole documents, linked mentions and a prior.

`phrase_signal` has the signal of phrases. `ConceptRanker` weighs several signals together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from spacy.tokens import Doc

from .concepts import ConceptSet, ConceptVectors
from .phrases import Characters, end_of_beginning
from .training_counts import NOTHING, DocumentCounts, TrainingCounts

LINK_WEIGHT = 0.8  # the feature `linked` of a single mention that is linked with a score of 1

# returns the unit vectors of the segments of each document, float32, shape (segments, dim)
EncodeDocuments = Callable[[Sequence[Doc]], list[np.ndarray]]


class View(ABC):
    """The result of a signal for one document."""

    @abstractmethod
    def nearest(self, n: int) -> np.ndarray:
        """Return the positions of the concepts with the most support, int64, best first; at most n."""

    @abstractmethod
    def features(self, positions: np.ndarray) -> np.ndarray:
        """Return the features of concepts, float32, shape (len(positions), number of features).

        The features are 0 if the signal finds nothing for a concept. The first feature ranks the concepts if there is
        no other signal.
        """

    def evidence(self, position: int) -> list[Characters]:
        """Return the character offsets `start, end` of the text that supports a concept, best first."""
        return []


class TableView(View):
    """A view with a table of features: a row for each supported concept, by rising position."""

    def __init__(self, positions: np.ndarray, table: np.ndarray) -> None:
        self._positions, self._table = positions, table

    def nearest(self, n: int) -> np.ndarray:
        return self._positions[np.argsort(-self._table[:, 0], kind="stable")[:n]]

    def features(self, positions: np.ndarray) -> np.ndarray:
        features = np.zeros((len(positions), self._table.shape[1]), dtype=np.float32)
        supported = np.isin(positions, self._positions)
        features[supported] = self._table[np.searchsorted(self._positions, positions[supported])]
        return features


class Signal(ABC):
    """One kind of evidence for concepts, by its name in the settings, with the names of its features.

    Attributes:
        threshold: The threshold of the first feature, if this is the only signal and nothing was fitted.
    """

    name: ClassVar[str]
    features: ClassVar[tuple[str, ...]]
    threshold: ClassVar[float] = 0.5

    @abstractmethod
    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> Sequence[View]:
        """Apply the signal to documents, and return a view of each.

        `own` has the counts of the documents that belong to the training data. They are subtracted, so that only the
        other documents count.
        """


# --- whole documents


class DocumentSignal(Signal):
    """The cosine of a concept and the nearest segment of the document (Shao et al. 2024). The vectors are frozen."""

    name = "document"
    features = ("similarity", "below the best")

    def __init__(self, encode: EncodeDocuments, vectors: ConceptVectors) -> None:
        self.encode = encode
        self.vectors = vectors

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> Sequence[View]:
        return [DocumentView(segments, self.vectors) for segments in self.encode(docs)]


class DocumentView(View):
    """The similarities of concepts and the segments of one document, unit vectors, float32, shape (n, dim)."""

    def __init__(self, segments: np.ndarray, vectors: ConceptVectors) -> None:
        self._segments = segments
        self._vectors = vectors
        self._highest = float(vectors.nearest(segments, 1)[0].max(initial=0.0))

    def nearest(self, n: int) -> np.ndarray:
        _, positions = self._vectors.nearest(self._segments, n)
        unique = np.unique(positions[positions >= 0])
        return unique[np.argsort(-self._similarities(unique), kind="stable")[:n]]

    def features(self, positions: np.ndarray) -> np.ndarray:
        similarities = self._similarities(positions)
        return np.stack([similarities, similarities - self._highest], axis=1).astype(np.float32)

    def _similarities(self, positions: np.ndarray) -> np.ndarray:
        # an empty document may have no segment
        similarities: np.ndarray = self._vectors.similarities(self._segments, positions).max(axis=0, initial=-1)
        return similarities


# --- linked mentions


class MentionsSignal(Signal):
    """The concepts that earlier components have linked the mentions to: `doc.spans[spans_key]`, or else `doc.ents`."""

    name = "mentions"
    features = ("linked", "candidate", "often", "in the beginning")

    def __init__(self, concepts: ConceptSet, spans_key: str | None = None) -> None:
        self.concepts = concepts
        self.spans_key = spans_key

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> Sequence[View]:
        return [MentionView(doc, self.spans_key, self.concepts) for doc in docs]


class MentionView(TableView):
    """The links of one document. A candidate of a mention is linked if its id is in `kb_id_`."""

    def __init__(self, doc: Doc, spans_key: str | None, concepts: ConceptSet) -> None:
        limit = end_of_beginning(doc)
        self._linked: dict[int, list[tuple[float, Characters]]] = {}
        candidates: dict[int, float] = {}
        for mention in doc.ents if spans_key is None else doc.spans.get(spans_key, ()):
            linked_ids = set(mention.kb_id_.split("|"))
            for concept_id, score in mention._.kb_ents:
                for position in concepts.positions_of(concept_id):
                    candidates[position] = max(score, candidates.get(position, 0.0))
                    if concept_id in linked_ids:
                        span = mention.start_char, mention.end_char
                        self._linked.setdefault(position, []).append((score, span))
        positions = np.array(sorted(candidates), dtype=np.int64)
        table = np.zeros((len(positions), len(MentionsSignal.features)), dtype=np.float32)
        for row, position in enumerate(positions.tolist()):
            linked = self._linked.get(position, [])
            table[row] = (
                1 - np.prod([1 - LINK_WEIGHT * score for score, _ in linked]),
                candidates[position],
                np.log1p(len(linked)),
                any(start < limit for _, (start, _) in linked),
            )
        super().__init__(positions, table)

    def nearest(self, n: int) -> np.ndarray:
        return self._positions[np.lexsort((-self._table[:, 1], -self._table[:, 0]))[:n]]

    def evidence(self, position: int) -> list[Characters]:
        return [span for _, span in sorted(self._linked.get(position, []), key=lambda link: (-link[0], link[1]))]


# --- prior


class PriorSignal(Signal):
    """The number of training documents in which a concept is annotated. The text of a document has no effect."""

    name = "prior"
    features = ("annotated", "never annotated")

    def __init__(self, concepts: ConceptSet, counts: TrainingCounts | None = None) -> None:
        self.concepts = concepts
        self.counts = counts

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> Sequence[View]:
        return [PriorView(self.frequent, self._other_documents(counts)) for counts in own or [NOTHING] * len(docs)]

    @cached_property
    def documents(self) -> np.ndarray:
        """The number of training documents in which each concept is annotated, int64, by position."""
        return self._sum(self.counts.concepts if self.counts else {})

    @cached_property
    def frequent(self) -> np.ndarray:
        """The positions of the annotated concepts, int64, the most frequent first."""
        return np.argsort(-self.documents, kind="stable")[: np.count_nonzero(self.documents)]

    def _other_documents(self, own: DocumentCounts) -> np.ndarray:
        counted = self.counts.concepts if self.counts else {}
        ids = {concept_id: 1 for concept_id in own.concepts if concept_id in counted}
        return self.documents - self._sum(ids) if ids else self.documents

    def _sum(self, counts: Mapping[str, int]) -> np.ndarray:
        """Return the sums of counts by id over all ids of each concept."""
        total = np.zeros(len(self.concepts), dtype=np.int64)
        for concept_id, n in counts.items():
            total[self.concepts.positions_of(concept_id)] += n
        return total


class PriorView(View):
    """The prior for one document: the frequent concepts, and the number of other documents with each concept."""

    def __init__(self, frequent: np.ndarray, documents: np.ndarray) -> None:
        self._frequent, self._documents = frequent, documents

    def nearest(self, n: int) -> np.ndarray:
        return self._frequent[:n]

    def features(self, positions: np.ndarray) -> np.ndarray:
        counts = self._documents[positions].astype(np.float32)
        return np.stack([np.log1p(counts), counts == 0], axis=1).astype(np.float32)
