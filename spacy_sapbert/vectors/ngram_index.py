"""Search names by their character n-grams, without a look at all names."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..encoders.ngrams import NGRAMS_FOLDER as NGRAMS
from ..encoders.ngrams import NgramEncoder
from ..errors import MismatchError
from ..files.values import parse_json, read_array
from ..kb.knowledge_base import KnowledgeBase
from ..store.artifact import Artifact, fingerprint_of, opening
from ..store.cache import cache_dir, file_states, make_once, shared
from .name_ngrams import NameNgrams, NgramQueries
from .postings import POSTINGS, Postings
from .postings_build import ARRAYS, FILES, FORMAT, MANIFEST_FILE, GramCodes, build_ngram_index, identity, new_folder

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from ..kb.filters import FilterMask

TEXTS_PER_BATCH = 64
TEXTS_TOGETHER = 256

Nearest = tuple[np.ndarray, np.ndarray]


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
                raise MismatchError(
                    "Delete the folder, or assemble the pipeline again.",
                    path=folder,
                    reason="it is for another vocabulary, other n-grams or another version of this package",
                )
            characters, starts, lengths, grams, postings, posting_starts = (
                read_array(folder / f"{name}.npy") for name in ARRAYS
            )
        self._names = NameNgrams(self.ngrams, manifest["alphabet"], characters, starts, lengths)
        self.postings = Postings(GramCodes.of(manifest["frequent"]), grams, postings, posting_starts, lengths)
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"NgramIndex({self.kb.n_names:,} names, {self.folder})"

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
            mask: Only find names of this filter mask; None for all names.

        Returns:
            Cosines and rows, float32 and int64, shape (len(texts), n), best first. A row of -1 means that no more
            names were found.
        """
        return self._search(self.postings.propose, TEXTS_PER_BATCH, texts, n, mask)

    def search_together(self, texts: Sequence[str], n: int, mask: FilterMask | None = None) -> Nearest:
        """Find names that are alike, as `search` does, for texts with many common words. It is several times as fast.

        It misses names of which a text has only a part, see `Postings.propose_together`.
        """
        return self._search(self.postings.propose_together, TEXTS_TOGETHER, texts, n, mask)

    def _search(
        self, propose: Callable[..., np.ndarray], at_once: int, texts: Sequence[str], n: int, mask: FilterMask | None
    ) -> Nearest:
        scores, rows = np.zeros((len(texts), n), dtype=np.float32), np.zeros((len(texts), n), dtype=np.int64)
        for start in range(0, len(texts), at_once):
            part = slice(start, start + at_once)
            queries = self.encode(texts[part])
            scores[part], rows[part] = self._best(queries, propose(queries.forms, 2 * n, mask), n)
        return scores, rows

    def _best(self, queries: NgramQueries, rows: np.ndarray, n: int) -> Nearest:
        """Return the cosines and the rows of the best n of some proposed names."""
        which, places = np.nonzero(rows >= 0)
        scores = np.full(rows.shape, -1, dtype=np.float32)
        scores[which, places] = self.products(queries, which, rows[which, places])
        best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return np.take_along_axis(scores, best, axis=1), np.take_along_axis(rows, best, axis=1)

    def propose(
        self, queries: NgramQueries, n: int, mask: FilterMask | None = None, *, postings: int = POSTINGS
    ) -> np.ndarray:
        """Return the rows of names that share rare 4-grams with each text, see `Postings.propose`."""
        return self.postings.propose(queries.forms, n, mask, postings=postings)

    def products(self, queries: NgramQueries, which: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the cosines of pairs of a text and a name, see `NameNgrams.products`."""
        return self._names.products(queries, which, rows)

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

    def artifact(self) -> Artifact:
        """Return the index as an artifact of a component."""
        parts = [path.name for path in self.folder.iterdir()]
        return Artifact(NGRAMS, self.fingerprint, self.save, large=True, source=self.folder, parts=parts)

    def save(self, folder: Path) -> None:
        """Copy the index to a new folder, where `NgramIndex` opens it. The folder appears when it is complete."""
        with new_folder(folder) as new:
            for name in FILES:
                shutil.copyfile(self.folder / name, new / name)


def open_ngram_index(kb: KnowledgeBase, folder: Path) -> NgramIndex:
    """Open an index. All users in a process share it."""
    return shared((NgramIndex, folder.resolve(), file_states(folder), kb.fingerprint), lambda: NgramIndex(folder, kb))


def cached_ngram_index(kb: KnowledgeBase, text_normalizer: str, ngrams: NgramEncoder | None = None) -> NgramIndex:
    """Return the index of a knowledge base. It comes from the cache folder, or is made there.

    Args:
        text_normalizer: The normal form in which names are read, if there is no encoder yet.
        ngrams: The encoder of the sparse score; None counts the n-grams of the names.
    """
    of_ngrams = ngrams.fingerprint[:16] if ngrams else text_normalizer
    folder = cache_dir() / "ngrams" / f"{kb.fingerprint[:16]}-{of_ngrams}-format{FORMAT}"

    def build() -> None:
        build_ngram_index(kb, ngrams or NgramEncoder.fit(kb.names(), text_normalizer=text_normalizer), folder)

    make_once(folder, folder.is_dir, build)
    return open_ngram_index(kb, folder)
