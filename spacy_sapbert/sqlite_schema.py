"""Compare the schema of a SQLite file with the one that it should have.

A schema can hold triggers, views, virtual tables and expressions, which SQLite runs. So a file of somebody else must
have exactly our schema.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import cache

Schema = dict[tuple[str, str], str]
"""The SQL of each object by its kind and name, without comments."""

SCHEMA_QUERY = "SELECT type, name, sql FROM sqlite_master ORDER BY rowid"

_OF_ANALYZE = "CREATE TABLE sqlite_stat"


def schema_of(rows: Iterable[tuple[object, object, object]]) -> Schema:
    """Return the schema of a file.

    What SQLite makes by itself is left out: indexes without SQL, and the tables of ANALYZE. Their SQL shows this. Their
    names do not, since a changed file can list a trigger as any table.

    Args:
        rows: What `SCHEMA_QUERY` finds.
    """
    return {
        (str(kind), str(name)): _without_comments(str(sql))
        for kind, name, sql in rows
        if sql is not None and not str(sql).startswith(_OF_ANALYZE)
    }


@cache
def schema_of_script(script: str) -> Schema:
    """Return the schema that a script of SQL makes."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        return schema_of(connection.execute(SCHEMA_QUERY))


def schema_problem(found: Schema, wanted: Schema) -> str:
    """Return what is wrong with a schema, or an empty text."""
    for (kind, name), sql in wanted.items():
        if (kind, name) not in found:
            others = [other for other, same in found if same == name]
            return f"{name} is a {others[0]}, not a {kind}" if others else f"no such {kind}: {name}"
        if found[kind, name] != sql:
            return f"the {kind} {name} has another form"
    return next((f"it has a {kind} {name}" for kind, name in found if (kind, name) not in wanted), "")


def _without_comments(sql: str) -> str:
    return " ".join(" ".join(line.partition("--")[0] for line in sql.split("\n")).split())
