"""Word vectors of 8 bits, for `[nlp.vectors]` of a config."""

# no postponed annotations here: spaCy could not check the settings of a registered function

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from spacy.vectors import BaseVectors, Vectors
from spacy.vocab import Vocab
from thinc.backends import get_array_ops
from thinc.types import Floats2d

STEP = 1 / 16
"""A word vector is this number times whole numbers of 8 bits."""


class Int8Vectors(Vectors):
    """spaCy's word vectors. A table of floret vectors may hold whole numbers of 8 bits, a quarter of the size.

    All that reads vectors gets 32-bit numbers: `STEP` times those of the table.
    """

    def get_batch(self, keys: Iterable[int | str]) -> Floats2d:
        """Return the vectors of words, shape (words, dimensions)."""
        if not _is_int8(self):
            return cast(Floats2d, super().get_batch(keys))
        ops = get_array_ops(self.data)
        words = [self.strings.as_string(key) for key in keys]
        if not any(words):
            return ops.alloc2f(len(words), self.data.shape[1])
        rows_of = {word: self._rows(word) for word in dict.fromkeys(words)}
        number_of = {word: number for number, word in enumerate(rows_of)}
        pieces = self.data[ops.asarray1i(list(chain.from_iterable(rows_of.values())))].astype("float32") * STEP
        vectors = ops.reduce_mean(pieces, ops.asarray1i(list(map(len, rows_of.values()))))
        return ops.as_contig(vectors[[number_of[word] for word in words]])

    def _rows(self, word: str) -> list[int]:
        """Return the rows of the pieces of a word, as `Vectors` finds them."""
        pieces = self._get_ngrams(word) if word else []
        return [number % len(self.data) for piece in pieces for number in self._get_ngram_hashes(piece)]

    @classmethod
    def _restored(cls, data: bytes) -> "Int8Vectors":
        return cast("Int8Vectors", cls().from_bytes(data))

    def __reduce__(self) -> tuple[Any, ...]:
        return self._restored, (self.to_bytes(),)


def int8_vectors() -> Callable[[Vocab], Int8Vectors]:
    """Make `spacy-sapbert.Int8Vectors.v1`."""
    return lambda vocab: Int8Vectors(strings=vocab.strings)


def readable(vocab: Vocab) -> BaseVectors:
    """Return the vectors of a vocabulary, after repair.

    spaCy's own vectors get 32 bits if a table of 8 was read into them, as into a `Vocab` that was given.
    Vectors that were pickled know the words of that time only, and get the strings of the vocabulary.
    """
    vectors = vocab.vectors
    if _is_int8(vectors) and not isinstance(vectors, Int8Vectors):
        vectors.data = vectors.data.astype("float32") * STEP
    vectors.strings = vocab.strings
    return vectors


def to_int8(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return a table as whole numbers of 8 bits.

    Numbers beyond 127 times `STEP` are cut. If they are more than one in 10,000, all numbers are made smaller first.
    """
    step = max(STEP, float(np.quantile(np.abs(vectors), 0.9999)) / 127)
    numbers: NDArray[np.int8] = np.clip(np.rint(vectors / step), -127, 127).astype(np.int8)
    return numbers


def _is_int8(vectors: BaseVectors) -> bool:
    return isinstance(vectors, Vectors) and vectors.mode == "floret" and vectors.data.dtype == np.int8
