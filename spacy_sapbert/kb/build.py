"""Writing a `ConceptStore`: records and annotated mentions in, one SQLite file out."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import Errors, SapbertError
from ..types import Name, Record
from .store import FORMAT, SCHEMA, ConceptStore


class StoreBuilder:
    """Fills a new store. Records with the same primary id become one concept.

    counts (Counter[str]): what happened to the records, by what `kb build` calls it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._n_concepts = 0
        self._n_names = 0
        self.counts: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        """Add a concept, or what the record adds to a concept that is there already."""
        names = tuple(name for name in record.names if self._is_storable(name))
        if not names:
            self.counts["concepts without a name"] += 1
            return
        others = (record.concept_id, *record.alternative_ids, *record.types, record.definition or "", *record.parents)
        if not _is_unicode(*others):
            self.counts["records of broken Unicode"] += 1
            return
        record = record._replace(names=names)
        concept = self._concept(record)
        for name in record.names:
            self._own(concept, name)
        self._insert("ids", ((alternative, concept) for alternative in record.alternative_ids))
        self._insert("types", ((concept, type_) for type_ in record.types))
        self._insert("parents", ((concept, parent) for parent in record.parents))

    def add_mention(self, concept_id: str, name: Name) -> None:
        """Add a name, annotated once more, to every concept with this primary or alternative id."""
        if not self._is_storable(name):
            return
        concepts = [row[0] for row in self._db.execute("SELECT concept FROM ids WHERE id = ?", (concept_id,))]
        for concept in concepts:
            self._own(concept, name, annotations=1)
        self.counts["mentions added" if concepts else "mentions whose id is not in the vocabulary"] += 1

    def names_of(self, concept_id: str) -> list[str]:
        """RETURNS (list[str]): all names so far of the concepts with this primary or alternative id."""
        rows = self._db.execute(
            "SELECT DISTINCT n.text FROM ids i JOIN synonyms s ON s.concept = i.concept JOIN names n ON n.row = s.name "
            "WHERE i.id = ? ORDER BY n.row",
            (concept_id,),
        )
        return [text for (text,) in rows]

    def finish(self, meta: dict[str, Any]) -> None:
        """Write what the store says of itself.

        RAISES (SapbertError): E105 there is no concept in it.
        """
        if not self._n_concepts:
            raise SapbertError(Errors.E105)
        counts = {"concepts": self._n_concepts, "names": self._n_names}
        meta = {**meta, **counts, "format": FORMAT, "fingerprint": _fingerprint(self._db)}
        self._insert("meta", sorted((key, json.dumps(value, sort_keys=True)) for key, value in meta.items()))

    def _concept(self, record: Record) -> int:
        found = self._db.execute("SELECT row FROM concepts WHERE id = ?", (record.concept_id,)).fetchone()
        if found:
            self.counts["records merged into an earlier one"] += 1
            sql = "UPDATE concepts SET definition = coalesce(definition, ?) WHERE row = ?"
            self._db.execute(sql, (record.definition, found[0]))
            return int(found[0])
        row, self._n_concepts = self._n_concepts, self._n_concepts + 1
        preferred = self._name(record.names[0].text)
        self._insert("concepts", [(row, record.concept_id, preferred, record.definition)])
        self._insert("ids", [(record.concept_id, row)])
        return row

    def _own(self, concept: int, name: Name, annotations: int = 0) -> None:
        self._db.execute(
            "INSERT INTO synonyms VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET annotations = annotations + excluded.annotations",
            (self._name(name.text), concept, name.source, name.scope, annotations),
        )

    def _name(self, text: str) -> int:
        found = self._db.execute("SELECT row FROM names WHERE text = ?", (text,)).fetchone()
        if found:
            return int(found[0])
        row, self._n_names = self._n_names, self._n_names + 1
        self._insert("names", [(row, text)])
        return row

    def _is_storable(self, name: Name) -> bool:
        if not name.text.strip():
            self.counts["empty names"] += 1
        elif not _is_unicode(*name):
            self.counts["names of broken Unicode"] += 1
        else:
            return True
        return False

    def _insert(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        for row in rows:
            self._db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({','.join('?' * len(row))})", row)


@contextmanager
def new_store(path: Path) -> Iterator[StoreBuilder]:
    """Open a builder; the file appears at `path` when the block ends without an error.

    RAISES (SapbertError): E104 the folder cannot be written to, or there is a folder at `path`.
    """
    if path.is_dir():
        raise SapbertError(Errors.E104.format(path=path, reason="it is a folder"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise SapbertError(Errors.E104.format(path=path, reason=error)) from error
    os.close(handle)
    connection = sqlite3.connect(temporary, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.executescript(SCHEMA)
        connection.execute("BEGIN")
        yield StoreBuilder(connection)
        connection.execute("COMMIT")
        connection.execute("VACUUM")
        connection.close()
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except sqlite3.OperationalError as error:  # above all a full disk
        raise SapbertError(Errors.E104.format(path=path, reason=error)) from error
    finally:
        connection.close()
        Path(temporary).unlink(missing_ok=True)


def build_store(records: Iterable[Record], path: Path, meta: dict[str, Any] | None = None) -> ConceptStore:
    """Write records into a new store.

    meta (dict[str, Any] | None): JSON values to keep with it: sources, licence, settings.
    RETURNS (ConceptStore): the store, opened.
    """
    with new_store(path) as builder:
        for record in records:
            builder.add(record)
        builder.finish(meta or {})
    return ConceptStore(path)


def _fingerprint(db: sqlite3.Connection) -> str:
    digest = hashlib.sha256()
    for table in ("concepts", "ids", "types", "parents", "names", "synonyms"):
        digest.update(table.encode())
        order = "1, 2, 3" if table == "synonyms" else "1, 2"
        for row in db.execute(f"SELECT * FROM {table} ORDER BY {order}"):
            digest.update(repr(row).encode("utf8"))
    return digest.hexdigest()


def _is_unicode(*texts: str) -> bool:
    """Whether texts can be stored: escapes in JSON can make half a surrogate pair, which is no Unicode text."""
    try:
        "".join(texts).encode("utf8")
    except UnicodeEncodeError:
        return False
    return True


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
