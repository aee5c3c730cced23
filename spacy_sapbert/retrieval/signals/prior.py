"""`PriorSignal`: count the training documents in which a concept is annotated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from spacy.tokens import Doc

from ..concept_set import ConceptSet
from ..phrases import Characters
from ..training_counts import NOTHING, DocumentCounts, TrainingCounts
from .signal import View


class PriorSignal:
    """The number of training documents in which a concept is annotated. The text of a document has no effect.

    Args:
        concepts: The concepts that can be predicted.
        counts: The counts of the training data.
    """

    name = "prior"
    features: tuple[str, ...] = ("annotated", "never annotated")
    threshold = 0.5

    def __init__(self, concepts: ConceptSet, counts: TrainingCounts | None = None) -> None:
        self.concepts = concepts
        self.counts = counts

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> list[View]:
        return [PriorView(self, one) for one in own or [NOTHING] * len(docs)]

    @cached_property
    def documents(self) -> np.ndarray:
        """The number of training documents in which each concept is annotated, int64, by position."""
        return self._sum(self.counts.concepts if self.counts else {})

    @cached_property
    def frequent(self) -> np.ndarray:
        """The positions of the annotated concepts, int64, the most frequent first."""
        return np.argsort(-self.documents, kind="stable")[: np.count_nonzero(self.documents)]

    def others(self, own: DocumentCounts) -> np.ndarray:
        """Return the number of documents without the document itself, int64, by position."""
        counted = self.counts.concepts if self.counts else {}
        mine = {one: 1 for one in own.concepts if one in counted}
        return self.documents - self._sum(mine) if mine else self.documents

    def _sum(self, counts: Mapping[str, int]) -> np.ndarray:
        """Return the sums of counts by id over all ids of each concept."""
        total = np.zeros(len(self.concepts), dtype=np.int64)
        for concept_id, n in counts.items():
            total[self.concepts.places_of(concept_id)] += n
        return total


class PriorView:
    """The prior for one document. It is the same for all documents, except that the document itself does not count."""

    def __init__(self, prior: PriorSignal, own: DocumentCounts) -> None:
        self._prior = prior
        self._documents = prior.others(own)

    def nearest(self, n: int) -> np.ndarray:
        return self._prior.frequent[:n]

    def features(self, places: np.ndarray) -> np.ndarray:
        counts = self._documents[places].astype(np.float32)
        return np.stack([np.log1p(counts), counts == 0], axis=1).astype(np.float32)

    def evidence(self, place: int) -> list[Characters]:
        return []
