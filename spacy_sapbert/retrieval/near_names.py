"""`NearNames` and `LikelyNames`: find the nearest names of texts, with a cache for repeated texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..store.cache import drop_oldest
from ..vectors.index import Index
from ..vectors.ngram_index import NgramIndex
from .concepts import ConceptSet

CACHE_SIZE = 200_000  # texts
TEXTS_PER_BATCH = 512
ALIKE = 0.7  # least similarity of the n-grams of a text and a name, for the text to be encoded


class Near(NamedTuple):
    """The rows and cosines of the names nearest to a text, or to several, best first. -1 stands for no more rows."""

    rows: np.ndarray
    cosines: np.ndarray


NONE = Near(np.zeros(0, np.int64), np.zeros(0, np.float32))
"""What the cache has for a text without near names."""


class ConceptMatches(NamedTuple):
    """The concepts of the names near to some texts: numbers of texts, positions, and cosines of the names."""

    texts: np.ndarray
    positions: np.ndarray
    cosines: np.ndarray


class NearNames:
    """Finds the n names that are nearest to texts, among the names of a set of concepts, by the names' vectors."""

    def __init__(self, vectors: Index, concepts: ConceptSet, n: int = 10) -> None:
        self.vectors = vectors
        self.concepts = concepts
        self.n = min(n, concepts.n_names)
        self._cache: dict[str, Near] = {}

    def __call__(self, texts: Iterable[str]) -> dict[str, Near]:
        """Return the nearest names of each text."""
        near, missing = _known(texts, self._cache)
        if missing:
            vectors = self.vectors.encode(missing)  # all at once, since `encode` sorts them by length
            for start in range(0, len(missing), TEXTS_PER_BATCH):
                batch = slice(start, start + TEXTS_PER_BATCH)
                for text, *rows_and_cosines in zip(missing[batch], *self._nearest(vectors[batch]), strict=True):
                    near[text] = self._cache[text] = Near(*rows_and_cosines)
        drop_oldest(self._cache, CACHE_SIZE)
        return near

    def forget(self) -> None:
        """Forget the names of earlier texts."""
        self._cache.clear()

    def _nearest(self, queries: np.ndarray) -> Near:
        cosines, rows = self.vectors.nearest(queries, self.n, self.concepts.names)
        if self.vectors.local and not self.vectors.exact:  # estimates: the cosine of equal names may differ from 1
            pairs = zip(queries, rows, strict=True)
            cosines = np.stack([self.vectors.similarities(query[None], nearest)[0] for query, nearest in pairs])
        return Near(rows, cosines)

    def concepts_with(self, near: Sequence[Near], without: Collection[int] = ()) -> ConceptMatches:
        """Return the concepts of the nearest names of each text, without some rows of names."""
        rows = np.concatenate([NONE.rows, *(names.rows for names in near)])
        cosines = np.concatenate([NONE.cosines, *(names.cosines for names in near)])
        texts = np.repeat(np.arange(len(near)), np.array([len(names.rows) for names in near], dtype=np.int64))
        is_name = rows >= 0
        if without:
            is_name &= ~np.isin(rows, list(without))
        names, positions = self.concepts.owners(rows[is_name])
        return ConceptMatches(texts[is_name][names], positions, cosines[is_name][names])


class LikelyNames(NearNames):
    """Finds near names of those texts that look like a name, without a search over all vectors, which must be local.

    A text that is a name has a stored vector. Any other text is compared with names by its n-grams first. Only if one
    of them is alike, the text is encoded. Cosines are exact. Names without common n-grams are not found.
    """

    def __init__(self, vectors: Index, concepts: ConceptSet, ngrams: NgramIndex, n: int = 10) -> None:
        super().__init__(vectors, concepts, n)
        self.ngrams = ngrams
        self._alike: dict[str, Near] = {}

    def forget(self) -> None:
        super().forget()
        self._alike.clear()

    def find(self, texts: Iterable[str], likely: Collection[str]) -> dict[str, Near]:
        """Return near names, as a call does, for texts that have any; of an unlikely text, only equal names."""
        near, missing = _known(texts, self._alike)
        if missing:
            is_likely = np.array([text in likely for text in missing])
            for text, searched, *rows_and_cosines in zip(
                missing, is_likely, *self._find(missing, is_likely), strict=True
            ):
                names = Near(*rows_and_cosines)
                if names.rows[0] >= 0:
                    near[text] = self._alike[text] = names
                elif searched:
                    self._alike[text] = NONE
        drop_oldest(self._alike, CACHE_SIZE)
        return {text: names for text, names in near.items() if names is not NONE}

    def _find(self, texts: Sequence[str], likely: np.ndarray) -> Near:
        """Return rows and cosines, shape (len(texts), n). All texts are encoded at once, since this is faster."""
        which, rows = self.vectors.equal_names(texts)
        if self.concepts.names is not None:
            allowed = np.isin(rows, self.concepts.names.rows)
            which, rows = which[allowed], rows[allowed]
        equal = np.unique(which)
        others = np.setdiff1d(np.flatnonzero(likely), equal)
        asked = np.concatenate([equal, others])
        scores, proposed = self.ngrams.search([texts[i] for i in asked], self.n, self.concepts.names, together=True)
        alike = (np.arange(len(asked)) < len(equal)) | (scores.max(axis=1, initial=0) >= ALIKE)
        asked, proposed = asked[alike], proposed[alike]
        which = np.concatenate([which, np.repeat(asked, proposed.shape[1])])
        rows = np.concatenate([rows, proposed.ravel()])
        which, rows = np.unique(np.stack([which, rows])[:, rows >= 0], axis=1)
        queries = self.vectors.encode([texts[i] for i in asked])
        order = np.argsort(asked)
        cosines = self.vectors.products(queries, order[np.searchsorted(asked[order], which)], rows)
        return self._best(len(texts), which, rows, cosines)

    def _best(self, n_texts: int, which: np.ndarray, rows: np.ndarray, cosines: np.ndarray) -> Near:
        """Return the n nearest names of each text, with a row of -1 and a cosine of 0 where there are fewer."""
        order = np.lexsort((rows, -cosines, which))
        which, rows, cosines = which[order], rows[order], cosines[order]
        ranks = np.arange(len(which)) - np.searchsorted(which, which)
        first = ranks < self.n
        best = Near(np.full((n_texts, self.n), -1, np.int64), np.zeros((n_texts, self.n), np.float32))
        best.rows[which[first], ranks[first]] = rows[first]
        best.cosines[which[first], ranks[first]] = cosines[first]
        return best


def _known(texts: Iterable[str], cache: dict[str, Near]) -> tuple[dict[str, Near], list[str]]:
    """Return the near names of texts that a cache has, and the other texts, once each."""
    unique = list(dict.fromkeys(texts))
    known = {text: names for text in unique if (names := cache.get(text)) is not None}
    return known, [text for text in unique if text not in known]
