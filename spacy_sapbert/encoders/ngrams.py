"""Sparse vectors of names: tf-idf of character n-grams (Sung et al. 2020, section 3.1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Errors, SapbertError
from ..text.normalize import TEXT_NORMALIZERS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SETTINGS_FILE = "ngrams.json"
IDF_FILE = "idf.npy"
TEXT_NORMALIZER = "biosyn+greek"


class NgramEncoder:
    """Turns names into tf-idf vectors of unit length over character n-grams.

    Args:
        ngrams: The n-grams, by column.
        idf: Their weights, float64, shape (len(ngrams),).
        ngram_range: The shortest and the longest n-gram. BioSyn's is (1, 2).
        text_normalizer: The normal form in which names are read.
    """

    def __init__(self, ngrams: list[str], idf: np.ndarray, ngram_range: tuple[int, int], text_normalizer: str) -> None:
        self.ngrams = ngrams
        self.idf = idf
        self.ngram_range = ngram_range
        self.text_normalizer = text_normalizer

    @classmethod
    def fit(
        cls, names: Iterable[str], *, ngram_range: tuple[int, int] = (1, 2), text_normalizer: str = TEXT_NORMALIZER
    ) -> NgramEncoder:
        """Count the names with each n-gram. Names with the same normal form count once."""
        normalize = TEXT_NORMALIZERS[text_normalizer]
        vectorizer = _vectorizer(ngram_range)
        forms = sorted({normalize(name) for name in names} - {""})
        if all(len(form) < ngram_range[0] for form in forms):  # names that consist of punctuation have no n-gram
            return cls([], np.zeros(0), ngram_range, text_normalizer)
        vectorizer.fit(forms)
        return cls(vectorizer.get_feature_names_out().tolist(), vectorizer.idf_, ngram_range, text_normalizer)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of n-grams, weights and settings."""
        digest = hashlib.sha256(json.dumps([self.ngrams, self.ngram_range, self.text_normalizer]).encode())
        digest.update(np.ascontiguousarray(self.idf).tobytes())
        return digest.hexdigest()

    def encode(self, texts: Sequence[str]) -> csr_matrix:
        """Return the sparse vectors of texts.

        Returns:
            csr_matrix, float32, shape (len(texts), len(ngrams)): Rows of unit length, or zero rows.
        """
        from scipy.sparse import csr_matrix

        if not self.ngrams or not texts:
            return csr_matrix((len(texts), len(self.ngrams)), dtype=np.float32)
        normalize = TEXT_NORMALIZERS[self.text_normalizer]
        return self._fitted.transform([normalize(text) for text in texts]).astype(np.float32)

    def save(self, folder: Path) -> None:
        """Write the n-grams and their weights into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        settings = {"ngrams": self.ngrams, "ngram_range": self.ngram_range, "text_normalizer": self.text_normalizer}
        (folder / SETTINGS_FILE).write_text(json.dumps(settings))
        np.save(folder / IDF_FILE, self.idf, allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> NgramEncoder:
        """Read an encoder that `save` wrote.

        Raises:
            SapbertError: E306 a file is missing or damaged.
        """
        try:
            settings = json.loads((folder / SETTINGS_FILE).read_text())
            idf = np.load(folder / IDF_FILE, allow_pickle=False)
        except (OSError, EOFError, ValueError) as error:
            raise SapbertError(Errors.E306.format(path=folder, reason=error)) from error
        return cls(settings["ngrams"], idf, tuple(settings["ngram_range"]), settings["text_normalizer"])

    @cached_property
    def _fitted(self) -> Any:
        vectorizer = _vectorizer(self.ngram_range, {ngram: column for column, ngram in enumerate(self.ngrams)})
        vectorizer.idf_ = self.idf
        return vectorizer


def _vectorizer(ngram_range: tuple[int, int], vocabulary: dict[str, int] | None = None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(analyzer="char", ngram_range=ngram_range, lowercase=False, vocabulary=vocabulary)
