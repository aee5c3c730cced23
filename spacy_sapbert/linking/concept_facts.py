"""`ConceptFacts`: what a vocabulary says of concepts, and how often public abstracts have their names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from ..kb.ids import is_supplementary
from ..kb.knowledge_base import KnowledgeBase
from .popularity import name_popularity

_CACHED = 1 << 16


class Fact(NamedTuple):
    """What is known of a concept.

    Attributes:
        preferred: The preferred name.
        names: log(1 + n) for its n names.
        supplementary: Whether it is a supplementary record of MeSH.
        annotations: log(1 + n), if corpora annotate it n times.
        popularity: log(1 + n), if n public abstracts have the preferred name, see `name_popularity`.
    """

    preferred: str
    names: float
    supplementary: bool
    annotations: float
    popularity: float


class ConceptFacts:
    """Looks up what is known of concepts, and keeps it."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._known: dict[str, Fact] = {}

    def __call__(self, concept_ids: set[str]) -> Mapping[str, Fact]:
        """Return what is known of concepts. The vocabulary is read once for all that are new."""
        known = self._known
        facts = {concept_id: known[concept_id] for concept_id in concept_ids if concept_id in known}
        missing = sorted(concept_ids.difference(facts))
        if missing:
            summaries = self._kb.summaries_of(missing, with_types=False)
            popularity = name_popularity([summary.preferred for summary in summaries.values()])
            for (id, summary), popular in zip(summaries.items(), popularity.tolist(), strict=True):
                counts = math.log1p(summary.names), math.log1p(summary.annotations)
                facts[id] = Fact(summary.preferred, counts[0], is_supplementary(id), counts[1], popular)
            if len(known) > _CACHED:
                self._known = {}  # a new object, since another thread may read the old one
            self._known.update(facts)
        return facts
