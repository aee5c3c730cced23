"""The table that `spacy-sapbert discover` writes, after somebody has reviewed it: new names of known concepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import Errors, SapbertError
from ...types import Record
from .context import ReaderContext
from .delimited import name_cells, read_cells

COLUMNS = (
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
_NEEDED = ("keep", "name", "id")
# what a reviewer writes to `keep`: the scope of the name, or that there is none
_SCOPES = {"y": "exact", "yes": "exact", "exact": "exact", "narrow": "narrow", "broad": "broad", "related": "related"}
_REJECTED = ("", "n", "no")


def read_discovered(context: ReaderContext) -> Iterator[Record]:
    """Read the names that are marked in the column `keep`: `y` for a synonym, or `narrow`, `broad`, `related`.

    Rows with an empty cell there, or `n`, are left out and counted. Columns may change places, and others be added.

    Yields:
        one a row, with that name alone.

    Raises:
        SapbertError: E556 a column is missing.
    """
    with context.open(newline="") as lines:
        rows = read_cells(context, lines, "\t", quoted=False)
        _, header = next(rows, (0, []))
        missing = [column for column in _NEEDED if column not in header]
        if missing:
            raise SapbertError(Errors.E556.format(path=context.path, missing=", ".join(missing)))
        for line, row in name_cells(context, rows, header):
            mark = row["keep"].strip().lower()
            if mark in _SCOPES:
                yield from context.record(line, row["id"], [(row["name"], _SCOPES[mark])])
            elif mark in _REJECTED:
                context.drop("not marked to be kept")
            else:
                context.drop_broken(line, f"'{mark}' in the column keep is none of: {', '.join(_SCOPES)}, n")


def is_discovered(header: Sequence[str]) -> bool:
    """Whether columns with these headings are those of new names."""
    return {*_NEEDED, "matched_name", "similarity"}.issubset(header)
