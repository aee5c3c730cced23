"""`ConceptFacts`: what a vocabulary says of concepts, and how often public abstracts have their names."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import filterfalse
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from ..kb.ids import SUPPLEMENTARY_ID
from ..kb.knowledge_base import KnowledgeBase
from ..starter import POPULARITY
from ..text.words import read_words

STEPS = 16
"""Steps of the logarithm of a count, which the table of names in abstracts rounds."""
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

    @cached_property
    def has_annotations(self) -> bool:
        """Whether mentions of corpora are names of the vocabulary. It is found out at the first use."""
        return bool(self._kb.name_concepts.annotations.any())

    def __call__(self, concept_ids: Collection[str]) -> Mapping[str, Fact]:
        """Return what is known of some concepts, and of others. The vocabulary is read once for all that are new."""
        if len(self._known) > _CACHED:
            self._known = {}  # a new object, since another thread may read the old one
        known = self._known
        if missing := sorted(set(filterfalse(known.__contains__, concept_ids))):
            summaries = self._kb.summaries_of(missing, with_types=False)
            popularity = name_popularity(map(attrgetter("preferred"), summaries.values()))
            for (id, summary), popular in zip(summaries.items(), popularity, strict=True):
                counts = math.log1p(summary.names), math.log1p(summary.annotations)
                known[id] = Fact(summary.preferred, counts[0], bool(SUPPLEMENTARY_ID.fullmatch(id)), counts[1], popular)
        return known

    def annotated(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return log(1 + n) for concepts with names, if corpora annotate the concept n times by this name."""
        return np.log1p(self._kb.annotations_of(pairs)).tolist()


def name_popularity(names: Iterable[str]) -> list[float]:
    """Return log(1 + n) for names that n of the public abstracts have.

    Case, plural, spelling and word order of a name do not count. A name that fewer than two abstracts have, or that no
    open vocabulary has, counts as 0. Of such names, one in 290,000 has the hash of another name.
    """
    hashes, logs = _table()
    keys = compact(np.array(list(map(attrgetter("hash"), map(read_words, names))), dtype=np.uint64))
    rows = np.minimum(np.searchsorted(hashes, keys), len(hashes) - 1)
    return np.where(hashes[rows] == keys, logs[rows] / STEPS, 0.0).tolist()


def compact(hashes: np.ndarray) -> np.ndarray:
    """Return the upper half of hashes, uint32."""
    return (hashes >> np.uint64(32)).astype(np.uint32)


@cache
def _table() -> tuple[np.ndarray, np.ndarray]:
    from safetensors.numpy import load_file

    arrays = load_file(POPULARITY)
    return arrays["hashes"], arrays["logs"]
