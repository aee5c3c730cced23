"""Build a knowledge base: records and annotated mentions in, one SQLite file out.

The input is first written, as it comes, into tables that SQLite keeps in temporary files. Sorting them then gives the
tables of the file, each written once and in its own order. So memory does not grow with the vocabulary, except for a
few bytes per name. On disk, a build needs less than twice the size of the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CannotWriteError, EmptyError, MismatchError, Warnings
from ..files.output import is_special, temporary_folder
from ..files.values import read_sections
from ..types import Name, Record
from .database import FORMAT, IDS, NAME_CONCEPTS, TIE_RANKS
from .ids import MESH_RECORDS, SUPPLEMENTARY, some_ids
from .knowledge_base import KnowledgeBase
from .mapping import (
    EXACT,
    Equivalents,
    MappedIds,
    NamedRecord,
    merge,
    one_to_one,
    shared_names,
    vocabulary,
    vocabulary_of,
)
from .stop_names import StopNameRules
from .stop_names import stop_names as find_stop_names

DEFAULT_RULES = StopNameRules()
_SQL = read_sections(Path(__file__).with_suffix(".sql"))

_FILE = "kb"  # name of the file in the temporary folder
# in KiB; SQLite sorts as much in memory before it uses the disk
_CACHES = ("main.cache_size = -131072", "temp.cache_size = -131072")
_ROWS_AT_ONCE = 10_000
_MAX_SHOWN = 20
_SAME = ("", *sorted(EXACT))  # predicates of cross-references that can merge concepts
_MANY = 0.1  # of the names of a translation; with more unknown ones, it may be of another release


class _Numbering:
    """Assigns rows to input items. Equal items share a row, and rows follow the order of those that stand for them.

    Args:
        firsts (int32, shape (n,)): For each item, the number of the item that stands for its equals, mostly the first.

    Attributes:
        is_new (bool, shape (n,)): Whether an item stands for its equals.
        rows (int32, shape (n,)): Row of each item.
    """

    def __init__(self, firsts: np.ndarray) -> None:
        self.is_new = firsts == np.arange(len(firsts), dtype=np.int32)
        self.rows = (np.cumsum(self.is_new, dtype=np.int32) - 1)[firsts]

    def in_row(self, row: int) -> list[int]:
        """Return the numbers of the items in a row, in order."""
        # the type of `rows`, else numpy would convert all of `rows`
        bounds = np.array([row, row + 1], dtype=self.rows.dtype)
        start, end = np.searchsorted(self.rows, bounds, sorter=self._by_row)
        numbers: list[int] = self._by_row[start:end].tolist()
        return numbers

    @cached_property
    def leads(self) -> np.ndarray:
        """The number of the item that stands for each row: int64, shape (rows,)."""
        return np.flatnonzero(self.is_new)

    @cached_property
    def _by_row(self) -> np.ndarray:
        return np.argsort(self.rows, kind="stable")


class KnowledgeBaseBuilder:
    """Fills a new knowledge base: add records first, then mentions, then call `finish`.

    Records with the same primary id become one concept. So do records with ids that are equal by `equivalents`,
    `merge_xrefs` or `merge_sources` (see `new_knowledge_base`). The first record gives the primary id and the preferred
    name. The first one with a definition gives the definition. The ids of the others become alternative ids.
    Alternative ids alone merge nothing, since several concepts of a source may share one.

    A supplementary record of MeSH becomes part of the descriptor that replaced it: the only one of its source with the
    same preferred name, but for case. They share a type, or have none. It counts as if it came after the descriptor.

    Attributes:
        counts: What happened to the records, by the labels of `kb build`. Complete after `finish`.
        is_finished: Whether `finish` was called.
        n_concepts, n_names, n_stop_names: What the knowledge base has, after `finish`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        equivalents: Equivalents | None,
        merge_xrefs: Collection[str] = (),
        merge_sources: bool = False,
    ) -> None:
        self._db = connection
        self._equivalents = equivalents
        self._merge_xrefs = set(map(vocabulary, merge_xrefs))
        self._merge_sources = merge_sources
        self._buffer: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self._n_records = 0
        self._n_read_names = 0
        self._concepts: _Numbering | None = None
        self._by_class: defaultdict[str, set[int]] | None = None
        self.is_finished = False
        self.counts: Counter[str] = Counter()
        self.n_concepts = self.n_names = self.n_stop_names = 0

    def add(self, record: Record) -> None:
        """Add a concept, or add the content of the record to an existing concept."""
        if self._concepts is not None:
            raise RuntimeError("records are added before mentions")
        names = list(filter(self._is_storable, record.names))
        if not names:
            self.counts["concepts without a name"] += 1
            return
        lists = {"ids": record.alternative_ids, "types": record.types, "parents": record.parents}
        number, self._n_records = self._n_records, self._n_records + 1
        self._buffer["records"].append((number, record.concept_id, self._n_read_names, record.definition))
        for table, values in lists.items():
            self._buffer[table] += [(number, value) for value in values]
        predicates = dict.fromkeys(record.xrefs, "")
        for xref, predicate in record.xref_predicates:
            predicates.pop(xref, None)
            self._buffer["xrefs"].append((number, xref, predicate))
        self._buffer["xrefs"] += [(number, *xref) for xref in predicates.items()]
        for name in names:
            self._add_name(number, name)

    def add_translation(self, records: Iterable[Record], path: Path) -> str | None:
        """Add the names of records to the concepts with their ids. No more records can be added after.

        An id may be a primary, an alternative or an equivalent id of a concept. If several concepts have it, the names
        are left out.

        Args:
            records: The translated names. They may be of another release than the concepts.
            path: Their file, for messages.

        Returns:
            A warning if many names belong to no concept, else None.

        Raises:
            MismatchError: No id is known.
        """
        total = unknown = 0
        examples: list[str] = []
        for record in records:
            concepts = self._find_concepts(record.concept_id) or self._find_equivalent(record.concept_id)
            names = list(filter(self._is_storable, record.names))
            total += len(record.names)
            if not concepts:
                self.counts["translations of unknown concepts"] += len(names)
                unknown += len(record.names)
                examples += [record.concept_id] if len(examples) < _MAX_SHOWN else []
            elif len(concepts) > 1:
                self.counts["translations whose id belongs to several concepts"] += len(names)
            else:
                self.counts["translations added"] += len(names)
                for name in names:
                    self.add_annotations(concepts[0], name, 0)
        if total and unknown == total:
            reason = f"no other source has the concepts of its {total:,} names, such as {some_ids(examples)}"
            remedy = "Compare the ids. With `add_unknown: true` in a recipe, such concepts are taken, too."
            raise MismatchError(path=path, reason=reason, remedy=remedy)
        return Warnings.W576.format(unknown=unknown, total=total, path=path) if unknown > _MANY * total else None

    def add_mention(self, concept_id: str, name: Name) -> None:
        """Add a name to every concept with this primary or alternative id, and count one annotation of it."""
        if not self._is_storable(name):
            return
        concepts = self._find_concepts(concept_id)
        for concept in concepts:
            self.add_annotations(concept, name, 1)
        self.counts["mentions added" if concepts else "mentions whose id is not in the vocabulary"] += 1

    def add_annotations(self, concept: int, name: Name, annotations: int) -> None:
        """Add a name with a number of annotations to the concept in a row of the new file."""
        self._add_name(int(self._place_records().leads[concept]), name, annotations)

    def names_of(self, concept_id: str) -> list[str]:
        """Return all names so far of the concepts with this primary or alternative id."""
        concepts = self._find_concepts(concept_id)
        self._flush()
        self._db.execute("CREATE INDEX IF NOT EXISTS names_by_record ON read_names (record)")
        sql = "SELECT number, text FROM read_names WHERE record = ?"
        records = [record for concept in concepts for record in self._place_records().in_row(concept)]
        names = sorted(row for record in records for row in self._db.execute(sql, (record,)))
        return list(dict.fromkeys(text for _, text in names))

    def finish(self, meta: dict[str, Any], stop_names: StopNameRules = DEFAULT_RULES) -> None:
        """Write the tables and the metadata.

        Args:
            meta: JSON values. `counts` are added under the key "built", and `stop_names` under this key.
            stop_names: Which names must not be found in text.

        Raises:
            EmptyError: There is no concept, or no cross-reference leads to a vocabulary of `merge_xrefs`.
        """
        if not self._n_records:
            remedy = "Look at the counts of dropped rows, and check that the format fits the file."
            raise EmptyError(what="concept in the sources", consequence="no knowledge base was written", remedy=remedy)
        self._place_records()
        self._fill_tables()
        for statement in _SQL["indexes"].split(";"):
            self._db.execute(statement)
        self._db.executemany("INSERT INTO arrays VALUES (?, ?)", compute_arrays(self._db, self.n_concepts).items())
        self._db.execute(f"INSERT INTO totals {_SQL['totals']}")
        inserted = self._db.executemany("INSERT INTO stop_names VALUES (?, ?)", find_stop_names(self._db, stop_names))
        self.n_stop_names = max(0, inserted.rowcount)
        self.counts += Counter()  # removes zeros
        meta = {
            **meta,
            "concepts": self.n_concepts,
            "names": self.n_names,
            "built": dict(self.counts),
            "stop_names": stop_names.as_json(),
            "format": FORMAT,
            "fingerprint": fingerprint(self._db),
        }
        for key, value in sorted(meta.items()):
            self._db.execute("INSERT INTO meta VALUES (?, ?)", (key, json.dumps(value, sort_keys=True)))
        self.is_finished = True

    # --- input

    def _is_storable(self, name: Name) -> bool:
        is_empty = not name.text.strip()
        self.counts["empty names"] += is_empty
        return not is_empty

    def _add_name(self, record: int, name: Name, annotations: int = 0) -> None:
        self._buffer["names"].append((self._n_read_names, record, *name, annotations))
        self._n_read_names += 1
        if self._n_read_names % _ROWS_AT_ONCE == 0:
            self._flush()

    def _flush(self) -> None:
        for table, rows in self._buffer.items():
            if rows:
                self._db.executemany(f"INSERT INTO read_{table} VALUES ({','.join('?' * len(rows[0]))})", rows)
                rows.clear()

    # --- from records to concepts

    def _place_records(self) -> _Numbering:
        """After the last record, decide which records are one concept, and write the ids of the concepts."""
        if self._concepts is None:
            self._flush()
            self._concepts = _Numbering(self._first_records())
            _define(self._db, "concept", self._concepts)
            self._db.execute(f"INSERT INTO ids {_SQL['ids']}")
        return self._concepts

    def _first_records(self) -> np.ndarray:
        """Return, for each record, the record that stands for its concept: int32, shape (records,)."""
        replaced = self._merge_replaced()
        rows = self._db.execute("SELECT number, id FROM read_records ORDER BY id, number IN replaced, number")
        firsts = _firsts(rows, self._n_records)
        own = np.arange(len(firsts), dtype=np.int32)
        self.counts["records merged into an earlier one"] += int(np.count_nonzero(firsts != own)) - len(replaced)
        if not (self._equivalents or self._merge_xrefs or self._merge_sources):
            return firsts
        rows = self._db.execute("SELECT id, min(number) FROM read_records WHERE number NOT IN replaced GROUP BY id")
        between = self._xrefs_to_records() + self._shared_names() if self._merge_sources else []
        leads, n_joined = merge(rows, self._equivalents or Equivalents(), replaced + self._merging_xrefs(), between)
        for number, lead in leads.items():
            own[number] = lead
        n_merged = sum(lead != number for number, lead in leads.items())
        self.counts["concepts merged into an earlier one by mappings"] += n_merged
        self.counts["concepts joined by a later record"] += n_joined
        return own[firsts]

    def _merge_replaced(self) -> list[MappedIds]:
        """Give the replaced records of MeSH the id of their descriptor. Return them with their old id and this one."""
        if not self._db.execute(f"INSERT INTO pairs {_SQL['pairs']}", MESH_RECORDS).rowcount:
            return []
        self._db.execute("CREATE INDEX IF NOT EXISTS types_by_record ON read_types (record)")
        for statement in _SQL["replaced"].split(";"):
            self._db.execute(statement)
        pairs = self._db.execute("SELECT record, id, descriptor FROM pairs ORDER BY record")
        replaced = list(map(MappedIds._make, pairs))
        self.counts["supplementary records merged into their descriptors"] += len(replaced)
        return replaced

    def _xrefs(self) -> Iterator[MappedIds]:
        """Yield the cross-references to the same concept."""
        rows = self._db.execute(
            "SELECT r.number, r.id, x.value FROM read_xrefs x JOIN read_records r ON r.number = x.record "
            f"WHERE lower(x.predicate) IN ({','.join('?' * len(_SAME))}) ORDER BY x.rowid",
            _SAME,
        )
        return map(MappedIds._make, rows)

    def _xrefs_to_records(self) -> list[MappedIds]:
        """Return the one-to-one cross-references to records of other vocabularies, by an id that only one has."""
        targets = dict(self._db.execute(_SQL["xref targets"]))
        vocabularies = set(map(vocabulary_of, targets))
        links = (link for link in self._xrefs() if vocabulary_of(link.xref) in vocabularies)
        paired, _ = one_to_one(link for link in links if vocabulary_of(link.concept_id) != vocabulary_of(link.xref))
        return [link._replace(xref=targets[link.xref]) for link in paired if link.xref in targets]

    def _shared_names(self) -> list[MappedIds]:
        """Return the pairs of records of different sources with the same preferred name."""
        self._db.execute("CREATE INDEX IF NOT EXISTS types_by_record ON read_types (record)")
        rows = groupby(self._db.execute(_SQL["shared names"]), key=itemgetter(0))
        return [*chain.from_iterable(shared_names([NamedRecord(*row) for _, *row in of_name]) for _, of_name in rows)]

    def _merging_xrefs(self) -> list[MappedIds]:
        """Return the cross-references that merge concepts."""
        if not self._merge_xrefs:
            return []
        known: Counter[str] = Counter()
        links = []
        for link in self._xrefs():
            referred = vocabulary_of(link.xref)
            known[referred] += 1
            if referred in self._merge_xrefs:
                links.append(link)
        missing = self._merge_xrefs.difference(known)
        if missing:
            most = ", ".join(f"{vocabulary} ({n:,})" for vocabulary, n in known.most_common(_MAX_SHOWN)) or "nothing"
            what = f"cross-reference to {', '.join(sorted(missing))}"
            remedy = f"The cross-references refer to: {most}. Check the prefix."
            raise EmptyError(what=what, consequence="no concepts would be merged", remedy=remedy)
        paired, n_others = one_to_one(links)
        self.counts["cross-references that merge nothing, as they are not one to one"] += n_others
        return paired

    def _find_concepts(self, concept_id: str) -> list[int]:
        self._place_records()
        return [row for (row,) in self._db.execute("SELECT concept FROM ids WHERE id = ?", (concept_id,))]

    def _find_equivalent(self, concept_id: str) -> list[int]:
        """Return the concepts with an id that the mappings make equal to this one."""
        if not self._equivalents or concept_id not in self._equivalents:
            return []
        if self._by_class is None:
            self._by_class = defaultdict(set)
            for known, concept in self._db.execute("SELECT id, concept FROM ids"):
                if known in self._equivalents:
                    self._by_class[self._equivalents.find(known)].add(concept)
        return sorted(self._by_class.get(self._equivalents.find(concept_id), ()))

    # --- from the input to the file

    def _fill_tables(self) -> None:
        self._flush()
        rows = self._db.execute("SELECT number, text FROM read_names ORDER BY text, number")
        _define(self._db, "name", _Numbering(_firsts(rows, self._n_read_names)))
        self.n_names = self._db.execute(f"INSERT INTO names {_SQL['names']}").rowcount
        self.n_concepts = self._db.execute(f"INSERT INTO concepts {_SQL['concepts']}").rowcount
        later = self._db.execute(_SQL["later definitions"])
        self._db.executemany("UPDATE concepts SET definition = coalesce(definition, ?) WHERE row = ?", later)
        for table in ("types", "parents"):
            sql = f"SELECT DISTINCT concept_row(record), value FROM read_{table} ORDER BY 1, 2"
            self._db.execute(f"INSERT INTO {table} {sql}")
        self._db.execute(f"INSERT INTO xrefs {_SQL['xrefs']}")
        self._db.execute(f"INSERT INTO synonyms {_SQL['synonyms']}")
        self._db.executemany(_SQL["prefer"], self._db.execute(_SQL["later preferred"]))


@contextmanager
def new_knowledge_base(
    path: Path,
    equivalents: Equivalents | None = None,
    merge_xrefs: Collection[str] = (),
    merge_sources: bool = False,
) -> Iterator[KnowledgeBaseBuilder]:
    """Open a builder. The file appears at `path` when the `with` block ends without an error.

    Args:
        equivalents: Ids that stand for one concept. Their records are merged.
        merge_xrefs: Prefixes of vocabularies ("UMLS", "MESH", "OMIM"). A one-to-one cross-reference to one of them
            merges concepts as well (see `kb.mapping.one_to_one`). Two concepts that refer to the same id are merged
            even if no record has that id.
        merge_sources: Merge records of different vocabularies, too, if a one-to-one cross-reference of one names the
            other, or if they have the same preferred name (see `kb.mapping.shared_names`).

    Raises:
        CannotWriteError: The folder is not writable, the disk is full, or `path` is a folder.
        RuntimeError: `finish` was not called.
    """
    path = Path(path)
    remedy = (
        "Choose another place, or make room on the disk. Temporary files can be as large as the knowledge base. To "
        "move them, set the environment variable SQLITE_TMPDIR to another folder."
    )
    with ExitStack() as stack:
        try:
            if is_special(path):
                raise OSError("it is a folder, a device or a pipe")
            path = Path(os.path.realpath(path))  # a symbolic link keeps pointing to the file
            path.parent.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(temporary_folder(path))
        except OSError as error:
            raise CannotWriteError(path=path, reason=error, remedy=remedy) from error
        try:
            with closing(sqlite3.connect(folder / _FILE, isolation_level=None)) as connection:
                # one transaction without rollback: the file of a failed build is deleted
                for pragma in ("journal_mode = OFF", "temp_store = FILE", *_CACHES):
                    connection.execute(f"PRAGMA {pragma}")
                connection.executescript(f"{_SQL['tables']} BEGIN")
                builder = KnowledgeBaseBuilder(connection, equivalents, merge_xrefs, merge_sources)
                yield builder
                connection.execute("COMMIT")
        except sqlite3.OperationalError as error:  # usually a full disk
            raise CannotWriteError(path=path, reason=error, remedy=remedy) from error
        if not builder.is_finished:
            raise RuntimeError("`finish` was not called, so the knowledge base was not written")
        (folder / _FILE).replace(path)


def build_knowledge_base(
    records: Iterable[Record], path: Path, meta: dict[str, Any] | None = None, stop_names: StopNameRules = DEFAULT_RULES
) -> KnowledgeBase:
    """Write records into a new knowledge base.

    Args:
        records: Records as `read_vocabulary` yields them. Several records may belong to one concept.
        path: The new file. It appears when it is complete.
        meta: JSON values to keep as metadata: sources, license, settings.
        stop_names: Which names must not be found in text.
    """
    with new_knowledge_base(path) as builder:
        for record in records:
            builder.add(record)
        builder.finish(meta or {}, stop_names)
    return KnowledgeBase(path)


# --- contents


def _define(db: sqlite3.Connection, item: str, numbering: _Numbering) -> None:
    """Define SQL functions that return the row of an item, and whether the item is the first of its equals."""
    db.create_function(f"{item}_row", 1, numbering.rows.item, deterministic=True)
    db.create_function(f"is_new_{item}", 1, numbering.is_new.item, deterministic=True)


def _firsts(rows: Iterable[tuple[int, str]], n: int) -> np.ndarray:
    """Return for each number below n the first one with the same text, int32, shape (n,).

    The rows are numbers and texts, sorted by text.
    """
    firsts = np.empty(n, dtype=np.int32)
    first, previous = 0, None
    for number, text in rows:
        if text != previous:
            first, previous = number, text
        firsts[number] = first
    return firsts


def compute_arrays(db: sqlite3.Connection, n_concepts: int) -> dict[str, bytes]:
    """Return all arrays of a knowledge base by name, little-endian."""

    def numbers(sql: str, *values: Any) -> np.ndarray:
        return np.fromiter(chain.from_iterable(db.execute(sql, values)), dtype=np.int32)

    rows = db.execute(
        "SELECT name, concept, sum(annotations) FROM synonyms GROUP BY name, concept ORDER BY name, concept"
    )
    entries = np.fromiter(rows, dtype=[("names", "<i4"), ("concepts", "<i4"), ("annotations", "<i4")])
    names, concepts, annotations = entries["names"], entries["concepts"], entries["annotations"]
    preferred = numbers("SELECT preferred FROM concepts ORDER BY row")[concepts] == names
    # tie ranks: by id, then the number of names, then that of annotations, then main before supplementary records
    by_id = np.empty(n_concepts, dtype=np.int32)
    by_id[numbers("SELECT row FROM concepts ORDER BY id")] = np.arange(n_concepts)
    forms = " OR ".join(["id GLOB ?"] * len(SUPPLEMENTARY))
    supplementary = np.zeros(n_concepts, dtype=bool)
    supplementary[numbers(f"SELECT row FROM concepts WHERE {forms}", *SUPPLEMENTARY)] = True
    annotated = np.bincount(concepts, weights=annotations, minlength=n_concepts)
    tie_ranks = _ranks(by_id, -np.bincount(concepts, minlength=n_concepts), -annotated, supplementary)
    ranks = _ranks(tie_ranks[concepts], ~preferred, -annotations)
    ids = np.array([id.encode() for (id,) in db.execute("SELECT id FROM concepts ORDER BY row")], dtype=np.bytes_)
    arrays = {"names": names, "concepts": concepts, "preferred": preferred, "annotations": annotations, "ranks": ranks}
    data = {name: arrays[name].astype(dtype).tobytes() for name, dtype in NAME_CONCEPTS.items()}
    return {**data, TIE_RANKS: tie_ranks.astype("<i4").tobytes(), IDS: ids.tobytes()}


def _ranks(*keys: np.ndarray) -> np.ndarray:
    """Return the rank of each position by several keys, the last of which counts first, int32."""
    ranks = np.empty(len(keys[0]), dtype=np.int32)
    ranks[np.lexsort(keys)] = np.arange(len(keys[0]))
    return ranks


def fingerprint(db: sqlite3.Connection) -> str:
    """Return a hash of the whole content, without the metadata."""
    digest = hashlib.sha256()
    for table in ("concepts", "ids", "types", "parents", "xrefs", "names", "synonyms", "stop_names"):
        digest.update(table.encode())
        order = {"synonyms": "1, 2, 3, 4", "xrefs": "1, 2, 3"}.get(table, "1, 2")
        rows = db.execute(f"SELECT * FROM {table} ORDER BY {order}")
        while block := rows.fetchmany(_ROWS_AT_ONCE):
            digest.update(repr(block).encode("utf8"))
    return digest.hexdigest()
