"""Find the concepts with the names most similar to a text, by dense and sparse similarity together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from ..encoders.ngrams import NgramEncoder
from ..kb.filters import ALL, Filter, FilterMask, filter_mask
from ..kb.knowledge_base import KnowledgeBase
from ..types import SCORE_DIGITS, Candidate
from ..vectors.index import Index

EXACT_LIMIT = 200_000  # up to this number of names, all names are scored
FEW = 64  # the least number of nearest names in the first search
TEXTS_PER_BATCH = 64
CACHE_SIZE = 4096  # texts; with 30 candidates each about 40 MB


class _Scored(NamedTuple):
    """The scores of one text for the names at `rows`, with the two similarities behind them."""

    rows: np.ndarray
    scores: np.ndarray
    dense: np.ndarray | None
    sparse: np.ndarray | None


class CandidateGenerator:
    """Finds candidates by S(m, n) = (dense(m, n) + λ · sparse(m, n)) / (M + λ).

    The sum is BioSyn's (Sung et al. 2020, equation 3). The division does not change the order of the names for one
    text. It keeps scores at most 1, so that a threshold means the same for every λ.

    The sparse score is a cosine. The dense score is the inner product of the vectors. M is its upper bound: the length
    of the text's vector times the length of the longest vector of a name. For unit vectors, the dense score is a cosine
    and M is 1.

    Names without a positive score are no candidates if vectors have unit length. Other inner products have no
    meaningful zero, so all names are candidates.

    Args:
        kb: The vocabulary.
        ngrams: The encoder of the sparse score; None leaves it out.
        vectors: The vectors of the dense score; None leaves it out. At least one of the two is needed.
        sparse_weight: λ, if both scores are used.
        exact_limit: With more names than this, only the names nearest by either score are scored (see `_scores_all`).
        cache_size: Number of texts with cached candidates, for repeated mentions. The oldest are removed first.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        ngrams: NgramEncoder | None,
        vectors: Index | None,
        *,
        sparse_weight: float = 0.2,
        exact_limit: int = EXACT_LIMIT,
        cache_size: int = CACHE_SIZE,
    ) -> None:
        self.kb = kb
        self.ngrams = ngrams
        self.vectors = vectors
        self.sparse_weight = sparse_weight
        self.exact_limit = exact_limit
        self.cache_size = cache_size
        self._cache: dict[tuple[str, int, Filter, float], list[Candidate]] = {}
        self._mask = lru_cache(maxsize=64)(partial(filter_mask, kb))

    @property
    def sparse_share(self) -> float:
        """The share of the sparse score in a score, from 0 to 1."""
        if self.ngrams is None:
            return 0.0
        return 1.0 if self.vectors is None else self.sparse_weight / (1 + self.sparse_weight)

    def __call__(self, texts: Sequence[str], k: int, filter: Filter = ALL) -> list[list[Candidate]]:
        """Find the k best concepts for each text.

        Args:
            texts: The texts.
            k: The most candidates per text.
            filter: Only names and concepts of these types and sources. The filter comes before the k best are taken.

        Returns:
            At most k candidates per text, best first. For equal scores, the tie rank decides (see
            `KnowledgeBase.tie_order`).
        """
        keys = {text: (text, k, filter, self.sparse_weight) for text in texts}
        known = {text: found for text, key in keys.items() if (found := self._cache.get(key)) is not None}
        for text, candidates in self._find([text for text in keys if text not in known], k, filter):
            known[text] = self._cache[keys[text]] = candidates
        for key in list(self._cache)[: max(0, len(self._cache) - self.cache_size)]:
            self._cache.pop(key, None)  # another thread may have removed it
        return [list(known[text]) for text in texts]

    def _find(self, texts: Sequence[str], k: int, filter: Filter) -> Iterator[tuple[str, list[Candidate]]]:
        mask = self._mask(filter)
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            batch = texts[start : start + TEXTS_PER_BATCH]
            for text, scored in zip(batch, self._score(batch, k, mask), strict=True):
                yield text, self._best_concepts(scored, k, mask)

    def renew(self, vectors: Index) -> None:
        """Replace the vectors of the names after the encoder was trained."""
        self.vectors = vectors
        self._cache.clear()

    # --- scores of names

    def similarities(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return dense and sparse scores of texts with all names, twice float32, shape (len(texts), names).

        A score that is not used is 0.
        """
        shape = len(texts), self.kb.n_names
        dense = self.vectors.similarities(self.vectors.encode(texts)) if self.vectors else np.zeros(shape, np.float32)
        sparse = self._sparse(texts, None)
        return dense, np.stack([np.zeros(shape[1], np.float32) if one is None else one for one in sparse])

    def names_that_pass(self, filter: Filter) -> np.ndarray | None:
        """Return which names match a filter, bool, shape (names,); None if all do."""
        mask = self._mask(filter)
        if mask is None:
            return None
        names = np.zeros(self.kb.n_names, dtype=bool)
        names[mask.rows] = True
        return names

    def _score(self, texts: Sequence[str], k: int, mask: FilterMask | None) -> list[_Scored]:
        rows = None if mask is None else mask.rows
        sparse = self._sparse(texts, rows)
        if self.vectors is None:
            return [self._combine(None, scores, rows) for scores in sparse]
        queries = self.vectors.encode(texts)
        if not self._scores_all(k, mask):
            return self._union(queries, sparse, k, mask)
        dense, highest = self.vectors.similarities(queries, rows), self.vectors.highest(queries)
        return [self._combine(dense[i], sparse[i], rows, highest[i]) for i in range(len(texts))]

    def _scores_all(self, k: int, mask: FilterMask | None) -> bool:
        """Return whether to score all names of the filter mask, instead of only those nearest by either score."""
        assert self.vectors is not None
        if mask is None:
            return self.vectors.exact and self.kb.n_names <= self.exact_limit
        limit = self.exact_limit if self.vectors.local else _first_search(k)
        return self.vectors.exact or len(mask.rows) <= limit

    def _sparse(self, texts: Sequence[str], rows: np.ndarray | None) -> Sequence[np.ndarray | None]:
        if self.ngrams is None:
            return [None] * len(texts)
        names = self._ngram_columns if rows is None else self._ngram_rows[rows].T
        similarities: np.ndarray = (self.ngrams.encode(texts) @ names).toarray()
        return list(similarities)

    @cached_property
    def _ngram_columns(self):  # type: ignore[no-untyped-def]
        """The sparse vectors of all names as columns. A product with rows would transpose them each time."""
        assert self.ngrams is not None
        return self.ngrams.encode(list(self.kb.names())).T.tocsr()

    @cached_property
    def _ngram_rows(self):  # type: ignore[no-untyped-def]
        """The sparse vectors as rows, for filters: selecting columns is slow."""
        return self._ngram_columns.T.tocsr()

    def _union(
        self, queries: np.ndarray, sparse: Sequence[np.ndarray | None], k: int, mask: FilterMask | None
    ) -> list[_Scored]:
        """Score the names nearest by either score: as many as it takes to be sure of the k best concepts.

        A name outside both lists scores at most the sum of the lists' last scores (the threshold algorithm of Fagin et
        al. 2003). The lists grow until the k-th concept exceeds that bound. If the index is not exact, this holds only
        for the names that it finds.
        """
        assert self.vectors is not None
        n_names = self.kb.n_names if mask is None else len(mask.rows)
        highest, scored, n = self.vectors.highest(queries), {}, _first_search(k)
        unsure = list(range(len(queries)))
        while unsure:
            n = min(n, n_names)
            asked, unsure = unsure, []
            for i, products, rows in zip(asked, *self.vectors.nearest(queries[asked], n, mask), strict=True):
                listed = rows >= 0
                nearest = products[listed], rows[listed]
                scored[i], bound = self._score_lists(queries[i : i + 1], nearest, sparse[i], n, mask, highest[i])
                best = self._best_concepts(scored[i], k, mask)
                # one unit in the last digit, since scores are rounded
                sure = len(best) == k and best[-1].score > bound + 10**-SCORE_DIGITS
                if not sure and n < n_names and listed.all():
                    unsure.append(i)
            n *= 4
        return [scored[i] for i in range(len(queries))]

    def _score_lists(
        self,
        query: np.ndarray,
        nearest: tuple[np.ndarray, np.ndarray],
        sparse: np.ndarray | None,
        n: int,
        mask: FilterMask | None,
        highest: float,
    ) -> tuple[_Scored, float]:
        """Return the scores of the names in the lists, and an upper bound for any other name."""
        assert self.vectors is not None
        rows = np.sort(nearest[1])
        last = float(nearest[0].min(initial=highest))
        bound = last / highest
        if sparse is not None:
            places = np.argpartition(-sparse, n - 1)[:n]
            rows = np.union1d(rows, places if mask is None else mask.rows[places])
            bound = (last + self.sparse_weight * sparse[places].min()) / (highest + self.sparse_weight)
            sparse = sparse[rows if mask is None else np.searchsorted(mask.rows, rows)]
        dense = self.vectors.similarities(query, rows)[0]
        return self._combine(dense, sparse, rows, highest), bound

    def _combine(
        self, dense: np.ndarray | None, sparse: np.ndarray | None, rows: np.ndarray | None, highest: float = 1.0
    ) -> _Scored:
        if dense is None:
            scores = sparse
        elif sparse is None:
            scores = dense / highest
        else:
            scores = (dense + self.sparse_weight * sparse) / (highest + self.sparse_weight)
        assert scores is not None
        return _Scored(np.arange(len(scores)) if rows is None else rows, scores.round(SCORE_DIGITS), dense, sparse)

    # --- from names to concepts

    def _best_concepts(self, scored: _Scored, k: int, mask: FilterMask | None) -> list[Candidate]:
        """Return the k best concepts. Each has the score of its best name."""
        n = 4 * k
        while True:
            places = top(scored.scores, n)
            if self.vectors is None or self.vectors.encoder.l2_normalized:
                places = places[scored.scores[places] > 0]  # names without any similarity are no candidates
            which, owners = self.kb.name_concepts.of(scored.rows[places])
            if mask is not None:
                entitled = mask.entries[owners]
                which, owners = which[entitled], owners[entitled]
            concepts = self.kb.name_concepts.concepts[owners]
            if len(np.unique(concepts)) >= k or n >= len(scored.scores):
                break
            n *= 4
        places = places[which]
        ranking = np.lexsort((*self.kb.tie_order(owners), -scored.scores[places]))
        _, firsts = np.unique(concepts[ranking], return_index=True)
        best = ranking[np.sort(firsts)[:k]]
        return [self._candidate(scored, places[i], int(concepts[i])) for i in best]

    def _candidate(self, scored: _Scored, place: int, concept: int) -> Candidate:
        return Candidate(
            self.kb.concept_id(concept),
            round(float(scored.scores[place]), SCORE_DIGITS),
            self.kb.name(int(scored.rows[place])),
            None if scored.dense is None else float(scored.dense[place]),
            None if scored.sparse is None else float(scored.sparse[place]),
        )


def _first_search(k: int) -> int:
    """Return the number of nearest names in the first search."""
    return max(FEW, 4 * k)


def top(scores: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the n highest scores, and of all that equal the lowest of them, in no order."""
    if n >= len(scores):
        return np.arange(len(scores))
    lowest = np.partition(scores, len(scores) - n)[len(scores) - n]
    return np.flatnonzero(scores >= lowest)
