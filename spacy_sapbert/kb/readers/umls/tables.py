"""Read the tables of a UMLS release row by row, and walk sorted tables in parallel by concept."""

from __future__ import annotations

import codecs
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

from ....errors import Errors, SapbertError
from ..context import ReaderContext
from .packed import RrfPart

Row = tuple[int, list[bytes]]
"""The line of a row, counted across all parts, and its undecoded cells."""

COLUMNS = {"MRCONSO": 18, "MRSTY": 6, "MRDEF": 8, "MRREL": 16, "MRRANK": 4, "RXNCUI": 5}


class RrfTable:
    """A table of a release.

    Attributes:
        label: Name of the file, for reports.
        path (Path): Path of the file. For a table in parts, their common folder with the name of the whole table.
        n_rows (int): Rows read so far, including broken and skipped rows.
        n_broken (int): Broken rows among them.
        files: For each part read to its end, its path below the release, size and checksum.
    """

    def __init__(self, name: str, parts: tuple[RrfPart, ...], context: ReaderContext, label: str = "") -> None:
        self.label = label or name
        self.path = parts[0].place if len(parts) == 1 else parts[0].place.with_name(f"{self.label}.RRF")
        self.n_rows = 0
        self.n_broken = 0
        self.files: dict[str, dict[str, Any]] = {}
        self._parts = parts
        self._width = COLUMNS[name]
        self._context = replace(context, path=self.path)

    @property
    def size(self) -> int:
        """Size of all parts in bytes, as packed."""
        return sum(part.size for part in self._parts)

    def rows(self, wanted: Callable[[bytes], object] | None = None) -> Iterator[Row]:
        """Yield the rows. Broken rows are reported.

        Args:
            wanted: Returns whether a line must be parsed. If None, every line is.
        """
        for number, line in enumerate(self._lines(), start=1):
            self.n_rows += 1
            if wanted and not wanted(line):
                continue
            cells = line.split(b"|")
            if len(cells) == self._width + 1:
                yield number, cells
            elif not line.strip():
                self.n_rows -= 1
            else:
                cut_off = "" if line.endswith(b"\n") else ", and the file ends there"
                self.broken(number, f"{len(cells) - 1} columns instead of {self._width}{cut_off}")

    def by_concept(self, sort: bool = False) -> Iterator[Row]:
        """Yield the rows in the order of their first cells, the CUIs.

        Args:
            sort: Sort the rows. If not set, they must already be in this order.
        """
        return _sort_by_cui(self._rows_with_cui(any_order=True)) if sort else self._rows_with_cui(any_order=False)

    def broken(self, line: int, reason: str) -> None:
        """Report a broken row."""
        self._context.broken(line, reason)
        self.n_broken += 1

    def decode(self, line: int, cell: bytes) -> str | None:
        """Return a cell as text. If it cannot be decoded, report a broken row and return None."""
        try:
            return cell.decode(self._context.encoding)
        except UnicodeDecodeError as error:
            self.broken(line, f"this is not {self._context.encoding} ({error.reason})")
            return None

    def _rows_with_cui(self, any_order: bool) -> Iterator[Row]:
        previous = b""
        for row in self.rows():
            cui = row[1][0]
            if not cui or cui != previous:
                if not cui.isalnum():
                    self.broken(row[0], "no CUI")
                    continue
                if cui < previous and not any_order:
                    cuis = {"cui": cui.decode(), "previous": previous.decode()}
                    raise SapbertError(Errors.E145.format(path=self.path, line=row[0], **cuis))
                previous = cui
            yield row

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines. A line that is cut between two parts is joined."""
        incomplete = b""
        for part in self._parts:
            digest = hashlib.sha256()

            def watch(block: bytes, digest: Any = digest) -> None:
                digest.update(block)
                self._context.report.bytes_read += len(block)

            with part.open(watch) as file:
                for line in file:
                    if incomplete:
                        line, incomplete = incomplete + line, b""
                    if line.endswith(b"\n"):
                        yield line.removeprefix(codecs.BOM_UTF8)
                    else:
                        incomplete = line
            name = "/".join([part.path.name, *part.members])
            self.files[name] = {"file": name, "bytes": part.size, "sha256": digest.hexdigest()}
        if incomplete:
            yield incomplete


class ByConcept:
    """The rows of a sorted table, read concept by concept in parallel with another table.

    Attributes:
        n_unknown (int): Rows of concepts that were never requested.
    """

    def __init__(self, rows: Iterator[Row]) -> None:
        self.n_unknown = 0
        self._rows = rows
        self._next = next(rows, None)

    def take(self, cui: bytes) -> list[Row]:
        """Return the rows of a concept. Concepts must be requested in their order."""
        while self._next and self._next[1][0] < cui:
            self.n_unknown += 1
            self._next = next(self._rows, None)
        taken = []
        while self._next and self._next[1][0] == cui:
            taken.append(self._next)
            self._next = next(self._rows, None)
        return taken

    def finish(self) -> None:
        """Read the table to its end."""
        while self._next:
            self.n_unknown += 1
            self._next = next(self._rows, None)


def temporary_database() -> sqlite3.Connection:
    """Return a database in a temporary file, which is deleted on close."""
    database = sqlite3.connect("", isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
        database.execute(f"PRAGMA {pragma}")
    return database


def _sort_by_cui(rows: Iterator[Row]) -> Iterator[Row]:
    with closing(temporary_database()) as database:
        database.execute("CREATE TABLE rows (cui BLOB, line INTEGER, row BLOB)")
        database.execute("BEGIN")
        lines = ((cells[0], number, b"|".join(cells)) for number, cells in rows)
        database.executemany("INSERT INTO rows VALUES (?, ?, ?)", lines)
        for number, row in database.execute("SELECT line, row FROM rows ORDER BY cui, line"):
            yield number, row.split(b"|")
