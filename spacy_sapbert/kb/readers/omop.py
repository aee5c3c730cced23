"""Read the vocabulary tables of the OMOP Common Data Model: from PostgreSQL, or the files of a download from Athena.

The tables are `concept`, `concept_synonym` and `concept_relationship`. Files go into a temporary database, so memory
does not grow with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from ...errors import NotFoundError
from ...files.opening import reading, sha256_of, without_gz
from ...files.postgres import Database
from ...files.values import read_sections
from ...types import Record
from .context import ReaderContext
from .rrf import temporary_database

_CONCEPT = ("concept_id", "concept_name", "domain_id", "vocabulary_id", "concept_code", "standard_concept")
_TABLES = {
    "concept": (*_CONCEPT, "invalid_reason"),
    "concept_synonym": ("concept_id", "concept_synonym_name", "language_concept_id"),
    "concept_relationship": ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason"),
}
_NUMBERS = {"concept_id", "concept_id_1", "concept_id_2", "language_concept_id"}
_RELATIONSHIPS = ("Is a", "Maps to")
_CONCEPT_ROW, _SYNONYM, _PARENT, _RETIRED = range(4)  # what a row is, in its second column
_ROWS = read_sections(Path(__file__).with_suffix(".sql"))["rows"]
_TAGS = {"English": "en", "German": "de", "Spanish": "es", "French": "fr", "Italian": "it"}
_TAGS |= {"Portuguese": "pt", "Dutch": "nl", "Swedish": "sv", "Polish": "pl", "Czech": "cs"}
_AT_ONCE = 10_000
_REMEDY = "Give the folder of the download, which has CONCEPT.csv."


def read_omop(context: ReaderContext, *, database: str | None = None, standard: bool = True) -> Iterator[Record]:
    """Read the valid concepts. The id is that of the vocabulary, such as SNOMEDCT:22298006. Another id is OMOP:312327.

    The domain is the type, and the vocabulary the source of the names. A concept that was retired gives its ids to the
    concept of the same vocabulary that it maps to.

    Args:
        context: The folder of a download, or the path of its CONCEPT.csv.
        database: The address of a database that has the tables instead, see `files.postgres.Database`.
        standard: Whether to read standard concepts only.

    Yields:
        One record for each concept, in the order of the concept_id.
    """
    condition = "AND standard_concept = 'S'" if standard else ""
    with _in_database(context, database) if database else _in_files(context) as execute:
        for _, group in groupby(execute(_ROWS % condition), key=lambda row: row[0]):
            yield from _record(context, [tuple("" if cell is None else cell for cell in row) for row in group])


def _record(context: ReaderContext, rows: Sequence[tuple[Any, ...]]) -> Iterator[Record]:
    """Yield the record of a concept, from its rows and those that refer to it."""
    concept_id, kind, name, domain, vocabulary, _ = rows[0]
    if kind != _CONCEPT_ROW:
        return  # it is not read
    context = replace(context, source=vocabulary)
    context.report.rows_read += 1
    retired = [row for row in rows if row[1] == _RETIRED]
    others = [f"OMOP:{concept_id}", *(_code(row) for row in retired), *(f"OMOP:{row[2]}" for row in retired)]
    parents = [_code(row) for row in rows if row[1] == _PARENT]
    synonyms = (row for row in rows if row[1] == _SYNONYM and row[2] != name)
    names = [
        (name, "preferred", ""),
        *((row[2], "exact", _TAGS.get(str(row[3]).split(" ")[0], "")) for row in synonyms),
    ]
    yield from context.record(
        concept_id, _code(rows[0]), names, alternative_ids=others, types=[domain], parents=parents
    )


def _code(row: tuple[Any, ...]) -> str:
    return f"{row[4].replace(' ', '_')}:{row[5]}"


@contextmanager
def _in_database(context: ReaderContext, address: str) -> Iterator[Any]:
    """Give a function that executes a query in a database of the user."""
    database = Database(address, "public")
    with database.transaction() as connection:
        connection.execute("SET TRANSACTION READ ONLY")
        cursor = connection.cursor(name="concepts")  # it stays on the server, which sends some rows at once
        cursor.itersize = _AT_ONCE
        context.report.origins[context.path] = {"database": str(database)}
        yield cursor.execute


@contextmanager
def _in_files(context: ReaderContext) -> Iterator[Any]:
    """Give a function that executes a query on the tables of a download."""
    with reading(context.path):
        context.path.stat()  # raises an error if there is no such file
        folder = context.path if context.path.is_dir() else context.path.parent
        files = {without_gz(path).name.lower(): path for path in sorted(folder.iterdir())}
    manifests = []
    with closing(temporary_database()) as database:
        for table, columns in _TABLES.items():
            path = files.get(f"{table}.csv")
            if path is None:
                raise NotFoundError(_REMEDY, what=f"{table.upper()}.csv in {folder}")
            kinds = (f"{column} {'INTEGER' if column in _NUMBERS else 'TEXT'}" for column in columns)
            database.execute(f"CREATE TABLE {table} ({', '.join(kinds)})")
            database.execute("BEGIN")
            insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})"
            database.executemany(insert, _cells(replace(context, path=path), columns))
            database.execute("COMMIT")
            manifests.append({"file": path.name, "sha256": sha256_of(path)})
        database.execute("CREATE INDEX by_id ON concept (concept_id)")
        context.report.origins[context.path] = {"files": manifests}
        yield database.execute


def _cells(context: ReaderContext, columns: Sequence[str]) -> Iterator[list[str]]:
    """Yield the needed cells of each row of a table."""
    for _, row in context.table("\t", quoted=False, needed=columns):
        context.report.rows_read -= 1  # concepts are counted when they are made
        if row.get("relationship_id", _RELATIONSHIPS[0]) in _RELATIONSHIPS:
            yield [row[column] for column in columns]
