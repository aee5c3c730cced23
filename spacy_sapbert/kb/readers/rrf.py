"""Find and read the tables of a release of UMLS or RxNorm: in folders, nested zip archives, gzipped or in parts."""

from __future__ import annotations

import codecs
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ...errors import Errors, NotFoundError, SapbertError
from .context import ReaderContext, ReadReport
from .packed import PackedFile, inner_zip, readable

_FILE = re.compile(r"(?:(?P<file>[A-Z]+)\.RRF(?:\.(?!gz)(?P<cut>[a-z]{2}))?|release\.dat)(?:\.gz)?", re.IGNORECASE)
_ARCHIVES = ("*.zip", "*.nlm", "*/*.nlm")
_RELEASE_NAME = re.compile(rb"umls\.release\.name=(\S+)")
_SUBSET = "prescribe"  # the folder of RxNorm's subset, which repeats its files

COLUMNS = {"MRCONSO": 18, "MRSTY": 6, "MRDEF": 8, "MRREL": 16, "MRRANK": 4, "RXNCUI": 5}
"""The number of columns of each table."""
Row = tuple[int, list[bytes]]
"""The line of a row, counted across all parts, and its undecoded cells."""


class Layout(NamedTuple):
    """How a product of the RRF family names its files.

    Attributes:
        files: The file of each table. RxNorm's files have the columns of tables of UMLS.
        folder: The folder that holds them.
        release: The name of a release in a path.
    """

    files: Mapping[str, str]
    folder: str
    release: re.Pattern[str]


UMLS = Layout(
    {"MRCONSO": "MRCONSO", "MRSTY": "MRSTY", "MRDEF": "MRDEF", "MRREL": "MRREL", "MRRANK": "MRRANK"},
    "META",
    re.compile(r"(?<!\d)(?:19|20)\d\dA[A-C](?![A-Z])", re.IGNORECASE),
)
RXNORM = Layout(
    {"MRCONSO": "RXNCONSO", "MRSTY": "RXNSTY", "MRREL": "RXNREL", "RXNCUI": "RXNCUI"},
    "rrf",
    re.compile(r"RxNorm_(?:full|weekly)_(?:prescribe_)?([0-9]{8})", re.IGNORECASE),
)


# --- the files of a release


class _ReleaseFile(NamedTuple):
    """A file of the release."""

    home: str  # the folder that it belongs to
    table: str  # e.g. MRCONSO; empty for release.dat
    cut: str  # the letters of a part; empty for a whole file
    part: PackedFile


class Release(NamedTuple):
    """The files of a release: the parts of each table, in order, and its name, such as 2024AA."""

    tables: Mapping[str, tuple[PackedFile, ...]]
    name: str | None


def find_release(path: Path, layout: Layout = UMLS) -> Release:
    """Find the files of a release.

    Args:
        path: A folder of RRF files, or a folder that contains `META` or `<release>/META`. It may also be a folder with
            the zip files of a release, one of these zip files, or a single file. A single file with another name than
            that of a table is read as MRCONSO. The other tables are looked up in its folder. For RxNorm, `META` is
            `rrf`.
        layout: The names of the files.
    """
    with readable(path):
        files = list(_find_files(path, layout))
    homes = {file.home: file.part.full_path for file in files if file.table == "MRCONSO"}
    if not homes:
        remedy = f"Give the folder of a release, its {layout.folder} folder, or its zip file."
        raise NotFoundError(what=f"{layout.files['MRCONSO']} in {path}", remedy=remedy)
    whole = {home: path for home, path in homes.items() if PurePosixPath(home).parent.name != _SUBSET}
    homes = whole if layout is RXNORM and whole else homes
    if len(homes) > 1:
        raise _ambiguous(layout.files["MRCONSO"], path, homes.values())
    files = [file for file in files if file.home in homes]
    tables = {
        table: _sort_parts(path, layout.files[table], [file for file in files if file.table == table])
        for table in sorted({file.table for file in files if file.table})
    }
    return Release(tables, _release_name(tables["MRCONSO"][0], [file.part for file in files if not file.table], layout))


def _find_files(path: Path, layout: Layout) -> Iterator[_ReleaseFile]:
    if path.is_dir():
        folders = [path, path / layout.folder, *sorted(path.glob(f"*/{layout.folder}"))]
        files = [file for folder in folders if folder.is_dir() for file in _in_folder(folder, layout)]
        yield from files
        if not any(file.table == "MRCONSO" for file in files):
            for archive in sorted(archive for pattern in _ARCHIVES for archive in path.glob(pattern)):
                yield from _in_archive(archive, layout)
    elif path.suffix.lower() in (".zip", ".nlm"):
        yield from _in_archive(path, layout)
    else:
        part = PackedFile(path, (), path.stat().st_size)
        matched = _match_file(str(path.parent), part, layout)
        siblings = list(_in_folder(path.parent, layout))
        if matched and (matched.cut or matched.table != "MRCONSO"):
            yield from siblings
        else:
            yield from (file for file in siblings if file.table != "MRCONSO")
            yield _ReleaseFile(str(path.parent), "MRCONSO", "", part)


def _in_folder(folder: Path, layout: Layout) -> Iterator[_ReleaseFile]:
    for path in sorted(folder.iterdir()):
        part = PackedFile(path, (), path.stat().st_size)
        if path.is_file() and (file := _match_file(str(folder), part, layout)):
            yield file


def _in_archive(path: Path, layout: Layout) -> Iterator[_ReleaseFile]:
    with readable(path), zipfile.ZipFile(path) as archive:
        yield from _members(archive, path, (), layout)


def _members(archive: zipfile.ZipFile, path: Path, outer: tuple[str, ...], layout: Layout) -> Iterator[_ReleaseFile]:
    for info in archive.infolist():
        name = PurePosixPath(info.filename)
        part = PackedFile(path, (*outer, info.filename), info.file_size)
        if file := _match_file(str(name.parent), part, layout):
            yield file
        elif name.suffix.lower() in (".zip", ".nlm") and not outer:  # one level only: deeper nesting could be endless
            with archive.open(info) as inner_file, inner_zip(inner_file, info.file_size) as inner:
                yield from _members(inner, path, (info.filename,), layout)


def _match_file(home: str, part: PackedFile, layout: Layout) -> _ReleaseFile | None:
    match = _FILE.fullmatch(part.full_path.name)
    file = (match["file"] or "").upper() if match else ""
    table = next((table for table, name in layout.files.items() if name == file), "")
    if not match or (file and not table):
        return None
    return _ReleaseFile(home, table, (match["cut"] or "").lower(), part)


def _sort_parts(path: Path, table: str, files: list[_ReleaseFile]) -> tuple[PackedFile, ...]:
    """Return the parts in order. A whole file takes precedence over parts, an unpacked file over a gzipped one."""
    whole = [file for file in files if not file.cut]
    unpacked = [file for file in whole if not file.part.full_path.name.lower().endswith(".gz")]
    chosen = sorted(unpacked or whole or files, key=lambda file: file.cut)
    cuts = [file.cut for file in chosen]
    if len(set(cuts)) < len(cuts):
        raise _ambiguous(table, path, [file.part.full_path for file in chosen])
    expected = [chr(97 + number // 26) + chr(97 + number % 26) for number in range(len(cuts))]
    if cuts not in ([""], expected):
        missing = next(cut for cut in expected if cut not in cuts)
        remedy = "Download it, because the rows continue from part to part."
        raise NotFoundError(what=f"part {missing} of {table} in {path}", remedy=remedy)
    return tuple(file.part for file in chosen)


def _ambiguous(table: str, path: Path, places: Any) -> SapbertError:
    return SapbertError(Errors.E141.format(table=table, path=path, places=", ".join(map(str, places))))


def _release_name(names: PackedFile, release_dat: list[PackedFile], layout: Layout) -> str | None:
    """Return the name of the release from its `release.dat`, else from the path."""
    for part in release_dat:
        with part.open(ReadReport()) as file:
            match = _RELEASE_NAME.search(file.read(1 << 16))
        if match:
            return match[1].decode("utf8", "replace")
    in_path = layout.release.findall(str(names.path.resolve().joinpath(*names.members)))
    return in_path[-1].upper() if in_path else None


# --- tables


class RrfTable:
    """A table of a release.

    Attributes:
        label: Name of the file, for reports.
        path (Path): Path of the file. For a table in parts, their common folder with the name of the whole table.
        n_rows (int): Rows read so far, including broken and skipped rows.
        n_broken (int): Broken rows among them.
        files: For each part read to its end, its path below the release, size and checksum.
    """

    def __init__(self, name: str, parts: tuple[PackedFile, ...], context: ReaderContext, label: str = "") -> None:
        self.label = label or name
        self.path = parts[0].full_path if len(parts) == 1 else parts[0].full_path.with_name(f"{self.label}.RRF")
        self.n_rows = 0
        self.n_broken = 0
        self.files: list[dict[str, Any]] = []
        self._parts = parts
        self._width = COLUMNS[name]
        self._context = replace(context, path=self.path)

    @property
    def size(self) -> int:
        """Size of all parts in bytes, as packed."""
        return sum(part.size for part in self._parts)

    def rows(self, is_needed: Callable[[bytes], object] | None = None) -> Iterator[Row]:
        """Yield the rows. Broken rows are reported.

        Args:
            is_needed: Returns whether a line must be parsed. If None, every line is.
        """
        for number, line in enumerate(self._lines(), start=1):
            self.n_rows += 1
            if is_needed and not is_needed(line):
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
            with part.open(self._context.report, self.files) as file:
                for line in file:
                    if incomplete:
                        line, incomplete = incomplete + line, b""
                    if line.endswith(b"\n"):
                        yield line.removeprefix(codecs.BOM_UTF8)
                    else:
                        incomplete = line
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
