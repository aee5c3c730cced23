"""Choose what a knowledge base takes from its sources: by hierarchy, semantic type and source of a name."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import ChoiceError, NotFoundError
from ..types import Name, Record

SHOWN = 20

Test = Callable[[str], bool]


class Curation(NamedTuple):
    """What to take from the sources. Empty fields take everything.

    Attributes:
        below: Take only these concepts and those below them. Only the sources that have one of the concepts are
            affected.
        without: Leave out these concepts and those below them.
        types: Take only concepts of these semantic types.
        without_types: Leave out concepts of these semantic types.
        sources: Take only names from these sources.
        without_sources: Leave out names from these sources.
    """

    below: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    without_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    without_sources: tuple[str, ...] = ()

    @property
    def needs_hierarchy(self) -> bool:
        """Whether the sources must be read twice."""
        return bool(self.below or self.without)

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are set."""
        return {key: list(value) for key, value in self._asdict().items() if value}


class Hierarchy:
    """The concepts and parents of one source, in a temporary database. Memory does not grow with them.

    Args:
        records: The records of the source.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._n_tables = 0
        self._db = sqlite3.connect("")  # SQLite moves it to the disk when it grows
        self._db.executescript("CREATE TABLE ids (id TEXT, concept TEXT); CREATE TABLE edges (child TEXT, parent TEXT)")
        for record in records:
            ids = (record.concept_id, *record.alternative_ids)
            self._db.executemany(
                "INSERT INTO ids VALUES (?, ?)", ((concept_id, record.concept_id) for concept_id in ids)
            )
            # a parent may be given by an alternative id, which therefore lies below its concept
            above = [(record.concept_id, parent) for parent in record.parents]
            aliases = [(other, record.concept_id) for other in record.alternative_ids]
            self._db.executemany("INSERT INTO edges VALUES (?, ?)", above + aliases)
        self._db.executescript("CREATE INDEX by_id ON ids (id); CREATE INDEX by_parent ON edges (parent)")

    def known(self, ids: Collection[str]) -> set[str]:
        """Return those of the ids that the source has."""
        sql = "SELECT 1 FROM ids WHERE id = ?"
        return {concept_id for concept_id in ids if self._db.execute(sql, (concept_id,)).fetchone()}

    def subtrees(self, roots: Collection[str]) -> Callable[[str], bool]:
        """Return whether an id belongs to one of these concepts or to one below, as a function.

        A circle of parents does no harm.
        """
        self._n_tables += 1
        table = f"subtrees_{self._n_tables}"
        self._db.execute(f"CREATE TABLE {table} (id TEXT PRIMARY KEY) WITHOUT ROWID")
        sql = f"INSERT OR IGNORE INTO {table} SELECT concept FROM ids WHERE id = ?"
        self._db.executemany(sql, ((root,) for root in sorted(roots)))
        self._db.execute(
            f"WITH RECURSIVE below(id) AS (SELECT id FROM {table} UNION SELECT e.child FROM below b "
            f"JOIN edges e ON e.parent = b.id) INSERT OR IGNORE INTO {table} SELECT id FROM below"
        )
        sql = f"SELECT 1 FROM {table} WHERE id = ?"
        return lambda concept_id: self._db.execute(sql, (concept_id,)).fetchone() is not None


class Curator:
    """Applies a `Curation` to the records of several sources, and counts what it leaves out.

    Args:
        curation: What to take.

    Attributes:
        counts: What was left out, by the labels of `kb build`.
    """

    def __init__(self, curation: Curation) -> None:
        self.curation = curation
        self.counts: Counter[str] = Counter()
        self._hierarchies: list[Hierarchy] = []
        self._types: Counter[str] = Counter()
        self._sources: Counter[str] = Counter()

    def read_hierarchy(self, records: Iterable[Record]) -> None:
        """Read the hierarchy of the next source. All sources are read before the first is curated."""
        self._hierarchies.append(Hierarchy(records))

    def check_ids(self) -> None:
        """Check that the sources have all concepts of the curation.

        Raises:
            NotFoundError: They do not.
        """
        ids = {*self.curation.below, *self.curation.without}
        missing = ids.difference(*(hierarchy.known(ids) for hierarchy in self._hierarchies))
        if missing:
            remedy = "Look for its id with `spacy-sapbert kb search`."
            raise NotFoundError(what=f"concept {', '.join(sorted(missing))} in the sources", remedy=remedy)

    def take(self, records: Iterable[Record], source: int) -> Iterator[Record]:
        """Yield what the curation takes from a source.

        Args:
            records: The records of the source.
            source: Its number, from 0, in the order of `read_hierarchy`.
        """
        outside, inside = self._limits(source) if self.curation.needs_hierarchy else (_never, _never)
        for record in records:
            self._types.update(record.types)
            self._sources.update({name.source for name in record.names})
            if outside(record.concept_id):
                self.counts["concepts left out: not below the chosen ones"] += 1
            elif inside(record.concept_id):
                self.counts["concepts left out: below an excluded one"] += 1
            elif not _takes(record.types, self.curation.types, self.curation.without_types):
                self.counts["concepts left out: semantic type"] += 1
            else:
                names = self._names(record)
                if names or not record.names:
                    yield record._replace(names=names)

    def check_filters(self) -> None:
        """Check, after all sources are read, that they have the types and sources of the curation.

        Raises:
            ChoiceError: They do not.
        """
        types = self.curation.types + self.curation.without_types
        sources = self.curation.sources + self.curation.without_sources
        for what, known, chosen in (("semantic type", self._types, types), ("source of names", self._sources, sources)):
            missing = ", ".join(sorted(set(chosen).difference(known)))
            if missing:
                most = [f"{value} ({n:,})" for value, n in known.most_common(SHOWN)]
                raise ChoiceError(given=missing, what=f"{what} in what was read", choices=most)

    def _limits(self, source: int) -> tuple[Test, Test]:
        """Return two tests of an id: whether it is outside `below`, and whether it is inside `without`."""
        hierarchy = self._hierarchies[source]
        roots, excluded = hierarchy.known(self.curation.below), hierarchy.known(self.curation.without)
        inside = hierarchy.subtrees(excluded) if excluded else _never
        if not roots:
            return _never, inside
        chosen = hierarchy.subtrees(roots)
        return lambda concept_id: not chosen(concept_id), inside

    def _names(self, record: Record) -> tuple[Name, ...]:
        """Return the names from the chosen sources. A concept without any is left out."""
        chosen, excluded = self.curation.sources, self.curation.without_sources
        names = tuple(name for name in record.names if _takes([name.source], chosen, excluded))
        self.counts["names left out: source"] += len(record.names) - len(names)
        self.counts["concepts left out: no name from the chosen sources"] += not names and bool(record.names)
        return names


def _takes(values: Collection[str], chosen: Collection[str], excluded: Collection[str]) -> bool:
    return (not chosen or not set(values).isdisjoint(chosen)) and set(values).isdisjoint(excluded)


def _never(concept_id: str) -> bool:
    return False
