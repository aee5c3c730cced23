"""`NearNames`: find the nearest names of texts, with a cache for repeated texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from ...vectors.index import Index
from ..concept_set import ConceptSet

CACHE_SIZE = 200_000  # texts
TEXTS_PER_BATCH = 512

Near = tuple[np.ndarray, np.ndarray]


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
        for text in list(self._cache)[: max(0, len(self._cache) - CACHE_SIZE)]:
            self._cache.pop(text, None)  # another thread may have removed it already
        return near

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
