"""The hierarchy of a vocabulary: the ancestors of a concept."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..types import Concept
from .knowledge_base import KnowledgeBase


def ancestors(concept_id: str, kb: KnowledgeBase, get: Callable[[str], Concept | None] | None = None) -> frozenset[str]:
    """Find all ancestors of a concept.

    Parents may be given by an alternative id. If the hierarchy contains a cycle through the concept, the concept is
    among its own ancestors.

    Args:
        concept_id: Primary id of the concept.
        kb: The knowledge base.
        get: Replaces `kb.get`, for example by a cached version.

    Returns:
        The primary ids of the ancestors.
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
    """Return those of the concepts that are an ancestor of none of the others."""
    above = {one: ancestors(one, kb) - {one} for one in ids}
    return {
        one for one in ids if not any(one in of_other and other not in above[one] for other, of_other in above.items())
    }
