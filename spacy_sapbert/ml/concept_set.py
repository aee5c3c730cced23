"""The concepts that can be named for a document: all of a vocabulary, or those of a list."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from ..kb.store import ConceptStore
from .candidates import Filter, Passing


class ConceptSet:
    """Some concepts of a store, each with a place, in the order of their rows.

    store (ConceptStore): the vocabulary.
    ids (Collection[str] | None): primary or alternative ids; None for all. Those the store lacks are left out.
    types (Sequence[str]): concepts of these types only; empty for all.

    rows (int64, shape (n,)): their rows in the store, rising.
    """

    def __init__(self, store: ConceptStore, ids: Collection[str] | None = None, types: Sequence[str] = ()) -> None:
        self.store = store
        chosen = np.ones(len(store), dtype=bool)
        if ids is not None:
            known = [row for one in ids for row in store.concept_rows(one)]
            chosen = np.zeros(len(store), dtype=bool)
            chosen[known] = True
        if types:
            typed = np.zeros(len(store), dtype=bool)
            typed[store.ownership.concepts[store.owned(types)]] = True
            chosen &= typed
        self.rows = np.flatnonzero(chosen)
        self._places = np.full(len(store), -1)
        self._places[self.rows] = np.arange(len(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def ids(self) -> list[str]:
        """The primary ids, by place."""
        chosen = set(self.rows.tolist())
        return [concept_id for row, concept_id in enumerate(self.store.concept_ids()) if row in chosen]

    def places_of(self, concept_id: str) -> list[int]:
        """RETURNS (list[int]): the places of the concepts of the set with this primary or alternative id."""
        places = (int(self._places[row]) for row in self.store.concept_rows(concept_id))
        return [place for place in places if place >= 0]

    @cached_property
    def names(self) -> Passing | None:
        """Which names are theirs, for `Index.nearest`; None where all are."""
        if len(self) == len(self.store):
            return None
        entries = self._places[self.store.ownership.concepts] >= 0
        return Passing(Filter(), entries, np.unique(self.store.ownership.names[entries]))

    @property
    def n_names(self) -> int:
        return self.store.n_names if self.names is None else len(self.names.rows)

    def owners(self, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """RETURNS: for the given name rows, positions in `names` and places of concepts, one pair an owner."""
        which, owners = self.store.ownership.of(names)
        places = self._places[self.store.ownership.concepts[owners]]
        return which[places >= 0], places[places >= 0]
