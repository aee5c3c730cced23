"""Read LOINC: the table `Loinc.csv`, and `MapTo.csv` beside it.

The columns are those of the LOINC Users' Guide. `RELATEDNAMES2` lists words that help to search: names of the substance
and the specimen, and words such as "Quantitative" or "Blood". They belong to thousands of terms, so they are names of
none, and are read only if requested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ...errors import NotFoundError
from ...files.hashing import file_manifest
from ...types import Record
from .context import ReaderContext, ReadReport
from .ontology import Obsolete, replaced_ids

_TABLE, _MAP = "Loinc.csv", "MapTo.csv"
_FOLDERS = ("", "LoincTable", "*/LoincTable", "LoincTableCore")
_NEEDED = ("LOINC_NUM", "LONG_COMMON_NAME", "STATUS")
# The columns with names, in the order of precedence; releases before 2.72 have no DisplayName.
_NAMES = ("LONG_COMMON_NAME", "DisplayName", "CONSUMER_NAME", "SHORTNAME")
_RELATED = "RELATEDNAMES2"


def read_loinc(context: ReaderContext, *, related_names: bool = False) -> Iterator[Record]:
    """Read the terms that are not deprecated. Their class, such as "CHEM", is their type.

    The long common name is preferred. The display name, consumer name and short name are synonyms. `MapTo.csv` names
    the terms that replace deprecated ones. A deprecated number becomes an alternative id of its only replacement.

    Args:
        context: The file Loinc.csv, its folder, or the folder of a release.
        related_names: Also read the related names, with the scope "related".

    Yields:
        One record per term.
    """
    path = loinc_table(context.path)
    if path is None:
        raise NotFoundError(what=f"{_TABLE} in {context.file}", remedy="Give the folder that holds it.")
    if context.path.is_dir():
        used = (table for table in (path, path.with_name(_MAP)) if table.is_file())
        context.report.origins[context.path] = {"files": [file_manifest(table) for table in used]}
    context = replace(context, path=path, id_prefix=context.id_prefix or "LOINC")
    replaced = _replaced(context)
    for line, row in _rows(context, _NEEDED):
        if row["STATUS"].strip().upper() == "DEPRECATED":
            context.drop("deprecated")
            continue
        number = row["LOINC_NUM"].strip()
        concept_id = f"{context.id_prefix}:{number}" if number else ""
        yield from context.record(
            line,
            concept_id,
            _names(context, row, related_names),
            alternative_ids=replaced.get(concept_id, ()),
            types=[row.get("CLASS", "")],
            definition=row.get("DefinitionDescription"),
        )


def loinc_table(path: Path) -> Path | None:
    """Return the path of Loinc.csv in a folder, or the path itself if it is a file. None if there is none."""
    if not path.is_dir():
        return path
    found = (table for folder in _FOLDERS for table in sorted(path.glob(f"{folder}/{_TABLE}".lstrip("/"))))
    return next(found, None)


def is_loinc(header: str) -> bool:
    """Return whether the first line of a file is that of Loinc.csv."""
    columns = {column.strip().strip('"') for column in header.split(",")}
    return {"LOINC_NUM", "COMPONENT", "LONG_COMMON_NAME"} <= columns


def _names(context: ReaderContext, row: Mapping[str, str], related_names: bool) -> list[tuple[str, str]]:
    texts = [row[column] for column in _NAMES if row.get(column, "").strip()]
    names = [(text, "exact" if index else "preferred") for index, text in enumerate(dict.fromkeys(texts))]
    related = [text for text in row.get(_RELATED, "").split(";") if text.strip()]
    if related_names:
        return names + [(text, "related") for text in related]
    context.report.notes["related names that are not read"] += len(related)
    return names


def _replaced(context: ReaderContext) -> dict[str, list[str]]:
    """Map terms to the deprecated numbers that they replace."""
    path = context.path.with_name(_MAP)
    if not path.is_file():
        return {}
    replacements: defaultdict[str, list[str]] = defaultdict(list)
    mapping = replace(context, path=path, report=ReadReport())  # its rows are not terms
    for _, row in _rows(mapping, ("LOINC", "MAP_TO")):
        old, new = (f"{context.id_prefix}:{row[column].strip()}" for column in ("LOINC", "MAP_TO"))
        replacements[old].append(new)
    for problem in mapping.report.problems:
        context.report.add_broken(*problem)
    return replaced_ids(
        {old: Obsolete(context.ids([old]), context.ids(new)) for old, new in replacements.items() if old not in new}
    )


def _rows(context: ReaderContext, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    with context.open(newline="") as lines:
        rows = context.cells(lines, ",", quoted=True)
        _, header = next(rows, (0, []))
        yield from context.named_cells(rows, header, needed)
