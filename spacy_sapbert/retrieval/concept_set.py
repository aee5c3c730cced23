"""`ConceptSet`: the concepts that can be predicted for a document, all of a vocabulary or those of a list."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from ..kb.filters import Filter, FilterMask
from ..kb.knowledge_base import KnowledgeBase


class ConceptSet:
    """A set of concepts of a knowledge base. Each has a position, in the order of the rows.

    Args:
        kb: The vocabulary.
        ids: Primary or alternative ids; None for all. Ids that the knowledge base does not have are ignored.
        types: Only concepts of these types; empty for all.

    Attributes:
        rows (numpy.ndarray): The sorted rows of the concepts in the knowledge base, int64, shape (n,).
    """

    def __init__(self, kb: KnowledgeBase, ids: Collection[str] | None = None, types: Sequence[str] = ()) -> None:
        self.kb = kb
        chosen = np.ones(len(kb), dtype=bool)
        if ids is not None:
            chosen = np.zeros(len(kb), dtype=bool)
            chosen[[row for concept_id in ids for row in kb.concept_rows(concept_id)]] = True
        if types:
            typed = np.zeros(len(kb), dtype=bool)
            typed[kb.name_concepts.concepts[kb.matching_entries(types)]] = True
            chosen &= typed
        self.rows = np.flatnonzero(chosen)
        self._positions = np.full(len(kb), -1)
        self._positions[self.rows] = np.arange(len(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def ids(self) -> list[str]:
        """The primary ids, by position."""
        chosen = set(self.rows.tolist())
        return [concept_id for row, concept_id in enumerate(self.kb.concept_ids()) if row in chosen]

    def positions_of(self, concept_id: str) -> list[int]:
        """Return the positions of the concepts of the set with this primary or alternative id."""
        positions = (int(self._positions[row]) for row in self.kb.concept_rows(concept_id))
        return [position for position in positions if position >= 0]

    @cached_property
    def names(self) -> FilterMask | None:
        """The filter mask of the names of these concepts, for `Index.nearest`. None if all names are included."""
        if len(self) == len(self.kb):
            return None
        entries = self._positions[self.kb.name_concepts.concepts] >= 0
        return FilterMask(Filter(), entries, np.unique(self.kb.name_concepts.names[entries]))

    @property
    def n_names(self) -> int:
        """The number of names of these concepts."""
        return self.kb.n_names if self.names is None else len(self.names.rows)

    def owners(self, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the concepts of names, one pair per name and concept.

        Returns:
            Indices into `names`, and positions of concepts.
        """
        which, owners = self.kb.name_concepts.of(names)
        positions = self._positions[self.kb.name_concepts.concepts[owners]]
        return which[positions >= 0], positions[positions >= 0]
