"""`PriorSignal`: count the training documents in which a concept is annotated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from spacy.tokens import Doc

from ..concept_set import ConceptSet
from ..training_counts import NOTHING, DocumentCounts, TrainingCounts
from .signal import Characters, View


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
    def frequent(self) -> np.ndarray:
        """The positions of the annotated concepts, int64, the most frequent first."""
        counts = self.counts.concepts if self.counts else {}
        found: dict[int, int] = {}
        for concept_id, n in counts.items():
            for place in self.concepts.places_of(concept_id):
                found[place] = found.get(place, 0) + n
        return np.array(sorted(found, key=lambda place: (-found[place], place)), dtype=np.int64)

    def n_documents(self, place: int, own: DocumentCounts) -> int:
        if self.counts is None:
            return 0
        return self.counts.documents_with(self.concepts.kb.ids(self.concepts.ids[place]), own)


class PriorView:
    """The prior for one document. It is the same for all documents, except that the document itself does not count."""

    def __init__(self, prior: PriorSignal, own: DocumentCounts) -> None:
        self._prior = prior
        self._own = own

    def nearest(self, n: int) -> np.ndarray:
        return self._prior.frequent[:n]

    def features(self, places: np.ndarray) -> np.ndarray:
        counts = np.array([self._prior.n_documents(int(place), self._own) for place in places], dtype=np.float32)
        return np.stack([np.log1p(counts), counts == 0], axis=1).astype(np.float32)

    def evidence(self, place: int) -> list[Characters]:
        return []
