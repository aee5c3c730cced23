"""Read COMETA (Basaldella et al. 2020, doi:10.18653/v1/2020.emnlp-main.253): Reddit terms with SNOMED CT ids.

The file is tab-separated, with quotes if needed and a header. The reader uses the columns `Term`, `Example`, `ID` and
one of two id columns. `General SNOMED ID` is what the term means by itself. `Specific SNOMED ID` is what it means in
the example.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice

from ..errors import Errors, SapbertError
from ..files.opening import open_text
from ..kb.ids import split_ids
from ..types import Document, Mention
from .source import UNTYPED, BrokenRecord, Source
from .term_search import find_term

GENERAL = "General SNOMED ID"
SPECIFIC = "Specific SNOMED ID"
_SNOMED = "SNOMEDCT"
_TERM, _EXAMPLE, _ID = "Term", "Example", "ID"


def read_cometa(source: Source, id_column: str) -> Iterator[Document]:
    """Read `chv.csv`, or a file of its splits.

    Args:
        source: The file.
        id_column: `GENERAL` or `SPECIFIC`.

    Yields:
        One document per row. Its text is the example, if that contains the term exactly once, as whole words and in
        upper or lower case. Otherwise, the text is the term alone, and this is counted.

    Raises:
        SapbertError: E215 if a column is missing.
    """
    rows = _rows(source)
    _, columns = next(rows, (1, []))
    for missing in (name for name in (_ID, _TERM, id_column, _EXAMPLE) if name not in columns):
        raise SapbertError(Errors.E215.format(path=source.path, missing=missing, columns=", ".join(columns) or "none"))
    for line, cells in rows:
        try:
            if len(cells) != len(columns):
                raise BrokenRecord(f"{len(cells)} cells instead of {len(columns)}")
            row = dict(zip(columns, cells, strict=True))
            document = _document(row, id_column)
        except BrokenRecord as reason:
            source.broken(line, reason)
        else:
            source.report.alone += document.text != row[_EXAMPLE]
            yield document


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the line at which a row starts, and its cells. Empty rows are skipped."""
    with open_text(source.path, encoding=source.encoding, newline="") as lines:
        # without `strict`, an unbalanced quotation mark would silently swallow the rows after it
        rows = csv.reader(lines, delimiter="\t", strict=True)
        while True:
            line = rows.line_num + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                source.broken(line, f"the text from here to line {rows.line_num} is not a row ({error})")
                continue
            if any(cells):
                yield line, [cell.strip() for cell in cells]


def _document(row: dict[str, str], id_column: str) -> Document:
    term, example = row[_TERM], row[_EXAMPLE]
    if not term:
        raise BrokenRecord("no term")
    ids = split_ids(row[id_column], _SNOMED)
    if not all(concept_id.startswith(f"{_SNOMED}:") for concept_id in ids):
        raise BrokenRecord(f"{row[id_column]!r} is not a SNOMED CT id")
    found = list(islice(find_term(term, example), 2))
    text, start = (example, found[0]) if len(found) == 1 else (term, 0)
    end = start + len(term)
    return Document(row[_ID], text, (Mention(start, end, text[start:end], UNTYPED, ids),))
