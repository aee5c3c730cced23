"""The document as a whole: the bi-encoder of Shao et al. (2024), whose concept vectors are frozen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from spacy.tokens import Doc

from ..concept_vectors import ConceptVectors
from ..training_counts import DocumentCounts
from .signal import Characters, View

# documents in, the unit vectors of the segments of each out (float32, shape (segments, dim))
EncodeDocuments = Callable[[Sequence[Doc]], list[np.ndarray]]


class DocumentSignal:
    """The cosine of a concept and that segment of the document which is nearest to it.

    Args:
        encode: encodes documents.
        vectors: of the concepts.
    """

    name = "document"
    features: tuple[str, ...] = ("similarity", "below the best")
    threshold = 0.5

    def __init__(self, encode: EncodeDocuments, vectors: ConceptVectors) -> None:
        self.encode = encode
        self.vectors = vectors

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> list[View]:
        return [DocumentView(segments, self.vectors) for segments in self.encode(docs)]


class DocumentView:
    """How like the segments of one document the concepts are.

    Args:
        segments (float32, shape (n, dim)): unit vectors.
    """

    def __init__(self, segments: np.ndarray, vectors: ConceptVectors) -> None:
        self._segments = segments
        self._vectors = vectors
        self._highest = float(vectors.nearest(segments, 1)[0].max(initial=0.0))

    def nearest(self, n: int) -> np.ndarray:
        _, places = self._vectors.nearest(self._segments, n)
        found = np.unique(places[places >= 0])
        similarities = self._similarities(found)
        return found[np.argsort(-similarities, kind="stable")[:n]]

    def features(self, places: np.ndarray) -> np.ndarray:
        similarities = self._similarities(places)
        return np.stack([similarities, similarities - self._highest], axis=1).astype(np.float32)

    def evidence(self, place: int) -> list[Characters]:
        return []

    def _similarities(self, places: np.ndarray) -> np.ndarray:
        # an empty document may have no segment
        similarities: np.ndarray = self._vectors.similarities(self._segments, places).max(axis=0, initial=-1)
        return similarities
