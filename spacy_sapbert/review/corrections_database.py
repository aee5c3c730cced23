"""Corrections in PostgreSQL, which reviewers on several machines write at once."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import CannotReadError, NewerVersionError
from ..files.postgres import Database, is_postgres
from .corrections_file import FORMAT, INSERT, SCHEMA, SECRET_BYTES, CorrectionsFile

_SCHEMA = f"""
{SCHEMA.replace(" WITHOUT ROWID", "").replace("REAL", "double precision")}
CREATE TABLE corrections_format (version integer NOT NULL);
CREATE TABLE claims (text text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL);
""".replace("id INTEGER PRIMARY KEY", "id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY")
_CLAIM = """
INSERT INTO claims VALUES (%s, %s, now() + %s * interval '1 second') ON CONFLICT (text) DO UPDATE
SET holder = excluded.holder, until = excluded.until WHERE claims.holder = excluded.holder OR claims.until < now()
"""
_MISSING = "Check the address. `spacy-sapbert review` with these --corrections makes them."


def open_corrections(address: Path | str, *, create: bool = False) -> CorrectionsFile:
    """Open corrections at a path or at an address of PostgreSQL. See `CorrectionsFile` and `CorrectionsDatabase`."""
    if is_postgres(address):
        return CorrectionsDatabase(str(address), create=create)
    return CorrectionsFile(address, create=create)


class CorrectionsDatabase(CorrectionsFile):
    """Corrections in a schema of a database. Writers wait for each other, and readers see what is complete.

    Args:
        address: See `files.postgres.Database`.
        create: Whether to make the tables if they do not exist.

    Raises:
        SapbertError: See `Database.transaction`.
        CannotReadError, NewerVersionError: There are no corrections, or a newer version wrote them.
    """

    def __init__(self, address: str, *, create: bool = False) -> None:
        self._database = Database(address)
        if create:
            with self._database.transaction() as connection:
                self._database.create(connection)
                if not self._database.has(connection, "corrections_format"):
                    connection.execute(_SCHEMA)
                    connection.execute("INSERT INTO corrections_format VALUES (%s)", [FORMAT])
                    connection.execute("INSERT INTO secret VALUES (%s)", [secrets.token_urlsafe(SECRET_BYTES)])
        with self._reading():
            pass  # checks the tables

    @property
    def address(self) -> str:
        return str(self._database)

    def claim(self, text: str, window: str, seconds: float) -> bool:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM claims WHERE holder = %s AND text <> %s", [window, text])
            return connection.execute(_CLAIM, [text, window, seconds]).rowcount == 1

    @staticmethod
    def _insert(db: Any, row: list[Any]) -> int:
        return int(db.execute(f"{INSERT} RETURNING id", row).fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with self._database.transaction() as connection:
            connection.execute("LOCK TABLE corrections IN SHARE ROW EXCLUSIVE MODE")
            yield _Translated(connection)

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        with self._database.transaction() as connection:
            connection.execute("SET TRANSACTION READ ONLY")
            if not self._database.has(connection, "corrections_format"):
                raise CannotReadError(_MISSING, path=self.address, reason="it has no corrections")
            (version,) = connection.execute("SELECT version FROM corrections_format").fetchone() or (0,)
            if version != FORMAT:
                raise NewerVersionError(path=self.address, found=version, known=FORMAT)
            yield _Translated(connection)


class _Translated:
    """A connection that takes the SQL of SQLite, with ? for a parameter."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, query: str, parameters: Iterable[Any] = ()) -> Any:
        return self._connection.execute(query.replace("?", "%s"), list(parameters))

    def executemany(self, query: str, rows: Iterable[Iterable[Any]]) -> None:
        self._connection.cursor().executemany(query.replace("?", "%s"), rows)
