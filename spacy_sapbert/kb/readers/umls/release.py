"""Find the files of a release of UMLS or RxNorm: in folders, zip archives, nested zip archives, gzipped or in parts."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ....errors import Errors, NotFoundError, SapbertError
from .packed import RrfPart, inner_zip, readable

_FILE = re.compile(
    r"(?:(?P<file>[A-Z]+)\.RRF(?:\.(?!gz)(?P<cut>[a-z]{2}))?|release\.dat)(?:\.gz)?",
    re.IGNORECASE,
)
_ARCHIVES = ("*.zip", "*.nlm", "*/*.nlm")
_RELEASE_NAME = re.compile(rb"umls\.release\.name=(\S+)")
_RELEASE_IN_PATH = re.compile(r"(?<!\d)(?:19|20)\d\dA[A-C](?![A-Z])", re.IGNORECASE)
_RXNORM_RELEASE = re.compile(r"RxNorm_(?:full|weekly)_(?:prescribe_)?([0-9]{8})", re.IGNORECASE)
_SUBSET = "prescribe"  # the folder of RxNorm's subset, which repeats its files


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

    def table(self, file: str) -> str | None:
        """Return the table that a file holds. None if it is not used."""
        return next((table for table, name in self.files.items() if name == file.upper()), None)


UMLS = Layout({name: name for name in ("MRCONSO", "MRSTY", "MRDEF", "MRREL", "MRRANK")}, "META", _RELEASE_IN_PATH)
RXNORM = Layout(
    {"MRCONSO": "RXNCONSO", "MRSTY": "RXNSTY", "MRREL": "RXNREL", "RXNCUI": "RXNCUI"}, "rrf", _RXNORM_RELEASE
)


class _ReleaseFile(NamedTuple):
    """A file of the release.

    Attributes:
        home: The folder that it belongs to.
        table: Name of the table, e.g. MRCONSO; empty for release.dat.
        cut: The letters of a part; empty for a whole file.
        part: Where it is.
    """

    home: str
    table: str
    cut: str
    part: RrfPart


class Release(NamedTuple):
    """The files of a UMLS release.

    Attributes:
        tables: The parts of each table, in order.
        name (str | None): Name of the release, e.g. 2024AA.
    """

    tables: Mapping[str, tuple[RrfPart, ...]]
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
    homes = {file.home: file.part.place for file in files if file.table == "MRCONSO"}
    if not homes:
        remedy = f"Give the folder of a release, its {layout.folder} folder, or its zip file."
        raise NotFoundError(what=f"{layout.files['MRCONSO']} in {path}", remedy=remedy)
    whole = {home: place for home, place in homes.items() if PurePosixPath(home).parent.name != _SUBSET}
    homes = whole if layout is RXNORM and whole else homes
    if len(homes) > 1:
        places = ", ".join(map(str, homes.values()))
        raise SapbertError(Errors.E141.format(table=layout.files["MRCONSO"], path=path, places=places))
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
        part = RrfPart(path, (), path.stat().st_size)
        matched = _match_file(str(path.parent), path.name, part, layout)
        siblings = list(_in_folder(path.parent, layout))
        if matched and (matched.cut or matched.table != "MRCONSO"):
            yield from siblings
        else:
            yield from (file for file in siblings if file.table != "MRCONSO")
            yield _ReleaseFile(str(path.parent), "MRCONSO", "", part)


def _in_folder(folder: Path, layout: Layout) -> Iterator[_ReleaseFile]:
    for file in sorted(folder.iterdir()):
        part = RrfPart(file, (), file.stat().st_size)
        if file.is_file() and (match := _match_file(str(folder), file.name, part, layout)):
            yield match


def _in_archive(path: Path, layout: Layout) -> Iterator[_ReleaseFile]:
    with readable(path), zipfile.ZipFile(path) as archive:
        yield from _members(archive, path, (), layout)


def _members(archive: zipfile.ZipFile, path: Path, outer: tuple[str, ...], layout: Layout) -> Iterator[_ReleaseFile]:
    for info in archive.infolist():
        name = PurePosixPath(info.filename)
        part = RrfPart(path, (*outer, info.filename), info.file_size)
        if match := _match_file(str(name.parent), name.name, part, layout):
            yield match
        elif name.suffix.lower() in (".zip", ".nlm") and not outer:  # one level only: deeper nesting could be endless
            with archive.open(info) as file, inner_zip(file, info.file_size) as inner:
                yield from _members(inner, path, (info.filename,), layout)


def _match_file(home: str, name: str, part: RrfPart, layout: Layout) -> _ReleaseFile | None:
    match = _FILE.fullmatch(name)
    table = layout.table(match["file"] or "") if match else None
    if not match or (match["file"] and not table):
        return None
    return _ReleaseFile(home, table or "", (match["cut"] or "").lower(), part)


def _sort_parts(path: Path, table: str, files: list[_ReleaseFile]) -> tuple[RrfPart, ...]:
    """Return the parts in order. A whole file takes precedence over parts, an unpacked file over a gzipped one."""
    whole = [file for file in files if not file.cut]
    unpacked = [file for file in whole if not file.part.place.name.lower().endswith(".gz")]
    chosen = sorted(unpacked or whole or files, key=lambda file: file.cut)
    cuts = [file.cut for file in chosen]
    if len(set(cuts)) < len(cuts):
        places = ", ".join(str(file.part.place) for file in chosen)
        raise SapbertError(Errors.E141.format(table=table, path=path, places=places))
    expected = [chr(97 + number // 26) + chr(97 + number % 26) for number in range(len(cuts))]
    if cuts not in ([""], expected):
        missing = next(cut for cut in expected if cut not in cuts)
        remedy = "Download it, because the rows continue from part to part."
        raise NotFoundError(what=f"part {missing} of {table} in {path}", remedy=remedy)
    return tuple(file.part for file in chosen)


def _release_name(names: RrfPart, release_dat: list[RrfPart], layout: Layout) -> str | None:
    """Return the name of the release from its `release.dat`, else from the path."""
    for part in release_dat:
        with part.open(lambda block: None) as file:
            match = _RELEASE_NAME.search(file.read(1 << 16))
        if match:
            return match[1].decode("utf8", "replace")
    in_path = layout.release.findall(str(names.path.resolve().joinpath(*names.members)))
    return in_path[-1].upper() if in_path else None
