"""Search names by their character n-grams, without a look at all names, and compare them exactly."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..encoders.ngrams import NGRAMS_FOLDER, NgramEncoder
from ..errors import MismatchError
from ..files.values import parse_json, read_array
from ..kb.knowledge_base import KnowledgeBase
from ..store.artifact import Artifact, fingerprint_of, folder_artifact, opening
from ..store.cache import cache_dir, cached_folder, file_states, shared
from ..text.characters import slices
from .postings import POSTINGS, Postings
from .postings_build import (
    ARRAYS,
    FILES,
    FORMAT,
    MANIFEST_FILE,
    GramCodes,
    build_ngram_index,
    consecutive_parts,
    identity,
)
from .stored import best_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from ..kb.filters import FilterMask

TEXTS_PER_BATCH = 64
TEXTS_TOGETHER = 256
CHARACTERS_AT_ONCE = 2**17  # for which the caches of a processor suffice
NAMES_FOR_A_PROCESS = 200_000  # whose index takes three seconds

# not `multiprocessing`, which would run the script of the user again
_BUILD = """
import sys
path, text_normalizer, *sys.path[:] = sys.argv[1:]
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.vectors.ngram_index import open_ngram_index
open_ngram_index(KnowledgeBase(path), text_normalizer)
"""


class NgramQueries(NamedTuple):
    """Texts to be compared with names.

    Attributes:
        forms: The texts in the normal form of the n-grams.
        weights: What each n-gram of a name adds to its product with a text, float32, shape (texts, n-grams + 1). The
            last column is for unknown n-grams.
    """

    forms: list[str]
    weights: np.ndarray


class NgramIndex:
    """The characters of all names of a knowledge base, and for each character 4-gram the names that have it.

    All arrays are memory-mapped. A search reads the postings of the rarest 4-grams of a text. The names found there are
    compared exactly: by the cosine of the vectors of `ngrams`, which come from the characters of the names.

    Args:
        folder: The folder that `build_ngram_index` wrote.

    Attributes:
        ngrams (NgramEncoder): The encoder of the sparse score.
        postings (Postings): The names with each 4-gram.
    """

    def __init__(self, folder: Path, kb: KnowledgeBase) -> None:
        self.folder = folder
        self.kb = kb
        self.ngrams = NgramEncoder.load(folder)
        with opening(folder):
            manifest = parse_json((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
            if any(manifest.get(key) != value for key, value in identity(kb, self.ngrams).items()):
                remedy = "Delete the folder, or assemble the pipeline again."
                reason = "it is for another vocabulary, other n-grams or another version of this package"
                raise MismatchError(remedy, path=folder, reason=reason)
            self._characters, self._starts, self._lengths, grams, postings, posting_starts = (
                read_array(folder / f"{name}.npy") for name in ARRAYS
            )
        self.postings = Postings(GramCodes.of(manifest["frequent"]), grams, postings, posting_starts, self._lengths)
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"NgramIndex({self.kb.n_names:,} names, {self.folder})"

    @property
    def fingerprint(self) -> str:
        """A hash of all that the arrays depend on."""
        return fingerprint_of(identity(self.kb, self.ngrams))

    def encode(self, texts: Sequence[str]) -> NgramQueries:
        """Return the normal forms and the weights of texts."""
        forms = list(self.ngrams.forms(texts))
        rows, columns, values = self.ngrams.weigh(forms)
        weights = np.zeros((len(forms), len(self.ngrams.ngrams) + 1), dtype=np.float32)
        weights[rows, columns] = values * self._idf[columns]
        return NgramQueries(forms, weights)

    def search(
        self, texts: Sequence[str], n: int, mask: FilterMask | None = None, *, together: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the n most similar names of each text. It may miss some that share only frequent n-grams.

        Args:
            mask: Only find names of this filter mask; None for all names.
            together: Whether the texts have many common words, such as the phrases of a document. It is then several
                times as fast, but misses names of which a text has only a part, see `Postings.propose_together`.

        Returns:
            Cosines and rows, float32 and int64, shape (len(texts), n), best first. A row of -1 means that no more
            names were found.
        """
        propose = self.postings.propose_together if together else self.postings.propose
        at_once = TEXTS_TOGETHER if together else TEXTS_PER_BATCH
        scores, rows = np.zeros((len(texts), n), dtype=np.float32), np.zeros((len(texts), n), dtype=np.int64)
        for start in range(0, len(texts), at_once):
            part = slice(start, start + at_once)
            queries = self.encode(texts[part])
            scores[part], rows[part] = self._best(queries, propose(queries.forms, 2 * n, mask), n)
        return scores, rows

    def _best(self, queries: NgramQueries, rows: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the cosines and the rows of the best n of some proposed names."""
        which, columns = np.nonzero(rows >= 0)
        scores = np.full(rows.shape, -1, dtype=np.float32)
        scores[which, columns] = self.products(queries, which, rows[which, columns])
        return best_of(scores, rows, n)

    def propose(
        self, queries: NgramQueries, n: int, mask: FilterMask | None = None, *, postings: int = POSTINGS
    ) -> np.ndarray:
        """Return the rows of names that share rare 4-grams with each text, see `Postings.propose`."""
        return self.postings.propose(queries.forms, n, mask, postings=postings)

    def products(self, queries: NgramQueries, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the cosines of pairs of a text and a name.

        Args:
            which: The index of the text of each pair, int64, shape (m,).
            rows: The row of the name of each pair, int64, shape (m,).

        Returns:
            float32, shape (m,).
        """
        starts = self._starts[rows]
        sizes = (self._starts[rows + 1] - starts).astype(np.int64)
        products = np.empty(len(rows), dtype=np.float32)
        for part in consecutive_parts(np.concatenate([[0], np.cumsum(sizes)]), CHARACTERS_AT_ONCE):
            sums = self._sums(queries.weights, which[part], starts[part], sizes[part])
            products[part] = sums / self._lengths[rows[part]].clip(min=np.finfo(np.float32).tiny)
        return products

    def _sums(self, weights: np.ndarray, which: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return for each pair the sum of the weights of all n-grams of the name, float32."""
        codes = self._characters[slices(starts, sizes)].astype(np.int32)
        offsets = np.repeat((which * weights.shape[1]).astype(np.int32), sizes)
        ends = np.cumsum(sizes)
        summed = np.zeros(len(codes), dtype=np.float32)
        for size in self.ngrams.sizes:
            columns = self.ngrams.tables.columns(codes, size)
            for n in range(1, size):  # n-grams that reach into the next name
                columns[(ends - n)[ends >= n]] = len(self.ngrams.ngrams)
            summed += weights.ravel()[columns + offsets]
        sums = np.zeros(len(sizes), dtype=np.float32)
        filled = sizes > 0
        if filled.any():
            sums[filled] = np.add.reduceat(summed, (ends - sizes)[filled])
        return sums

    @cached_property
    def _idf(self) -> np.ndarray:
        return self.ngrams.idf.astype(np.float32)

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
        cached_rows, columns = getattr(self._local, "columns", (None, None))
        if cached_rows is None or not np.array_equal(cached_rows, rows):
            columns = self.ngrams.encode(self.kb.names_at(rows.tolist())).T.tocsr()
            self._local.columns = rows.copy(), columns
        return columns

    def artifact(self) -> Artifact:
        """Return the index as an artifact of a component."""
        return folder_artifact(NGRAMS_FOLDER, self.fingerprint, self.folder, FILES)


def open_ngram_index(
    kb: KnowledgeBase, text_normalizer: str, ngrams: NgramEncoder | None = None, saved: Path | None = None
) -> NgramIndex:
    """Return the index of a knowledge base. All users in a process share it.

    Args:
        text_normalizer: The normal form in which names are read, if there is no encoder yet.
        ngrams: The encoder of the sparse score; None counts the n-grams of the names.
        saved: The folder of a saved index. Without one, it comes from the cache folder, or is made there.
    """

    def build(folder: Path) -> None:
        build_ngram_index(kb, ngrams or NgramEncoder.fit(kb.names(), text_normalizer=text_normalizer), folder)

    kind = ngrams.fingerprint[:16] if ngrams else text_normalizer
    folder = saved or cached_folder(_cache_folder(kb, kind), MANIFEST_FILE, build)
    return shared((NgramIndex, folder.resolve(), file_states(folder), kb.fingerprint), lambda: NgramIndex(folder, kb))


def _cache_folder(kb: KnowledgeBase, kind: str) -> Path:
    return cache_dir() / "ngrams" / f"{kb.fingerprint[:16]}-{kind}-format{FORMAT}"


@contextmanager
def ngram_index_beside(kb: KnowledgeBase, text_normalizer: str) -> Iterator[None]:
    """Make the index of a large knowledge base in another process, while the block of `with` runs, such as an encoder.

    `open_ngram_index` then opens it. If the process failed, it makes the index itself.
    """
    if kb.n_names < NAMES_FOR_A_PROCESS or _cache_folder(kb, text_normalizer).is_dir() or not sys.executable:
        yield
        return
    command = [sys.executable, "-c", _BUILD, str(kb.path), text_normalizer, *sys.path]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet):
        yield
