"""`MentionsSignal`: use the mentions that earlier components have linked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.tokens import Doc, Span

from ..concept_set import ConceptSet
from ..phrases import Characters, end_of_beginning
from ..training_counts import DocumentCounts
from .signal import View

LINK_WEIGHT = 0.8  # the feature `linked` of a single mention that is linked with a score of 1


class MentionsSignal:
    """The concepts that the mentions of a document are linked to.

    Args:
        concepts: The concepts that can be predicted.
        spans_key: The mentions are `doc.spans[spans_key]`; None for `doc.ents`.
    """

    name = "mentions"
    features: tuple[str, ...] = ("linked", "candidate", "often", "in the beginning")
    threshold = 0.5

    def __init__(self, concepts: ConceptSet, spans_key: str | None = None) -> None:
        self.concepts = concepts
        self.spans_key = spans_key

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> list[View]:
        return [MentionView(doc, self._mentions(doc), self.concepts) for doc in docs]

    def _mentions(self, doc: Doc) -> Sequence[Span]:
        return doc.ents if self.spans_key is None else doc.spans.get(self.spans_key, ())


class MentionView:
    """The links of one document. A candidate of a mention is linked if its id is in `kb_id_`."""

    def __init__(self, doc: Doc, mentions: Sequence[Span], concepts: ConceptSet) -> None:
        self._limit = end_of_beginning(doc)
        self._linked: dict[int, list[tuple[float, Characters]]] = {}
        self._candidate: dict[int, float] = {}
        for mention in mentions:
            linked = set(mention.kb_id_.split("|"))
            for concept_id, score in mention._.kb_ents:
                for place in concepts.places_of(concept_id):
                    self._candidate[place] = max(score, self._candidate.get(place, 0.0))
                    if concept_id in linked:
                        span = mention.start_char, mention.end_char
                        self._linked.setdefault(place, []).append((score, span))

    def nearest(self, n: int) -> np.ndarray:
        places = np.array(sorted(self._candidate), dtype=np.int64)
        features = self.features(places)
        order = np.lexsort((-features[:, 1], -features[:, 0]))
        return places[order[:n]]

    def features(self, places: np.ndarray) -> np.ndarray:
        features = np.zeros((len(places), len(MentionsSignal.features)), dtype=np.float32)
        for row, place in enumerate(map(int, places)):
            linked = self._linked.get(place, [])
            features[row] = (
                1 - np.prod([1 - LINK_WEIGHT * score for score, _ in linked]),
                self._candidate.get(place, 0.0),
                np.log1p(len(linked)),
                any(start < self._limit for _, (start, _) in linked),
            )
        return features

    def evidence(self, place: int) -> list[Characters]:
        return [span for _, span in sorted(self._linked.get(place, []), key=lambda link: (-link[0], link[1]))]
