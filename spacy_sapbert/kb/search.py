"""Search a knowledge base by the words of names, without an encoder or an index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..text.normalize import biosyn
from .knowledge_base import KnowledgeBase

# SQLite refuses patterns and conditions that are much longer. All words are compared below.
WORDS_IN_QUERY, CHARACTERS_IN_PATTERN = 8, 100


def search_names(kb: KnowledgeBase, text: str, k: int) -> list[tuple[str, float, str]]:
    """Find the concepts with a name that contains all words of a text, in any order and in upper or lower case.

    A word may match a part of a word in the name. The score compares the lengths of text and name without punctuation:
    the shorter divided by the longer. A name with the words of the text and no others scores 1.

    Args:
        kb: The knowledge base.
        text: The words to search for.
        k: Maximum number of concepts.

    Returns:
        Concept id, score and name of each concept, best first. `NameConceptMap.ranks` orders equal scores.
    """
    words = biosyn(text).split()
    if not words:
        return []
    found = list(_names_with(kb, words))
    rows = np.array([row for row, _, _ in found], dtype=np.int64)
    lengths, wanted = np.array([length for _, _, length in found], dtype=np.float64), len(" ".join(words))
    scores = np.minimum(lengths, wanted) / np.maximum(lengths, wanted)
    which, entries = kb.name_concepts.of(rows)
    best: dict[int, tuple[float, str]] = {}
    for place in np.lexsort((kb.name_concepts.ranks[entries], -scores[which])) if len(found) else []:
        concept = int(kb.name_concepts.concepts[entries[place]])
        best.setdefault(concept, (float(scores[which[place]]), found[which[place]][1]))
        if len(best) == k:
            break
    return [(kb.concept_id(concept), score, name) for concept, (score, name) in best.items()]


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
