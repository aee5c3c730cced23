"""`DocumentLoss`: compare a document with its annotated concepts and with others (Shao et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .settings import ConceptRetrieval

if TYPE_CHECKING:
    from ..retrieval.concepts import ConceptVectors


class DocumentLoss:
    """Compares a document with the concepts annotated in it, and with wrong concepts that it draws.

    Args:
        vectors: The vectors of the concepts.
        settings: The number of wrong concepts, the seed, and the temperature.
    """

    def __init__(self, vectors: ConceptVectors, settings: ConceptRetrieval) -> None:
        self.vectors = vectors
        self.settings = settings
        self._random = np.random.default_rng(settings.seed)

    def __call__(self, segments: np.ndarray, right: Sequence[int]) -> tuple[float, np.ndarray]:
        """InfoNCE: −log softmax of each right concept among the drawn wrong ones, averaged over the right ones.

        Args:
            segments: The vectors of one document, float32, shape (segments, dim). The cosine with a concept is that of
                the nearest segment.
            right: The positions of the right concepts.

        Returns:
            The loss, and its gradient, float32, of the shape of `segments`.
        """
        drawn = np.array([*right, *self.wrong(segments, right)])
        n_right = len(right)
        concepts = np.asarray(self.vectors.vectors[drawn])
        cosines = segments @ concepts.T
        nearest = cosines.argmax(axis=0)
        scores = cosines[nearest, np.arange(len(drawn))].astype(np.float64) / self.settings.temperature
        wrong = np.logaddexp.reduce(scores[n_right:])
        total = np.logaddexp(scores[:n_right], wrong)
        loss = float((total - scores[:n_right]).mean())
        of_right = (np.exp(scores[:n_right] - total) - 1) / n_right
        of_wrong = np.exp(scores[None, n_right:] - total[:, None]).sum(axis=0) / n_right
        of_scores = np.concatenate([of_right, of_wrong]) / self.settings.temperature
        gradient = np.zeros_like(segments)
        np.add.at(gradient, nearest, of_scores[:, None].astype(np.float32) * concepts)
        return loss, gradient

    def wrong(self, segments: np.ndarray, right: Sequence[int]) -> np.ndarray:
        """Return the positions of wrong concepts, int64: the nearest ones, and random ones."""
        n_concepts = len(self.vectors.concepts)
        cosines, positions = self.vectors.nearest(segments, self.settings.hard + len(right))
        order = np.argsort(-cosines.ravel(), kind="stable")
        ranked = list(dict.fromkeys(position for position in positions.ravel()[order].tolist() if position >= 0))
        taken = set(right)
        hard = [position for position in ranked if position not in taken][: self.settings.hard]
        taken.update(hard)
        wanted = min(self.settings.random, n_concepts - len(taken))
        drawn: dict[int, None] = {}
        while len(drawn) < wanted:
            position = int(self._random.integers(n_concepts))
            if position not in taken:
                drawn[position] = None
        return np.array([*hard, *drawn], dtype=np.int64)
