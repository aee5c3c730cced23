"""Read tables whose columns are known: CTD, LOINC, Babelon's translations, SSSLM, and the reviewed names of `discover`.

- CTD publishes its diseases and chemicals as TSV and CSV. A comment before the rows names the columns. They have
  changed over the years: `Synonyms` of chemicals became `MESHSynonyms` and `CTDCuratedSynonyms`. So they are found by
  name.
- LOINC is the table `Loinc.csv`, with `MapTo.csv` beside it. The columns are those of the LOINC Users' Guide.
- Babelon (https://github.com/monarch-initiative/babelon) is a format for translations of an ontology. Each row is one.
  The Disease Ontology's tables of translations, which have other headings for the same columns, are read as well.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TextIO

from ...errors import MissingColumnError, NotFoundError
from ...files.opening import file_manifest
from ...files.workbook import is_workbook
from ...types import Record
from .context import NameParts, ReaderContext, ReadReport, preferred_first
from .ontology import Obsolete, curie, replaced_ids

# --- CTD

_CTD_STARTS = (["DiseaseName", "DiseaseID"], ["ChemicalName", "ChemicalID"])
# The roots of CTD's trees, "Diseases" and "Chemicals". MeSH has no such descriptors.
_CTD_ROOTS = ("MESH:C", "MESH:D")


def read_ctd(context: ReaderContext) -> Iterator[Record]:
    """Yield one record per row."""
    with context.open(newline="") as lines:
        n_before, columns, delimiter = _ctd_header(context, lines)
        rows = context.cells(lines, delimiter, quoted=delimiter == ",", n_before=n_before)
        rows = ((line, cells) for line, cells in rows if len(cells) > 1 or not cells[0].startswith("#"))
        for line, row in context.named_cells(rows, columns):
            name, concept_id, *_ = row.values()
            if concept_id in _CTD_ROOTS:
                context.drop("root of the tree")
                continue
            synonyms = [cell for column, cell in row.items() if column.endswith("Synonyms")]
            yield from context.record(
                line,
                concept_id,
                preferred_first([name, *chain.from_iterable(map(_ctd_values, synonyms))]),
                # CTD writes ids of the Disease Ontology with an extra prefix: DO:DOID:1612
                alternative_ids=[other.removeprefix("DO:") for other in _ctd_values(row.get("AltDiseaseIDs", ""))],
                definition=row.get("Definition"),
                parents=[parent for parent in _ctd_values(row.get("ParentIDs", "")) if parent not in _CTD_ROOTS],
            )


def _ctd_values(cell: str) -> list[str]:
    return cell.split("|") if cell else []


def _ctd_header(context: ReaderContext, lines: TextIO) -> tuple[int, list[str], str]:
    """Return the number of the line that names the columns, the columns, and their delimiter."""
    for number, line in enumerate(lines, start=1):
        for delimiter in "\t,":
            columns = line.lstrip("# ").strip().split(delimiter)
            if columns[:2] in _CTD_STARTS:
                return number, columns, delimiter
    remedy = "Use the unchanged file from CTD, or read it as a table."
    raise MissingColumnError(path=context.file, column="DiseaseName or ChemicalName", columns=(), remedy=remedy)


# --- LOINC

_LOINC, _LOINC_MAP = "Loinc.csv", "MapTo.csv"
_LOINC_FOLDERS = ("", "LoincTable", "*/LoincTable", "LoincTableCore")
# The columns with names, in the order of precedence; releases before 2.72 have no DisplayName.
_LOINC_NAMES = ("LONG_COMMON_NAME", "DisplayName", "CONSUMER_NAME", "SHORTNAME")


def read_loinc(context: ReaderContext) -> Iterator[Record]:
    """Read the terms that are not deprecated. Their class, such as "CHEM", is their type.

    The long common name is preferred. The display name, consumer name and short name are synonyms. `MapTo.csv` names
    the terms that replace deprecated ones. A deprecated number becomes an alternative id of its only replacement.
    `RELATEDNAMES2` is not read: its words, such as "Blood", belong to thousands of terms.

    Args:
        context: The file Loinc.csv, its folder, or the folder of a release.
    """
    path = loinc_table(context.path)
    if path is None:
        raise NotFoundError(what=f"{_LOINC} in {context.file}", remedy="Give the folder that holds it.")
    if context.path.is_dir():
        used = (table for table in (path, path.with_name(_LOINC_MAP)) if table.is_file())
        context.report.origins[context.path] = {"files": [file_manifest(table) for table in used]}
    context = replace(context, path=path, id_prefix=context.id_prefix or "LOINC")
    replaced = _replaced_loinc(context)
    for line, row in context.table(",", quoted=True, needed=("LOINC_NUM", "LONG_COMMON_NAME", "STATUS")):
        if row["STATUS"].strip().upper() == "DEPRECATED":
            context.drop("deprecated")
            continue
        number = row["LOINC_NUM"].strip()
        concept_id = f"{context.id_prefix}:{number}" if number else ""
        yield from context.record(
            line,
            concept_id,
            preferred_first(dict.fromkeys(row[name] for name in _LOINC_NAMES if row.get(name, "").strip())),
            alternative_ids=replaced.get(concept_id, ()),
            types=[row.get("CLASS", "")],
            definition=row.get("DefinitionDescription"),
        )


def loinc_table(path: Path) -> Path | None:
    """Return the path of Loinc.csv in a folder, or the path itself if it is a file. None if there is none."""
    if not path.is_dir():
        return path
    tables = (table for folder in _LOINC_FOLDERS for table in sorted(path.glob(f"{folder}/{_LOINC}".lstrip("/"))))
    return next(tables, None)


def is_loinc(header: str) -> bool:
    """Return whether the first line of a file is that of Loinc.csv."""
    columns = {column.strip().strip('"') for column in header.split(",")}
    return {"LOINC_NUM", "COMPONENT", "LONG_COMMON_NAME"} <= columns


def _replaced_loinc(context: ReaderContext) -> dict[str, list[str]]:
    """Map terms to the deprecated numbers that they replace."""
    path = context.path.with_name(_LOINC_MAP)
    if not path.is_file():
        return {}
    replacements: defaultdict[str, list[str]] = defaultdict(list)
    mapping = replace(context, path=path, report=ReadReport())  # its rows are not terms
    for _, row in mapping.table(",", quoted=True, needed=("LOINC", "MAP_TO")):
        old, new = (f"{context.id_prefix}:{row[column].strip()}" for column in ("LOINC", "MAP_TO"))
        replacements[old].append(new)
    for problem in mapping.report.problems:
        context.report.add_broken(*problem)
    return replaced_ids(
        {old: Obsolete(context.ids([old]), context.ids(new)) for old, new in replacements.items() if old not in new}
    )


# --- Babelon

_BABELON = {
    "id": ("subject_id", "source_id"),
    "property": ("predicate_id", "predicate"),
    "language": ("translation_language", "translation_lang"),
    "text": ("translation_value", "translation_text"),
}
_STATUS = ("translation_status", "status")

# The scope of a name by the last part of its predicate: rdfs:label, oboInOwl:hasBroadSynonym, …
_BABELON_SCOPES = {
    "label": "preferred",
    "prefLabel": "preferred",
    "altLabel": "exact",
    "hasExactSynonym": "exact",
    "hasNarrowSynonym": "narrow",
    "hasBroadSynonym": "broad",
    "hasRelatedSynonym": "related",
}


def read_babelon(context: ReaderContext) -> Iterator[Record]:
    """Read the translated names. The source of a name ends with its language: "HPO-es".

    A translated label is the preferred name in its language.

    Translations of definitions, and rows marked as not translated, are counted and skipped.
    """
    # notes of several lines are in quotation marks
    for line, row in context.table("\t", quoted=True, needed=_BABELON.values()):
        cells = {name: next(row[column] for column in columns if column in row) for name, columns in _BABELON.items()}
        concept_id, relation, language, text = map(str.strip, cells.values())
        status = next((row[column].strip() for column in _STATUS if column in row), "")
        scope = _BABELON_SCOPES.get(re.split(r"[:#/]", relation)[-1])
        if not scope:
            context.drop("not a name")
        elif not text or status == "NOT_TRANSLATED":
            context.drop("not translated")
        else:
            source = context.source.removesuffix(".babelon")
            end = f"-{language}" if language else ""
            own = replace(context, source=f"{source.removesuffix(end)}{end}")
            yield from own.record(line, curie(concept_id), [(text, scope, language)])


def is_babelon(header: Sequence[str]) -> bool:
    """Return whether a table with these headings holds translations."""
    return all(not set(columns).isdisjoint(header) for columns in _BABELON.values())


# --- SSSLM

_SSSLM = ("text", "curie", "predicate")


def read_ssslm(context: ReaderContext) -> Iterator[Record]:
    """Read literal mappings of the Simple Standard for Sharing Literal Mappings: a name of a concept in each row."""
    for line, row in context.table("\t", quoted=True, needed=_SSSLM[:2]):
        cells = {column: (cell or "").strip() for column, cell in row.items()}
        scope = _BABELON_SCOPES.get(re.split(r"[:#/]", cells.get("predicate", ""))[-1], "related")
        names: list[NameParts] = [(cells["text"], scope, cells.get("language", ""))]
        if cells.get("name") and scope != "preferred":
            names.insert(0, (cells["name"], "preferred"))
        own = replace(context, source=cells.get("source") or context.source)
        yield from own.record(line, curie(cells["curie"]), names)


def is_ssslm(header: Sequence[str]) -> bool:
    """Return whether a table with these headings holds literal mappings."""
    return set(_SSSLM).issubset(header)


# --- the names of `discover`

DISCOVERED_COLUMNS = (
    "keep",
    "name",
    "id",
    "preferred_name",
    "matched_name",
    "similarity",
    "occurrences",
    "documents",
    "other_concepts",
    "corrected_from",
    "doc_id",
    "example",
)
# What a reviewer may write in `keep`: the scope of the name, or that it is rejected.
_MARKS = {"y": "exact", "yes": "exact", "exact": "exact", "narrow": "narrow", "broad": "broad", "related": "related"}
_REJECTED = ("", "n", "no")


def read_discovered(context: ReaderContext) -> Iterator[Record]:
    """Read the names that are marked in the column `keep`: `y` for a synonym, or `narrow`, `broad`, `related`.

    Rows in which that cell is empty or `n` are counted and skipped. Columns may be in any order, and others may be
    added.
    """
    is_sheet = is_workbook(context.path)
    for line, row in context.table("," if is_sheet else "\t", quoted=is_sheet, needed=("keep", "name", "id")):
        mark = row["keep"].strip().lower()
        if mark in _MARKS:
            yield from context.record(line, row["id"], [(row["name"], _MARKS[mark])])
        elif mark in _REJECTED:
            context.drop("not marked to be kept")
        else:
            context.drop_broken(line, f"'{mark}' in the column keep is none of: {', '.join(_MARKS)}, n")


def is_discovered(header: Sequence[str]) -> bool:
    """Return whether a table with these headings holds new names."""
    return {"keep", "name", "id", "matched_name", "similarity"}.issubset(header)
