"""Find the concepts that have a name with the same normal form as a text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..text.hashing import hash64
from .knowledge_base import KnowledgeBase


class NameIndex:
    """An index of the names of a knowledge base by their normal form.

    It holds 64-bit hashes, because millions of names would not fit in memory as strings.

    Args:
        kb: The knowledge base.
        normalize: Returns the normal form of a text. An empty form matches no name.
    """

    def __init__(self, kb: KnowledgeBase, normalize: Callable[[str], str]) -> None:
        hashes = np.fromiter((hash64(normalize(name)) for name in kb.names()), dtype=np.uint64)
        self._kb = kb
        self._normalize = normalize
        self._rows = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._rows]

    def owners(self, text: str) -> list[str]:
        """Return the primary ids of the concepts that have a name with the normal form of the text."""
        form = self._normalize(text)
        if not form:
            return []
        wanted = np.uint64(hash64(form))
        first, last = np.searchsorted(self._hashes, wanted), np.searchsorted(self._hashes, wanted, side="right")
        _, entries = self._kb.name_concepts.of(self._rows[first:last])
        return [self._kb.concept_id(int(row)) for row in np.unique(self._kb.name_concepts.concepts[entries])]
