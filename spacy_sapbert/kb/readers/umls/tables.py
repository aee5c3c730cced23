"""Rows of the tables of a UMLS release, and tables that are read side by side, concept by concept."""

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
"""The line where a row stands, counted through all parts, and its cells, not decoded."""

COLUMNS = {"MRCONSO": 18, "MRSTY": 6, "MRDEF": 8, "MRREL": 16, "MRRANK": 4}


class RrfTable:
    """A table of a release.

    Attributes:
        path (Path): where it lies; of parts, the place that they have in common, with the name of the whole.
        n_rows (int): rows read so far, also the broken ones and those not looked at.
        n_broken (int): the broken ones of them.
        files: of each part read to its end, its place below the release, size and checksum.
    """

    def __init__(self, name: str, parts: tuple[RrfPart, ...], context: ReaderContext) -> None:
        self.path = parts[0].place if len(parts) == 1 else parts[0].place.with_name(f"{name}.RRF")
        self.n_rows = 0
        self.n_broken = 0
        self.files: dict[str, dict[str, Any]] = {}
        self._parts = parts
        self._width = COLUMNS[name]
        self._reading = replace(context, path=self.path)

    @property
    def size(self) -> int:
        """Bytes of all parts, as packed."""
        return sum(part.size for part in self._parts)

    def rows(self, wanted: Callable[[bytes], object] | None = None) -> Iterator[Row]:
        """Read the rows; broken ones are reported.

        Args:
            wanted: tells from a line whether to look at it at all.
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
        """Read the rows in the order of their first cells, the concepts' identifiers.

        Args:
            sort: put them into this order; else they must have it.

        Raises:
            SapbertError: E145 they have it not.
        """
        return _sorted(self._identified(any_order=True)) if sort else self._identified(any_order=False)

    def broken(self, line: int, reason: str) -> None:
        """Report a broken row. RAISES (SapbertError): E127 in a strict reading."""
        self._reading.broken(line, reason)
        self.n_broken += 1

    def decode(self, line: int, cell: bytes) -> str | None:
        """Return a cell as text; None where it cannot be decoded, which is reported as a broken row."""
        try:
            return cell.decode(self._reading.encoding)
        except UnicodeDecodeError as error:
            self.broken(line, f"this is not {self._reading.encoding} ({error.reason})")
            return None

    def _identified(self, any_order: bool) -> Iterator[Row]:
        previous = b""
        for row in self.rows():
            cui = row[1][0]
            if cui != previous:
                if not cui.isalnum():
                    self.broken(row[0], "no CUI")
                    continue
                if cui < previous and not any_order:
                    cuis = {"cui": cui.decode(), "previous": previous.decode()}
                    raise SapbertError(Errors.E145.format(path=self.path, line=row[0], **cuis))
                previous = cui
            yield row

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines; one that is cut between two parts is joined."""
        held = b""
        for part in self._parts:
            digest = hashlib.sha256()
            with part.open(self._watcher(digest)) as file:
                for line in file:
                    if held:
                        line, held = held + line, b""
                    if line.endswith(b"\n"):
                        yield line.removeprefix(codecs.BOM_UTF8)
                    else:
                        held = line
            name = "/".join([part.path.name, *part.members])
            self.files[name] = {"file": name, "bytes": part.size, "sha256": digest.hexdigest()}
        if held:
            yield held

    def _watcher(self, digest: Any) -> Callable[[bytes], None]:
        report = self._reading.report

        def watch(block: bytes) -> None:
            digest.update(block)
            report.bytes_read += len(block)

        return watch


class ByConcept:
    """A table's rows, taken concept by concept beside another table that is in the same order.

    Attributes:
        n_unknown (int): rows of concepts that were not asked for.
    """

    def __init__(self, rows: Iterator[Row]) -> None:
        self.n_unknown = 0
        self._rows = rows
        self._next = next(rows, None)

    def take(self, cui: bytes) -> list[Row]:
        """Return the rows of a concept; concepts are to be asked for in their order."""
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
    """Return a database in a temporary file of its own, which goes when it is closed."""
    database = sqlite3.connect("", isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
        database.execute(f"PRAGMA {pragma}")
    return database


def _sorted(rows: Iterator[Row]) -> Iterator[Row]:
    with closing(temporary_database()) as database:
        database.execute("CREATE TABLE rows (cui BLOB, line INTEGER, row BLOB)")
        database.execute("BEGIN")
        lines = ((cells[0], number, b"|".join(cells)) for number, cells in rows)
        database.executemany("INSERT INTO rows VALUES (?, ?, ?)", lines)
        for number, row in database.execute("SELECT line, row FROM rows ORDER BY cui, line"):
            yield number, row.split(b"|")
