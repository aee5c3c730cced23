"""Search a knowledge base by the words of names, without an encoder or an index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..text.normalize import biosyn
from .knowledge_base import KnowledgeBase


def search_names(kb: KnowledgeBase, text: str, k: int) -> list[tuple[str, float, str]]:
    """Find the concepts with a name that contains all words of a text, in any order and in upper or lower case.

    A word may match a part of a word in the name. The score is the length of the text divided by the length of the
    name, both without punctuation. A name that equals the text scores 1.

    Args:
        kb: The knowledge base.
        text: The words to search for.
        k: Maximum number of concepts.

    Returns:
        Concept id, score and name of each concept, best first. `KnowledgeBase.tie_order` orders equal scores.
    """
    words = biosyn(text).split()
    if not words:
        return []
    found = list(_names_with(kb, words))
    rows = np.array([row for row, _ in found], dtype=np.int64)
    scores = np.array([_score(words, name) for _, name in found])
    which, entries = kb.name_concepts.of(rows)
    best: dict[int, tuple[float, str]] = {}
    for place in np.lexsort((*kb.tie_order(entries), -scores[which])) if len(found) else []:
        concept = int(kb.name_concepts.concepts[entries[place]])
        best.setdefault(concept, (float(scores[which[place]]), found[which[place]][1]))
        if len(best) == k:
            break
    return [(kb.concept_id(concept), score, name) for concept, (score, name) in best.items()]


def _names_with(kb: KnowledgeBase, words: list[str]) -> Iterator[tuple[int, str]]:
    """Yield row and text of each name that contains all these words."""
    # LIKE ignores the case of ASCII letters only. Other letters match any character here and are compared below.
    patterns = ["%" + "".join(char if char.isascii() else "_" for char in word) + "%" for word in words]
    condition = " AND ".join(["text LIKE ?"] * len(patterns))
    for row, name in kb.query(f"SELECT row, text FROM names WHERE {condition} ORDER BY row", *patterns):
        if all(word in biosyn(name) for word in words):
            yield row, name


def _score(words: list[str], name: str) -> float:
    return min(1.0, len(" ".join(words)) / len(biosyn(name)))
