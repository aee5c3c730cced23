"""Read types, definitions, parents and brand names of concepts from the UMLS tables other than `MRCONSO`.

In a row of `MRREL`, REL and RELA say what the *second* concept is to the *first*. `CUI1|…|RO|CUI2|…|tradename_of|`
makes the second one the brand of the first. `PAR` and `inverse_isa` make it the parent. Most relations exist in both
directions, and either direction is enough here.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from ..context import ReaderContext, ReadReport
from .atoms import AUI, CUI, LAT, Atom, AtomReader, AtomSelection, Ranks, UmlsSettings
from .packed import RrfPart
from .tables import ByConcept, Row, RrfTable, temporary_database

_TUI = 1
_DEF_AUI, _DEF_SAB, _DEF, _DEF_SUPPRESS = 1, 4, 5, 6
_CUI1, _REL, _CUI2, _RELA, _SAB, _SUPPRESS = 0, 3, 4, 7, 10, 14
# By relation, the columns of brand and drug, or of child and parent.
_TRADE_NAMES = {b"tradename_of": (_CUI2, _CUI1), b"has_tradename": (_CUI1, _CUI2)}
_IS_A = {b"isa": (_CUI2, _CUI1), b"inverse_isa": (_CUI1, _CUI2)}
_HIERARCHY = {b"CHD": (_CUI2, _CUI1), b"PAR": (_CUI1, _CUI2)}


class ConceptSupplement(NamedTuple):
    """What the other tables contain about one concept."""

    types: tuple[str, ...]
    definition: str | None
    parents: tuple[str, ...]
    trade_names: list[Atom]


class SupplementTables:
    """The tables other than `MRCONSO`, as far as they exist, read concept by concept in the order of `MRCONSO`."""

    def __init__(
        self,
        tables: Mapping[str, RrfTable],
        names: tuple[RrfPart, ...],
        context: ReaderContext,
        settings: UmlsSettings,
        selection: AtomSelection,
        ranks: Ranks,
    ) -> None:
        """Read the relations, and open the other tables.

        Args:
            tables: The tables of the release.
            names: The parts of `MRCONSO`, where brand names are looked up.
            context: The path and the settings of all readers.
            settings: What to read.
            selection: Selects rows.
            ranks: Ranks of sources.
        """
        self._tables, self._context, self._selection, self._ranks = tables, context, selection, ranks
        self._notes = context.report.notes
        relations = _Relations({}, iter(()))
        if "MRREL" in tables:
            relations = _read_relations(tables["MRREL"], settings, selection, self._notes)
        self._trade_names = self._names_of_brands(names, relations.drugs)
        self._rows = {
            "MRSTY": ByConcept(tables["MRSTY"].by_concept(settings.sort) if "MRSTY" in tables else iter(())),
            "MRDEF": ByConcept(tables["MRDEF"].by_concept(settings.sort) if "MRDEF" in tables else iter(())),
            "MRREL": ByConcept(relations.parents),
        }

    def of(self, cui: bytes, names: list[Row]) -> ConceptSupplement:
        """Return the supplement of a concept.

        Args:
            cui: The concept.
            names: All its rows in `MRCONSO`.
        """
        tuis = (self._tables["MRSTY"].decode(line, cells[_TUI]) for line, cells in self._rows["MRSTY"].take(cui))
        definitions = self._rows["MRDEF"].take(cui)
        parents = tuple(cells[1].decode() for _, cells in self._rows["MRREL"].take(cui))
        return ConceptSupplement(
            tuple(dict.fromkeys(filter(None, tuis))),
            self._definition(definitions, names) if definitions else None,
            parents,
            self._trade_names.get(cui, []),
        )

    def finish(self) -> None:
        """Read the tables to their ends, and count the rows that belong to no concept."""
        for name, rows in self._rows.items():
            rows.finish()
            label = self._tables[name].label if name in self._tables else name
            names = self._tables["MRCONSO"].label
            self._notes[f"{label} rows of concepts that {names} does not have"] += rows.n_unknown

    def _definition(self, definitions: list[Row], names: list[Row]) -> str | None:
        """Return the definition of the source with the highest rank. A definition has the language of its atom."""
        languages = self._selection.languages
        foreign = {cells[AUI] for _, cells in names if languages and cells[LAT] not in languages}
        selected = []
        for line, cells in definitions:
            reason = self._selection.of_source(cells[_DEF_SAB], cells[_DEF_SUPPRESS])
            if cells[_DEF_AUI] in foreign:
                reason = "language"
            if reason:
                self._notes[f"MRDEF rows left out: {reason}"] += 1
            else:
                selected.append((line, cells))
        if not selected:
            return None
        line, cells = max(selected, key=lambda row: self._ranks.sources.get(row[1][_DEF_SAB], 0))
        return self._context.clean(self._tables["MRDEF"].decode(line, cells[_DEF]) or "") or None

    def _names_of_brands(
        self, parts: tuple[RrfPart, ...], drugs: Mapping[bytes, set[bytes]]
    ) -> Mapping[bytes, list[Atom]]:
        """Return the names of the brands of each drug."""
        drug_of = {brand: next(iter(of)) for brand, of in drugs.items() if len(of) == 1}
        self._notes["brands of several drugs, not taken as trade names"] += len(drugs) - len(drug_of)
        names: defaultdict[bytes, list[Atom]] = defaultdict(list)
        if drug_of:
            # these rows are read again with all others and reported then
            unreported = replace(self._context, report=ReadReport(), strict=False)
            table = RrfTable("MRCONSO", parts, unreported)
            reader = AtomReader(table, unreported, self._selection, self._ranks)
            for line, cells in table.rows(lambda line: line.split(b"|", 1)[0] in drug_of):
                atom = reader.atom(line, cells)
                if atom:
                    names[drug_of[cells[CUI]]].append(atom)
        return names


class _Relations(NamedTuple):
    """Relations between concepts.

    Attributes:
        drugs: The drugs of each brand, in memory since there are few.
        parents: Child and parent, sorted by child, from a temporary file.
    """

    drugs: Mapping[bytes, set[bytes]]
    parents: Iterator[Row]


def _read_relations(
    table: RrfTable, settings: UmlsSettings, selection: AtomSelection, notes: Counter[str]
) -> _Relations:
    """Read the relations that the settings ask for, and count the rows that are left out in `notes`."""

    def is_relevant(line: bytes) -> bool:  # a quick test, since most of the many rows do not matter
        is_parent = settings.parents and (b"isa|" in line or b"|PAR|" in line or b"|CHD|" in line)
        return is_parent or (settings.trade_names and b"tradename" in line)

    drugs: defaultdict[bytes, set[bytes]] = defaultdict(set)
    database = temporary_database()
    database.execute("CREATE TABLE parents (child, parent, PRIMARY KEY (child, parent)) WITHOUT ROWID")
    database.execute("BEGIN")
    for _, cells in table.rows(is_relevant):
        brand_columns = _TRADE_NAMES.get(cells[_RELA]) if settings.trade_names else None
        columns = brand_columns or (_parent_columns(cells) if settings.parents else None)
        if not columns:
            continue
        cui, related = cells[columns[0]], cells[columns[1]]
        reason = selection.of_source(cells[_SAB], cells[_SUPPRESS])
        if not (cui.isalnum() and related.isalnum()):
            reason = "no CUI"
        if reason:
            notes[f"{table.label} rows left out: {reason}"] += 1
        elif cui != related and brand_columns:
            drugs[cui].add(related)
        elif cui != related:
            database.execute("INSERT OR IGNORE INTO parents VALUES (?, ?)", (cui, related))
    return _Relations(drugs, _sorted_parents(database))


def _sorted_parents(database: sqlite3.Connection) -> Iterator[Row]:
    with closing(database):
        for child, parent in database.execute("SELECT child, parent FROM parents ORDER BY child, parent"):
            yield 0, [child, parent]


def _parent_columns(cells: list[bytes]) -> tuple[int, int] | None:
    # the relation of a hierarchy may not be is_a but, for example, part_of
    return _IS_A.get(cells[_RELA]) if cells[_RELA] else _HIERARCHY.get(cells[_REL])
