"""Find the files of a UMLS release: in folders, zip archives, nested zip archives, gzipped or in parts."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ....errors import Errors, SapbertError
from .packed import RrfPart, inner_zip, readable

_FILE = re.compile(
    r"(?:(?P<table>MRCONSO|MRSTY|MRDEF|MRREL|MRRANK)\.RRF(?:\.(?!gz)(?P<cut>[a-z]{2}))?|release\.dat)(?:\.gz)?",
    re.IGNORECASE,
)
_ARCHIVES = ("*.zip", "*.nlm", "*/*.nlm")
_RELEASE_NAME = re.compile(rb"umls\.release\.name=(\S+)")
_RELEASE_IN_PATH = re.compile(r"(?<!\d)(?:19|20)\d\dA[A-C](?![A-Z])", re.IGNORECASE)


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


def find_release(path: Path) -> Release:
    """Find the files of a release.

    Args:
        path: A folder of RRF files, or a folder that contains `META` or `<release>/META`. It may also be a folder with
            the zip files of a release, one of these zip files, or a single file. A single file with another name than
            that of a table is read as MRCONSO. The other tables are looked up in its folder.

    Raises:
        SapbertError: E120 if the path does not exist; E140 if there is no MRCONSO; E141 if a file occurs more than
            once; E142 if a part is missing; E143 or E144 if a zip file cannot be read.
    """
    with readable(path):
        found = list(_find_files(path))
    homes = {file.home: file.part.place for file in found if file.table == "MRCONSO"}
    if not homes:
        raise SapbertError(Errors.E140.format(path=path))
    if len(homes) > 1:
        raise SapbertError(Errors.E141.format(table="MRCONSO", path=path, places=", ".join(map(str, homes.values()))))
    found = [file for file in found if file.home in homes]
    names = sorted({file.table for file in found if file.table})
    tables = {table: _sort_parts(path, table, [file for file in found if file.table == table]) for table in names}
    return Release(tables, _release_name(tables["MRCONSO"][0], [file.part for file in found if not file.table]))


def _find_files(path: Path) -> Iterator[_ReleaseFile]:
    if path.is_dir():
        folders = [path, path / "META", *sorted(path.glob("*/META"))]
        found = [file for folder in folders if folder.is_dir() for file in _in_folder(folder)]
        yield from found
        if not any(file.table == "MRCONSO" for file in found):
            for archive in sorted(archive for pattern in _ARCHIVES for archive in path.glob(pattern)):
                yield from _in_archive(archive)
    elif path.suffix.lower() in (".zip", ".nlm"):
        yield from _in_archive(path)
    else:
        part = RrfPart(path, (), path.stat().st_size)
        matched = _match_file(str(path.parent), path.name, part)
        siblings = list(_in_folder(path.parent))
        if matched and (matched.cut or matched.table != "MRCONSO"):
            yield from siblings
        else:
            yield from (file for file in siblings if file.table != "MRCONSO")
            yield _ReleaseFile(str(path.parent), "MRCONSO", "", part)


def _in_folder(folder: Path) -> Iterator[_ReleaseFile]:
    for file in sorted(folder.iterdir()):
        found = _match_file(str(folder), file.name, RrfPart(file, (), file.stat().st_size)) if file.is_file() else None
        if found:
            yield found


def _in_archive(path: Path) -> Iterator[_ReleaseFile]:
    with readable(path), zipfile.ZipFile(path) as archive:
        yield from _members(archive, path, ())


def _members(archive: zipfile.ZipFile, path: Path, outer: tuple[str, ...]) -> Iterator[_ReleaseFile]:
    for info in archive.infolist():
        name = PurePosixPath(info.filename)
        found = _match_file(str(name.parent), name.name, RrfPart(path, (*outer, info.filename), info.file_size))
        if found:
            yield found
        elif name.suffix.lower() in (".zip", ".nlm") and not outer:  # one level only: deeper nesting could be endless
            with archive.open(info) as file, inner_zip(file, info.file_size) as inner:
                yield from _members(inner, path, (info.filename,))


def _match_file(home: str, name: str, part: RrfPart) -> _ReleaseFile | None:
    match = _FILE.fullmatch(name)
    return _ReleaseFile(home, (match["table"] or "").upper(), (match["cut"] or "").lower(), part) if match else None


def _sort_parts(path: Path, table: str, files: list[_ReleaseFile]) -> tuple[RrfPart, ...]:
    """Return the parts in order. A whole file takes precedence over parts, an unpacked file over a gzipped one.

    Raises:
        SapbertError: E141 if a part occurs twice; E142 if a part is missing.
    """
    whole = [file for file in files if not file.cut]
    unpacked = [file for file in whole if not file.part.place.name.lower().endswith(".gz")]
    chosen = sorted(unpacked or whole or files, key=lambda file: file.cut)
    cuts = [file.cut for file in chosen]
    if len(set(cuts)) < len(cuts):
        places = ", ".join(str(file.part.place) for file in chosen)
        raise SapbertError(Errors.E141.format(table=table, path=path, places=places))
    wanted = [chr(97 + number // 26) + chr(97 + number % 26) for number in range(len(cuts))]
    if cuts not in ([""], wanted):
        missing = next(cut for cut in wanted if cut not in cuts)
        raise SapbertError(Errors.E142.format(missing=missing, table=table, path=path))
    return tuple(file.part for file in chosen)


def _release_name(names: RrfPart, release_dat: list[RrfPart]) -> str | None:
    """Return the name of the release from its `release.dat`, else from the path."""
    for part in release_dat:
        with part.open(lambda block: None) as file:
            match = _RELEASE_NAME.search(file.read(1 << 16))
        if match:
            return match[1].decode("utf8", "replace")
    in_path = _RELEASE_IN_PATH.findall(str(names.path.resolve().joinpath(*names.members)))
    return in_path[-1].upper() if in_path else None
