"""`Signal` and `View`: the protocols of all signals. `ConceptRanker` weighs several signals together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from spacy.tokens import Doc

from ..phrases import Characters
from ..training_counts import DocumentCounts


class View(Protocol):
    """The result of a signal for one document."""

    def nearest(self, n: int) -> np.ndarray:
        """Return the positions of the concepts with the most support, int64, best first; at most n."""

    def features(self, places: np.ndarray) -> np.ndarray:
        """Return the features of concepts, float32, shape (len(places), number of features).

        The features are 0 if the signal finds nothing for a concept. The first feature ranks the concepts if there is
        no other signal.
        """

    def evidence(self, place: int) -> list[Characters]:
        """Return the character offsets `start, end` of the text that supports a concept, best first."""


class Signal(Protocol):
    """One kind of evidence for concepts.

    Attributes:
        name: The name of the signal in the settings.
        features: The names of the features.
        threshold: The threshold of the first feature, if this is the only signal and nothing was fitted.
    """

    name: str
    features: tuple[str, ...]
    threshold: float

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> list[View]:
        """Apply the signal to documents.

        Args:
            docs: The documents.
            own: The counts of these documents, if they belong to the training data. They are subtracted, so that only
                the other documents count.

        Returns:
            One view per document.
        """
