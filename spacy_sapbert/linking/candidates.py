"""Find the concepts with the names most similar to a text, by dense and sparse similarity together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import filterfalse, pairwise, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..encoders.ngrams import NgramEncoder
from ..kb.filters import ALL, Filter, FilterMask, filter_mask
from ..kb.knowledge_base import KnowledgeBase
from ..store.cache import drop_oldest
from ..types import SCORE_DIGITS, Candidate, Grade
from ..vectors.index import Index
from ..vectors.ngram_index import NgramIndex, NgramQueries
from ..vectors.on_demand import OnDemandVectors

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder

EXACT_LIMIT = 5000  # names; a search would not be faster
TEXTS_PER_BATCH = 256
CELLS = 2**24  # texts times names of which all scores are kept at once
CACHED_NAMES = 1 << 16  # about 6 MB
CACHE_SIZE = 4096  # texts; with 30 candidates each about 40 MB
# The names that are proposed for each text. The dense score decides most candidates, so the sparse one adds few.
NEAREST_PER_CANDIDATE = 4
SIMILAR = 32
SIMILAR_WITHOUT_VECTORS = 256
# The names of each text that a second encoder scores, and how many of them are those with the best sparse scores. The
# latter are nearly spelled like the text, such as a plural.
RESCORED, SPELLED = 20, 5
# A name that is less similar by this than the best name of its concept counts as 1/e of a name.
SUPPORT_SCALE = 0.05
# The postings that are read for each text. Measured with `benchmarks/search.py`.
POSTINGS = 1000
POSTINGS_WITHOUT_VECTORS = 5000
_POINTS = 2**20  # more than the highest score has, which is 1; the lowest is -1


Pairs = tuple[np.ndarray, np.ndarray]


class _Scored(NamedTuple):
    """The scores of pairs of a text and a name, as parallel arrays sorted by text.

    Attributes:
        which: The index of the text, int64.
        rows: The row of the name, int64.
        scores: The combined scores, float32 or float64, rounded.
        dense: The dense similarities, float32; None without vectors. NaN if the second encoder was not asked.
        sparse: The sparse similarities, float32; None without n-grams.
    """

    which: np.ndarray
    rows: np.ndarray
    scores: np.ndarray
    dense: np.ndarray | None
    sparse: np.ndarray | None

    def at(self, pairs: np.ndarray) -> _Scored:
        """Return some of the pairs."""
        dense = None if self.dense is None else self.dense[pairs]
        sparse = None if self.sparse is None else self.sparse[pairs]
        return _Scored(self.which[pairs], self.rows[pairs], self.scores[pairs], dense, sparse)


class CandidateGenerator:
    """Finds candidates by S(m, n) = (dense(m, n) + λ · sparse(m, n)) / (M + λ).

    The sum is BioSyn's (Sung et al. 2020, equation 3). The division does not change the order of the names for one
    text. It keeps scores at most 1, so that a threshold means the same for every λ.

    The sparse score is a cosine. The dense score is the inner product of the vectors. M is its upper bound: the length
    of the text's vector times the length of the longest vector of a name. For unit vectors, the dense score is a cosine
    and M is 1.

    Names without a positive score are not candidates if vectors have unit length. Other inner products have no
    meaningful zero, so all names are candidates.

    The names nearest by either score are scored exactly. The searches may miss names, so further candidates can differ
    from those of an exact search. A text that is a name of the vocabulary needs no dense search: its own names have the
    highest possible score.

    With a `rescorer`, this is done in two stages. N-grams and `vectors` find candidates in this way. At most `RESCORED`
    names with the highest scores, `SPELLED` of them with the highest sparse scores, then get the dense score of the
    rescorer instead. All others are dropped. If a text is a name, nothing is encoded for it, and other names keep their
    scores from the first stage.

    Args:
        ngrams: The index of the sparse score; None leaves it out.
        vectors: The vectors of the dense score; None leaves it out. At least one of the two is needed.
        rescorer: The dense score of the second stage; None leaves it out.
        sparse_weight: λ, if both scores are used.
        exact_limit: Up to this number of names, of the vocabulary or of a filter, all names are scored.
        cache_size: Number of texts with cached candidates, for repeated mentions. The oldest are removed first.

    Attributes:
        complete: Whether texts that are names need a dense search, too. It is needed if something else than the score
            can change the first candidate.
        derived: The candidates of texts that a linker made from these. They are forgotten together.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        ngrams: NgramIndex | None,
        vectors: Index | None,
        *,
        sparse_weight: float = 0.2,
        exact_limit: float = EXACT_LIMIT,
        cache_size: int = CACHE_SIZE,
        rescorer: OnDemandVectors | None = None,
    ) -> None:
        self.kb = kb
        self.ngrams = ngrams
        self.vectors = vectors
        self.rescorer = rescorer
        self.sparse_weight = sparse_weight
        self.exact_limit = exact_limit
        self.complete = False
        self.cache_size = cache_size
        self._cache: dict[tuple[str, int, Filter, float, bool], list[Candidate]] = {}
        self.derived: dict[Hashable, Any] = {}
        self._names: dict[int, str] = {}
        self._mask = lru_cache(maxsize=64)(partial(filter_mask, kb))

    def __repr__(self) -> str:
        return f"CandidateGenerator({self.kb!r}, ngrams={self.ngrams!r}, vectors={self.vectors!r})"

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of the dense score, if it is used."""
        scorer = self.rescorer or self.vectors
        return scorer.encoder if scorer else None

    @property
    def ngram_encoder(self) -> NgramEncoder | None:
        """The encoder of the sparse score, if it is used."""
        return self.ngrams.ngrams if self.ngrams else None

    @property
    def sparse_share(self) -> float:
        """The share of the sparse score in a score, from 0 to 1."""
        if self.ngrams is None:
            return 0.0
        return 1.0 if self.encoder is None else self.sparse_weight / (1 + self.sparse_weight)

    def __call__(self, texts: Sequence[str], k: int, filter: Filter = ALL) -> list[list[Candidate]]:
        """Find the k best concepts for each text.

        Args:
            k: The most candidates per text.
            filter: Only names and concepts of these types and sources. The filter comes before the k best are taken.

        Returns:
            At most k candidates per text, best first. For equal scores, the rank decides (see `NameConceptMap`).
        """
        settings = (k, filter, self.sparse_weight, self.complete)
        known: dict[str, list[Candidate]] = {}
        missing = []
        for text in dict.fromkeys(texts):
            cached = self._cache.get((text, *settings))
            if cached is None:
                missing.append(text)
            else:
                known[text] = cached
        for text, candidates in self._find(missing, k, filter):
            known[text] = self._cache[(text, *settings)] = candidates
        if len(self._cache) > self.cache_size:
            drop_oldest(self._cache, self.cache_size)
        return list(map(list, map(known.__getitem__, texts)))

    def _find(self, texts: Sequence[str], k: int, filter: Filter) -> Iterator[tuple[str, list[Candidate]]]:
        mask = self._mask(filter)
        n_names = self.kb.n_names if mask is None else len(mask.rows)
        scores_all = n_names <= self.exact_limit
        step = min(TEXTS_PER_BATCH, max(1, CELLS // max(n_names, 1))) if scores_all else TEXTS_PER_BATCH
        for start in range(0, len(texts), step):
            batch = texts[start : start + step]
            scored = self._score_all(batch, k, mask) if scores_all else self._score_nearest(batch, k, mask)
            if self.rescorer:
                scored = self._rescore(batch, scored, self.rescorer)
            yield from zip(batch, self._best_concepts(scored, len(batch), k, mask), strict=True)

    def named(self, texts: Iterable[str], filter: Filter = ALL) -> dict[str, list[Candidate]]:
        """Return the concepts of those of some texts that are names, in exactly this spelling, with the score 1.

        Args:
            filter: Only names and concepts of these types and sources.
        """
        rows = self.kb.rows_of_names(texts)
        which, entries = self._entries(np.array(list(rows.values()), dtype=np.int32), self._mask(filter))
        order = np.lexsort((self.kb.name_concepts.ranks[entries], which))
        concept_ids = self.kb.concept_ids_at(self.kb.name_concepts.concepts[entries[order]].tolist())
        names, dense, sparse = list(rows), 1.0 if self.encoder else None, 1.0 if self.ngrams else None
        candidates: dict[str, list[Candidate]] = {}
        for number, concept_id in zip(which[order].tolist(), concept_ids, strict=True):
            candidates.setdefault(names[number], []).append(Candidate(concept_id, 1.0, names[number], dense, sparse))
        return candidates

    def renew(self, vectors: Index) -> None:
        """Replace the vectors of the names after the encoder was trained."""
        self.vectors, self.rescorer = vectors, None
        self.forget()

    def forget(self) -> None:
        """Forget the candidates of earlier texts."""
        self._cache.clear()
        self.derived.clear()

    # --- scores of names

    def similarities(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return dense and sparse scores of texts with all names, twice float32, shape (len(texts), names).

        A score that is not used is 0.
        """
        shape = len(texts), self.kb.n_names
        dense = self.vectors.similarities(self.vectors.encode(texts)) if self.vectors else np.zeros(shape, np.float32)
        sparse = self.ngrams.similarities(texts) if self.ngrams else np.zeros(shape, np.float32)
        return dense, sparse

    def names_that_pass(self, filter: Filter) -> np.ndarray | None:
        """Return which names match a filter, bool, shape (names,); None if all do."""
        mask = self._mask(filter)
        if mask is None:
            return None
        names = np.zeros(self.kb.n_names, dtype=bool)
        names[mask.rows] = True
        return names

    def _score_all(self, texts: Sequence[str], k: int, mask: FilterMask | None) -> _Scored:
        """Score all names, and keep as many as the k best concepts need."""
        rows = None if mask is None else mask.rows
        dense = sparse = None
        highest = np.ones(len(texts))
        if self.vectors:
            queries = self.vectors.encode(texts)
            dense, highest = self.vectors.similarities(queries, rows), np.array(self.vectors.highest(queries))
        if self.ngrams:
            sparse = self.ngrams.similarities(texts, rows)
        scores = self._combine(dense, sparse, highest[:, None])
        selected = [self._enough(row, k, mask) for row in scores]
        which = np.repeat(np.arange(len(texts)), list(map(len, selected)))
        columns = np.concatenate([*selected, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        return _Scored(
            which,
            columns if rows is None else rows[columns],
            scores[which, columns],
            None if dense is None else dense[which, columns],
            None if sparse is None else sparse[which, columns],
        )

    def _enough(self, scores: np.ndarray, k: int, mask: FilterMask | None) -> np.ndarray:
        """Return the columns of the best names: as many as it takes to have k concepts."""
        n = NEAREST_PER_CANDIDATE * k
        while True:
            columns = top(scores, n)
            _, entries = self._entries(columns if mask is None else mask.rows[columns], mask)
            if n >= len(scores) or len(np.unique(self.kb.name_concepts.concepts[entries])) >= k:
                return columns
            n *= 4

    def _score_nearest(self, texts: Sequence[str], k: int, mask: FilterMask | None) -> _Scored:
        """Score the names nearest by either score."""
        dense = sparse = None
        highest = np.ones(len(texts))
        dense_queries = self.vectors.encode(texts) if self.vectors else None
        sparse_queries = self.ngrams.encode(texts) if self.ngrams else None
        which, rows = self._propose(texts, dense_queries, sparse_queries, k, mask)
        if self.vectors and dense_queries is not None:
            dense = self.vectors.products(dense_queries, which, rows)
            highest = np.array(self.vectors.highest(dense_queries))
        if self.ngrams and sparse_queries:
            sparse = self.ngrams.products(sparse_queries, which, rows)
        return _Scored(which, rows, self._combine(dense, sparse, highest[which]), dense, sparse)

    def _propose(
        self,
        texts: Sequence[str],
        dense_queries: np.ndarray | None,
        sparse_queries: NgramQueries | None,
        k: int,
        mask: FilterMask | None,
    ) -> Pairs:
        """Return the pairs of a text and a name to be scored, sorted by text, each once."""
        all_texts = searched = np.arange(len(texts))
        proposed: list[Pairs] = []
        if sparse_queries:
            proposed.append(self._similar_names(sparse_queries, k, mask))
        if self.vectors and dense_queries is not None:
            if sparse_queries and self.vectors.encoder.l2_normalized and not self.complete:
                equal = self._equal_names(texts, sparse_queries, mask)
                proposed.append(equal)
                searched = np.delete(all_texts, equal[0])
            proposed.append(self._near_names(dense_queries, searched, k, mask))
        which, rows = (np.concatenate(arrays) for arrays in zip(*proposed, strict=True))
        bits = self.kb.n_names.bit_length()
        pairs = np.unique((which << bits | rows)[rows >= 0])
        return pairs >> bits, pairs & ((1 << bits) - 1)

    def _similar_names(self, queries: NgramQueries, k: int, mask: FilterMask | None) -> Pairs:
        """Return texts with names that share rare character n-grams. A row of -1 stands for no name."""
        assert self.ngrams is not None
        n, postings = (SIMILAR, POSTINGS) if self.vectors else (SIMILAR_WITHOUT_VECTORS, POSTINGS_WITHOUT_VECTORS)
        rows = self.ngrams.propose(queries, max(n, k), mask, postings=postings)
        return np.repeat(np.arange(len(rows)), rows.shape[1]), rows.ravel()

    def _near_names(self, queries: np.ndarray, searched: np.ndarray, k: int, mask: FilterMask | None) -> Pairs:
        """Return the texts that are searched with the names of the nearest vectors, or -1 for no name."""
        assert self.vectors is not None
        if not len(searched):
            return searched, searched
        n = min(self._n_names(mask), max(NEAREST_PER_CANDIDATE * k, 2 * SIMILAR))
        rows = self.vectors.propose(queries[searched], n, mask)
        return np.repeat(searched, rows.shape[1]), rows.ravel()

    def _equal_names(self, texts: Sequence[str], queries: NgramQueries, mask: FilterMask | None) -> Pairs:
        """Return the texts that are names by both scores, with all names that the encoder reads in the same way.

        No other name can have a higher score than a name that equals the text by both scores.
        """
        assert self.vectors is not None
        assert self.ngrams is not None
        which, rows = self.vectors.equal_names(texts)
        if not len(which):
            return which, rows
        if mask is not None:
            passing = np.isin(rows, mask.rows)
            which, rows = which[passing], rows[passing]
        equal = self.ngrams.products(queries, which, rows) > 1 - 10**-SCORE_DIGITS
        named = np.zeros(len(texts), dtype=bool)
        named[which[equal]] = True
        return which[named[which]], rows[named[which]]

    # --- the second stage

    def _rescore(self, texts: Sequence[str], scored: _Scored, rescorer: OnDemandVectors) -> _Scored:
        """Return the best names of each text with the dense score of the second stage."""
        if self.vectors is None or scored.sparse is None:
            best = _ranks(scored, scored.scores) < RESCORED
        else:
            best = (_ranks(scored, scored.scores) < RESCORED - SPELLED) | (_ranks(scored, scored.sparse) < SPELLED)
        scored = scored.at(np.flatnonzero(best))
        which, rows, scores = scored.which, scored.rows, scored.scores.astype(np.float64)
        equal, asked = self._equal_or_asked(texts, scored, rescorer)
        dense = np.where(equal, np.float32(1), np.float32(np.nan))
        if asked.any():
            numbers, queries = np.unique(which[asked], return_inverse=True)
            vectors = rescorer.encode([texts[number] for number in numbers])
            dense[asked] = rescorer.products(vectors, queries, rows[asked])
        changed = np.flatnonzero(equal | asked)
        sparse = None if scored.sparse is None else scored.sparse[changed]
        scores[changed] = self._combine(dense[changed], sparse, np.ones(1))
        return scored._replace(scores=scores, dense=dense)

    def _equal_or_asked(
        self, texts: Sequence[str], scored: _Scored, rescorer: OnDemandVectors
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which pairs are equal for all scores, and which the rescorer has to score, each bool, shape (pairs,).

        No other name can have a higher score than a name that equals the text. Its other names need not be scored.
        """
        equal = np.zeros(len(scored.which), dtype=bool)
        if self.complete:
            return equal, ~equal
        first = np.flatnonzero(scored.scores > 1 - 10**-SCORE_DIGITS)
        equal[first] = rescorer.equals(texts, scored.which[first], scored.rows[first])
        asked = ~np.isin(scored.which, scored.which[equal])
        asked |= np.isin(scored.which, scored.which[first][~equal[first]])  # they might be equal for the rescorer only
        return equal & ~asked, asked

    def _n_names(self, mask: FilterMask | None) -> int:
        return self.kb.n_names if mask is None else len(mask.rows)

    def _combine(self, dense: np.ndarray | None, sparse: np.ndarray | None, highest: np.ndarray) -> np.ndarray:
        if dense is None:
            scores = sparse
        elif sparse is None:
            scores = dense / highest
        else:
            scores = (dense + self.sparse_weight * sparse) / (highest + self.sparse_weight)
        assert scores is not None
        return scores.round(SCORE_DIGITS)

    # --- from names to concepts

    def _best_concepts(self, scored: _Scored, n_texts: int, k: int, mask: FilterMask | None) -> list[list[Candidate]]:
        """Return the k best concepts of each text. Each has the score of its best name."""
        if self.vectors is None or self.vectors.encoder.l2_normalized:
            scored = scored.at(scored.scores > 0)  # names without any similarity are not candidates
        name_concepts = self.kb.name_concepts
        positions, entries = self._entries(scored.rows, mask)
        # one number to sort by is much faster than three: the text, the distance to the highest score, the rank
        distances = _POINTS - np.rint(scored.scores.astype(np.float64) * 10**SCORE_DIGITS).astype(np.int64)
        places = (scored.which * 4 * _POINTS + distances)[positions]
        order = np.argsort(places * len(name_concepts.ranks) + name_concepts.ranks[entries], kind="stable")
        positions, concepts = positions[order], name_concepts.concepts[entries[order]]
        which = scored.which[positions]
        _, firsts, groups = np.unique(which * len(self.kb) + concepts, return_index=True, return_inverse=True)
        supports = _supports(scored.scores[positions], firsts, groups)
        in_order = np.argsort(firsts)
        firsts, supports = firsts[in_order], supports[in_order]
        which = which[firsts]
        selected = np.arange(len(firsts)) - np.searchsorted(which, which) < k
        firsts, supports = firsts[selected], supports[selected]
        candidates = self._candidates(scored.at(positions[firsts]), concepts[firsts].tolist(), supports)
        ends = np.searchsorted(scored.which[positions[firsts]], np.arange(n_texts + 1)).tolist()
        return [candidates[start:end] for start, end in pairwise(ends)]

    def _entries(self, rows: np.ndarray, mask: FilterMask | None) -> Pairs:
        """Return the entries of names that match the filter, as `NameConceptMap.of` does."""
        which, entries = self.kb.name_concepts.of(rows)
        if mask is None:
            return which, entries
        matching = mask.entries[entries]
        return which[matching], entries[matching]

    def _names_at(self, rows: list[int]) -> list[str]:
        """Return the names in these rows. Many texts have the same similar names."""
        names = self._names
        if missing := list(dict.fromkeys(filterfalse(names.__contains__, rows))):
            if len(names) + len(missing) > CACHED_NAMES:
                names = self._names = {}  # a new object, since another thread may read the old one
                missing = list(dict.fromkeys(rows))
            names.update(zip(missing, self.kb.names_at(missing), strict=True))
        return list(map(names.__getitem__, rows))

    def _candidates(self, scored: _Scored, concepts: list[int], supports: np.ndarray) -> list[Candidate]:
        """Return a candidate for each name with its concept."""
        nothing = repeat(None)
        similarities = scored.scores.astype(np.float64).round(SCORE_DIGITS).tolist()
        dense = nothing if scored.dense is None else scored.dense.tolist()
        if self.rescorer and scored.dense is not None:
            dense = [None if math.isnan(value) else value for value in scored.dense.tolist()]
        return list(
            map(
                Candidate,
                self.kb.concept_ids_at(concepts),
                similarities,
                self._names_at(scored.rows.tolist()),
                dense,
                nothing if scored.sparse is None else scored.sparse.tolist(),
                nothing,
                supports.round(SCORE_DIGITS).tolist(),
                nothing,
                nothing,
                nothing,
                repeat(Grade.SIMILAR),
                similarities,
            )
        )


def _ranks(scored: _Scored, scores: np.ndarray) -> np.ndarray:
    """Return how many pairs of the same text have higher scores than each pair, int64. No two have the same rank."""
    order = np.lexsort((scored.rows, -scores, scored.which))
    which = scored.which[order]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.searchsorted(which, which)
    return ranks


def _supports(scores: np.ndarray, firsts: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the `Candidate.support` of each group: the sum of exp(-gap / `SUPPORT_SCALE`) over its names.

    A group is a text and a concept. `firsts` has the best name of each group, `groups` the group of each name.
    """
    gaps = scores[firsts][groups] - scores
    return np.bincount(groups, np.exp(-gaps / SUPPORT_SCALE), minlength=len(firsts))


def top(scores: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the n highest scores, and of all that equal the lowest of them, in no order."""
    if n >= len(scores):
        return np.arange(len(scores))
    lowest = np.partition(scores, len(scores) - n)[len(scores) - n]
    return np.flatnonzero(scores >= lowest)
