"""The hierarchy of a vocabulary: which concepts are above others."""

from __future__ import annotations

from collections.abc import Collection

from .store import ConceptStore


def ancestors(concept_id: str, store: ConceptStore) -> set[str]:
    """RETURNS (set[str]): primary ids of all concepts above; parents may be given by an alternative id. A concept that
    is above itself, in a circle, is among them."""
    found: set[str] = set()
    waiting = {concept_id}
    while waiting:
        concept = store.get(waiting.pop())
        parents = concept.parents if concept else ()
        above = {primary for parent in parents for primary in store.find_id(parent)} - found
        found |= above
        waiting |= above
    return found


def below(ids: Collection[str], store: ConceptStore) -> set[str]:
    """RETURNS (set[str]): of some concepts those that are above none of the others."""
    above = {one: ancestors(one, store) - {one} for one in ids}
    return {
        one for one in ids if not any(one in of_other and other not in above[one] for other, of_other in above.items())
    }
