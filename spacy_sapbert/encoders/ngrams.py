"""Sparse vectors of names: tf-idf of character n-grams (Sung et al. 2020, section 3.1), with weight and threshold."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import SettingError
from ..files.values import hash64, parse_json, read_array
from ..store.artifact import opening
from ..text.characters import CODE_POINTS, MAX_SIZE, character_table, code_points, look_up, ngrams
from ..text.normalize import normal_forms

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NGRAMS_FOLDER = "ngrams"
LEXICAL_FILE = "lexical_model.json"
SETTINGS_FILE = "ngrams.json"
IDF_FILE = "idf.npy"
TEXT_NORMALIZER = "biosyn+greek"
NAMES_PER_CHUNK = 4096  # whose n-grams fit into the cache of a core
MOST_RECENT = 2**18  # hashes in a set
MAX_TABLE = 2**22  # entries; a binary search replaces larger tables
_FEW = 4  # texts
_SPACES = re.compile(r"\s\s+")


class NgramEncoder:
    """Turns names into tf-idf vectors of unit length over character n-grams.

    The vectors equal those of scikit-learn's TfidfVectorizer. That takes half a second to import and reads texts one by
    one, so it is not used.

    Args:
        ngrams: The n-grams, by column.
        idf: Their weights, float64, shape (len(ngrams),).
        ngram_range: The shortest and the longest n-gram, at most 3. BioSyn's is (1, 2).
        text_normalizer: The normal form in which names are read.
    """

    def __init__(self, ngrams: list[str], idf: np.ndarray, ngram_range: tuple[int, int], text_normalizer: str) -> None:
        _check_range(ngram_range)
        self.ngrams = ngrams
        self.idf = idf
        self.ngram_range = ngram_range
        self.text_normalizer = text_normalizer

    def __repr__(self) -> str:
        sizes = "{} to {}".format(*self.ngram_range)
        return f"NgramEncoder({len(self.ngrams):,} n-grams of {sizes} characters, {self.text_normalizer!r})"

    @classmethod
    def fit(
        cls, names: Iterable[str], *, ngram_range: tuple[int, int] = (1, 2), text_normalizer: str = TEXT_NORMALIZER
    ) -> NgramEncoder:
        """Count the names with each n-gram. Names with the same normal form count once."""
        _check_range(ngram_range)
        counts: dict[int, Counter[int]] = {size: Counter() for size in range(ngram_range[0], ngram_range[1] + 1)}
        seen = _Seen()
        forms = _forms(names, text_normalizer)
        while chunk := list(islice(forms, NAMES_PER_CHUNK)):
            new = seen.add([form for form in chunk if form])
            for size, occurrences in counts.items():
                keys, numbers = _count_texts(new, size)
                occurrences.update(dict(zip(keys.tolist(), numbers.tolist(), strict=True)))
        texts = {
            _text(key, size): number for size, occurrences in counts.items() for key, number in occurrences.items()
        }
        known = sorted(texts)
        idf = np.log((1 + len(seen)) / (1 + np.array([texts[ngram] for ngram in known]))) + 1
        return cls(known, idf, ngram_range, text_normalizer)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of n-grams, weights and settings."""
        digest = hashlib.sha256(json.dumps([self.ngrams, self.ngram_range, self.text_normalizer]).encode())
        digest.update(np.ascontiguousarray(self.idf).tobytes())
        return digest.hexdigest()

    def forms(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the normal form of each text."""
        return _forms(texts, self.text_normalizer)

    def encode(self, texts: Sequence[str]) -> csr_matrix:
        """Return the sparse vectors of texts.

        Returns:
            csr_matrix, float32, shape (len(texts), len(ngrams)): Rows of unit length, or zero rows.
        """
        from scipy.sparse import csr_matrix

        forms = list(self.forms(texts))
        rows, columns, values = self.weigh(forms)
        starts = np.searchsorted(rows, np.arange(len(forms) + 1))
        shape = len(forms), len(self.ngrams)
        return csr_matrix((values, columns.astype(np.int32), starts), shape=shape)

    def weigh(self, forms: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return row, column and value of each entry of the vectors of normal forms, sorted, int64 and float32."""
        counted = self._count_few(forms) if len(forms) <= _FEW else self._count(*code_points(forms))
        rows, columns, values, lengths = self._weigh(*counted, len(forms))
        return rows, columns, (values / lengths[rows]).astype(np.float32)

    def lengths(self, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the lengths of the vectors of texts before they are scaled to 1.

        Args:
            codes: The code points of the normal forms, see `text.characters.code_points`.
            starts: Where each text starts, and the end of the last one.

        Returns:
            float64, shape (texts,).
        """
        return self._weigh(*self._count(codes, starts), len(starts) - 1)[3]

    @property
    def sizes(self) -> range:
        """The numbers of characters of the n-grams."""
        return range(self.ngram_range[0], self.ngram_range[1] + 1)

    def _weigh(
        self, rows: np.ndarray, columns: np.ndarray, counts: np.ndarray, n_texts: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return row, column and tf-idf of each n-gram of each text, sorted by both, and the length of each vector."""
        values = counts * self.idf[columns]
        return rows, columns, values, np.sqrt(np.bincount(rows, values**2, minlength=n_texts))

    def _count(self, codes: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the row and column of each n-gram of each text, sorted by both, and how often the text has it."""
        n_texts, n_columns = len(starts) - 1, max(len(self.ngrams), 1)
        sizes = np.diff(starts)
        texts, remaining = np.repeat(np.arange(n_texts), sizes), np.repeat(starts[1:], sizes) - np.arange(len(codes))
        places = self.tables.places(codes)
        cells = [np.zeros(0, dtype=np.int64)]
        for size in self.sizes:
            columns = self.tables.columns(places, size)
            known = (columns < len(self.ngrams)) & (remaining >= size)
            cells.append(texts[known] * n_columns + columns[known])
        unique, counts = np.unique(np.concatenate(cells), return_counts=True)
        return *np.divmod(unique, n_columns), counts

    def _count_few(self, forms: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Do the same without NumPy, which is faster for few texts."""
        entries: list[tuple[int, int, int]] = []
        for row, form in enumerate(forms):
            counts: dict[int, int] = {}
            for size in self.sizes:
                for start in range(len(form) - size + 1):
                    if (column := self._columns_of.get(form[start : start + size])) is not None:
                        counts[column] = counts.get(column, 0) + 1
            entries += [(row, column, counts[column]) for column in sorted(counts)]
        rows, columns, numbers = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        return rows, columns, numbers

    @cached_property
    def _columns_of(self) -> dict[str, int]:
        return {ngram: column for column, ngram in enumerate(self.ngrams)}

    @cached_property
    def tables(self) -> NgramTables:
        """Tables that find the columns of n-grams."""
        return NgramTables(self.ngrams, self.sizes)

    def save(self, folder: Path) -> None:
        """Write the n-grams and their weights into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        settings = {"ngrams": self.ngrams, "ngram_range": self.ngram_range, "text_normalizer": self.text_normalizer}
        (folder / SETTINGS_FILE).write_text(json.dumps(settings))
        np.save(folder / IDF_FILE, self.idf, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> NgramEncoder:
        """Read an encoder that `save` wrote."""
        with opening(folder):
            settings = parse_json((folder / SETTINGS_FILE).read_text())
            idf = np.array(read_array(folder / IDF_FILE))  # a copy, so that the file may be replaced
            shortest, longest = settings["ngram_range"]
            return cls(settings["ngrams"], idf, (shortest, longest), settings["text_normalizer"])


def _check_range(ngram_range: tuple[int, int]) -> None:
    if not 1 <= ngram_range[0] <= ngram_range[1] <= MAX_SIZE:
        wanted = f"from 1 to {MAX_SIZE} characters"
        raise SettingError(setting="ngram_range", component="the n-grams", value=ngram_range, wanted=wanted)


class NgramTables:
    """Finds the columns of n-grams.

    Attributes:
        alphabet: All characters of n-grams, sorted.
    """

    def __init__(self, ngrams: list[str], sizes: Iterable[int]) -> None:
        self.alphabet = "".join(sorted(set("".join(ngrams))))
        self._base = len(self.alphabet) + 1
        self._none = len(ngrams)
        self._tables: dict[int, np.ndarray] = {}
        """The column of each possible n-gram, by size."""
        self._sorted: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        """The n-grams and their columns, for the sizes of which a table would be too large."""
        self._places = character_table(code_points([self.alphabet])[0], np.arange(1, self._base, dtype=np.int32))
        for size in sizes:
            columns = np.array([i for i, ngram in enumerate(ngrams) if len(ngram) == size], dtype=np.int32)
            characters = code_points([ngrams[i] for i in columns])[0].reshape(-1, size)
            keys = self.places(characters).astype(np.int64) @ self._base ** np.arange(size - 1, -1, -1)
            if self._base**size <= MAX_TABLE:
                self._tables[size] = np.full(self._base**size, self._none, dtype=np.int32)
                self._tables[size][keys] = columns
            else:
                order = np.argsort(keys)
                self._sorted[size] = keys[order], columns[order]

    def places(self, points: np.ndarray) -> np.ndarray:
        """Return the place of each code point in the alphabet, from 1 on, int32. 0 is any other character."""
        return look_up(self._places, points)

    def columns(self, places: np.ndarray, size: int) -> np.ndarray:
        """Return the column of the n-gram that starts at each character, int32. It may reach into the next text.

        The column after the last stands for unknown n-grams.
        """
        keys: np.ndarray = places.astype(np.int32 if size in self._tables else np.int64)
        for offset in range(1, size):
            last = max(len(places) - offset, 0)
            keys *= self._base
            keys[:last] += places[offset:]
        if size in self._tables:
            return self._tables[size][keys]
        known, columns = self._sorted[size]
        if not len(known):
            return np.full(len(keys), self._none, dtype=np.int32)
        positions = np.searchsorted(known, keys).clip(max=len(known) - 1)
        return np.where(known[positions] == keys, columns[positions], self._none).astype(np.int32)


class _Seen:
    """The texts that occurred before, by their hashes: 8 bytes for each, but the last ones are in a set."""

    def __init__(self) -> None:
        self._sorted = np.zeros(0, dtype=np.uint64)
        self._recent: set[int] = set()

    def __len__(self) -> int:
        return len(self._sorted) + len(self._recent)

    def add(self, texts: Iterable[str]) -> list[str]:
        """Add texts, and return the new ones, each once."""
        by_hash = {hash64(text): text for text in texts}
        new = by_hash.keys() - self._recent
        if len(self._sorted):
            hashes = np.array(list(by_hash), dtype=np.uint64)
            positions = np.searchsorted(self._sorted, hashes).clip(max=len(self._sorted) - 1)
            new -= set(hashes[self._sorted[positions] == hashes].tolist())
        self._recent |= new
        if len(self._recent) > MOST_RECENT:
            recent = np.fromiter(self._recent, dtype=np.uint64)
            self._sorted = np.sort(np.concatenate([self._sorted, np.sort(recent)]), kind="stable")
            self._recent = set()
        return [text for key, text in by_hash.items() if key in new]


def _forms(texts: Iterable[str], text_normalizer: str) -> Iterator[str]:
    remaining = iter(texts)
    while chunk := list(islice(remaining, NAMES_PER_CHUNK)):
        for form in normal_forms(chunk, text_normalizer):
            yield _SPACES.sub(" ", form)


def _count_texts(forms: Sequence[str], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the n-grams of one size as numbers, and how many texts have each."""
    codes, starts = code_points(forms)
    points = np.flatnonzero(np.bincount(codes))
    base = max(len(points), 1)
    places = look_up(character_table(points, np.arange(len(points))), codes)
    keys, inside = ngrams(places, starts, size, base)
    texts = np.repeat(np.arange(len(forms)), np.diff(starts))
    keys = np.unique(texts[inside] * base**size + keys[inside]) % base**size
    if base**size <= MAX_TABLE:
        counts = np.bincount(keys)
        unique = np.flatnonzero(counts)
        counts = counts[unique]
    else:
        unique, counts = np.unique(keys, return_counts=True)
    digits = unique[:, None] // base ** np.arange(size - 1, -1, -1) % base
    return points[digits] @ CODE_POINTS ** np.arange(size - 1, -1, -1), counts


def _text(key: int, size: int) -> str:
    """Return an n-gram that is given as a number."""
    return "".join(chr(key // CODE_POINTS**power % CODE_POINTS) for power in range(size - 1, -1, -1))


class LexicalModel(NamedTuple):
    """The part of a BioSyn model other than its encoder. It is saved in the folder of the encoder.

    Attributes:
        ngrams: The n-grams of the names in training. They stay the same with any vocabulary.
        sparse_weight: λ, 0 or more.
        threshold: A link needs a higher score, from 0 to 1.
    """

    ngrams: NgramEncoder
    sparse_weight: float
    threshold: float

    def save(self, folder: Path) -> None:
        """Write the lexical model into the folder of an encoder."""
        self.ngrams.save(folder / NGRAMS_FOLDER)
        values = {"sparse_weight": self.sparse_weight, "threshold": self.threshold}
        (folder / LEXICAL_FILE).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LexicalModel:
        """Read a lexical model that `save` wrote."""
        path = folder / LEXICAL_FILE
        with opening(path):
            values = parse_json(path.read_text(encoding="utf-8"))
            weight, threshold = float(values["sparse_weight"]), float(values["threshold"])
        return cls(NgramEncoder.load(folder / NGRAMS_FOLDER), weight, threshold)
