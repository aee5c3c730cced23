"""Find and read the tables of a release of UMLS or RxNorm: in folders and zip archives, plain or gzipped.

Packed files are opened as streams, without unpacking them to disk, also those of other releases.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import lzma
import re
import sqlite3
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, NamedTuple, cast

from ...errors import CannotReadError, DamagedError, Errors, NotFoundError, SapbertError
from ...files.opening import bounded, check_ratio
from .context import ReaderContext, ReadReport

_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER = 1 << 20
# struct and Unicode: the table of contents of an archive is damaged
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile, struct.error, UnicodeDecodeError)
_SUBSET = "prescribe"  # the folder of RxNorm's subset, which repeats its files

COLUMNS = {"MRCONSO": 18, "MRSTY": 6, "MRDEF": 8, "MRREL": 16, "MRRANK": 4, "MRCUI": 7, "RXNCUI": 5}
"""The number of columns of each table."""
Row = tuple[int, list[bytes]]
"""The line of a row, and its undecoded cells."""


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
    {"MRCONSO": "MRCONSO", "MRSTY": "MRSTY", "MRDEF": "MRDEF", "MRREL": "MRREL", "MRRANK": "MRRANK", "MRCUI": "MRCUI"},
    "META",
    re.compile(r"(?<!\d)(?:19|20)\d\dA[A-C](?![A-Z])", re.IGNORECASE),
)
RXNORM = Layout(
    {"MRCONSO": "RXNCONSO", "MRSTY": "RXNSTY", "MRREL": "RXNREL", "RXNCUI": "RXNCUI"},
    "rrf",
    re.compile(r"RxNorm_(?:full|weekly)_(?:prescribe_)?([0-9]{8})", re.IGNORECASE),
)


# --- packed files


class PackedFile(NamedTuple):
    """A file of a release, on the disk or in an archive.

    Attributes:
        path: The file on disk.
        member: If the file is a zip archive, the name in it; else empty.
        size: Size in bytes, as packed.
    """

    path: Path
    member: str
    size: int

    @property
    def full_path(self) -> Path:
        """The path, with the name in a zip archive appended."""
        return self.path / self.member

    @contextmanager
    def open(self, report: ReadReport, manifests: list[dict[str, Any]] | None = None) -> Iterator[IO[bytes]]:
        """Open the file and unpack it. Its first bytes show whether it is gzipped.

        Args:
            report: Its `bytes_read` counts the packed bytes.
            manifests: Takes the name, size and checksum of the file when it was read to its end.

        Yields:
            The open file. Errors while it is read are translated as well.
        """
        with readable(self.full_path), ExitStack() as opened:
            packed: IO[bytes] = opened.enter_context(self.path.open("rb"))
            if self.member:
                archive = opened.enter_context(zipfile.ZipFile(packed))
                info = archive.getinfo(self.member)
                check_ratio(self.full_path, info.file_size, min(info.compress_size, self.path.stat().st_size))
                packed = opened.enter_context(archive.open(self.member))
            counted = _CountingReader(packed, report)
            buffered: Any = io.BufferedReader(counted, _BUFFER)
            if buffered.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
                unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=buffered))
                yield bounded(self.full_path, unpacked, lambda: counted.n_bytes)
            else:
                yield bounded(self.full_path, buffered)
        if manifests is not None:
            name = f"{self.path.name}/{self.member}".removesuffix("/")
            manifests.append({"file": name, "bytes": self.size, "sha256": counted.digest.hexdigest()})


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Translate errors that occur while a possibly packed file is read."""
    try:
        yield
    except _DAMAGE as error:
        raise DamagedError(path=path, reason=f"it cannot be unpacked: {error}") from error
    except (NotImplementedError, RuntimeError) as error:  # unknown compression, or a password
        raise CannotReadError(path=path, reason=error, remedy="Unpack it first, and give the folder.") from error
    except OSError as error:
        if error.errno is None:  # bz2 has no error of its own
            raise DamagedError(path=path, reason=f"it cannot be unpacked: {error}") from error
        raise CannotReadError(path=path, reason=error.strerror or error) from error


class _CountingReader(io.RawIOBase):
    """A reader that counts and hashes what it reads."""

    def __init__(self, packed: IO[bytes], report: ReadReport) -> None:
        self._packed, self._report = packed, report
        self.n_bytes = 0
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        block = self._packed.read(len(buffer))
        buffer[: len(block)] = block
        self.digest.update(block)
        self.n_bytes += len(block)
        self._report.bytes_read += len(block)
        return len(block)


# --- the files of a release

_FolderTable = tuple[str, str, PackedFile]
"""The folder that a file belongs to, its table, e.g. MRCONSO, and the file."""


class Release(NamedTuple):
    """The files of a release by table, and its name, such as 2024AA."""

    tables: Mapping[str, PackedFile]
    name: str | None


def find_release(path: Path, layout: Layout = UMLS) -> Release:
    """Find the files of a release.

    Args:
        path: A folder of RRF files, or a folder that contains `META` or `<release>/META`. It may also be a folder with
            the zip file of a release, the zip file, or a single file. A single file with another name than that of a
            table is read as MRCONSO. The other tables are looked up in its folder. For RxNorm, `META` is `rrf`.
        layout: The names of the files.
    """
    homes: defaultdict[str, dict[str, PackedFile]] = defaultdict(dict)
    with readable(path):
        for home, table, file in _find_files(path, layout):
            homes[home].setdefault(table, file)  # an unpacked file takes precedence over a gzipped one
    complete = {home: tables for home, tables in homes.items() if "MRCONSO" in tables}
    if not complete:
        remedy = f"Give the folder of a release, its {layout.folder} folder, or the zip file with this folder."
        raise NotFoundError(what=f"{layout.files['MRCONSO']} in {path}", remedy=remedy)
    whole = {home: tables for home, tables in complete.items() if PurePosixPath(home).parent.name != _SUBSET}
    chosen = list((whole or complete).values())
    if len(chosen) > 1:
        places = ", ".join(str(tables["MRCONSO"].full_path) for tables in chosen)
        raise SapbertError(Errors.E141.format(table=layout.files["MRCONSO"], path=path, places=places))
    names = chosen[0]["MRCONSO"]
    in_path = layout.release.findall(str(names.path.resolve() / names.member))
    return Release(chosen[0], in_path[-1].upper() if in_path else None)


def _find_files(path: Path, layout: Layout) -> Iterator[_FolderTable]:
    if path.is_dir():
        folders = [path, path / layout.folder, *sorted(path.glob(f"*/{layout.folder}"))]
        files = [file for folder in folders if folder.is_dir() for file in _in_folder(folder, layout)]
        yield from files
        if not any(table == "MRCONSO" for _, table, _ in files):
            for archive in sorted(path.glob("*.zip")):
                yield from _in_archive(archive, layout)
    elif path.suffix.lower() == ".zip":
        yield from _in_archive(path, layout)
    else:
        is_other = _table_of(path.name, layout) not in (None, "MRCONSO")
        if not is_other:
            yield str(path.parent), "MRCONSO", PackedFile(path, "", path.stat().st_size)
        for file in _in_folder(path.parent, layout):
            if is_other or file[1] != "MRCONSO":
                yield file


def _in_folder(folder: Path, layout: Layout) -> Iterator[_FolderTable]:
    for path in sorted(folder.iterdir()):
        if (table := _table_of(path.name, layout)) and path.is_file():
            yield str(folder), table, PackedFile(path, "", path.stat().st_size)


def _in_archive(path: Path, layout: Layout) -> Iterator[_FolderTable]:
    with readable(path), zipfile.ZipFile(path) as archive:
        for info in sorted(archive.infolist(), key=attrgetter("filename")):
            name = PurePosixPath(info.filename)
            if table := _table_of(name.name, layout):
                yield f"{path}/{name.parent}", table, PackedFile(path, info.filename, info.file_size)


def _table_of(name: str, layout: Layout) -> str | None:
    """Return the table of a file by its name."""
    plain = name.upper().removesuffix(".GZ")
    return next((table for table, file in layout.files.items() if plain == f"{file}.RRF"), None)


# --- tables


class RrfTable:
    """A table of a release.

    Attributes:
        label: Name of the file, for reports.
        path (Path): Path of the file.
        size (int): Its size in bytes, as packed.
        n_rows (int): Rows read so far, including broken and skipped rows.
        n_broken (int): Broken rows among them.
        files: If it was read to its end, its path below the release, size and checksum.
    """

    def __init__(self, name: str, file: PackedFile, context: ReaderContext, label: str = "") -> None:
        self.label = label or name
        self.path, self.size = file.full_path, file.size
        self.n_rows = 0
        self.n_broken = 0
        self.files: list[dict[str, Any]] = []
        self._file = file
        self._width = COLUMNS[name]
        self._context = replace(context, path=self.path)

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

    def rows_with_cui(self) -> Iterator[Row]:
        """Yield the rows whose first cell is a CUI. The others are reported as broken."""
        for row in self.rows():
            if row[1][0].isalnum():
                yield row
            else:
                self.broken(row[0], "no CUI")

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

    def _lines(self) -> Iterator[bytes]:
        with self._file.open(self._context.report, self.files) as file:
            for line in file:
                yield line.removeprefix(codecs.BOM_UTF8)


def temporary_database() -> sqlite3.Connection:
    """Return a database in a temporary file, which is deleted on close."""
    database = sqlite3.connect("", isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
        database.execute(f"PRAGMA {pragma}")
    return database


def load_rows(database: sqlite3.Connection, tables: Mapping[str, Iterable[Row]]) -> None:
    """Copy the rows of tables into a new table of a database, from which `rows_of` and `rows_by_concept` read them."""
    database.execute("CREATE TABLE rows (cui BLOB, name TEXT, line INTEGER, row BLOB)")
    database.execute("BEGIN")
    for name, rows in tables.items():
        values = ((cells[0], name, number, b"|".join(cells)) for number, cells in rows)
        database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", values)
    database.execute("CREATE INDEX by_cui ON rows (cui, line)")


def rows_of(database: sqlite3.Connection, cui: bytes, name: str) -> Iterator[Row]:
    """Yield the rows of a concept in a table."""
    sql = "SELECT line, row FROM rows WHERE cui = ? AND name = ? ORDER BY line"
    for line, row in database.execute(sql, (cui, name)):
        yield line, row.split(b"|")


def rows_by_concept(database: sqlite3.Connection) -> Iterator[tuple[bytes, Mapping[str, list[Row]]]]:
    """Yield the CUI of each concept, in their order, and its rows by table."""
    rows = database.execute("SELECT cui, name, line, row FROM rows ORDER BY cui, line")
    for cui, group in groupby(rows, key=itemgetter(0)):
        by_table: defaultdict[str, list[Row]] = defaultdict(list)
        for _, name, line, row in group:
            by_table[name].append((line, row.split(b"|")))
        yield cui, by_table
