"""Read SNOMED CT in Release Format 2 (RF2): the folder or zip file of an edition.

The files and columns are those of the SNOMED CT Release File Specifications. Rows go into a temporary database, so
memory does not grow with the release. A component may occur several times, as in an extension that is read with the
International Edition. Its row with the latest effective time counts.
"""

from __future__ import annotations

import codecs
import json
import re
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ChoiceError, NotFoundError
from ...files.opening import check_encoding
from ...files.values import read_sections
from ...types import Record
from ..ids import canonical_prefix
from .context import ReaderContext, preferred_by_language
from .ontology import replaced_ids
from .rrf import PackedFile, readable, temporary_database

# Extensions name themselves before the view: sct2_Description_SpanishExtensionSnapshot-es_INT_20240331.txt
_FILE = re.compile(
    r"x?(?:sct2|der2)_(?P<table>Concept|Description|TextDefinition|Relationship|cRefset_Language|cRefset_Association)"
    r"_?(?P<content>[A-Za-z]*)(?:-[A-Za-z-]+)?_[^_]+_(?P<release>[0-9]{8})\.txt(?:\.gz)?"
)
_FSN, _SYNONYM, _DEFINITION = 900000000000003001, 900000000000013009, 900000000000550004
_IS_A = 116680003
_US_ENGLISH, _GB_ENGLISH = 900000000000509007, 900000000000508004
_REPLACEMENTS = (900000000000527005, 900000000000526001)  # SAME AS, REPLACED BY
_NOT_CHOSEN = 1 << 30
_SEMANTIC_TAG = re.compile(r"\((?P<tag>[^()]+)\)\s*\Z")


class _Table(NamedTuple):
    """What is read from the files of a kind."""

    name: str  # of the table in the temporary database
    columns: tuple[str, ...]  # after id, effectiveTime and active, which all files have
    only: tuple[str, tuple[int, ...]] | None = None  # read only the rows in which this column has one of these values


_DESCRIPTION_COLUMNS = ("conceptId", "languageCode", "typeId", "term")
_TABLES = {
    "Concept": _Table("concepts", ()),
    "Description": _Table("descriptions", _DESCRIPTION_COLUMNS, ("typeId", (_FSN, _SYNONYM))),
    "TextDefinition": _Table("descriptions", _DESCRIPTION_COLUMNS, ("typeId", (_DEFINITION,))),
    "Relationship": _Table("parents", ("sourceId", "destinationId"), ("typeId", (_IS_A,))),
    "cRefset_Language": _Table("acceptabilities", ("refsetId", "referencedComponentId", "acceptabilityId")),
    "cRefset_Association": _Table(
        "replacements", ("referencedComponentId", "targetComponentId"), ("refsetId", _REPLACEMENTS)
    ),
}
_SQL = read_sections(Path(__file__).with_suffix(".sql"))
_TEXTS = ("languageCode", "term")
_KEYS = {"descriptions": "conceptId", "parents": "sourceId", "acceptabilities": "referencedComponentId"}


class _File(NamedTuple):
    """A file of the release."""

    table: str  # a key of `_TABLES`
    release: str  # the date in its name
    part: PackedFile


class _Description(NamedTuple):
    """A name or definition of a concept. Sorted, the preferred ones come first."""

    order: int  # sort key of its language; `_NOT_CHOSEN` for a fully specified name that gives only the type
    type: int  # `_FSN`, `_SYNONYM` or `_DEFINITION`
    acceptability: int  # sort key
    id: int
    text: str
    language: str


def read_snomed(
    context: ReaderContext, *, languages: Sequence[str] = ("en",), language_refset: str | None = None
) -> Iterator[Record]:
    """Read the active concepts. The semantic tag of the fully specified name is the type, such as "disorder".

    The English tag takes precedence, so that types are the same in every edition.

    The preferred synonym of the language reference set is the preferred name. All other active synonyms are names as
    well, and so is the fully specified name without its tag. A concept that was retired as a duplicate, or replaced by
    another concept, gives its id to that concept.

    Args:
        context: The folder or zip file of an edition, of which the Snapshot files are read.
        languages: Languages of names, such as "en". The first one has precedence. If empty, all are read.
        language_refset: Id of the reference set that selects preferred names. Default: US English, then GB English,
            then any other.

    Yields:
        One record per concept, in the order of the ids.
    """
    context = replace(context, id_prefix=canonical_prefix(context.id_prefix or "SNOMEDCT"))
    check_encoding(context.path, context.encoding, of_lines=True)
    files = _release_files(context.path)
    context.report.bytes_total += sum(file.part.size for file in files)
    with closing(temporary_database()) as database:
        for table in _TABLES.values():
            columns = "".join(f", {column}" for column in table.columns)
            database.execute(
                f"CREATE TABLE IF NOT EXISTS {table.name} (id PRIMARY KEY, time, active{columns}) WITHOUT ROWID"
            )
        database.execute("BEGIN")
        manifests: list[dict[str, Any]] = []
        for file in files:
            _load(context, database, file, manifests)
        releases = sorted({file.release for file in files})
        context.report.origins[context.path] = {"release": releases[-1], "files": manifests}
        refsets = _refsets(context, database, language_refset)
        yield from _records(context, database, languages, refsets)


def is_snomed(names: Iterator[str]) -> bool:
    """Return whether one of these paths is that of an RF2 file of concepts."""
    matches = (_FILE.fullmatch(Path(name).name) for name in names)
    return any(match and match["table"] == "Concept" for match in matches)


# --- files


def _release_files(path: Path) -> list[_File]:
    """Return the Snapshot files."""
    with readable(path):
        files = sorted(_find_files(path), key=lambda file: file.part.full_path)
    for table in ("Concept", "Description"):
        if not any(file.table == table for file in files):
            remedy = "Give the folder or the zip file of a release of SNOMED CT, with its Snapshot files."
            raise NotFoundError(what=f"sct2_{table}_Snapshot file in {path}", remedy=remedy)
    return files


def _find_files(path: Path) -> Iterator[_File]:
    if path.is_dir():
        paths = [file for file in path.rglob("*_*") if file.is_file()]
        parts = [PackedFile(file, "", file.stat().st_size) for file in paths]
    elif path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            parts = [PackedFile(path, info.filename, info.file_size) for info in archive.infolist()]
    else:
        path.stat()  # raises an error if there is no such file
        parts = []
    for part in parts:
        match = _FILE.fullmatch(part.full_path.name)
        if match and "Snapshot" in match["content"]:
            yield _File(match["table"], match["release"], part)


def _load(context: ReaderContext, database: sqlite3.Connection, file: _File, manifests: list[dict[str, Any]]) -> None:
    """Copy the rows of a file into the database. The manifests get its name, size and checksum."""
    table = _TABLES[file.table]
    columns = ("id", "time", "active", *table.columns)
    updates = ", ".join(f"{column} = excluded.{column}" for column in columns[1:])
    insert = (
        f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(columns))}) "
        f"ON CONFLICT (id) DO UPDATE SET {updates} WHERE excluded.time > time"
    )
    with file.part.open(context.report, manifests) as lines:
        header = next(lines, b"").removeprefix(codecs.BOM_UTF8).decode("latin-1").rstrip("\r\n").split("\t")
        filtered = (table.only[0],) if table.only else ()
        context = replace(context, path=file.part.full_path)
        context.need_columns(header, ("id", "effectiveTime", "active", *table.columns, *filtered))
        database.executemany(insert, _rows(context, lines, header, file.table))


def _rows(context: ReaderContext, lines: Iterable[bytes], header: list[str], name: str) -> Iterator[tuple[Any, ...]]:
    """Yield the needed cells of each row. Broken rows are reported."""
    table = _TABLES[name]
    positions = [header.index(column) for column in table.columns]
    for number, line in enumerate(lines, start=2):
        try:
            cells = _cells(line, context.encoding, len(header))
            row = dict(zip(header, cells, strict=True))
            if table.only and _number(row[table.only[0]], table.only[0]) not in table.only[1]:
                continue
            values = [cells[at] if header[at] in _TEXTS else _number(cells[at], header[at]) for at in positions]
            # members of reference sets have UUIDs
            row_id = row["id"] if name.startswith("cRefset") else _number(row["id"], "id")
        except ValueError as error:
            context.broken(number, str(error))
            continue
        yield (row_id, row["effectiveTime"], row["active"] == "1", *values)


def _cells(line: bytes, encoding: str, n_columns: int) -> list[str]:
    """Split a line."""
    try:
        cells = line.decode(encoding).rstrip("\r\n").split("\t")
    except UnicodeDecodeError as error:
        raise ValueError(f"this is not {encoding} ({error.reason})") from error
    if len(cells) != n_columns:
        raise ValueError(f"{len(cells)} cells instead of {n_columns}")
    return cells


def _number(cell: str, column: str) -> int:
    if not (cell.isascii() and cell.isdecimal() and len(cell) <= 18):
        raise ValueError(f"'{cell}' in the column {column} is not an id")
    return int(cell)


# --- concepts


def _refsets(context: ReaderContext, database: sqlite3.Connection, refset: str | None) -> list[int]:
    """Return the ids of the language reference sets by precedence."""
    if refset is None:
        return [_US_ENGLISH, _GB_ENGLISH]
    known = [str(row[0]) for row in database.execute("SELECT DISTINCT refsetId FROM acceptabilities ORDER BY 1")]
    if refset.strip() not in known:
        raise ChoiceError(given=refset, what=f"language reference set of {context.file}", choices=known)
    return [int(refset)]


def _descriptions(
    database: sqlite3.Connection, languages: Sequence[str], refsets: Sequence[int], dropped: Counter[str], concept: int
) -> list[_Description]:
    """Return the active descriptions of a concept in the chosen languages, the preferred ones first."""
    descriptions = []
    values = {"refsets": json.dumps(refsets), "concept": concept}
    for number, active, language, type_id, text, acceptability in database.execute(_SQL["descriptions"], values):
        code = language.lower().partition("-")[0]
        order = languages.index(code) if code in languages else None if languages else int(code != "en")
        if order is None and active and type_id == _FSN:
            descriptions.append(_Description(_NOT_CHOSEN, type_id, 0, number, text, code))
        if not active:
            dropped["inactive"] += type_id != _DEFINITION
        elif order is None:
            dropped["language"] += type_id != _DEFINITION
        else:
            descriptions.append(_Description(order, type_id, acceptability, number, text, code))
    return sorted(descriptions)


def _records(
    context: ReaderContext, database: sqlite3.Connection, languages: Sequence[str], refsets: Sequence[int]
) -> Iterator[Record]:
    for table, column in _KEYS.items():
        database.execute(f"CREATE INDEX {table}_by_key ON {table} ({column})")
    prefix = context.id_prefix
    replaced = _replaced(context, database)
    dropped: Counter[str] = Counter()
    languages = [language.lower().partition("-")[0] for language in languages]
    for concept, active in database.execute("SELECT id, active FROM concepts ORDER BY id"):
        context.report.rows_read += 1
        if not active:
            context.drop("inactive")
            continue
        texts: dict[int, list[tuple[str, str]]] = {_FSN: [], _SYNONYM: [], _DEFINITION: []}
        tags: dict[str, str] = {}  # by language
        for order, kind, _, _, text, language in _descriptions(database, languages, refsets, dropped, concept):
            if kind == _FSN and (tag := _SEMANTIC_TAG.search(text)):
                tags.setdefault(language, tag["tag"])
                text = text[: tag.start()].strip()
            if order != _NOT_CHOSEN:
                texts[kind].append((text, language))
        full: dict[str, tuple[str, str]] = {}  # the best in each language
        for name in texts[_FSN]:
            full.setdefault(name[1], name)
        names = dict.fromkeys([*texts[_SYNONYM], *full.values()])  # the best synonym first
        yield from context.record(
            1,  # a missing id would be reported with a line, but each row has an id here
            f"{prefix}:{concept}",
            preferred_by_language(names),
            alternative_ids=replaced.get(f"{prefix}:{concept}", ()),
            types=[tags["en"]] if "en" in tags else [*tags.values()][:1],
            definition=next((text for text, _ in texts[_DEFINITION]), None),
            parents=[f"{prefix}:{parent}" for (parent,) in database.execute(_SQL["parents"], (concept,))],
        )
    context.report.names_dropped += dropped


def _replaced(context: ReaderContext, database: sqlite3.Connection) -> dict[str, list[str]]:
    """Map concepts to the inactive ones that they replace."""
    terms = groupby(database.execute(_SQL["replaced"]), key=itemgetter(0))
    return replaced_ids(
        context,
        (([f"{context.id_prefix}:{old}"], [f"{context.id_prefix}:{new}" for _, new in rows]) for old, rows in terms),
    )
