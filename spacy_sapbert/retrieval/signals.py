"""The signals that support a concept in a document: whole documents, linked mentions and a prior.

`phrase_signal` has the signal of phrases. `ConceptRanker` weighs several signals together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from spacy.tokens import Doc

from ..types import NIL, SCORE_DIGITS
from .concepts import ConceptSet, ConceptVectors
from .phrases import Characters, end_of_beginning
from .training_counts import NOTHING, DocumentCounts, TrainingCounts, fit_logistic

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
            for concept_id, score in () if mention.kb_id_ == NIL else mention._.kb_ents:
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


# --- one signal, or several signals weighed together


CANDIDATES = 60  # of each signal
STRENGTH = 0.3  # inverse regularization strength: scikit-learn's C


class RankedConcept(NamedTuple):
    """A concept of one document, by its position in the concept set.

    Attributes:
        score: The score, from 0 to 1.
        evidence: The supporting parts of the text, as character offsets.
        contributions: What each signal adds to the score.
    """

    position: int
    score: float
    evidence: tuple[Characters, ...]
    contributions: tuple[tuple[str, float], ...]


class Candidates(NamedTuple):
    """The candidate concepts of one document: their positions, their features, and the view of each signal."""

    positions: np.ndarray
    features: np.ndarray
    views: list[View]


class ConceptRanker:
    """Ranks the concepts of a set for documents. Without weights, which can change at any time, the first signal ranks
    alone.
    """

    def __init__(self, concepts: ConceptSet, signals: Sequence[Signal], weights: SignalWeights | None = None) -> None:
        self.concepts = concepts
        self.signals = signals
        self.weights = weights

    @property
    def n_features(self) -> dict[str, int]:
        """The number of features of each signal."""
        return {signal.name: len(signal.features) for signal in self.signals}

    @property
    def threshold(self) -> float:
        """The fitted threshold, or else the default threshold of the first signal."""
        return self.weights.threshold if self.weights else self.signals[0].threshold

    def rank(self, docs: Sequence[Doc], k: int) -> list[list[RankedConcept]]:
        """Return the k best concepts of each document, with any score.

        The tie rank decides between equal scores, see `KnowledgeBase.tie_ranks`.
        """
        signals = self.signals if self.weights else self.signals[:1]
        documents = self.candidates(docs, signals=signals, n=max(k, CANDIDATES))
        return [self._rank(candidates, k) for candidates in documents]

    def candidates(
        self,
        docs: Sequence[Doc],
        own: Sequence[DocumentCounts] | None = None,
        *,
        signals: Sequence[Signal] | None = None,
        n: int = CANDIDATES,
    ) -> list[Candidates]:
        """Collect at most n candidates of each signal, with the features of all. For `own`, see `Signal.read`."""
        views_of_signals = [signal.read(docs, own) for signal in (self.signals if signals is None else signals)]
        documents = []
        for views in zip(*views_of_signals, strict=True):
            positions = np.unique(np.concatenate([view.nearest(n) for view in views]).astype(np.int64))
            features = np.concatenate([view.features(positions) for view in views], axis=1)
            documents.append(Candidates(positions, features, list(views)))
        return documents

    def _rank(self, candidates: Candidates, k: int) -> list[RankedConcept]:
        positions, features, views = candidates
        if not len(positions):
            return []
        exact = self.weights.scores(features) if self.weights else features[:, 0].astype(np.float64)
        scores = exact.round(SCORE_DIGITS)
        best = np.lexsort((self.concepts.kb.tie_ranks[self.concepts.rows[positions]], -scores))[:k]
        scores = scores.clip(0, 1)
        added = self.weights.contributions(features[best]) if self.weights else [()] * len(best)
        return [
            RankedConcept(int(positions[i]), float(scores[i]), _first_evidence(views, int(positions[i])), contributions)
            for i, contributions in zip(best, added, strict=True)
        ]


def _first_evidence(views: Sequence[View], position: int) -> tuple[Characters, ...]:
    """Return the evidence of the first signal that has any."""
    return next((tuple(dict.fromkeys(evidence)) for view in views if (evidence := view.evidence(position))), ())


# --- the weights of the signals


class SignalWeights(NamedTuple):
    """Weights of the features of signals.

    Attributes:
        signals: The names of the signals, and the number of their features.
        bias: The score of a concept with mean features, before the logistic function.
        threshold: The least probability, exclusive.
    """

    signals: tuple[tuple[str, int], ...]
    weights: tuple[float, ...]
    means: tuple[float, ...]
    bias: float
    threshold: float

    @classmethod
    def fit(
        cls, signals: Mapping[str, int], features: Sequence[np.ndarray], right: Sequence[np.ndarray], missed: int
    ) -> SignalWeights | None:
        """Fit the weights, and the threshold with the best F1 over all documents.

        Args:
            signals: The number of features of each signal.
            features: For each document, the features of its candidates, float32, shape (candidates, features).
            right: For each document, which candidates are right, bool, shape (candidates,).
            missed: The number of annotated concepts that are not candidates.

        Returns:
            None if no candidate is right, or all are: then nothing can be fitted.
        """
        x, y = np.concatenate(features), np.concatenate(right)
        if (model := fit_logistic(x, y, STRENGTH)) is None:
            return None
        weights, means, bias = model
        fitted = cls(tuple(signals.items()), tuple(weights.tolist()), tuple(means.tolist()), bias, 0.5)
        return fitted._replace(threshold=best_threshold(fitted.scores(x), y, missed))

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return probabilities, float64, shape (candidates,)."""
        scores: np.ndarray = 1 / (1 + np.exp(-(self.bias + self._terms(features).sum(axis=1))))
        return scores

    def contributions(self, features: np.ndarray) -> list[tuple[tuple[str, float], ...]]:
        """Return for each candidate what each signal adds to the bias."""
        ends = np.cumsum([n for _, n in self.signals])
        parts = [part.sum(axis=1) for part in np.split(self._terms(features), ends[:-1], axis=1)]
        names = [name for name, _ in self.signals]
        return [tuple(zip(names, map(float, values), strict=True)) for values in zip(*parts, strict=True)]

    def _terms(self, features: np.ndarray) -> np.ndarray:
        terms: np.ndarray = (features - np.array(self.means)) * np.array(self.weights)
        return terms

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SignalWeights:
        """Make weights from the JSON data of `_asdict`."""
        signals = tuple((name, n) for name, n in data["signals"])
        return cls(signals, tuple(data["weights"]), tuple(data["means"]), data["bias"], data["threshold"])


def best_threshold(scores: np.ndarray, right: np.ndarray, missed: int) -> float:
    """Return the threshold with the best F1 over all candidates together. `missed` counts right concepts without one.

    It lies halfway between the lowest score above it and the next score.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + hits[-1] + missed)
    ends = np.append(np.diff(ranked) != 0, True)  # a threshold cannot separate equal scores
    last = int(np.argmax(np.where(ends, f1, -1)))
    following = ranked[last + 1] if last + 1 < len(ranked) else 0.0
    return float((ranked[last] + following) / 2)
