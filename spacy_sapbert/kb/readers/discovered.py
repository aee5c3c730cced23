"""Read the reviewed table of `spacy-sapbert discover`: new names of known concepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...files.tables import unescaped
from ...types import Record
from .context import ReaderContext

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
# What a reviewer may write in `keep`: the scope of the name, or that it is rejected.
_SCOPES = {"y": "exact", "yes": "exact", "exact": "exact", "narrow": "narrow", "broad": "broad", "related": "related"}
_REJECTED = ("", "n", "no")


def read_discovered(context: ReaderContext) -> Iterator[Record]:
    """Read the names that are marked in the column `keep`: `y` for a synonym, or `narrow`, `broad`, `related`.

    Rows in which that cell is empty or `n` are counted and skipped. Columns may be in any order, and others may be
    added.

    Yields:
        One record per row, with one name.
    """
    with context.open(newline="") as lines:
        rows = context.cells(lines, "\t", quoted=False)
        _, header = next(rows, (0, []))
        for line, row in context.named_cells(rows, header, _NEEDED):
            mark = row["keep"].strip().lower()
            if mark in _SCOPES:
                yield from context.record(line, unescaped(row["id"]), [(unescaped(row["name"]), _SCOPES[mark])])
            elif mark in _REJECTED:
                context.drop("not marked to be kept")
            else:
                context.drop_broken(line, f"'{mark}' in the column keep is none of: {', '.join(_SCOPES)}, n")


def is_discovered(header: Sequence[str]) -> bool:
    """Return whether a table with these headings holds new names."""
    return {*_NEEDED, "matched_name", "similarity"}.issubset(header)
