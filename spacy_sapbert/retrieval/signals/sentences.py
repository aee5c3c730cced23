"""`SentencesSignal`: compare whole sentences with names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.tokens import Doc

from ...encoders.segments import sentences
from ..phrases import Characters
from ..training_counts import DocumentCounts
from .near_names import NearNames
from .signal import View


class SentencesSignal:
    """The highest cosine of a sentence and a name of a concept.

    Args:
        near_names: The search for the nearest names. It should find many names for each sentence, since most of them
            belong to similar concepts.
    """

    name = "sentences"
    features: tuple[str, ...] = ("similarity",)
    threshold = 0.6

    def __init__(self, near_names: NearNames) -> None:
        self.near_names = near_names

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> list[View]:
        bounds = [sentences(doc) for doc in docs]
        texts = [[doc.text[start:end] for start, end in of_doc] for doc, of_doc in zip(docs, bounds, strict=True)]
        near = self.near_names(text for of_doc in texts for text in of_doc)
        return [
            SentenceView(of_doc, self.near_names.matching_entries([near[text] for text in texts_of_doc]))
            for of_doc, texts_of_doc in zip(bounds, texts, strict=True)
        ]


class SentenceView:
    """The most similar sentence of a document for each concept."""

    def __init__(self, bounds: list[Characters], pairs: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        self._bounds = bounds
        self._best: dict[int, tuple[float, int]] = {}
        sentence, place, cosine = pairs
        for i in np.argsort(-cosine, kind="stable"):
            self._best.setdefault(int(place[i]), (float(cosine[i]), int(sentence[i])))

    def nearest(self, n: int) -> np.ndarray:
        return np.array(list(self._best)[:n], dtype=np.int64)

    def features(self, places: np.ndarray) -> np.ndarray:
        return np.array([[self._best.get(int(place), (0.0, 0))[0]] for place in places], np.float32).reshape(-1, 1)

    def evidence(self, place: int) -> list[Characters]:
        return [self._bounds[self._best[place][1]]] if place in self._best else []
