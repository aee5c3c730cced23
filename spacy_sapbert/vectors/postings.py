"""Find names by the postings of character 4-grams: for each 4-gram, the rows of the names that have it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..kb.filters import FilterMask
from ..text.characters import code_points, slices
from .postings_build import GramCodes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

POSTINGS = 4000  # that a search reads for each text in a vocabulary of `NAMES` names
NAMES = 100_000
CELLS = 2**21  # texts times names for which partial scores are kept at once
POSTINGS_AT_ONCE = 2**19  # that are read for many texts at once; in a large vocabulary, as many as it has names
PER_NAME = 4  # texts with more postings than the names divided by this are many
# in a larger vocabulary, texts are looked up one by one, since its names do not fit into a CPU's cache
MOST_NAMES = 2**21
SHARE = 0.6  # of the squared length of a name that common 4-grams make up, in `propose_together`
ROUNDING = 1e-3  # sums in another order differ by less than this share
MOST_TEXTS = 2**15  # of which partial scores are kept at once: the index of a text fits into 16 bits


class _Grams(NamedTuple):
    """The 4-grams of some texts, as parallel int64 arrays: text, position, number of names."""

    texts: np.ndarray
    positions: np.ndarray
    counts: np.ndarray


class _Scored(NamedTuple):
    """Texts and names that share 4-grams, as parallel arrays: text, sorted, row of the name, sum of the weights."""

    texts: np.ndarray
    rows: np.ndarray
    sums: np.ndarray


class Postings:
    """The names that have each 4-gram. A search reads the postings of the rarest 4-grams of a text.

    Args:
        grams: The numbers of all 4-grams, sorted, int32.
        rows: The rows of the names with each 4-gram, sorted, int32.
        starts: Where the rows of each 4-gram start in `rows`, and the end of the last one.
        lengths: The length of the sparse vector of each name, float32, shape (names,).
    """

    def __init__(
        self, codes: GramCodes, grams: np.ndarray, rows: np.ndarray, starts: np.ndarray, lengths: np.ndarray
    ) -> None:
        self.n_names = len(lengths)
        self._codes = codes
        self._grams = grams
        self._rows = rows
        self._starts = starts
        self._lengths = lengths
        self._bits = max(self.n_names - 1, 1).bit_length()  # of a row
        self._local = threading.local()

    def propose(
        self, forms: Sequence[str], n: int, mask: FilterMask | None = None, *, postings: int = POSTINGS
    ) -> np.ndarray:
        """Find names that share rare 4-grams with each text.

        Args:
            forms: The texts in the normal form of the n-grams.
            n: The most names for each text.
            mask: Only find names of this filter mask; None for all names.
            postings: How many postings are read for each text in a vocabulary of `NAMES` names. It grows with the
                square root of the number of names. The postings of the rarest 4-gram are always read.

        Returns:
            The rows of at most n names for each text, int64, shape (texts, n), in no order, -1 where there are fewer.
        """
        budget = self._budget(postings)
        allowed = self._allowed(mask)
        grams = self._rarest(*self._codes.grams(*code_points(forms)), budget)
        rows = np.full((len(forms), n), -1, dtype=np.int64)
        many = self.n_names < grams.counts.sum() * PER_NAME and self.n_names <= MOST_NAMES
        add_up = self._multiply if many else self._accumulate
        at_once = max(POSTINGS_AT_ONCE, self.n_names) / budget if many else min(MOST_TEXTS, CELLS >> self._bits)
        step = max(1, int(at_once))
        for first in range(0, len(forms), step):
            part = slice(*np.searchsorted(grams.texts, (first, first + step)))
            some = _Grams(*(column[part] for column in grams))
            self._propose(add_up(some._replace(texts=some.texts - first)), rows[first : first + step], allowed)
        return rows

    def propose_together(
        self, forms: Sequence[str], n: int, mask: FilterMask | None = None, *, postings: int = POSTINGS
    ) -> np.ndarray:
        """Find names that are alike, for texts with many common words, such as the phrases of a document.

        The postings of a 4-gram are read once for all texts. A name is proposed for a text if their common 4-grams
        make up `SHARE` of the squared length of the name's vector. So most names are dropped before single texts are
        looked at. The proposals for a text do not depend on the other texts.

        Args:
            forms: The texts in the normal form of the n-grams.
            n: The most names for each text.
            mask: Only find names of this filter mask; None for all names.

        Returns:
            The rows of at most n names for each text, int64, shape (texts, n), in no order, -1 where there are fewer.
        """
        rows = np.full((len(forms), n), -1, dtype=np.int64)
        grams = self._rarest(*self._codes.grams(*code_points(forms)), self._budget(postings))
        if len(grams.positions):
            self._propose(self._multiply_alike(grams), rows, self._allowed(mask))
        return rows

    def _budget(self, postings: int) -> float:
        return postings * max(1.0, self.n_names / NAMES) ** 0.5

    def _allowed(self, mask: FilterMask | None) -> np.ndarray | None:
        """Return for each name whether a filter mask has it; None for all names."""
        if mask is None:
            return None
        allowed = np.zeros(self.n_names, dtype=bool)
        allowed[mask.rows] = True
        return allowed

    def _propose(self, scored: _Scored, rows: np.ndarray, allowed: np.ndarray | None) -> None:
        """Write the proposals for a few texts into `rows`."""
        which, proposed, sums = scored
        if allowed is not None:
            passing = allowed[proposed]
            which, proposed, sums = which[passing], proposed[passing], sums[passing]
        scores = sums / self._lengths[proposed].clip(min=1)
        ends = np.searchsorted(which, np.arange(len(rows) + 1)).tolist()
        for text in range(len(rows)):
            part = slice(ends[text], ends[text + 1])
            best = _highest(scores[part], proposed[part], rows.shape[1])
            rows[text, : len(best)] = best

    def _rarest(self, texts: np.ndarray, numbers: np.ndarray, budget: float) -> _Grams:
        """Return the rarest 4-grams of each text, as many as the budget allows, and at least one."""
        positions = np.searchsorted(self._grams, numbers)
        known = positions < len(self._grams)
        known[known] = self._grams[positions[known]] == numbers[known]
        texts, positions = texts[known], positions[known]
        counts = self._starts[positions + 1].astype(np.int64) - self._starts[positions]
        order = np.lexsort((counts, texts))
        texts, positions, counts = texts[order], positions[order], counts[order]
        firsts = np.searchsorted(texts, texts)
        ranks, sums = np.arange(len(texts)) - firsts, np.cumsum(counts)
        read = (ranks == 0) | (sums - sums[firsts] + counts[firsts] <= budget)
        return _Grams(texts[read], positions[read], counts[read])

    def _weights(self, counts: np.ndarray) -> np.ndarray:
        """Return the weights of 4-grams with these numbers of names, float32."""
        weights: np.ndarray = (np.log((1 + self.n_names) / (1 + counts)) + 1).astype(np.float32) ** 2
        return weights

    def _multiply(self, grams: _Grams) -> _Scored:
        """Add up the weights of the 4-grams that each text shares with each name, for many texts.

        It takes some time for each name, but little for each posting.
        """
        from scipy.sparse import csr_matrix

        texts, names, ends = self._read(grams)
        ones = np.ones(len(names), dtype=np.float32)
        sums = texts @ csr_matrix((ones, names, ends), shape=(texts.shape[1], self.n_names))
        return _Scored(np.repeat(np.arange(texts.shape[0]), np.diff(sums.indptr)), sums.indices, sums.data)

    def _multiply_alike(self, grams: _Grams) -> _Scored:
        """Do the same for the names that share enough with a text.

        Names that share too little with all texts taken together are dropped first.
        """
        from scipy.sparse import csr_matrix

        texts, names, ends = self._read(grams)
        weights = np.zeros(texts.shape[1], dtype=np.float32)
        weights[texts.indices] = texts.data
        common = np.bincount(names, np.repeat(weights, np.diff(ends)), self.n_names)
        least = SHARE * np.square(self._lengths)
        likely = common >= least * (1 - ROUNDING)
        remaining = np.flatnonzero(likely[names])
        rows = np.flatnonzero(likely)
        columns = np.zeros(self.n_names, dtype=np.int32)
        columns[rows] = np.arange(len(rows))
        ones = np.ones(len(remaining), dtype=np.float32)
        ends = np.searchsorted(remaining, ends)
        sums = texts @ csr_matrix((ones, columns[names[remaining]], ends), shape=(texts.shape[1], len(rows)))
        proposed = rows[sums.indices]
        enough = sums.data >= least[proposed]
        which = np.repeat(np.arange(texts.shape[0]), np.diff(sums.indptr))
        return _Scored(which[enough], proposed[enough], sums.data[enough])

    def _read(self, grams: _Grams) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
        """Read the postings of 4-grams, each once: their weights in each text, float32, shape (texts, 4-grams), the
        rows of the names with each 4-gram, one 4-gram after the other, and where these begin, with the end of the last.
        """
        from scipy.sparse import csr_matrix

        positions, columns = np.unique(grams.positions, return_inverse=True)
        firsts = self._starts[positions]
        counts = (self._starts[positions + 1] - firsts).astype(np.int64)
        n_texts = int(grams.texts.max(initial=-1)) + 1
        starts = np.searchsorted(grams.texts, np.arange(n_texts + 1))
        texts = csr_matrix((self._weights(grams.counts), columns, starts), shape=(n_texts, len(positions)))
        rows = self._rows[slices(firsts, counts)]
        return texts, rows, np.concatenate([[0], np.cumsum(counts)])

    def _accumulate(self, grams: _Grams) -> _Scored:
        """Add up the weights of the 4-grams that each text shares with each name, for few texts."""
        firsts, counts = self._starts[grams.positions].tolist(), grams.counts
        read = [self._rows[first : first + n] for first, n in zip(firsts, counts.tolist(), strict=True)]
        cells = np.concatenate([np.zeros(0, dtype=np.int64), *read]) + np.repeat(grams.texts << self._bits, counts)
        accumulator = self._take_accumulator(int(grams.texts.max(initial=-1)) + 1 << self._bits)
        np.add.at(accumulator, cells, np.repeat(self._weights(counts), counts))
        sums, last, places = accumulator[cells], accumulator.view(np.int32), np.arange(len(cells), dtype=np.int32)
        last[cells] = places
        once = last[cells] == places  # of a name with several 4-grams, the last one counts
        last[cells] = 0
        self._local.accumulator = accumulator
        cells, sums = cells[once], sums[once]
        which = (cells >> self._bits).astype(np.int16)
        if len(which) and grams.texts[0] != grams.texts[-1]:
            order = np.argsort(which, kind="stable")  # a radix sort
            which, cells, sums = which[order], cells[order], sums[order]
        return _Scored(which, cells & ((1 << self._bits) - 1), sums)

    def _take_accumulator(self, n_cells: int) -> np.ndarray:
        """Return an array of zeros. A new one of this size takes longer than a search, so each thread keeps its own.

        It is given back when it is zero again. An interrupted search does not come so far, and its array is dropped.
        """
        accumulator: np.ndarray | None = getattr(self._local, "accumulator", None)
        self._local.accumulator = None
        if accumulator is None or len(accumulator) < n_cells:
            return np.zeros(n_cells, dtype=np.float32)
        return accumulator


def _highest(scores: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return the n rows with the highest scores, in no order. Of equal scores, the lowest rows count."""
    if len(rows) <= n:
        return rows
    lowest = np.partition(scores, len(rows) - n)[len(rows) - n]
    best = np.flatnonzero(scores >= lowest)
    if len(best) == n:
        return rows[best]
    higher, equal = rows[scores > lowest], rows[scores == lowest]
    return np.concatenate([higher, np.sort(equal)[: n - len(higher)]])
