"""Read files of id mappings: SSSOM tables, and tables of two columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from ..errors import Errors, SapbertError
from ..files.opening import without_gz
from .ids import NO_ID, canonical_id
from .readers.context import ReaderContext
from .readers.ontology import skos_match

_SUBJECT, _PREDICATE, _OBJECT, _MODIFIER = "subject_id", "predicate_id", "object_id", "predicate_modifier"
_SSSOM_COLUMNS = (_SUBJECT, _PREDICATE, _OBJECT)
_TYPE_COLUMNS, _LITERAL = ("subject_type", "object_type"), "rdfs literal"
_NO_TERM = "sssom:notermfound"  # a curator looked for a match and found none


class MappingRow(NamedTuple):
    """A row of a file of mappings, with canonical ids.

    Attributes:
        subject: The first id.
        predicate: How the object is related to the subject: with "skos:broadMatch", the object is broader. Empty if the
            file has no predicates.
        object: The second id.
    """

    subject: str
    predicate: str
    object: str


def read_mapping_rows(context: ReaderContext, accepts: Callable[[str], bool] = lambda _: True) -> Iterator[MappingRow]:
    """Read a file of mappings.

    A file is an SSSOM table (Matentzoglu et al. 2022) if its name contains ".sssom.". A file with a column subject_id,
    predicate_id or object_id is one as well. Any other file has two columns of ids and no header. Commas separate the
    columns of a .csv file, tabs those of all others. Lines at the start that begin with `#` are comments. Rows with a
    negated predicate, and rows of terms without a match, are counted and left out.

    Args:
        context: The file and its report.
        accepts: Whether to read the rows with a predicate. The others are counted.

    Raises:
        SapbertError: E106 if an SSSOM column is missing; E120 to E123 if the file cannot be read; E127 if a row is
            broken and `context.strict` is set.
    """
    name = without_gz(context.path).name.lower()
    with context.open(newline="") as lines:
        n_comments, rest = _after_comments(lines)
        rows = context.cells(rest, "," if name.endswith(".csv") else "\t", quoted=True, n_before=n_comments)
        first = next(rows, None)
        if first is None:
            return
        columns = [cell.strip() for cell in first[1]]
        if ".sssom." in name or not set(columns).isdisjoint(_SSSOM_COLUMNS):
            yield from _sssom_rows(context, rows, columns, accepts)
        else:
            for line, cells in context.named_cells(chain([first], rows), [_SUBJECT, _OBJECT]):
                yield from _with_ids(context, line, cells, "")


def _after_comments(lines: Iterable[str]) -> tuple[int, Iterator[str]]:
    """Return the number of comment lines at the start, and the lines after them."""
    rest = iter(lines)
    for number, line in enumerate(rest):
        if not line.startswith("#"):
            return number, chain([line], rest)
    return 0, iter(())


def _sssom_rows(
    context: ReaderContext, rows: Iterator[tuple[int, list[str]]], columns: list[str], accepts: Callable[[str], bool]
) -> Iterator[MappingRow]:
    missing = [column for column in _SSSOM_COLUMNS if column not in columns]
    if missing:
        raise SapbertError(Errors.E106.format(path=context.path, missing=", ".join(missing), columns=columns))
    for line, cells in context.named_cells(rows, columns):
        written = cells[_PREDICATE].strip()
        predicate = skos_match(written) or written
        if any(cells.get(column, "").strip().lower() == _LITERAL for column in _TYPE_COLUMNS):
            context.drop("a text without an id")
        elif not predicate:
            context.drop_broken(line, f"no {_PREDICATE}")
        elif not accepts(predicate):
            context.drop(predicate)
        elif cells.get(_MODIFIER, "").strip():  # "Not" is the only modifier in SSSOM
            context.drop(f"{cells[_MODIFIER].strip()} {predicate}")
        else:
            yield from _with_ids(context, line, cells, predicate)


def _with_ids(context: ReaderContext, line: int, cells: dict[str, str], predicate: str) -> Iterator[MappingRow]:
    ids = []
    for column in (_SUBJECT, _OBJECT):
        if cells[column].strip().lower() == _NO_TERM:
            context.drop("no term found")
            return
        concept_id = canonical_id(context.clean(cells[column]))
        if concept_id in NO_ID:
            context.drop_broken(line, f"no {column}")
            return
        ids.append(concept_id)
    yield MappingRow(ids[0], predicate, ids[1])
