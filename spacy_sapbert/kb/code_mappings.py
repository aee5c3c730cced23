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
from .mapping import EXACT
from .mapping_files import read_mapping_rows
from .readers.context import ReaderContext, ReadReport

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


class CodeMappings:
    """Mappings of ids, in both directions.

    An SSSOM table gives predicates. A table of two columns gives none. See `read_mapping_rows` for the formats.

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
            for subject, predicate, target in read_mapping_rows(context):
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
