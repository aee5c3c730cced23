"""The concepts whose names are most like a text: dense and sparse similarity together."""

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

EXACT_LIMIT = 200_000  # up to so many names, every name is scored
FEW = 64  # so many of the nearest names are asked for at first, or four for each candidate
TEXTS_PER_BATCH = 64
CACHE_SIZE = 4096  # texts; with 30 candidates each about 40 MB


class _Scored(NamedTuple):
    """Scores of one text: of the names at `rows`, with the two similarities they are made of."""

    rows: np.ndarray
    scores: np.ndarray
    dense: np.ndarray | None
    sparse: np.ndarray | None


class CandidateGenerator:
    """Finds candidates by S(m, n) = (dense(m, n) + λ · sparse(m, n)) / (M + λ), the sparse score a cosine.

    The sum is BioSyn's (Sung et al. 2020, equation 3). The division changes no order of the names for one text; it
    keeps scores at most 1, so that a threshold means the same for every λ. The dense score is the inner product of the
    vectors, and M what it is at most: the length of the text's vector times that of the longest among the names'. For
    unit vectors it is a cosine, and M is 1.

    Two unit vectors without a positive score have nothing in common, and such names are no candidates. The inner
    product of others means nothing by itself, so they all are.

    Args:
        kb: the vocabulary.
        ngrams: the sparse score; None leaves it out.
        vectors: the dense score; None leaves it out. One of the two is needed.
        sparse_weight: λ, where both are used.
        exact_limit: with more names than this, candidates are the nearest by either score (see `_scores_all`).
        cache_size: texts whose candidates are kept, for mentions that come again; the oldest go first.
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
        """How much of a score is the sparse one, from 0 to 1."""
        if self.ngrams is None:
            return 0.0
        return 1.0 if self.vectors is None else self.sparse_weight / (1 + self.sparse_weight)

    def __call__(self, texts: Sequence[str], k: int, filter: Filter = ALL) -> list[list[Candidate]]:
        """Find the k best concepts for each text.

        Args:
            filter: types and sources to choose from; the filter comes before the k best are taken.

        Returns:
            at most k candidates a text, best first. Equal scores go to the concept with the best claim on the name (see
                `KnowledgeBase.tie_order`).
        """
        keys = {text: (text, k, filter, self.sparse_weight) for text in texts}
        known = {text: found for text, key in keys.items() if (found := self._cache.get(key)) is not None}
        for text, candidates in self._find([text for text in keys if text not in known], k, filter):
            known[text] = self._cache[keys[text]] = candidates
        for key in list(self._cache)[: max(0, len(self._cache) - self.cache_size)]:
            self._cache.pop(key, None)  # another thread may have been quicker
        return [list(known[text]) for text in texts]

    def _find(self, texts: Sequence[str], k: int, filter: Filter) -> Iterator[tuple[str, list[Candidate]]]:
        mask = self._mask(filter)
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            batch = texts[start : start + TEXTS_PER_BATCH]
            for text, scored in zip(batch, self._score(batch, k, mask), strict=True):
                yield text, self._best(scored, k, mask)

    def renew(self, vectors: Index) -> None:
        """Take other vectors of the names, since the encoder has learnt."""
        self.vectors = vectors
        self._cache.clear()

    # --- scores of names

    def similarities(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return `float32, twice shape (len(texts), names)`: dense and sparse scores; 0 where one is not used."""
        shape = len(texts), self.kb.n_names
        dense = self.vectors.similarities(self.vectors.encode(texts)) if self.vectors else np.zeros(shape, np.float32)
        sparse = self._sparse(texts, None)
        return dense, np.stack([np.zeros(shape[1], np.float32) if one is None else one for one in sparse])

    def names_that_pass(self, filter: Filter) -> np.ndarray | None:
        """Return `bool, shape (names,)`: which names pass a filter; None where all do."""
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
        """Whether all names that pass are scored; else those that are nearest by either score are."""
        assert self.vectors is not None
        if mask is None:
            return self.vectors.exact and self.kb.n_names <= self.exact_limit
        limit = self.exact_limit if self.vectors.local else _few(k)
        return self.vectors.exact or len(mask.rows) <= limit

    def _sparse(self, texts: Sequence[str], rows: np.ndarray | None) -> Sequence[np.ndarray | None]:
        if self.ngrams is None:
            return [None] * len(texts)
        names = self._ngram_columns if rows is None else self._ngram_rows[rows].T
        similarities: np.ndarray = (self.ngrams.encode(texts) @ names).toarray()
        return list(similarities)

    @cached_property
    def _ngram_columns(self):  # type: ignore[no-untyped-def]
        """The sparse vectors of all names as columns: rows would be turned for each product."""
        assert self.ngrams is not None
        return self.ngrams.encode(list(self.kb.names())).T.tocsr()

    @cached_property
    def _ngram_rows(self):  # type: ignore[no-untyped-def]
        """The same as rows, of which a filter takes some: taking columns is slow."""
        return self._ngram_columns.T.tocsr()

    def _union(
        self, queries: np.ndarray, sparse: Sequence[np.ndarray | None], k: int, mask: FilterMask | None
    ) -> list[_Scored]:
        """Score the names nearest by either score, as many as it takes to be sure of the k best concepts.

        A name outside both lists scores at most the sum of the lists' last scores (the threshold algorithm of Fagin
        et al. 2003); where the k-th concept does not reach that bound, the lists grow. With an index that is not exact
        this holds as far as the index finds the nearest.
        """
        assert self.vectors is not None
        n_names = self.kb.n_names if mask is None else len(mask.rows)
        highest, scored, n = self.vectors.highest(queries), {}, _few(k)
        unsure = list(range(len(queries)))
        while unsure:
            n = min(n, n_names)
            asked, unsure = unsure, []
            for i, products, rows in zip(asked, *self.vectors.nearest(queries[asked], n, mask), strict=True):
                listed = rows >= 0
                nearest = products[listed], rows[listed]
                scored[i], bound = self._score_lists(queries[i : i + 1], nearest, sparse[i], n, mask, highest[i])
                best = self._best(scored[i], k, mask)
                # one unit in the last digit, because scores are rounded
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
        """Return the scores of the names in the lists, and what another name can score at most."""
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

    def _best(self, scored: _Scored, k: int, mask: FilterMask | None) -> list[Candidate]:
        """The k best concepts: each has the score of its best name."""
        n = 4 * k
        while True:
            places = top(scored.scores, n)
            if self.vectors is None or self.vectors.encoder.l2_normalized:
                places = places[scored.scores[places] > 0]  # no similarity at all proposes nothing
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


def _few(k: int) -> int:
    """Return how many of the nearest names are asked for at first."""
    return max(FEW, 4 * k)


def top(scores: np.ndarray, n: int) -> np.ndarray:
    """Return places of the n highest scores, and of all that equal the lowest of them; in no order."""
    if n >= len(scores):
        return np.arange(len(scores))
    lowest = np.partition(scores, len(scores) - n)[len(scores) - n]
    return np.flatnonzero(scores >= lowest)
