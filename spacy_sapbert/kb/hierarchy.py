"""The hierarchy of a vocabulary: which concepts are above others."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..types import Concept
from .knowledge_base import KnowledgeBase


def ancestors(concept_id: str, kb: KnowledgeBase, get: Callable[[str], Concept | None] | None = None) -> frozenset[str]:
    """Go up the hierarchy.

    Args:
        get: in place of the store's, e.g. one that keeps what was asked.

    Returns:
        primary ids of all concepts above; parents may be given by an alternative id. A concept that is above itself, in
            a circle, is among them.
    """
    find = get or kb.get
    found: set[str] = set()
    waiting = {concept_id}
    while waiting:
        concept = find(waiting.pop())
        parents = concept.parents if concept else ()
        above = {primary for parent in parents for primary in kb.find_id(parent)} - found
        found |= above
        waiting |= above
    return frozenset(found)


def below(ids: Collection[str], kb: KnowledgeBase) -> set[str]:
    """Return `set[str]`: of some concepts those that are above none of the others."""
    above = {one: ancestors(one, kb) - {one} for one in ids}
    return {
        one for one in ids if not any(one in of_other and other not in above[one] for other, of_other in above.items())
    }
