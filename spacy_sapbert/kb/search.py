"""Find concepts by the words or the normal form of a name, without an encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from ..files.values import hash64
from ..text.normalize import biosyn
from .ids import canonical_id
from .knowledge_base import KnowledgeBase

# SQLite refuses patterns and conditions that are much longer. All words are compared below.
WORDS_IN_QUERY, CHARACTERS_IN_PATTERN = 8, 100


def search_names(kb: KnowledgeBase, text: str, k: int) -> list[tuple[str, float, str]]:
    """Find the concepts with a name that contains all words of a text, in any order and in upper or lower case.

    A word may match a part of a word in the name. The score compares the lengths of text and name without punctuation:
    the shorter divided by the longer. A name with the words of the text and no others scores 1, and so does an id.

    Returns:
        Concept id, score and name (or id) of each concept, best first. `NameConceptMap.ranks` orders equal scores.
    """
    words = biosyn(text).split()
    if not words:
        return []
    names = list(_names_with(kb, words))
    rows = np.array([row for row, _, _ in names], dtype=np.int64)
    lengths, length = np.array([length for _, _, length in names], dtype=np.float64), len(" ".join(words))
    scores = np.minimum(lengths, length) / np.maximum(lengths, length)
    which, entries = kb.name_concepts.of(rows)
    own_id = canonical_id(text)
    with_id = sorted(kb.concept_rows(own_id), key=lambda row: kb.concept_id(row) != own_id)
    best = dict.fromkeys(with_id, (1.0, own_id))
    for position in np.lexsort((kb.name_concepts.ranks[entries], -scores[which])) if names else []:
        concept = int(kb.name_concepts.concepts[entries[position]])
        best.setdefault(concept, (float(scores[which[position]]), names[which[position]][1]))
        if len(best) >= k:
            break
    return [(kb.concept_id(concept), score, name) for concept, (score, name) in islice(best.items(), k)]


def _names_with(kb: KnowledgeBase, words: list[str]) -> Iterator[tuple[int, str, int]]:
    """Yield row, text and normalized length of each name that contains all these words."""
    # LIKE ignores the case of ASCII letters only. Other letters match any character here and are compared below.
    different = sorted(set(words), key=lambda word: (-len(word), word))
    beginnings = (word[:CHARACTERS_IN_PATTERN] for word in different[:WORDS_IN_QUERY])
    patterns = ["%" + "".join(char if char.isascii() else "_" for char in word) + "%" for word in beginnings]
    condition = " AND ".join(["text LIKE ?"] * len(patterns))
    for row, name in kb.query(f"SELECT row, text FROM names WHERE {condition} ORDER BY row", *patterns):
        normalized = biosyn(name)
        if all(word in normalized for word in different):
            yield row, name, len(normalized)


class NameIndex:
    """An index of the names of a knowledge base by their normal form.

    It holds 64-bit hashes, because millions of names would not fit in memory as strings.

    Args:
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
        key = np.uint64(hash64(form))
        first, last = np.searchsorted(self._hashes, key), np.searchsorted(self._hashes, key, side="right")
        _, entries = self._kb.name_concepts.of(self._rows[first:last])
        return [self._kb.concept_id(int(row)) for row in np.unique(self._kb.name_concepts.concepts[entries])]
