"""Filters of concepts and names by type and source."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from ..errors import Errors, SapbertError
from .knowledge_base import KnowledgeBase


class Filter(NamedTuple):
    """Which concepts and names may be candidates. Empty tuples let all pass.

    Attributes:
        types: the concept has one of these semantic types.
        sources: the name comes from one of these sources.
    """

    types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


ALL = Filter()


class FilterMask(NamedTuple):
    """What a filter lets pass.

    Attributes:
        filter: the filter itself.
        entries (bool): which entries of `KnowledgeBase.name_concepts` pass.
        rows (int32): the rows of their names, rising.
    """

    filter: Filter
    entries: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, entries: np.ndarray, kb: KnowledgeBase, filter: Filter = ALL) -> FilterMask:
        """Return the mask that lets these entries pass."""
        return cls(filter, entries, np.unique(kb.name_concepts.names[entries]))


def filter_mask(kb: KnowledgeBase, filter: Filter) -> FilterMask | None:
    """Return None where the filter lets everything pass."""
    if filter == ALL:
        return None
    return FilterMask.of(kb.matching_entries(filter.types, filter.sources), kb, filter)


def check_filters(kb: KnowledgeBase, types: Collection[str], sources: Collection[str]) -> None:
    """Raise SapbertError: E404, E405 the vocabulary has no such type or source."""
    checks = ((Errors.E404, types, kb.type_counts), (Errors.E405, sources, kb.source_counts))
    for message, wanted, counts in checks:
        missing = sorted(set(wanted).difference(counts())) if wanted else []
        if missing:
            raise SapbertError(message.format(missing=missing, known=sorted(counts())))
