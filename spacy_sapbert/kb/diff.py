"""Compare two versions of a vocabulary: concepts and names that were added, removed, merged or changed.

SQLite does the work in a temporary database, since knowledge bases hold millions of names. Python reads only the
differences, row by row.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..errors import CannotReadError
from ..files.values import read_sections
from .database import file_uri
from .knowledge_base import KnowledgeBase

_CHANGES = read_sections(Path(__file__).with_suffix(".sql"))
"""The queries of the changes, by kind."""
_PREPARE = _CHANGES.pop("prepare")


class KnowledgeBaseDiff:
    """The changes from one knowledge base to another. `compare` creates it."""

    def __init__(self, connection: sqlite3.Connection, old: KnowledgeBase, new: KnowledgeBase) -> None:
        self._db = connection
        self._old, self._new = old, new

    def summary(self) -> dict[str, Any]:
        """Count the changes.

        The keys of the result are:

        - "old", "new": path, counts and fingerprint of each file.
        - "same_content": whether both have the same fingerprint.
        - "concepts": numbers of concepts. "kept": the id is in both. "added" and "removed": the id is in one only.
          "merged": the old id is now an alternative id of another concept. "new_ids": a new id took over a merged
          concept. "split_from_others": added concepts with an id that was an alternative id of another concept.
        - "names": "added" and "removed" in concepts that continue. "moved" from one concept to another, each name
          counted once. "of_added_concepts" and "of_removed_concepts".
        - "changed": kept concepts that differ in preferred name, alternative ids, types, definition, parents or xrefs.
        """
        changed = ("preferred_name", "alternative_ids", "types", "definition", "parents", "xrefs")
        return {
            "old": _identity(self._old),
            "new": _identity(self._new),
            "same_content": self._old.fingerprint == self._new.fingerprint,
            "concepts": {
                "kept": self._count("SELECT 1 FROM follows WHERE same_id"),
                **{kind: self._count(f"SELECT 1 FROM concept_{kind}") for kind in ("added", "removed", "merged")},
                "new_ids": self._count("SELECT 1 FROM follows GROUP BY new HAVING max(same_id) = 0"),
                "split_from_others": self._count('SELECT 1 FROM concept_added WHERE "split_from[]" != json_array()'),
            },
            "names": {
                "added": self._total("names", "added"),
                "removed": self._total("names", "removed"),
                "moved": self._count("SELECT 1 FROM name_moved"),
                "of_added_concepts": self._total("concept_added", "names"),
                "of_removed_concepts": self._total("concept_removed", "names"),
            },
            "changed": {kind: self._count(f"SELECT 1 FROM {kind}") for kind in changed},
        }

    def changes(self) -> Iterator[dict[str, Any]]:
        """Yield the changes one by one, as JSON values, sorted by kind and id. The key "change" holds the kind.

        - concept_added, concept_removed, concept_merged: "id", (preferred) "name" and "names". "split_from" and "into"
          hold ids.
        - names: the names "added" to and "removed" from the concept "id", which continues.
        - name_moved: a name that left the concepts "from" and joined the concepts "to".
        - preferred_name, alternative_ids, types, definition, parents, xrefs: the "old" and the "new" value of the
          concept "id". The predicate of a cross-reference follows its id.
        """
        for kind in _CHANGES:
            rows = self._db.execute(f"SELECT * FROM {kind} ORDER BY rowid")
            columns = [column for column, *_ in rows.description]
            for row in rows:
                yield {"change": kind, **dict(map(_decode_cell, columns, row))}

    def _count(self, sql: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM ({sql})").fetchone()[0])

    def _total(self, table: str, column: str) -> int:
        """Return the total number of values in the arrays of a column."""
        sql = f'SELECT coalesce(sum(json_array_length("{column}[]")), 0) FROM {table}'
        return int(self._db.execute(sql).fetchone()[0])


@contextmanager
def compare(old: KnowledgeBase, new: KnowledgeBase) -> Iterator[KnowledgeBaseDiff]:
    """Compare two knowledge bases. Concepts correspond if their primary ids are equal.

    Yields:
        The changes. They can be read only inside the `with` block.

    Raises:
        CannotReadError: SQLite cannot finish, usually because there is no room for temporary files.
    """
    try:
        # a database without a name is a temporary file, which SQLite deletes with the connection
        with closing(sqlite3.connect("", uri=True, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA trusted_schema = OFF")
            for side, kb in (("old", old), ("new", new)):
                connection.execute(f"ATTACH ? AS {side}", (file_uri(kb.path),))
            connection.executescript(_PREPARE)
            for kind, sql in _CHANGES.items():
                connection.execute(f"CREATE TABLE main.{kind} AS {sql}")
            yield KnowledgeBaseDiff(connection, old, new)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        remedy = (
            "Check both with `spacy-sapbert kb check`. If there is no room for temporary files, set the environment "
            "variable SQLITE_TMPDIR to another folder."
        )
        raise CannotReadError(path=f"{old.path} and {new.path}", reason=error, remedy=remedy) from error


def _identity(kb: KnowledgeBase) -> dict[str, Any]:
    counts = {"concepts": len(kb), "names": kb.n_names}
    return {"kb": str(kb.path), **counts, "fingerprint": kb.fingerprint}


def _decode_cell(column: str, value: Any) -> tuple[str, Any]:
    return (column[:-2], sorted(json.loads(value))) if column.endswith("[]") else (column, value)
