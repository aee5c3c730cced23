"""`NearNames` and `LikelyNames`: find the nearest names of texts, with a cache for repeated texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from ...store.cache import drop_oldest
from ...vectors.index import Index
from ...vectors.ngram_index import NgramIndex
from ..concept_set import ConceptSet

CACHE_SIZE = 200_000  # texts
TEXTS_PER_BATCH = 512
ALIKE = 0.8  # least similarity of the n-grams of a text and a name, for the text to be encoded

Near = tuple[np.ndarray, np.ndarray]

NONE: Near = (np.zeros(0, np.int64), np.zeros(0, np.float32))
"""What is kept for a text that has no near names."""


class NearNames:
    """Finds the names that are nearest to texts, among the names of a set of concepts.

    Args:
        vectors: The vectors of all names of the knowledge base.
        concepts: The concepts with these names.
        n: The number of names for each text.
    """

    def __init__(self, vectors: Index, concepts: ConceptSet, n: int = 10) -> None:
        self.vectors = vectors
        self.concepts = concepts
        self.n = min(n, concepts.n_names)
        self._cache: dict[str, Near] = {}

    def __call__(self, texts: Iterable[str]) -> dict[str, Near]:
        """Return the rows of the nearest names and their cosines for each text, int64 and float32, best first."""
        unique = list(dict.fromkeys(texts))
        near = {text: found for text in unique if (found := self._cache.get(text)) is not None}
        missing = [text for text in unique if text not in near]
        if missing:
            vectors = self.vectors.encode(missing)  # all at once, since `encode` sorts them by length
            for start in range(0, len(missing), TEXTS_PER_BATCH):
                part = slice(start, start + TEXTS_PER_BATCH)
                cosines, rows = self._nearest(vectors[part])
                for text, *pair in zip(missing[part], rows, cosines, strict=True):
                    near[text] = self._cache[text] = pair[0], pair[1]
        drop_oldest(self._cache, CACHE_SIZE)
        return near

    def forget(self) -> None:
        """Forget the names of earlier texts."""
        self._cache.clear()

    def _nearest(self, queries: np.ndarray) -> Near:
        cosines, rows = self.vectors.nearest(queries, self.n, self.concepts.names)
        if self.vectors.local and not self.vectors.exact:  # estimates: the cosine of equal names may differ from 1
            exact = [self.vectors.similarities(one[None], found)[0] for one, found in zip(queries, rows, strict=True)]
            cosines = np.stack(exact)
        return cosines, rows

    def matching_entries(
        self, near: Sequence[Near], without: Collection[int] = ()
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the concepts of near names, one entry per text, name and concept.

        Args:
            near: The nearest names of each text.
            without: The rows of names to leave out.

        Returns:
            Indices into `near` (int64), positions of concepts (int64), and the cosines of the names (float32).
        """
        if not near:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
        rows = np.stack([rows for rows, _ in near])
        cosines = np.stack([cosines for _, cosines in near])
        texts = np.repeat(np.arange(len(near)), rows.shape[1])
        kept = rows.ravel() >= 0
        if without:
            kept &= ~np.isin(rows.ravel(), list(without))
        texts, names, cosines = texts[kept], rows.ravel()[kept], cosines.ravel()[kept]
        which, places = self.concepts.owners(names)
        return texts[which], places, cosines[which]


class LikelyNames(NearNames):
    """Finds near names of those texts that look like a name, without a search over all vectors.

    A text that is a name has a stored vector. Any other text is compared with names by its n-grams first. Only if one
    of them is alike, the text is encoded. Cosines are exact. Names without common n-grams are not found.

    Args:
        vectors: The vectors of all names of the knowledge base. They must be on this machine.
        concepts: The concepts with these names.
        ngrams: The n-grams of all names of the knowledge base.
        n: The number of names for each text.
    """

    def __init__(self, vectors: Index, concepts: ConceptSet, ngrams: NgramIndex, n: int = 10) -> None:
        super().__init__(vectors, concepts, n)
        self.ngrams = ngrams
        self._found: dict[str, Near] = {}

    def forget(self) -> None:
        super().forget()
        self._found.clear()

    def find(self, texts: Iterable[str], likely: Collection[str]) -> dict[str, Near]:
        """Return the rows and cosines of near names, as a call does, for texts that have any.

        Args:
            texts: The texts.
            likely: Those that are searched for. Of any other text, only names that equal it are found.
        """
        unique = list(dict.fromkeys(texts))
        near = {text: found for text in unique if (found := self._found.get(text)) is not None}
        missing = [text for text in unique if text not in near]
        if missing:
            searched = [text in likely for text in missing]
            rows, cosines = self._find(missing, np.array(searched))
            for text, is_likely, *pair in zip(missing, searched, rows, cosines, strict=True):
                if pair[0][0] >= 0:
                    near[text] = self._found[text] = pair[0], pair[1]
                elif is_likely:
                    self._found[text] = NONE
        drop_oldest(self._found, CACHE_SIZE)
        return {text: pair for text, pair in near.items() if pair is not NONE}

    def _find(self, texts: Sequence[str], likely: np.ndarray) -> Near:
        """Return rows and cosines, shape (len(texts), n). All texts are encoded at once, since this is faster."""
        which, rows = self._equal_names(texts)
        equal = np.unique(which)
        maybe = np.setdiff1d(np.flatnonzero(likely), equal)
        asked = np.concatenate([equal, maybe])
        scores, proposed = self.ngrams.search_together([texts[i] for i in asked], self.n, self.concepts.names)
        alike = (np.arange(len(asked)) < len(equal)) | (scores.max(axis=1, initial=0) >= ALIKE)
        asked, proposed = asked[alike], proposed[alike]
        which = np.concatenate([which, np.repeat(asked, proposed.shape[1])])
        which, rows = _unique_pairs(which, np.concatenate([rows, proposed.ravel()]))
        queries = self.vectors.encode([texts[i] for i in asked])
        order = np.argsort(asked)
        cosines = self.vectors.products(queries, order[np.searchsorted(asked[order], which)], rows)
        return self._best(len(texts), which, rows, cosines)

    def _equal_names(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        which, rows = self.vectors.equal_names(texts)
        if self.concepts.names is not None:
            allowed = np.isin(rows, self.concepts.names.rows)
            which, rows = which[allowed], rows[allowed]
        return which, rows

    def _best(self, n_texts: int, which: np.ndarray, rows: np.ndarray, cosines: np.ndarray) -> Near:
        """Return the rows and cosines of the n nearest names of each text, -1 and 0 where there are fewer."""
        order = np.lexsort((rows, -cosines, which))
        which, rows, cosines = which[order], rows[order], cosines[order]
        places = np.arange(len(which)) - np.searchsorted(which, which)
        kept = places < self.n
        best = np.full((n_texts, self.n), -1, dtype=np.int64), np.zeros((n_texts, self.n), dtype=np.float32)
        best[0][which[kept], places[kept]] = rows[kept]
        best[1][which[kept], places[kept]] = cosines[kept]
        return best


def _unique_pairs(which: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair once, without those with a row of -1."""
    pairs = np.unique(np.stack([which, rows])[:, rows >= 0], axis=1)
    return pairs[0], pairs[1]
