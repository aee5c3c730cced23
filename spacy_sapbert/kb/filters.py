"""Filter concepts and names by semantic type and source, and concepts by their place in the hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from ..errors import ChoiceError
from ..types import Concept
from .knowledge_base import KnowledgeBase


class Filter(NamedTuple):
    """Which concepts and names may be candidates. An empty tuple does not restrict them.

    Attributes:
        types: The concept must have one of these semantic types.
        sources: The name must come from one of these sources.
    """

    types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


ALL = Filter()


class FilterMask(NamedTuple):
    """The names and entries that match a filter.

    Attributes:
        filter: The filter.
        entries (bool): Which entries of `KnowledgeBase.name_concepts` match.
        rows (int32): The rows of their names, in ascending order.
    """

    filter: Filter
    entries: np.ndarray
    rows: np.ndarray


def filter_mask(kb: KnowledgeBase, filter: Filter) -> FilterMask | None:
    """Return the filter mask, or None if the filter does not restrict anything."""
    if filter == ALL:
        return None
    entries = kb.matching_entries(filter.types, filter.sources)
    return FilterMask(filter, entries, np.unique(kb.name_concepts.names[entries]))


def check_filters(kb: KnowledgeBase, types: Collection[str], sources: Collection[str]) -> None:
    """Check that the vocabulary has these types and sources.

    Raises:
        ChoiceError: A type or a source is missing.
    """
    checks = (("semantic type", types, kb.type_counts), ("source of names", sources, kb.source_counts))
    for what, given, counts in checks:
        missing = sorted(set(given).difference(counts())) if given else []
        if missing:
            raise ChoiceError(given=", ".join(missing), what=f"{what} in {kb.path.name}", choices=sorted(counts()))


# --- the hierarchy


def ancestors(concept_id: str, kb: KnowledgeBase, get: Callable[[str], Concept | None] | None = None) -> frozenset[str]:
    """Find all ancestors of a concept.

    Parents may be given by an alternative id. If the hierarchy contains a cycle through the concept, the concept is
    among its own ancestors.

    Args:
        concept_id: Primary id of the concept.
        get: Replaces `kb.get`, for example by a cached version.

    Returns:
        The primary ids of the ancestors.
    """
    ids: set[str] = set()
    waiting = {concept_id}
    while waiting:
        concept = (get or kb.get)(waiting.pop())
        parents = concept.parents if concept else ()
        new = {primary for parent in parents for primary in kb.find_id(parent)} - ids
        ids |= new
        waiting |= new
    return frozenset(ids)


def below(ids: Collection[str], kb: KnowledgeBase) -> set[str]:
    """Return those of the concepts that are an ancestor of none of the others."""
    above = {concept_id: ancestors(concept_id, kb) - {concept_id} for concept_id in ids}
    return {
        concept_id
        for concept_id in ids
        if not any(concept_id in above[other] and other not in above[concept_id] for other in ids)
    }
