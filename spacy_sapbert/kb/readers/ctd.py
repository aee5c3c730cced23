"""Read the disease and chemical vocabularies of CTD, `CTD_diseases` and `CTD_chemicals`, as TSV or CSV.

A comment before the rows names the columns. The columns have changed over the years: `Synonyms` of chemicals became
`MESHSynonyms` and `CTDCuratedSynonyms`. So the reader finds them by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from ...errors import MissingColumnError
from ...types import Record
from .context import ReaderContext

_STARTS = (["DiseaseName", "DiseaseID"], ["ChemicalName", "ChemicalID"])
# The roots of CTD's trees, "Diseases" and "Chemicals". MeSH has no such descriptors.
_ROOTS = ("MESH:C", "MESH:D")


def read_ctd(context: ReaderContext) -> Iterator[Record]:
    """Yield one record per row."""
    with context.open(newline="") as lines:
        n_before, columns, delimiter = _find_header(context, lines)
        rows = context.cells(lines, delimiter, quoted=delimiter == ",", n_before=n_before)
        rows = ((line, cells) for line, cells in rows if len(cells) > 1 or not cells[0].startswith("#"))
        for line, row in context.named_cells(rows, columns):
            if row[columns[1]] in _ROOTS:
                context.drop("root of the tree")
            else:
                yield from _record(context, line, row)


def _record(context: ReaderContext, line: int, row: dict[str, str]) -> Iterator[Record]:
    name, concept_id, *_ = row.values()
    synonyms = [cell for column, cell in row.items() if column.endswith("Synonyms")]
    names = [(name, "preferred"), *((synonym, "exact") for cell in synonyms for synonym in _split_values(cell))]
    # CTD writes ids of the Disease Ontology with an extra prefix: DO:DOID:1612
    alternatives = [other.removeprefix("DO:") for other in _split_values(row.get("AltDiseaseIDs", ""))]
    parents = [parent for parent in _split_values(row.get("ParentIDs", "")) if parent not in _ROOTS]
    return context.record(
        line, concept_id, names, alternative_ids=alternatives, definition=row.get("Definition"), parents=parents
    )


def _split_values(cell: str) -> list[str]:
    return cell.split("|") if cell else []


def _find_header(context: ReaderContext, lines: TextIO) -> tuple[int, list[str], str]:
    """Return the number of the line that names the columns, the columns, and their delimiter."""
    for number, line in enumerate(lines, start=1):
        for delimiter in "\t,":
            columns = line.lstrip("# ").strip().split(delimiter)
            if columns[:2] in _STARTS:
                return number, columns, delimiter
    remedy = "Use the unchanged file from CTD, or read it as a table."
    raise MissingColumnError(path=context.file, column="DiseaseName or ChemicalName", columns=(), remedy=remedy)
