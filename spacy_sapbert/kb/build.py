"""Writing a `KnowledgeBase`: records and annotated mentions in, one SQLite file out.

What comes in is first written down as it comes, into tables that SQLite keeps in temporary files. Sorting these then
gives the tables of the store, each written once and in its own order. So memory does not grow with the vocabulary, but
for a few bytes a name; on the disk, building takes less than twice the room of the store.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cached_property
from glob import escape
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from ..errors import Errors, SapbertError
from ..types import Name, Record
from .knowledge_base import ARRAYS, FORMAT, INDEXES, SCHEMA, KnowledgeBase
from .mapping import Equivalents, MappedIds, merge, one_to_one, vocabulary, vocabulary_of

# What was read, in the order in which it was read; numbers count from 0 without gaps.
_READ = """
CREATE TEMP TABLE read_records (number INTEGER PRIMARY KEY, id TEXT, first_name INTEGER, definition TEXT);
CREATE TEMP TABLE read_names (
    number INTEGER PRIMARY KEY, record INTEGER, text TEXT, scope TEXT, source TEXT, annotations INTEGER
);
CREATE TEMP TABLE read_ids (record INTEGER, value TEXT);
CREATE TEMP TABLE read_types (record INTEGER, value TEXT);
CREATE TEMP TABLE read_parents (record INTEGER, value TEXT);
CREATE TEMP TABLE read_xrefs (record INTEGER, value TEXT);
"""

# The tables of the store from these; `_define` gives SQLite the functions that know the rows.
_IDS = """
SELECT id, concept_row(number) FROM read_records
UNION SELECT value, concept_row(record) FROM read_ids ORDER BY 1, 2
"""
_NAMES = "SELECT name_row(number), text FROM read_names WHERE is_new_name(number) ORDER BY number"
_CONCEPTS = """
SELECT concept_row(number), id, name_row(first_name), definition FROM read_records
WHERE is_new_concept(number) ORDER BY number
"""
_LATER_DEFINITIONS = """
SELECT definition, concept_row(number) FROM read_records
WHERE definition IS NOT NULL AND NOT is_new_concept(number) ORDER BY number
"""
_SYNONYMS = """
SELECT name_row(number), concept_row(record), source, scope, annotations FROM read_names WHERE true
ORDER BY 1, 2, 3, number
ON CONFLICT (name, concept, source) DO UPDATE SET annotations = annotations + excluded.annotations
"""

_FILE = "store"  # in the folder where it is built
_CACHE_KIB = 128 * 1024  # of each of the two databases; SQLite sorts as much in memory before it goes to the disk
_ROWS_AT_ONCE = 10_000
_MAX_SHOWN = 20


class _Numbering:
    """Rows for what was read: equal things share one, and rows go by the first of them.

    Args:
        firsts (int32, shape (n,)): for each thing the number of the first one that equals it.

    Attributes:
        is_new (bool, shape (n,)): whether a thing is the first of its equals.
        rows (int32, shape (n,)): its row.
    """

    def __init__(self, firsts: np.ndarray) -> None:
        self.is_new = firsts == np.arange(len(firsts), dtype=np.int32)
        self.rows = (np.cumsum(self.is_new, dtype=np.int32) - 1)[firsts]

    def in_row(self, row: int) -> list[int]:
        """Return the numbers of the things in a row, in order."""
        # of the type of `rows`, which would be converted as a whole otherwise
        bounds = np.array([row, row + 1], dtype=self.rows.dtype)
        start, end = np.searchsorted(self.rows, bounds, sorter=self._by_row)
        numbers: list[int] = self._by_row[start:end].tolist()
        return numbers

    @cached_property
    def _by_row(self) -> np.ndarray:
        return np.argsort(self.rows, kind="stable")


class KnowledgeBaseBuilder:
    """Fills a new store. First come records, then mentions, then `finish`.

    Records with the same primary id become one concept, and so do those whose ids mean the same by `equivalents` or
    `merge_xrefs` (see `new_knowledge_base`). The first of them gives primary id and preferred name, and the first that has one
    the definition; the ids of the others become alternative ids. Alternative ids themselves merge nothing: several
    concepts of a source may have the same.

    Attributes:
        counts: what happened to the records, by what `kb build` calls it; complete after `finish`.
    """

    def __init__(
        self, connection: sqlite3.Connection, equivalents: Equivalents, merge_xrefs: Collection[str] = ()
    ) -> None:
        self._db = connection
        self._equivalents = equivalents
        self._merge_xrefs = {vocabulary(prefix) for prefix in merge_xrefs}
        self._waiting: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self._n_records = 0
        self._n_names = 0
        self._concepts: _Numbering | None = None
        self.is_finished = False
        self.counts: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        """Add a concept, or what the record adds to a concept that is there already."""
        if self._concepts is not None:
            raise RuntimeError("records are added before mentions")
        names = [name for name in record.names if self._is_storable(name)]
        if not names:
            self.counts["concepts without a name"] += 1
            return
        lists = {
            "ids": record.alternative_ids,
            "types": record.types,
            "parents": record.parents,
            "xrefs": record.xrefs,
        }
        if not _is_unicode(record.concept_id, record.definition or "", *chain.from_iterable(lists.values())):
            self.counts["records of broken Unicode"] += 1
            return
        number, self._n_records = self._n_records, self._n_records + 1
        self._waiting["records"].append((number, record.concept_id, self._n_names, record.definition))
        for table, values in lists.items():
            self._waiting[table] += [(number, value) for value in values]
        for name in names:
            self._add_name(number, name)

    def add_mention(self, concept_id: str, name: Name) -> None:
        """Add a name, annotated once more, to every concept with this primary or alternative id."""
        if not self._is_storable(name):
            return
        concepts = self._find(concept_id)
        for concept in concepts:
            self._add_name(self._place_records().in_row(concept)[0], name, annotations=1)
        self.counts["mentions added" if concepts else "mentions whose id is not in the vocabulary"] += 1

    def add_annotations(self, concept: int, name: Name, annotations: int) -> None:
        """Add a name, annotated so often, to the concept in a row of the store that is built."""
        self._add_name(self._place_records().in_row(concept)[0], name, annotations)

    def names_of(self, concept_id: str) -> list[str]:
        """Return all names so far of the concepts with this primary or alternative id."""
        concepts = self._find(concept_id)
        self._flush()
        self._db.execute("CREATE INDEX IF NOT EXISTS names_by_record ON read_names (record)")
        found = [
            row
            for concept in concepts
            for record in self._place_records().in_row(concept)
            for row in self._db.execute("SELECT number, text FROM read_names WHERE record = ?", (record,))
        ]
        return list(dict.fromkeys(text for _, text in sorted(found)))

    def finish(self, meta: dict[str, Any]) -> None:
        """Write the store, and what it says of itself.

        Args:
            meta: JSON values; `counts` joins them as "built".

        Raises:
            SapbertError: E105 there is no concept in it, E108 nothing refers to a vocabulary of `merge_xrefs`.
        """
        if not self._n_records:
            raise SapbertError(Errors.E105)
        self._place_records()
        n_concepts, n_names = self._fill_tables()
        for statement in INDEXES:
            self._db.execute(statement)
        _write_arrays(self._db, n_concepts)
        _write_totals(self._db)
        counts = {"concepts": n_concepts, "names": n_names, "built": dict(+self.counts)}
        meta = {**meta, **counts, "format": FORMAT, "fingerprint": fingerprint(self._db)}
        rows = sorted((key, json.dumps(value, sort_keys=True)) for key, value in meta.items())
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self.is_finished = True

    # --- what is read

    def _is_storable(self, name: Name) -> bool:
        if not name.text.strip():
            self.counts["empty names"] += 1
        elif not _is_unicode(*name):
            self.counts["names of broken Unicode"] += 1
        else:
            return True
        return False

    def _add_name(self, record: int, name: Name, annotations: int = 0) -> None:
        self._waiting["names"].append((self._n_names, record, *name, annotations))
        self._n_names += 1
        if self._n_names % _ROWS_AT_ONCE == 0:
            self._flush()

    def _flush(self) -> None:
        for table, rows in self._waiting.items():
            if rows:
                self._db.executemany(f"INSERT INTO read_{table} VALUES ({_marks(rows[0])})", rows)
                rows.clear()

    # --- from records to concepts

    def _place_records(self) -> _Numbering:
        """Decide, when the last record has come, which records are one concept, and write the ids of the concepts."""
        if self._concepts is None:
            self._flush()
            self._concepts = _Numbering(self._first_records())
            _define(self._db, "concept", self._concepts)
            self._db.execute(f"INSERT INTO ids {_IDS}")
        return self._concepts

    def _first_records(self) -> np.ndarray:
        """Return `int32, shape (records,)`: for each record the first one of the same concept."""
        rows = self._db.execute("SELECT number, id FROM read_records ORDER BY id, number")
        firsts = _firsts(rows, self._n_records)
        n_merged = np.count_nonzero(firsts != np.arange(len(firsts)))
        self.counts += Counter({"records merged into an earlier one": n_merged})
        return self._merged(firsts) if self._equivalents or self._merge_xrefs else firsts

    def _merged(self, firsts: np.ndarray) -> np.ndarray:
        """
        Args:
            firsts (int32, shape (records,)): for each record the first one of the same id, and concept.

        Returns:
            int32, shape (records,): for each record the first one of the same id, and concept.
        """
        rows = self._db.execute("SELECT id, min(number) FROM read_records GROUP BY id")
        leads, n_joined = merge(rows, self._equivalents, self._links())
        merged = np.arange(len(firsts), dtype=np.int32)
        for number, lead in leads.items():
            merged[number] = lead
        n_merged = sum(lead != number for number, lead in leads.items())
        self.counts += Counter({"concepts merged into an earlier one by mappings": n_merged})
        self.counts += Counter({"concepts joined by a later record": n_joined})
        return merged[firsts]

    def _links(self) -> list[MappedIds]:
        """Return the cross-references that merge concepts."""
        if not self._merge_xrefs:
            return []
        rows = self._db.execute(
            "SELECT r.number, r.id, x.value FROM read_xrefs x JOIN read_records r ON r.number = x.record "
            "ORDER BY x.rowid"
        )
        known: Counter[str] = Counter()
        links = []
        for link in map(MappedIds._make, rows):
            referred = vocabulary_of(link.xref)
            known[referred] += 1
            if referred in self._merge_xrefs:
                links.append(link)
        missing = self._merge_xrefs.difference(known)
        if missing:
            most = ", ".join(f"{vocabulary} ({n:,})" for vocabulary, n in known.most_common(_MAX_SHOWN)) or "nothing"
            raise SapbertError(Errors.E108.format(missing=", ".join(sorted(missing)), known=most))
        kept, n_others = one_to_one(links)
        self.counts += Counter({"cross-references that merge nothing, as they are not one to one": n_others})
        return kept

    def _find(self, concept_id: str) -> list[int]:
        self._place_records()
        return [row for (row,) in self._db.execute("SELECT concept FROM ids WHERE id = ?", (concept_id,))]

    # --- from what was read to the store

    def _fill_tables(self) -> tuple[int, int]:
        """Return the numbers of concepts and of unique names."""
        self._flush()
        rows = self._db.execute("SELECT number, text FROM read_names ORDER BY text, number")
        _define(self._db, "name", _Numbering(_firsts(rows, self._n_names)))
        n_names = self._db.execute(f"INSERT INTO names {_NAMES}").rowcount
        n_concepts = self._db.execute(f"INSERT INTO concepts {_CONCEPTS}").rowcount
        later = self._db.execute(_LATER_DEFINITIONS)
        self._db.executemany("UPDATE concepts SET definition = coalesce(definition, ?) WHERE row = ?", later)
        for table in ("types", "parents", "xrefs"):
            sql = f"SELECT DISTINCT concept_row(record), value FROM read_{table} ORDER BY 1, 2"
            self._db.execute(f"INSERT INTO {table} {sql}")
        self._db.execute(f"INSERT INTO synonyms {_SYNONYMS}")
        return n_concepts, n_names


@contextmanager
def new_knowledge_base(
    path: Path, equivalents: Equivalents | None = None, merge_xrefs: Collection[str] = ()
) -> Iterator[KnowledgeBaseBuilder]:
    """Open a builder; the file appears at `path` when the block ends without an error.

    Args:
        equivalents: ids that stand for one concept; their records are merged.
        merge_xrefs: vocabularies, by their prefixes ("UMLS", "MESH", "OMIM"), to which a cross-reference merges as
            well, where it is one to one (see `kb.mapping.one_to_one`). Two concepts that refer to the same id are
            merged even if no record has it.

    Raises:
        SapbertError: E104 the folder cannot be written to, the disk is full, or there is a folder at `path`; E109 the
            builder was not finished.
    """
    path = Path(path)
    with ExitStack() as stack:
        try:
            if path.is_dir():
                raise IsADirectoryError("it is a folder")
            folder = stack.enter_context(_workplace(path))
        except OSError as error:
            raise SapbertError(Errors.E104.format(path=path, reason=error)) from error
        try:
            with closing(_connect(folder / _FILE)) as connection:
                builder = KnowledgeBaseBuilder(connection, equivalents or Equivalents(), merge_xrefs)
                yield builder
                connection.execute("COMMIT")
        except sqlite3.OperationalError as error:  # above all a full disk
            raise SapbertError(Errors.E104.format(path=path, reason=error)) from error
        if not builder.is_finished:
            raise SapbertError(Errors.E109.format(path=path))
        (folder / _FILE).replace(path)


def build_knowledge_base(records: Iterable[Record], path: Path, meta: dict[str, Any] | None = None) -> KnowledgeBase:
    """Write records into a new store.

    Args:
        records: as `read_vocabulary` gives them; a concept may come in several.
        path: of the new file, which appears when it is complete.
        meta: JSON values to keep with it: sources, licence, settings.

    Returns:
        the store, opened.
    """
    with new_knowledge_base(path) as builder:
        for record in records:
            builder.add(record)
        builder.finish(meta or {})
    return KnowledgeBase(path)


# --- the temporary file


@contextmanager
def _workplace(path: Path) -> Iterator[Path]:
    """Make a folder beside the store; it is locked until the block ends or the process has died, and then removed.

    What builds of the same store left behind when they were killed is removed first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for other in path.parent.glob(f".{escape(path.name)}.*.tmp"):
        if (other / _FILE).exists():  # else it may belong to a build that is about to lock it
            with suppress(Timeout, OSError), FileLock(other / "lock", timeout=0):
                shutil.rmtree(other, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        with FileLock(folder / "lock"):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _connect(path: Path) -> sqlite3.Connection:
    """Open a new file with empty tables, in one transaction that has no way back: what fails is thrown away."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA temp_store = FILE")
    for database in ("main", "temp"):
        connection.execute(f"PRAGMA {database}.cache_size = -{_CACHE_KIB}")
    connection.executescript(f"{SCHEMA} {_READ} BEGIN")
    return connection


# --- contents


def _define(db: sqlite3.Connection, of: str, numbering: _Numbering) -> None:
    """Let SQL ask for the row of what was read, and whether it is the first of its equals."""
    db.create_function(f"{of}_row", 1, numbering.rows.item, deterministic=True)
    db.create_function(f"is_new_{of}", 1, numbering.is_new.item, deterministic=True)


def _firsts(rows: Iterable[tuple[int, str]], n: int) -> np.ndarray:
    """
    Args:
        rows: numbers below n and texts, sorted by text, then by number.

    Returns:
        int32, shape (n,): for each number the first one with the same text.
    """
    firsts = np.empty(n, dtype=np.int32)
    first, previous = 0, None
    for number, text in rows:
        if text != previous:
            first, previous = number, text
        firsts[number] = first
    return firsts


def _write_arrays(db: sqlite3.Connection, n_concepts: int) -> None:
    rows = db.execute(
        "SELECT name, concept, sum(annotations) FROM synonyms GROUP BY name, concept ORDER BY name, concept"
    )
    matching_entries = np.fromiter(rows, dtype=[("names", "<i4"), ("concepts", "<i4"), ("annotations", "<i4")])
    of_concepts = db.execute("SELECT preferred FROM concepts ORDER BY row")
    preferred = np.fromiter((row[0] for row in of_concepts), dtype=np.int32, count=n_concepts)
    arrays = {name: matching_entries[name] for name in matching_entries.dtype.names or ()}
    arrays["preferred"] = preferred[matching_entries["concepts"]] == matching_entries["names"]
    for name, dtype in ARRAYS.items():
        db.execute("INSERT INTO arrays VALUES (?, ?)", (name, arrays[name].astype(dtype).tobytes()))


def _write_totals(db: sqlite3.Connection) -> None:
    for of, column, table in (("types", "type", "types"), ("sources", "source", "synonyms")):
        db.execute(f"INSERT INTO totals SELECT ?, {column}, count(*) FROM {table} GROUP BY {column} ORDER BY 2", (of,))


def fingerprint(db: sqlite3.Connection) -> str:
    """Return a hash of all that a store holds, but for what it says of itself."""
    digest = hashlib.sha256()
    for table in ("concepts", "ids", "types", "parents", "xrefs", "names", "synonyms"):
        digest.update(table.encode())
        order = "1, 2, 3" if table == "synonyms" else "1, 2"
        rows = db.execute(f"SELECT * FROM {table} ORDER BY {order}")
        while block := rows.fetchmany(_ROWS_AT_ONCE):
            digest.update(repr(block).encode("utf8"))
    return digest.hexdigest()


def _is_unicode(*texts: str) -> bool:
    """Whether texts can be stored: escapes in JSON can make half a surrogate pair, which is no Unicode text."""
    try:
        "".join(texts).encode("utf8")
    except UnicodeEncodeError:
        return False
    return True


def _marks(row: tuple[Any, ...]) -> str:
    return ",".join("?" * len(row))
