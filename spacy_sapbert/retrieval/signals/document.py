"""`DocumentSignal`: compare the whole document with concepts by the bi-encoder of Shao et al. (2024)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from spacy.tokens import Doc

from ..concept_vectors import ConceptVectors
from ..phrases import Characters
from ..training_counts import DocumentCounts
from .signal import View

# returns the unit vectors of the segments of each document, float32, shape (segments, dim)
EncodeDocuments = Callable[[Sequence[Doc]], list[np.ndarray]]


class DocumentSignal:
    """The cosine of a concept and the nearest segment of the document. The concept vectors are frozen.

    Args:
        encode: The function that encodes documents.
        vectors: The vectors of the concepts.
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
    """The similarities of concepts and the segments of one document.

    Args:
        segments: The unit vectors of the segments, float32, shape (n, dim).
        vectors: The vectors of the concepts.
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
