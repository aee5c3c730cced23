"""Which concepts have a name that is the same as a text but for what a normal form leaves out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..text.hashing import hash64
from .knowledge_base import KnowledgeBase


class NameIndex:
    """The names of a store by their normal form, as hashes: millions of names would not fit as strings.

    Args:
        normalize: gives the normal form; an empty one is that of no name.
    """

    def __init__(self, kb: KnowledgeBase, normalize: Callable[[str], str]) -> None:
        hashes = np.fromiter((hash64(normalize(name)) for name in kb.names()), dtype=np.uint64)
        self._kb = kb
        self._normalize = normalize
        self._rows = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._rows]

    def owners(self, text: str) -> list[str]:
        """Return primary ids of the concepts that have a name with the normal form of the text."""
        form = self._normalize(text)
        if not form:
            return []
        wanted = np.uint64(hash64(form))
        first, last = np.searchsorted(self._hashes, wanted), np.searchsorted(self._hashes, wanted, side="right")
        _, entries = self._kb.name_concepts.of(self._rows[first:last])
        return [self._kb.concept_id(int(row)) for row in np.unique(self._kb.name_concepts.concepts[entries])]
