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
from ..text.characters import CODE_POINTS, MAX_SIZE, code_points, ngrams
from ..text.normalize import TEXT_NORMALIZERS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

NGRAMS_FOLDER = "ngrams"
LEXICAL_FILE = "lexical_model.json"
SETTINGS_FILE = "ngrams.json"
IDF_FILE = "idf.npy"
TEXT_NORMALIZER = "biosyn+greek"
NAMES_PER_CHUNK = 100_000
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
        seen: set[int] = set()  # hashes, since millions of names would not fit in memory as strings
        forms = _forms(names, text_normalizer)
        while chunk := list(islice(forms, NAMES_PER_CHUNK)):
            hashes = {form: hash64(form) for form in chunk if form}
            new = [form for form, key in hashes.items() if key not in seen]
            seen.update(hashes.values())
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
        return self.encode_forms(list(self.forms(texts)))

    def encode_forms(self, forms: Sequence[str]) -> csr_matrix:
        """Return the sparse vectors of texts that are in normal form, see `encode`."""
        from scipy.sparse import csr_matrix

        rows, columns, values, lengths = self._weigh(*code_points(forms))
        values /= lengths[rows]
        starts = np.searchsorted(rows, np.arange(len(forms) + 1))
        shape = len(forms), len(self.ngrams)
        return csr_matrix((values.astype(np.float32), columns.astype(np.int32), starts), shape=shape)

    def lengths(self, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return the lengths of the vectors of texts before they are scaled to 1.

        Args:
            codes: The code points of the normal forms, see `text.characters.code_points`.
            starts: Where each text starts, and the end of the last one.

        Returns:
            float64, shape (texts,).
        """
        return self._weigh(codes, starts)[3]

    def columns(self, keys: np.ndarray, size: int) -> np.ndarray:
        """Return the column of each n-gram, or `len(ngrams)` for an unknown one, int64.

        Args:
            keys: The n-grams as numbers, see `text.characters.ngrams` with the base `CODE_POINTS`.
            size: The number of their characters.
        """
        known, columns = self._keys[size]
        if not len(known):
            return np.full(len(keys), len(self.ngrams))
        positions = np.searchsorted(known, keys).clip(max=len(known) - 1)
        return np.where(known[positions] == keys, columns[positions], len(self.ngrams))

    @property
    def sizes(self) -> range:
        """The numbers of characters of the n-grams."""
        return range(self.ngram_range[0], self.ngram_range[1] + 1)

    def _weigh(self, codes: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return row, column and tf-idf of each n-gram of each text, sorted by both, and the length of each vector."""
        n_texts, n_columns = len(starts) - 1, max(len(self.ngrams), 1)
        texts = np.repeat(np.arange(n_texts), np.diff(starts))
        cells = [np.zeros(0, dtype=np.int64)]
        for size in self.sizes:
            keys, inside = ngrams(codes, starts, size, CODE_POINTS)
            columns = self.columns(keys[inside], size)
            known = columns < len(self.ngrams)
            cells.append(texts[inside][known] * n_columns + columns[known])
        unique, counts = np.unique(np.concatenate(cells), return_counts=True)
        rows, columns = np.divmod(unique, n_columns)
        values = counts * self.idf[columns]
        return rows, columns, values, np.sqrt(np.bincount(rows, values**2, minlength=n_texts))

    @cached_property
    def _keys(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """The sorted n-grams of each size as numbers, with their columns."""
        tables = {}
        for size in self.sizes:
            columns = np.array([i for i, ngram in enumerate(self.ngrams) if len(ngram) == size], dtype=np.int64)
            codes = code_points([self.ngrams[i] for i in columns])[0].astype(np.int64).reshape(-1, size)
            keys = codes @ CODE_POINTS ** np.arange(size - 1, -1, -1, dtype=np.int64)
            order = np.argsort(keys)
            tables[size] = keys[order], columns[order]
        return tables

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
        raise SettingError(
            setting="ngram_range", component="the n-grams", value=ngram_range, wanted=f"from 1 to {MAX_SIZE} characters"
        )


def _forms(texts: Iterable[str], text_normalizer: str) -> Iterator[str]:
    normalize = TEXT_NORMALIZERS[text_normalizer]
    return (_SPACES.sub(" ", normalize(text)) for text in texts)


def _count_texts(forms: Sequence[str], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the n-grams of one size as sorted numbers, and how many texts have each."""
    codes, starts = code_points(forms)
    keys, inside = ngrams(codes, starts, size, CODE_POINTS)
    texts, keys = np.repeat(np.arange(len(forms)), np.diff(starts))[inside], keys[inside]
    order = np.lexsort((keys, texts))
    texts, keys = texts[order], keys[order]
    first = np.ones(len(keys), dtype=bool)
    first[1:] = (texts[1:] != texts[:-1]) | (keys[1:] != keys[:-1])
    return np.unique(keys[first], return_counts=True)


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
