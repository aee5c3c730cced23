"""Hard negatives mined offline: names of a vocabulary that an encoder puts near, though they are not synonyms.

The method follows github.com/sujitpal/kg-aligned-entity-linker. That code searches the names of its own pairs; here all
names of the vocabulary are searched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np

from ..errors import Errors, SapbertError
from ..files.values import hash64
from ..kb.knowledge_base import KnowledgeBase
from ..text.normalize import TEXT_NORMALIZERS, lower
from ..vectors.index import Index
from .pair_files import Pair, SharedName, Triple

MINED_COUNTS = ("pairs", "pairs_of_unknown_concepts", "triples", "pairs_with_fewer_negatives")

PAIRS_AT_ONCE = 1024
"""The number of pairs that are looked up together."""

_SPARE = 20  # additional neighbors in the first search, since some are skipped
_MOST_NEAR = 4_000_000  # neighbors in memory at a time, of all pairs together


class HardNegatives:
    """Finds, for pairs of synonyms, the names nearest to the second name that belong to other concepts.

    Names of the concepts of the pair are skipped. These are the concept with the pair's id, and any concept with one of
    the two names. Names are compared in the encoder's normal form, ignoring case. A name equal to either name of the
    pair is not a negative.

    Args:
        kb: The knowledge base with the concepts of the pairs. All its names are searched.
        vectors: The vectors of its names, of unit length.
        neighbors: Negatives per pair.
        shared: Names that several concepts share, in addition to those of the knowledge base.
    """

    def __init__(
        self, kb: KnowledgeBase, vectors: Index, *, neighbors: int = 3, shared: Iterable[SharedName] = ()
    ) -> None:
        if not vectors.encoder.l2_normalized:
            raise SapbertError(Errors.E345.format(name=vectors.encoder.name))
        normalize = TEXT_NORMALIZERS[vectors.encoder.text_normalizer]
        self.kb = kb
        self.vectors = vectors
        self.neighbors = neighbors
        self._owners = _Owners(kb, lambda text: normalize(lower(text)), shared)

    def mine(self, pairs: Iterable[Pair], counts: Counter[str]) -> list[Triple]:
        """Mine the negatives of some pairs, which are looked up together.

        Args:
            counts: Updated with `MINED_COUNTS`.

        Returns:
            The triples in the order of the pairs, the nearest negative first.
        """
        searched: list[_PairConcepts] = []
        for pair in pairs:
            counts["pairs"] += 1
            concepts = self.kb.concept_rows(pair.concept_id)
            counts["pairs_of_unknown_concepts"] += not concepts
            if concepts:
                owners = (self._owners.of_key(self._owners.key(name)) for name in (pair.name1, pair.name2))
                searched.append((pair, set(concepts).union(*owners)))
        mined = self._search_enough(searched)
        for triples in mined:
            counts["triples"] += len(triples)
            counts["pairs_with_fewer_negatives"] += len(triples) < self.neighbors
        return list(chain.from_iterable(mined))

    def _search_enough(self, pairs: Sequence[_PairConcepts]) -> list[list[Triple]]:
        """Return the triples of each pair. More neighbors are searched for pairs for which too many were skipped."""
        mined: dict[int, list[Triple]] = {}
        waiting, n = list(range(len(pairs))), self.neighbors + _SPARE
        while waiting:
            n = min(n, self.kb.n_names)
            size = max(1, _MOST_NEAR // n)
            for start in range(0, len(waiting), size):
                part = waiting[start : start + size]
                near = self._nearest([pairs[index][0].name2 for index in part], n)
                mined |= {index: self._select(*pairs[index], near[pairs[index][0].name2]) for index in part}
            is_all = n == self.kb.n_names
            waiting = [index for index in waiting if len(mined[index]) < self.neighbors and not is_all]
            n *= 4
        return [mined[index] for index in range(len(pairs))]

    def _nearest(self, texts: Iterable[str], n: int) -> dict[str, list[tuple[int, float]]]:
        """Return for each text the rows of the n nearest names and their cosines, best first.

        An index that is not exact may find fewer. What it finds is compared exactly.
        """
        unique = list(dict.fromkeys(texts))
        queries = self.vectors.encode(unique)
        near = {}
        for text, query, proposed in zip(unique, queries, self.vectors.nearest(queries, n)[1], strict=True):
            rows = proposed[proposed >= 0]
            cosines = self.vectors.similarities(query[None], rows)[0]
            order = np.lexsort((rows, -cosines))
            near[text] = list(zip(rows[order].tolist(), cosines[order].tolist(), strict=True))
        return near

    def _select(self, pair: Pair, concepts: set[int], near: Iterable[tuple[int, float]]) -> list[Triple]:
        """Select the negatives of a pair among the names near its second name, best first."""
        alike = {self._owners.key(name) for name in (pair.name1, pair.name2)}
        triples: dict[int, Triple] = {}
        for row, cosine in near:
            if len(triples) == self.neighbors:
                break
            key = self._owners.keys[row]
            owners = self._owners.of_key(key)
            if key not in alike and key not in triples and concepts.isdisjoint(owners):
                anchor, positive, negative = map(lower, (pair.name1, pair.name2, self.kb.name(row)))
                negative_ids = tuple(sorted(map(self.kb.concept_id, owners)))
                triples[key] = Triple(pair.concept_id, anchor, positive, negative, round(cosine, 4), negative_ids)
        return list(triples.values())


_PairConcepts = tuple[Pair, set[int]]
"""A pair, and the rows of all concepts that are known to have one of its names."""


class _Owners:
    """The concepts of a name, by a hash of the form in which names are compared.

    `keys` has the hash of each name, by row, uint64, shape (n_names,).
    """

    def __init__(self, kb: KnowledgeBase, form: Callable[[str], str], shared: Iterable[SharedName]) -> None:
        self._form = form
        self.keys = np.fromiter(map(self.key, kb.names()), dtype=np.uint64, count=kb.n_names)
        others = [(self.key(name), row) for name, ids in shared for id in ids for row in kb.concept_rows(id)]
        other_keys = np.array([key for key, _ in others], dtype=np.uint64)
        keys = np.concatenate((self.keys[kb.name_concepts.names], other_keys))
        concepts = np.concatenate((kb.name_concepts.concepts, np.array([row for _, row in others], dtype=np.int32)))
        order = np.argsort(keys, kind="stable")
        self._sorted, self._concepts = keys[order], concepts[order]

    def key(self, text: str) -> np.uint64:
        return np.uint64(hash64(self._form(text)))

    def of_key(self, key: np.uint64) -> set[int]:
        """Return the rows of the concepts."""
        first, last = np.searchsorted(self._sorted, key, "left"), np.searchsorted(self._sorted, key, "right")
        return set(self._concepts[first:last].tolist())
