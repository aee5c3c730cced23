"""Read brands of drugs, and parents, from the UMLS table `MRREL`.

In a row, REL and RELA say what the *second* concept is to the *first*. `CUI1|…|RO|CUI2|…|tradename_of|` makes the
second one the brand of the first. `PAR` and `inverse_isa` make it the parent. Most relations exist in both directions,
and either direction is enough here.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

from .atoms import AtomSelection
from .settings import UmlsSettings
from .tables import Row, RrfTable, temporary_database

_CUI1, _REL, _CUI2, _RELA, _SAB, _SUPPRESS = 0, 3, 4, 7, 10, 14
# By relation, the columns of brand and drug, or of child and parent.
_TRADE_NAMES = {b"tradename_of": (_CUI2, _CUI1), b"has_tradename": (_CUI1, _CUI2)}
_IS_A = {b"isa": (_CUI2, _CUI1), b"inverse_isa": (_CUI1, _CUI2)}
_HIERARCHY = {b"CHD": (_CUI2, _CUI1), b"PAR": (_CUI1, _CUI2)}


class Relations(NamedTuple):
    """Relations between concepts.

    Attributes:
        drugs: The drugs of each brand, in memory since there are few.
        parents: Child and parent, sorted by child, from a temporary file.
    """

    drugs: Mapping[bytes, set[bytes]]
    parents: Iterator[Row]


def read_relations(table: RrfTable, settings: UmlsSettings, selection: AtomSelection, notes: Counter[str]) -> Relations:
    """Read the relations that the settings ask for.

    Args:
        table: The table `MRREL`.
        settings: What to read.
        selection: Selects rows.
        notes: Counts the rows that are left out.
    """
    drugs: defaultdict[bytes, set[bytes]] = defaultdict(set)
    database = temporary_database()
    database.execute("CREATE TABLE parents (child, parent, PRIMARY KEY (child, parent)) WITHOUT ROWID")
    database.execute("BEGIN")
    for _, cells in table.rows(_line_filter(settings)):
        brand_columns = _TRADE_NAMES.get(cells[_RELA]) if settings.trade_names else None
        columns = brand_columns or (_parent_columns(cells) if settings.parents else None)
        if not columns:
            continue
        one, other = cells[columns[0]], cells[columns[1]]
        reason = selection.of_source(cells[_SAB], cells[_SUPPRESS])
        if not (one.isalnum() and other.isalnum()):
            reason = "no CUI"
        if reason:
            notes[f"{table.label} rows left out: {reason}"] += 1
        elif one != other and brand_columns:
            drugs[one].add(other)
        elif one != other:
            database.execute("INSERT OR IGNORE INTO parents VALUES (?, ?)", (one, other))
    return Relations(drugs, _sorted_parents(database))


def _sorted_parents(database: sqlite3.Connection) -> Iterator[Row]:
    with closing(database):
        for child, parent in database.execute("SELECT child, parent FROM parents ORDER BY child, parent"):
            yield 0, [child, parent]


def _line_filter(settings: UmlsSettings) -> Callable[[bytes], bool]:
    """Return a quick test of whether a line matters, since most of the many rows do not."""
    trade_names, parents = settings.trade_names, settings.parents

    def is_relevant(line: bytes) -> bool:
        is_parent = parents and (b"isa|" in line or b"|PAR|" in line or b"|CHD|" in line)
        return is_parent or (trade_names and b"tradename" in line)

    return is_relevant


def _parent_columns(cells: list[bytes]) -> tuple[int, int] | None:
    # the relation of a hierarchy may not be is_a but, for example, part_of
    return _IS_A.get(cells[_RELA]) if cells[_RELA] else _HIERARCHY.get(cells[_REL])
