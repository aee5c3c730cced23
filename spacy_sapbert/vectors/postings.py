"""Find the names that share the rarest character n-grams with a text, without a look at all names."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..assets import AssetWriter, fingerprint_of
from ..encoders.lexical_model import NGRAMS_FOLDER as NGRAMS
from ..encoders.ngrams import NgramEncoder
from ..errors import Errors, SapbertError
from ..files import cache_dir
from ..kb.knowledge_base import KnowledgeBase
from ..shared import file_states, shared
from ..text.characters import code_points, slices
from .postings_build import (
    ARRAYS,
    BASE,
    FILES,
    FORMAT,
    GRAM,
    MANIFEST_FILE,
    GramCodes,
    build_ngram_index,
    identity,
    new_folder,
)
from .stored import read_array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from ..kb.filters import FilterMask

POSTINGS = 4000  # that a search reads for each text in a vocabulary of `NAMES` names
NAMES = 100_000
CELLS = 2**21  # texts times names for which partial scores are kept at once
POSTINGS_AT_ONCE = 2**19  # that are read for many texts at once; in a large vocabulary, as many as it has names
PER_NAME = 4  # texts with more postings than the names divided by this are many
MOST_TEXTS = 2**15  # of which partial scores are kept at once: the index of a text fits into 16 bits
TEXTS_PER_BATCH = 64
CHARACTERS_AT_ONCE = 2**20
MAX_TABLE = 2**22  # entries; a binary search replaces larger tables

Nearest = tuple[np.ndarray, np.ndarray]


class NgramQueries(NamedTuple):
    """Texts to be compared with names.

    Attributes:
        forms: The texts in the normal form of the n-grams.
        vectors: Their sparse vectors, csr_matrix, float32, shape (texts, n-grams).
    """

    forms: list[str]
    vectors: csr_matrix


class _Grams(NamedTuple):
    """The 3-grams of some texts, as parallel int64 arrays: text, number, number of names, rank within the text."""

    texts: np.ndarray
    keys: np.ndarray
    counts: np.ndarray
    ranks: np.ndarray


class _Scored(NamedTuple):
    """Texts and names that share 3-grams, as parallel arrays: text, sorted, row of the name, sum of the weights."""

    texts: np.ndarray
    rows: np.ndarray
    sums: np.ndarray


class NgramIndex:
    """The characters of all names of a knowledge base, and for each character 3-gram the names that have it.

    All arrays are memory-mapped. A search reads the postings of the rarest 3-grams of a text. The names found there are
    compared exactly: by the cosine of the vectors of `ngrams`, which come from the characters of the names.

    Args:
        folder: The folder that `build_ngram_index` wrote.
        kb: The knowledge base.

    Attributes:
        ngrams (NgramEncoder): The encoder of the sparse score.

    Raises:
        SapbertError: E304 the folder belongs to another knowledge base or another version, E306 a file is missing or
            damaged.
    """

    def __init__(self, folder: Path, kb: KnowledgeBase) -> None:
        self.folder = folder
        self.kb = kb
        self.ngrams = NgramEncoder.load(folder)
        manifest = _read_manifest(folder)
        if any(manifest.get(key) != value for key, value in identity(kb, self.ngrams).items()):
            raise SapbertError(Errors.E304.format(path=folder))
        self._alphabet: str = manifest["alphabet"]
        self._codes = GramCodes.of(manifest["frequent"])
        arrays = _open_arrays(folder, kb.n_names)
        self._characters, self._starts, self._lengths, self._postings, self._posting_starts = arrays
        self._bits = max(kb.n_names - 1, 1).bit_length()  # of a row
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"NgramIndex({self.kb.n_names:,} names, {self.ngrams!r})"

    @property
    def fingerprint(self) -> str:
        """A hash of all that the arrays depend on."""
        return fingerprint_of(identity(self.kb, self.ngrams))

    def encode(self, texts: Sequence[str]) -> NgramQueries:
        """Return the normal forms and the vectors of texts."""
        forms = list(self.ngrams.forms(texts))
        return NgramQueries(forms, self.ngrams.encode_forms(forms))

    def search(self, texts: Sequence[str], n: int, mask: FilterMask | None = None) -> Nearest:
        """Find the n most similar names of each text. It may miss some that share only frequent n-grams.

        Args:
            texts: The texts.
            n: The number of names.
            mask: Only find names of this filter mask; None for all names.

        Returns:
            Cosines and rows, float32 and int64, shape (len(texts), n), best first. A row of -1 means that no more
            names were found.
        """
        scores, rows = np.zeros((len(texts), n), dtype=np.float32), np.zeros((len(texts), n), dtype=np.int64)
        for start in range(0, len(texts), TEXTS_PER_BATCH):
            part = slice(start, start + TEXTS_PER_BATCH)
            scores[part], rows[part] = self._search(self.encode(texts[part]), n, mask)
        return scores, rows

    def _search(self, queries: NgramQueries, n: int, mask: FilterMask | None) -> Nearest:
        rows = self.propose(queries, 2 * n, mask)
        which, places = np.nonzero(rows >= 0)
        scores = np.full(rows.shape, -1, dtype=np.float32)
        scores[which, places] = self.products(queries, which, rows[which, places])
        best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return np.take_along_axis(scores, best, axis=1), np.take_along_axis(rows, best, axis=1)

    # --- exact scores

    def products(self, queries: NgramQueries, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the cosines of pairs of a text and a name.

        Args:
            queries: The texts.
            which: The index of the text of each pair, int64, shape (m,).
            rows: The row of the name of each pair, int64, shape (m,).

        Returns:
            float32, shape (m,).
        """
        weights = np.zeros((len(queries.forms), len(self.ngrams.ngrams) + 1), dtype=np.float32)
        weights[:, :-1] = queries.vectors.toarray()
        weights[:, :-1] *= self.ngrams.idf.astype(np.float32)
        starts = self._starts[rows]
        sizes = (self._starts[rows + 1] - starts).astype(np.int64)
        products = np.empty(len(rows), dtype=np.float32)
        for part in _parts(sizes, CHARACTERS_AT_ONCE):
            sums = self._sums(weights, which[part], starts[part], sizes[part])
            products[part] = sums / self._lengths[rows[part]].clip(min=np.finfo(np.float32).tiny)
        return products

    def _sums(self, weights: np.ndarray, which: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return for each pair of a text and a name the sum of the weights of all n-grams of the name, float32.

        Args:
            weights: The weight of each n-gram in each text.
            which: The text of each pair.
            starts: Where the name of each pair starts.
            sizes: The length of the name of each pair.
        """
        codes = self._characters[slices(starts, sizes)].astype(np.int32)
        offsets = np.repeat((which * weights.shape[1]).astype(np.int32), sizes)
        ends = np.cumsum(sizes)
        summed = np.zeros(len(codes), dtype=np.float32)
        for size in self.ngrams.sizes:
            columns = self._tables.columns(codes, size)
            for place in range(1, size):  # n-grams that reach into the next name
                columns[(ends - place)[ends >= place]] = len(self.ngrams.ngrams)
            summed += weights.ravel()[columns + offsets]
        sums = np.zeros(len(sizes), dtype=np.float32)
        filled = sizes > 0
        if filled.any():
            sums[filled] = np.add.reduceat(summed, (ends - sizes)[filled])
        return sums

    @cached_property
    def _tables(self) -> _NgramTables:
        return _NgramTables(self.ngrams, self._alphabet)

    # --- search

    def similarities(self, texts: Sequence[str], rows: np.ndarray | None = None) -> np.ndarray:
        """Return the cosines of texts with the names at some rows, or with all names.

        Returns:
            float32, shape (len(texts), len(rows) or number of names).
        """
        names = self._columns if rows is None else self._columns_at(rows)
        similarities: np.ndarray = (self.ngrams.encode(texts) @ names).toarray()
        return similarities

    @cached_property
    def _columns(self) -> csr_matrix:
        """The vectors of all names as columns. A product with rows would transpose them each time."""
        return self.ngrams.encode(list(self.kb.names())).T.tocsr()

    def _columns_at(self, rows: np.ndarray) -> csr_matrix:
        """Return the vectors of the names at some rows as columns. The last ones are kept, for the rows of a filter."""
        kept_rows, columns = getattr(self._local, "columns", (None, None))
        if kept_rows is None or not np.array_equal(kept_rows, rows):
            columns = self.ngrams.encode(self.kb.names_at(rows.tolist())).T.tocsr()
            self._local.columns = rows.copy(), columns
        return columns

    def propose(
        self, queries: NgramQueries, n: int, mask: FilterMask | None = None, *, postings: int = POSTINGS
    ) -> np.ndarray:
        """Find names that share rare 3-grams with each text.

        Args:
            queries: The texts.
            n: The most names for each text.
            mask: Only find names of this filter mask; None for all names.
            postings: How many postings are read for each text in a vocabulary of `NAMES` names. It grows with the
                square root of the number of names. The postings of the rarest 3-gram are always read.

        Returns:
            The rows of at most n names for each text, int64, shape (texts, n), in no order, -1 where there are fewer.
        """
        budget = postings * max(1.0, self.kb.n_names / NAMES) ** 0.5
        allowed = None
        if mask is not None:
            allowed = np.zeros(self.kb.n_names, dtype=bool)
            allowed[mask.rows] = True
        grams = self._rarest(*self._codes.grams(*code_points(queries.forms)), budget)
        rows = np.full((len(queries.forms), n), -1, dtype=np.int64)
        many = grams.counts.sum() * PER_NAME > self.kb.n_names
        add_up = self._multiply if many else self._accumulate
        at_once = max(POSTINGS_AT_ONCE, self.kb.n_names) / budget if many else min(MOST_TEXTS, CELLS >> self._bits)
        step = max(1, int(at_once))
        for first in range(0, len(queries.forms), step):
            part = slice(*np.searchsorted(grams.texts, (first, first + step)))
            some = _Grams(*(column[part] for column in grams))
            self._propose(add_up(some._replace(texts=some.texts - first)), rows[first : first + step], allowed)
        return rows

    def _propose(self, scored: _Scored, rows: np.ndarray, allowed: np.ndarray | None) -> None:
        """Write the proposals for a few texts into `rows`."""
        which, found, sums = scored
        if allowed is not None:
            passing = allowed[found]
            which, found, sums = which[passing], found[passing], sums[passing]
        scores = sums / np.sqrt(self._starts[found + 1] - self._starts[found] + 2)
        ends = np.searchsorted(which, np.arange(len(rows) + 1)).tolist()
        for text in range(len(rows)):
            part = slice(ends[text], ends[text + 1])
            best = _highest(scores[part], found[part], rows.shape[1])
            rows[text, : len(best)] = best

    def _rarest(self, texts: np.ndarray, keys: np.ndarray, budget: float) -> _Grams:
        """Return the rarest 3-grams of each text, as many as the budget allows, and at least one."""
        counts = (self._posting_starts[keys + 1] - self._posting_starts[keys]).astype(np.int64)
        order = np.lexsort((counts, texts))
        order = order[counts[order] > 0]
        texts, keys, counts = texts[order], keys[order], counts[order]
        firsts = np.searchsorted(texts, texts)
        ranks, sums = np.arange(len(texts)) - firsts, np.cumsum(counts)
        read = (ranks == 0) | (sums - sums[firsts] + counts[firsts] <= budget)
        return _Grams(texts[read], keys[read], counts[read], ranks[read])

    def _weights(self, counts: np.ndarray) -> np.ndarray:
        """Return the weights of 3-grams with these numbers of names, float32."""
        weights: np.ndarray = (np.log((1 + self.kb.n_names) / (1 + counts)) + 1).astype(np.float32) ** 2
        return weights

    def _multiply(self, grams: _Grams) -> _Scored:
        """Add up the weights of the 3-grams that each text shares with each name, for many texts.

        It takes some time for each name, but little for each posting.
        """
        from scipy.sparse import csr_matrix

        keys, columns = np.unique(grams.keys, return_inverse=True)
        firsts = self._posting_starts[keys]
        counts = (self._posting_starts[keys + 1] - firsts).astype(np.int64)
        names = self._postings[slices(firsts, counts)]
        n_texts, n_grams = int(grams.texts.max(initial=-1)) + 1, len(keys)
        starts = np.searchsorted(grams.texts, np.arange(n_texts + 1))
        texts = csr_matrix((self._weights(grams.counts), columns, starts), shape=(n_texts, n_grams))
        ends = np.concatenate([[0], np.cumsum(counts)])
        ones = np.ones(len(names), dtype=np.float32)
        sums = texts @ csr_matrix((ones, names, ends), shape=(n_grams, self.kb.n_names))
        return _Scored(np.repeat(np.arange(n_texts), np.diff(sums.indptr)), sums.indices, sums.data)

    def _accumulate(self, grams: _Grams) -> _Scored:
        """Add up the weights of the 3-grams that each text shares with each name, for few texts."""
        texts, keys, counts, ranks = grams
        weights = self._weights(counts)
        accumulator = self._take_accumulator(int(texts.max(initial=-1)) + 1 << self._bits)
        touched = [np.zeros(0, dtype=np.int64)]
        for rank in range(int(ranks.max(initial=-1)) + 1):  # within one rank, no cell occurs twice
            chosen = np.flatnonzero(ranks == rank)
            sizes, firsts = counts[chosen], self._posting_starts[keys[chosen]].tolist()
            read = [self._postings[first : first + n] for first, n in zip(firsts, sizes.tolist(), strict=True)]
            cells = np.concatenate(read) + _each(texts[chosen] << self._bits, sizes)
            sums = accumulator[cells]
            touched.append(cells[sums == 0])
            accumulator[cells] = sums + _each(weights[chosen], sizes)
        cells = np.concatenate(touched)
        sums = accumulator[cells]
        accumulator[cells] = 0
        self._local.accumulator = accumulator
        which = (cells >> self._bits).astype(np.int16)
        order = np.argsort(which, kind="stable")  # a radix sort
        return _Scored(which[order], cells[order] & ((1 << self._bits) - 1), sums[order])

    def _take_accumulator(self, n_cells: int) -> np.ndarray:
        """Return an array of zeros. A new one of this size takes longer than a search, so each thread keeps its own.

        It is given back when it is zero again. An interrupted search does not come so far, and its array is dropped.
        """
        accumulator: np.ndarray | None = getattr(self._local, "accumulator", None)
        self._local.accumulator = None
        if accumulator is None or len(accumulator) < n_cells:
            return np.zeros(n_cells, dtype=np.float32)
        return accumulator

    def save(self, folder: Path) -> None:
        """Copy the index to a new folder, where `NgramIndex` opens it. The folder appears when it is complete.

        Raises:
            SapbertError: E507 the folder cannot be written.
        """
        with new_folder(folder) as new:
            for name in FILES:
                shutil.copyfile(self.folder / name, new / name)


class _NgramTables:
    """Finds the columns of n-grams of characters that are given by their place in an alphabet.

    Args:
        ngrams: The n-grams.
        alphabet: Their characters, sorted. The code of the first is 1; 0 is any other character.
    """

    def __init__(self, ngrams: NgramEncoder, alphabet: str) -> None:
        self._base = len(alphabet) + 1
        self._none = len(ngrams.ngrams)
        self._tables: dict[int, np.ndarray] = {}
        """The column of each possible n-gram, by size."""
        self._sorted: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        """The n-grams and their columns, for the sizes of which a table would be too large."""
        points = code_points([alphabet])[0]
        for size in ngrams.sizes:
            columns = np.array([i for i, ngram in enumerate(ngrams.ngrams) if len(ngram) == size], dtype=np.int32)
            characters = code_points([ngrams.ngrams[i] for i in columns])[0].reshape(-1, size)
            keys = (np.searchsorted(points, characters) + 1) @ self._base ** np.arange(size - 1, -1, -1)
            if self._base**size <= MAX_TABLE:
                self._tables[size] = np.full(self._base**size, self._none, dtype=np.int32)
                self._tables[size][keys] = columns
            else:
                order = np.argsort(keys)
                self._sorted[size] = keys[order], columns[order]

    def columns(self, codes: np.ndarray, size: int) -> np.ndarray:
        """Return the column of the n-gram that starts at each character, int32. It may reach into the next text."""
        keys: np.ndarray = codes.astype(np.int32 if size in self._tables else np.int64)
        for place in range(1, size):
            last = max(len(codes) - place, 0)
            keys *= self._base
            keys[:last] += codes[place:]
        if size in self._tables:
            return self._tables[size][keys]
        known, columns = self._sorted[size]
        if not len(known):
            return np.full(len(keys), self._none, dtype=np.int32)
        places = np.searchsorted(known, keys).clip(max=len(known) - 1)
        return np.where(known[places] == keys, columns[places], self._none).astype(np.int32)


def _highest(scores: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return the n rows with the highest scores, in no order. Of equal scores, the lowest rows count."""
    if len(rows) <= n:
        return rows
    lowest = np.partition(scores, len(rows) - n)[len(rows) - n]
    higher, equal = rows[scores > lowest], rows[scores == lowest]
    return np.concatenate([higher, np.sort(equal)[: n - len(higher)]])


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        return {**manifest, "alphabet": str(manifest["alphabet"]), "frequent": str(manifest["frequent"])}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SapbertError(Errors.E306.format(path=folder, reason=error)) from error


def _open_arrays(folder: Path, n_names: int) -> list[np.ndarray]:
    """Return `ARRAYS`, memory-mapped, after a check of their lengths."""
    try:
        arrays = [read_array(folder / f"{name}.npy") for name in ARRAYS]
    except (OSError, ValueError) as error:
        raise SapbertError(Errors.E306.format(path=folder, reason=error)) from error
    characters, starts, lengths, postings, posting_starts = arrays
    wanted = (n_names + 1, n_names, BASE**GRAM + 1)
    if (len(starts), len(lengths), len(posting_starts)) != wanted:
        raise SapbertError(Errors.E306.format(path=folder, reason="its arrays have other lengths"))
    if (len(characters), len(postings)) != (starts[-1], posting_starts[-1]):
        raise SapbertError(Errors.E306.format(path=folder, reason="its arrays are cut off"))
    return arrays


def _each(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Repeat values. A single value stays as it is, since it applies to any number of places."""
    return values if len(values) == 1 else np.repeat(values, sizes)


def _parts(sizes: np.ndarray, most: int) -> Iterator[slice]:
    """Yield slices of consecutive sizes with a sum of at most `most`, or one size."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield slice(first, last)
        first = last


def open_ngram_index(kb: KnowledgeBase, folder: Path) -> NgramIndex:
    """Open an index. All users in a process share it."""
    return shared((NgramIndex, folder.resolve(), file_states(folder), kb.fingerprint), lambda: NgramIndex(folder, kb))


def cached_ngram_index(kb: KnowledgeBase, text_normalizer: str, ngrams: NgramEncoder | None = None) -> NgramIndex:
    """Return the index of a knowledge base. It comes from the cache folder, or is made there.

    Args:
        kb: The knowledge base.
        text_normalizer: The normal form in which names are read, if there is no encoder yet.
        ngrams: The encoder of the sparse score; None counts the n-grams of the names.
    """
    from filelock import FileLock

    of_ngrams = ngrams.fingerprint[:16] if ngrams else text_normalizer
    folder = cache_dir() / "ngrams" / f"{kb.fingerprint[:16]}-{of_ngrams}-format{FORMAT}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):  # of several processes, only one builds
            if not folder.is_dir():
                fitted = ngrams or NgramEncoder.fit(kb.names(), text_normalizer=text_normalizer)
                build_ngram_index(kb, fitted, folder)
    return open_ngram_index(kb, folder)


def save_ngram_index(index: NgramIndex, assets: AssetWriter) -> None:
    """Add an index to the assets of a component."""
    parts = [path.name for path in index.folder.iterdir()]
    assets.add(NGRAMS, "ngrams", index.fingerprint, index.save, large=True, source=index.folder, parts=parts)
