"""PostgreSQL: addresses without passwords, one transaction for each use, and named errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from ..errors import CannotReadError, CannotWriteError, Errors, SapbertError, SettingError, requiring

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMA = "spacy_sapbert"
"""The default schema."""
PATIENCE = "10s"
"""How long to wait for the lock of another program."""
KEY = "PGPASSWORD, or write the password into the file ~/.pgpass"
"""Where libpq finds a password. It is never a setting, so it is never saved or shown."""
_HOST = r"(?:\[[^\]@/?#]*\]|[^@/:?#,\[\]]*)(?::\d+)?"
_USER, _DATABASE, _SETTINGS, _SCHEMA = (
    "(?:[^@/:?#]+:?@)?",
    "(?:/[^@?#]*)?",
    r"(?:\?(?P<settings>[^#]*))?",
    "(?:#[^@]*)?",
)
_ADDRESS = re.compile(f"postgres(?:ql)?://{_USER}{_HOST}(?:,{_HOST})*{_DATABASE}{_SETTINGS}{_SCHEMA}")
_BEGIN = """
SELECT set_config('search_path', quote_ident(%s) || ', ' || current_setting('search_path'), true),
    set_config('lock_timeout', %s, true)
"""


def is_postgres(address: object) -> bool:
    """Return whether an address is that of a PostgreSQL database."""
    return str(address).startswith(("postgresql://", "postgres://"))


def check_address(address: object) -> None:
    """Refuse an address of PostgreSQL with a password, since addresses are saved and shown.

    Raises:
        SettingError: The address has a password, or cannot be read. The message does not show it.
    """
    match = _ADDRESS.fullmatch(str(address))
    secret = not match or {"password", "sslpassword"}.intersection(dict(parse_qsl(match["settings"] or "")))
    if is_postgres(address) and secret:
        wanted = f"postgresql://USER@HOST/DATABASE without a password; set the environment variable {KEY}"
        raise SettingError(setting="address", component="a database", value="not like this", wanted=wanted)


class Database:
    """A schema of a database. Each process connects at the first use.

    Args:
        address: `postgresql://USER@HOST/DATABASE` as libpq reads it, optionally with # and the name of a schema.
        schema: The schema if the address has none.

    Raises:
        SettingError: See `check_address`.
    """

    def __init__(self, address: str, schema: str = SCHEMA) -> None:
        self.location, _, given = address.partition("#")
        self.schema = given or schema
        check_address(address)
        self._idle: dict[int, list[Connection[Any]]] = {}  # by process, since a child must not use those of its parent

    def __str__(self) -> str:
        return f"{self.location}#{self.schema}"

    @contextmanager
    def transaction(self) -> Iterator[Connection[Any]]:
        """Give a connection with a transaction: all of it is written, or nothing. Tables are those of the schema.

        Raises:
            CannotWriteError: The server has no room, no permission, or another program keeps a lock.
            CannotReadError: A table is missing, or a query has an error.
            SapbertError: E325 the server cannot be reached, or reports another error.
        """
        with requiring("postgres", "A PostgreSQL database"):
            import psycopg
        try:
            idle = self._idle.setdefault(os.getpid(), [])
            connection = self._connection(idle)
            try:
                with connection.transaction():
                    connection.execute(_BEGIN, [self.schema, PATIENCE])
                    yield connection
            finally:
                if not connection.closed:
                    idle.append(connection)
        except (psycopg.Error, UnicodeEncodeError) as error:  # half of a surrogate pair
            raise self._named(error) from error

    def has(self, connection: Connection[Any], table: str) -> bool:
        """Return whether the schema has a table."""
        query = "SELECT to_regclass(quote_ident(%s) || '.' || quote_ident(%s))"
        return connection.execute(query, [self.schema, table]).fetchone() != (None,)

    def create(self, connection: Connection[Any]) -> None:
        """Make the schema if it does not exist. No other program makes tables in it before the transaction ends."""
        from psycopg import sql

        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self.schema])
        if connection.execute("SELECT to_regnamespace(quote_ident(%s))", [self.schema]).fetchone() == (None,):
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.schema)))

    def _connection(self, idle: list[Connection[Any]]) -> Connection[Any]:
        """Return an idle connection that still works, or a new one."""
        import psycopg

        with suppress(IndexError):
            while True:
                connection = idle.pop()
                try:
                    connection.execute("SELECT 1")
                    return connection
                except psycopg.OperationalError:  # such as after a restart of the server
                    connection.close()
        connection = psycopg.connect(
            self.location, autocommit=True, prepare_threshold=None, fallback_application_name="spacy-sapbert"
        )
        # with a lock, a query sees what others wrote before, also where the server has another default
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        return connection

    def _named(self, error: Exception) -> SapbertError:
        """Return the error of this package for one of psycopg."""
        import psycopg

        state = getattr(error, "sqlstate", None) or ""
        primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        reason = " ".join((primary or str(error)).split())  # the details of an error can have the text of a note
        remedy = ""
        if state.startswith(("22", "23")) or (not state and isinstance(error, (psycopg.DataError, UnicodeEncodeError))):
            remedy = "Remove what the database cannot store."
        elif state in ("42501", "25006", "55P03"):  # no permission, read-only, locked by another program
            remedy = "Ask for the permission, or try again when no other program writes."
        elif state.startswith("53") and state != "53300":  # disk, memory and other limits, but not that of connections
            remedy = "Make room on the server, or raise its limit."
        if remedy:
            return CannotWriteError(f"Nothing was changed. {remedy}", path=self, reason=reason)
        if state.startswith(("42", "3F")):  # the table or the column is missing, or the query has an error
            return CannotReadError("Check the query, and the schema after # in the address.", path=self, reason=reason)
        return SapbertError(Errors.E325.format(address=self, reason=reason, key=KEY))
