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
from .database import file_uri
from .knowledge_base import KnowledgeBase

_PREPARE = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")


def _list(column: str, rows: str) -> str:
    """Return a SQL expression for all values of a column, as one JSON array."""
    return f"(SELECT json_group_array(value) FROM (SELECT DISTINCT {column} AS value FROM {rows} ORDER BY 1))"


def _concepts(side: str, where: str, columns: str = "") -> str:
    """Return a query for concepts of one file, with all their names."""
    names = _list("m.text", f"{side}.synonyms s JOIN {side}.names m ON m.row = s.name WHERE s.concept = c.row")
    return (
        f'SELECT c.id, n.text AS name, {columns}{names} AS "names[]" FROM {side}.concepts c '
        f"JOIN {side}.names n ON n.row = c.preferred WHERE {where} ORDER BY c.id"
    )


def _concept_ids(side: str, pairs: str) -> str:
    return _list("c.id", f"{pairs} p JOIN {side}.concepts c ON c.row = p.concept WHERE p.name = m.{side}")


def _unmoved_names(side: str, pairs: str, joined: int) -> str:
    """Return a query for names that a continuing concept lost or gained and that did not move."""
    return (
        f"SELECT c.id, n.text, {joined} AS joined FROM {pairs} p JOIN {side}.concepts c ON c.row = p.concept "
        f"JOIN {side}.names n ON n.row = p.name WHERE p.concept IN (SELECT {side} FROM follows) "
        f"AND p.name NOT IN (SELECT {side} FROM moved_names)"
    )


def _difference(value: str, mark: str = "") -> str:
    """Return a query for concepts with the same id that differ in a value. In `value`, `{side}` stands for the file."""
    old, new = value.format(side="old"), value.format(side="new")
    return (
        f'SELECT c.id, {old} AS "old{mark}", {new} AS "new{mark}" FROM follows f JOIN old.concepts c ON c.row = f.old '
        f"WHERE f.same_id AND {old} IS NOT {new} ORDER BY c.id"
    )


_SPLIT_FROM = _list("o.id", "old.ids i JOIN old.concepts o ON o.row = i.concept WHERE i.id = c.id")
_INTO = _list("t.id", "follows f JOIN new.concepts t ON t.row = f.new WHERE f.old = c.row")
_OF_CONCEPT = "{{side}}.{} WHERE concept = f.{{side}}"
_PREFERRED = "(SELECT n.text FROM {side}.concepts t JOIN {side}.names n ON n.row = t.preferred WHERE t.row = f.{side})"

# Each query creates one table. Columns with names that end in [] hold JSON arrays.
_CHANGES = {
    "concept_added": _concepts("new", "c.row NOT IN (SELECT new FROM follows)", f'{_SPLIT_FROM} AS "split_from[]", '),
    "concept_removed": _concepts("old", "c.row NOT IN (SELECT old FROM follows)"),
    "concept_merged": _concepts(
        "old", "c.row IN (SELECT old FROM follows WHERE NOT same_id)", f'{_INTO} AS "into[]", '
    ),
    "preferred_name": _difference(_PREFERRED),
    "names": 'SELECT id, json_group_array(text) FILTER (WHERE joined) AS "added[]", '
    'json_group_array(text) FILTER (WHERE NOT joined) AS "removed[]" '
    f"FROM ({_unmoved_names('new', 'joined_names', 1)} UNION ALL {_unmoved_names('old', 'left_names', 0)}) "
    "GROUP BY id ORDER BY id",
    "name_moved": f'SELECT n.text AS name, {_concept_ids("old", "left_names")} AS "from[]", '
    f'{_concept_ids("new", "joined_names")} AS "to[]" '
    "FROM moved_names m JOIN old.names n ON n.row = m.old ORDER BY n.text",
    "alternative_ids": _difference(_list("id", _OF_CONCEPT.format("ids") + " AND id != c.id"), "[]"),
    "types": _difference(_list("type", _OF_CONCEPT.format("types")), "[]"),
    "definition": _difference("(SELECT definition FROM {side}.concepts WHERE row = f.{side})"),
    "parents": _difference(_list("parent", _OF_CONCEPT.format("parents")), "[]"),
    "xrefs": _difference(_list("trim(xref || ' ' || predicate)", _OF_CONCEPT.format("xrefs")), "[]"),
}


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
