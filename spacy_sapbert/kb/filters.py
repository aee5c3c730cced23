"""Filter concepts and names by semantic type and source."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from ..errors import ChoiceError
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

    @classmethod
    def of(cls, entries: np.ndarray, kb: KnowledgeBase, filter: Filter = ALL) -> FilterMask:
        """Return the mask for these entries."""
        return cls(filter, entries, np.unique(kb.name_concepts.names[entries]))


def filter_mask(kb: KnowledgeBase, filter: Filter) -> FilterMask | None:
    """Return the filter mask, or None if the filter does not restrict anything."""
    if filter == ALL:
        return None
    return FilterMask.of(kb.matching_entries(filter.types, filter.sources), kb, filter)


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
