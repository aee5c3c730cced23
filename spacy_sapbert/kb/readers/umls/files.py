"""Where the files of a UMLS release lie: in folders or zip files, gzipped, in parts, and zip files in zip files."""

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


class _Found(NamedTuple):
    """A file of interest.

    Attributes:
        home: the folder that it belongs to.
        table: e.g. MRCONSO; empty for release.dat.
        cut: the letters of a part; empty for a whole file.
    """

    home: str
    table: str
    cut: str
    part: RrfPart


class Release(NamedTuple):
    """
    Attributes:
        tables: the parts of each table, in order. name (str | None): e.g. 2024AA.
    """

    tables: Mapping[str, tuple[RrfPart, ...]]
    name: str | None


def find_release(path: Path) -> Release:
    """Find the files of a release.

    Args:
        path: a folder of RRF files, one that holds `META` or `<release>/META`, or one with the release's zip files; one
            of these zip files; or a file, which is then MRCONSO, whatever its name, and has the others beside it.

    Raises:
        SapbertError: E120 there is nothing at the path, E140 there is no MRCONSO, E141 a file is there more than once,
            E142 a part is missing, E143 and E144 a zip file cannot be read.
    """
    with readable(path):
        found = list(_find(path))
    homes = {file.home: file.part.place for file in found if file.table == "MRCONSO"}
    if not homes:
        raise SapbertError(Errors.E140.format(path=path))
    if len(homes) > 1:
        raise SapbertError(Errors.E141.format(table="MRCONSO", path=path, places=", ".join(map(str, homes.values()))))
    found = [file for file in found if file.home in homes]
    names = sorted({file.table for file in found if file.table})
    tables = {table: _in_order(path, table, [file for file in found if file.table == table]) for table in names}
    return Release(tables, _release_name(tables["MRCONSO"][0], [file.part for file in found if not file.table]))


def _find(path: Path) -> Iterator[_Found]:
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
        named = _found(str(path.parent), path.name, part)
        beside = list(_in_folder(path.parent))
        if named and (named.cut or named.table != "MRCONSO"):
            yield from beside
        else:
            yield from (file for file in beside if file.table != "MRCONSO")
            yield _Found(str(path.parent), "MRCONSO", "", part)


def _in_folder(folder: Path) -> Iterator[_Found]:
    for file in sorted(folder.iterdir()):
        found = _found(str(folder), file.name, RrfPart(file, (), file.stat().st_size)) if file.is_file() else None
        if found:
            yield found


def _in_archive(path: Path) -> Iterator[_Found]:
    with readable(path), zipfile.ZipFile(path) as archive:
        yield from _members(archive, path, ())


def _members(archive: zipfile.ZipFile, path: Path, outer: tuple[str, ...]) -> Iterator[_Found]:
    for info in archive.infolist():
        name = PurePosixPath(info.filename)
        found = _found(str(name.parent), name.name, RrfPart(path, (*outer, info.filename), info.file_size))
        if found:
            yield found
        elif name.suffix.lower() in (".zip", ".nlm") and not outer:  # one level: more could go on for ever
            with archive.open(info) as file, inner_zip(file, info.file_size) as inner:
                yield from _members(inner, path, (info.filename,))


def _found(home: str, name: str, part: RrfPart) -> _Found | None:
    match = _FILE.fullmatch(name)
    return _Found(home, (match["table"] or "").upper(), (match["cut"] or "").lower(), part) if match else None


def _in_order(path: Path, table: str, files: list[_Found]) -> tuple[RrfPart, ...]:
    """Return the parts in order. A whole file goes before parts, unpacked before gzipped.

    Raises:
        SapbertError: E141, E142.
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
    """Return the release's name as its own `release.dat` tells it, else as the path does."""
    for part in release_dat:
        with part.open(lambda block: None) as file:
            match = _RELEASE_NAME.search(file.read(1 << 16))
        if match:
            return match[1].decode("utf8", "replace")
    in_path = _RELEASE_IN_PATH.findall(str(names.path.resolve().joinpath(*names.members)))
    return in_path[-1].upper() if in_path else None
