"""Corrections in one SQLite file, which several windows may write at once, or in PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import CannotReadError, CannotWriteError, DamagedError, NewerVersionError, SapbertError
from ..files.postgres import Database, is_postgres
from ..text.languages import ENGLISH, LanguageRules
from ..types import Document
from .corrections import Correction, Decisions, ProposedLink, document_key

FORMAT = 1
APPLICATION_ID = 0x73617043  # in the header of the file, so that no other database is taken for corrections
PATIENCE = 10.0
"""Seconds to wait for another window that writes."""
SECRET_BYTES = 18
_AT_ONCE = 500  # documents in memory
SCHEMA = Path(__file__).with_name("corrections.sql").read_text(encoding="utf-8")
_COLUMNS = ", ".join(f'"{name}"' for name in Correction._fields)
INSERT = f"INSERT INTO corrections ({_COLUMNS}, undone) VALUES ({', '.join('?' * len(Correction._fields))}, '')"
_LINK_COLUMNS = ", ".join(f'"{name}"' for name in ProposedLink._fields)
_INSERT_LINK = f"INSERT INTO links ({_LINK_COLUMNS}) VALUES ({', '.join('?' * len(ProposedLink._fields))})"
_OTHER_FILE = "Give a file that `spacy-sapbert review` made. If it is damaged, restore it from a copy."
_NOT_WRITTEN = (
    "Nothing was changed. Check that you may write the file, that the disk has space, and that no program locks it."
)
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


class CorrectionsFile:
    """A file of corrections. Each write is complete at once, and survives the end of the process.

    Nothing is deleted: an undone correction stays in the file, with the time when it was undone.

    Args:
        create: Whether to make the file if it does not exist.

    Raises:
        CannotReadError, DamagedError, NewerVersionError: The file cannot be read, or is not one of corrections.
    """

    def __init__(self, path: Path | str, *, create: bool = False) -> None:
        self.path = Path(path)
        if create and (not self.path.exists() or self.path.stat().st_size == 0):
            with self._writing() as db:
                self._make(db)
        with self._reading():
            pass  # checks the file

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address})"

    # --- writing

    def check_writable(self) -> None:
        """Check that corrections can be written, before long work."""
        with self._writing() as db:
            db.execute("UPDATE secret SET value = value")

    def add(self, corrections: Iterable[Correction], *, state: tuple[int, int] | None = None) -> list[int]:
        """Write corrections, all or none. Those without a date get the present time.

        Args:
            state: The `state` on which the corrections rest. If others wrote since, nothing is written.

        Returns:
            Their numbers; none if others wrote since.

        Raises:
            SettingError: A correction has an impossible value.
            CannotWriteError: The file cannot be written.
        """
        dated = [correction if correction.date else correction._replace(date=_now()) for correction in corrections]
        for correction in dated:
            correction.check()
        rows = [_row(correction) for correction in dated]
        with self._writing() as db:  # the look and the write, so that nobody writes between them
            return [] if state and state != self._state(db) else [self._insert(db, row) for row in rows]

    def undo(self, number: int) -> bool:
        """Undo a correction. Returns whether there was one with this number that was not undone before."""
        with self._writing() as db:
            update = "UPDATE corrections SET undone = ? WHERE id = ? AND undone = ''"
            return db.execute(update, (_now(), number)).rowcount == 1

    def add_documents(self, documents: Iterable[tuple[str, str]], corpus: str) -> list[str]:
        """Write the documents of a corpus, pairs of an id and a text, and return their keys. Known documents stay."""
        rows = [(document_key(text), doc_id, text) for doc_id, text in documents]
        keys = [key for key, _, _ in rows]
        with self._writing() as db:
            db.executemany("INSERT INTO documents VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)
            db.executemany("INSERT INTO corpora VALUES (?, ?) ON CONFLICT DO NOTHING", [(key, corpus) for key in keys])
        return keys

    def set_links(self, documents: Iterable[str], links: Iterable[ProposedLink]) -> None:
        """Write what a pipeline made of the mentions of documents, instead of what is known of these documents, by
        their keys.
        """
        last = {(link.document, link.start, link.end, link.label): link for link in links}
        with self._writing() as db:
            db.executemany("DELETE FROM links WHERE document = ?", [(key,) for key in documents])
            db.executemany(_INSERT_LINK, list(map(_row, last.values())))

    def claim(self, text: str, window: str, seconds: float) -> bool:
        """Return whether a window may show a text, since no other machine shows it. This holds for some seconds."""
        return True

    # --- reading

    def corrections(self) -> dict[int, Correction]:
        """Return the corrections that were not undone, by number, in the order in which they were made."""
        query = f"SELECT id, {_COLUMNS} FROM corrections WHERE undone = '' ORDER BY id"
        with self._reading() as db:
            return {number: Correction(**_values(Correction, row)) for number, *row in db.execute(query)}

    def documents(self) -> Iterator[Document]:
        """Yield the documents, sorted by key. Others may write to the file meanwhile."""
        query = f"SELECT key, doc_id, text FROM documents WHERE key > ? ORDER BY key LIMIT {_AT_ONCE}"
        batch = [("", "", "")]
        while batch:
            with self._reading() as db:
                batch = db.execute(query, [batch[-1][0]]).fetchall()
            yield from (Document(doc_id, text) for _, doc_id, text in batch)

    def links(self) -> Iterator[ProposedLink]:
        """Yield what a pipeline made of the mentions, sorted by document and place."""
        query = f'SELECT {_LINK_COLUMNS} FROM links ORDER BY document, start, "end", label'
        with self._reading() as db:
            for row in db.execute(query):
                yield ProposedLink(**_values(ProposedLink, row))

    def corpora(self) -> dict[str, list[str]]:
        """Return the corpora that each document is in, by its key."""
        corpora: dict[str, list[str]] = {}
        for document, corpus in self._corpora():
            corpora.setdefault(document, []).append(corpus)
        return corpora

    def decisions(self, rules: LanguageRules = ENGLISH) -> Decisions:
        """Return what the corrections decide in texts of a language."""
        return Decisions(self.corrections().values(), self.corpora(), rules)

    @property
    def state(self) -> tuple[int, int]:
        """Two counts that change with every correction and every undo, so that another window's are noticed."""
        with self._reading() as db:
            return self._state(db)

    @staticmethod
    def _state(db: Any) -> tuple[int, int]:
        made, left = db.execute("SELECT count(*), count(*) FILTER (WHERE undone = '') FROM corrections").fetchone()
        return made, left

    @property
    def secret(self) -> str:
        """A random text that only readers of the file know. It protects the page for reviews."""
        with self._reading() as db:
            (secret,) = db.execute("SELECT value FROM secret").fetchone()
        return str(secret)

    @property
    def fingerprint(self) -> str:
        """A hash of what the corrections decide."""
        content = json.dumps([list(self.corrections().values()), self._corpora()])
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def copy(self, path: Path, corrections: Iterable[Correction] | None = None) -> CorrectionsFile:
        """Write what the corrections decide to a new file, without the texts of the documents, and return that file.

        Others can take the place of the corrections.
        """
        new = CorrectionsFile(path, create=True)
        new.add(self.corrections().values() if corrections is None else corrections)
        with new._writing() as db:
            db.executemany("INSERT INTO corpora VALUES (?, ?)", self._corpora())
        return new

    def _corpora(self) -> list[tuple[str, str]]:
        """Return the pairs of a document and a corpus that it is in."""
        with self._reading() as db:
            return list(db.execute("SELECT document, corpus FROM corpora ORDER BY document, corpus"))

    # --- the file

    @property
    def address(self) -> str:
        """The value of the setting `corrections`."""
        return str(self.path.absolute())

    @staticmethod
    def _insert(db: Any, row: list[Any]) -> int:
        return int(db.execute(INSERT, row).lastrowid or 0)

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        try:
            # autocommit mode, so that BEGIN IMMEDIATE takes the lock before anything is read
            with closing(sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)) as db:
                db.execute("PRAGMA synchronous = FULL")
                db.execute("PRAGMA trusted_schema = OFF")
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield db
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:  # a huge number, half of a surrogate pair
            raise CannotWriteError(_NOT_WRITTEN, path=self.path, reason=error) from error

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        if not self.path.exists():
            raise CannotReadError(path=self.path, reason="there is no such file")
        try:
            # not "ro", with which SQLite cannot take back what a killed window left unfinished
            address = f"{self.path.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE)) as db:
                db.execute("PRAGMA trusted_schema = OFF")
                db.execute("PRAGMA query_only = ON")
                self._check(db)
                yield db
        except SapbertError:
            raise
        except sqlite3.OperationalError as error:  # such as a lock of another program
            raise CannotReadError(path=self.path, reason=error) from error
        except (sqlite3.Error, ValueError, TypeError) as error:  # values that this package cannot have written
            raise DamagedError(_OTHER_FILE, path=self.path, reason=error) from error

    def _check(self, db: sqlite3.Connection) -> None:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            raise DamagedError(_OTHER_FILE, path=self.path, reason="it is not a file of corrections")
        if version != FORMAT:
            raise NewerVersionError(path=self.path, found=version, known=FORMAT)

    @staticmethod
    def _make(db: sqlite3.Connection) -> None:
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            return  # another window was faster
        for statement in filter(str.strip, SCHEMA.split(";")):
            db.execute(statement)
        db.execute("INSERT INTO secret VALUES (?)", (secrets.token_urlsafe(SECRET_BYTES),))
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {FORMAT}")


def _row(value: Correction | ProposedLink) -> list[Any]:
    return list({**value._asdict(), "concept_ids": json.dumps(value.concept_ids)}.values())


def _values(kind: type[Correction] | type[ProposedLink], row: Iterable[Any]) -> dict[str, Any]:
    values = dict(zip(kind._fields, row, strict=True))
    return {**values, "concept_ids": tuple(json.loads(values["concept_ids"]))}


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- PostgreSQL


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
