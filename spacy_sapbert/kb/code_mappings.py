"""Read mappings of ids with their predicates: how a concept and a code of another vocabulary are related.

`mapping.read_mappings` reads the same files to merge concepts, which needs exact matches only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, SapbertError
from ..files import without_gz
from .ids import NO_ID, canonical_id
from .mapping import EXACT
from .readers.context import ReaderContext
from .readers.delimited import name_cells, read_cells
from .readers.predicates import skos_match
from .readers.report import ReadReport

_NEEDED = ("subject_id", "predicate_id", "object_id")
_NO_TERM = "sssom:notermfound"  # a curator looked for a match and found none
_KINDS = ("exact", "close", "broad", "narrow", "related")
_INVERSE = {"skos:broadmatch": "skos:narrowMatch", "skos:narrowmatch": "skos:broadMatch"}
_SYMMETRIC = EXACT | {"skos:closematch", "skos:relatedmatch"}


class MappedId(NamedTuple):
    """What an id is mapped to.

    Attributes:
        target: The other id.
        predicate: How the other id is related to this one: with "skos:broadMatch", the other is broader. Empty if the
            file has no predicates.
        origin: Name of the file.
    """

    target: str
    predicate: str
    origin: str


def parse_predicates(given: Iterable[str]) -> frozenset[str]:
    """Return predicates in lower case.

    Args:
        given: "exact", "close", "broad", "narrow", "related", or CURIEs. Each may hold several, joined by commas.
            "exact" stands for all of `mapping.EXACT`.

    Raises:
        SapbertError: E195 if one is neither.
    """
    predicates: set[str] = set()
    for text in chain.from_iterable(one.split(",") for one in given):
        predicate = text.strip().lower()
        if predicate == "exact":
            predicates |= EXACT
        elif predicate in _KINDS:
            predicates.add(f"skos:{predicate}match")
        elif predicate.partition(":")[1] and all(predicate.partition(":")[::2]):
            predicates.add(predicate)
        else:
            raise SapbertError(Errors.E195.format(given=text.strip() or "An empty text"))
    return frozenset(predicates)


def is_exact(predicate: str) -> bool:
    """Return whether two ids with this predicate stand for the same concept. A file without predicates says so, too."""
    return not predicate or predicate.lower() in EXACT


class CodeMappings:
    """Mappings of ids, in both directions.

    An SSSOM table gives predicates. A table of two columns without a header gives none. `mapping.read_mappings` tells
    the two kinds of files apart in the same way. Rows with a negated predicate, and rows of terms without a match, are
    counted and left out.

    Args:
        paths: The files, plain or gzipped.
        report: Counts the rows.
        strict: Raise an error at the first broken row.

    Raises:
        SapbertError: E106 if an SSSOM column is missing; E120 to E123 if a file cannot be read; E127 if a row is broken
            and `strict` is set.
    """

    def __init__(self, paths: Iterable[Path] = (), *, report: ReadReport | None = None, strict: bool = False) -> None:
        report = report or ReadReport()
        self._targets: defaultdict[str, list[MappedId]] = defaultdict(list)
        for path in map(Path, paths):
            context = ReaderContext(path, source=path.name, strict=strict, report=report)
            for subject, predicate, target in _rows(context):
                self._targets[subject].append(MappedId(target, predicate, path.name))
                inverse = _inverse(predicate)
                if inverse is not None:
                    self._targets[target].append(MappedId(subject, inverse, path.name))

    def of(self, concept_id: str) -> Sequence[MappedId]:
        """Return what an id is mapped to."""
        return self._targets.get(concept_id, ())

    def ids(self) -> Iterator[str]:
        """Yield each mapped id."""
        yield from self._targets

    def __len__(self) -> int:
        """Return the number of mapped ids."""
        return len(self._targets)


def _inverse(predicate: str) -> str | None:
    """Return the predicate from the object to the subject. None if it is unknown."""
    folded = predicate.lower()
    return _INVERSE.get(folded, predicate if not folded or folded in _SYMMETRIC else None)


def _rows(context: ReaderContext) -> Iterator[tuple[str, str, str]]:
    """Yield subject, predicate and object of each row, with ids in canonical form."""
    name = without_gz(context.path).name.lower()
    with context.open(newline="") as lines:
        n_comments, rest = 0, iter(lines)
        for line in rest:
            if not line.startswith("#"):
                rest = chain([line], rest)
                break
            n_comments += 1
        cells = read_cells(context, rest, "," if name.endswith(".csv") else "\t", quoted=True, n_before=n_comments)
        first = next(cells, None)
        if first is None:
            return
        columns = [cell.strip() for cell in first[1]]
        is_sssom = ".sssom." in name or not set(columns).isdisjoint(_NEEDED)
        if is_sssom:
            missing = [column for column in _NEEDED if column not in columns]
            if missing:
                raise SapbertError(Errors.E106.format(path=context.path, missing=", ".join(missing), columns=columns))
        else:
            columns, cells = ["subject_id", "object_id"], chain([first], cells)
        for number, row in name_cells(context, cells, columns):
            predicate = row.get("predicate_id", "").strip()
            if is_sssom and not predicate:
                context.drop_broken(number, "no predicate_id")
            elif row.get("predicate_modifier", "").strip():  # "Not" is the only modifier in SSSOM
                context.drop(f"{row['predicate_modifier'].strip()} {predicate}")
            else:
                yield from _pair(context, number, row, skos_match(predicate) or predicate)


def _pair(context: ReaderContext, line: int, row: dict[str, str], predicate: str) -> Iterator[tuple[str, str, str]]:
    ids = []
    for column in ("subject_id", "object_id"):
        if row[column].strip().lower() == _NO_TERM:
            context.drop("no term found")
            return
        ids.append(canonical_id(context.clean(row[column])))
        if ids[-1] in NO_ID:
            context.drop_broken(line, f"no {column}")
            return
    yield ids[0], predicate, ids[1]
