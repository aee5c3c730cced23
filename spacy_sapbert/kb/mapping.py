"""Merge the same concept across vocabularies: read mappings of ids, and follow cross-references."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..errors import EmptyError
from ..files.opening import without_gz
from .ids import NO_ID, canonical_id, vocabulary_of
from .readers.context import ReaderContext, ReadReport
from .readers.ontology import skos_match

EXACT = frozenset({"skos:exactmatch", "owl:equivalentclass", "owl:sameas"})
"""Predicates, in lower case, which say that two ids stand for the same concept."""

_SUBJECT, _PREDICATE, _OBJECT, _MODIFIER = "subject_id", "predicate_id", "object_id", "predicate_modifier"
_SSSOM_COLUMNS = (_SUBJECT, _PREDICATE, _OBJECT)
_TYPE_COLUMNS, _LITERAL = ("subject_type", "object_type"), "rdfs literal"
_NO_TERM = "sssom:notermfound"  # a curator looked for a match and found none

MAP_TARGET = "SNOMEDCT:mapTarget"
"""The predicate of map reference sets. The code may mean something broader, or hold under a rule only."""
_MAP_ADVICE = ("mapGroup", "mapPriority", "mapRule", "mapAdvice")
_MAP_COLUMNS, _TARGET = ("active", "refsetId", "referencedComponentId"), "mapTarget"
# The code systems of map reference sets of the International Edition and of the US Edition.
_MAP_SYSTEMS = {
    "447562003": "ICD10",
    "6011000124106": "ICD10CM",
    "447563008": "ICD9CM",
    "446608001": "ICDO",
    "450993002": "ICPC2",
}

_BARE_VOCABULARIES = {"umls": "UMLS", "umls_cui": "UMLS", "mesh": "MESH", "msh": "MESH"}
# types of which a vocabulary of diseases and one of phenotypes have the same concepts
_FINDING = "finding"
_FINDINGS = re.compile(r"disease|disorder|phenotyp|symptom|finding|sign\b|syndrome|neoplas", re.IGNORECASE)


class Equivalents:
    """Sets of equivalent ids: all ids of a set stand for one concept.

    The structure is union–find (Galler and Fischer 1964).
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._parents: dict[str, str] = {}
        for concept_id, other in pairs:
            self.join(concept_id, other)

    def join(self, concept_id: str, other: str) -> None:
        """Make two ids equivalent, and with them their sets."""
        first, second = self.find(concept_id), self.find(other)
        self._parents[second] = self._parents[first] = first

    def find(self, concept_id: str) -> str:
        """Return the id that represents the set. An id without equivalents represents itself."""
        root = concept_id
        while (above := self._parents.get(root, root)) != root:
            root = above
        while (above := self._parents.get(concept_id, root)) != root:  # path compression
            self._parents[concept_id], concept_id = root, above
        return root

    def copy(self) -> Equivalents:
        copied = Equivalents()
        copied._parents = self._parents.copy()
        return copied

    def __contains__(self, concept_id: str) -> bool:
        return concept_id in self._parents

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self._parents)


# --- mapping files


def read_mappings(paths: Iterable[Path], *, report: ReadReport | None = None, strict: bool = False) -> Equivalents:
    """Read files of id mappings. Ids that equal the same id are equal to each other.

    Of an SSSOM table, only exact matches are read (see `EXACT`). See `read_mapping_rows` for the formats.

    Args:
        paths: The files, plain or gzipped.
        report: Counts the rows, and the dropped rows by reason, such as "skos:closeMatch".
        strict: Raise an error at the first broken row. Otherwise, broken rows are counted and skipped.

    Raises:
        EmptyError: No file has an exact match.
        MissingColumnError: A column of an SSSOM table is missing.
    """
    report = report or ReadReport()
    equivalents = Equivalents()
    paths = [Path(path) for path in paths]
    for path in paths:
        context = ReaderContext(path, source=path.name, strict=strict, report=report)
        for subject, _, target, *_ in read_mapping_rows(context, accepts=is_exact):
            equivalents.join(subject, target)
    if paths and not equivalents:
        remedy = (
            f"Rows read: {report.rows_read}. Rows left out: {dict(report.rows_dropped)}. Only skos:exactMatch, "
            "owl:equivalentClass and owl:sameAs count as exact matches."
        )
        what = f"exact match in {', '.join(map(str, paths))}"
        raise EmptyError(what=what, consequence="no concepts would be merged", remedy=remedy)
    return equivalents


def is_exact(predicate: str) -> bool:
    """Return whether two ids with this predicate stand for the same concept. A file without predicates says so, too."""
    return not predicate or predicate.lower() in EXACT


MappingRow = tuple[str, str, str] | tuple[str, str, str, str]
"""Canonical ids of subject and object, with the predicate between them, and the rule and advice of a map of SNOMED CT.

The predicate says how the object is related to the subject: with "skos:broadMatch", the object is broader. Empty if the
file has no predicates.
"""


def read_mapping_rows(context: ReaderContext, accepts: Callable[[str], bool] = lambda _: True) -> Iterator[MappingRow]:
    """Read a file of mappings.

    A file is an SSSOM table (Matentzoglu et al. 2022) if its name contains ".sssom.". A file with a column subject_id,
    predicate_id or object_id is one as well. A file with the column mapTarget is a map reference set of SNOMED CT; its
    rows have the predicate `MAP_TARGET`. Any other file has two columns of ids and no header. Commas separate the
    columns of a .csv file, tabs those of all others. Lines at the start that begin with `#` are comments. Rows with a
    negated predicate, and rows of terms without a match, are counted and left out.

    Args:
        accepts: Whether to read the rows with a predicate. The others are counted.

    Raises:
        MissingColumnError: An SSSOM column is missing.
    """
    name = without_gz(context.path).name.lower()
    with context.open(newline="") as lines:
        n_comments, rest = _after_comments(lines)
        start = next(rest, "")
        is_map = _TARGET in start.rstrip().split("\t")
        rest, delimiter = chain([start], rest), "," if name.endswith(".csv") else "\t"
        rows = context.cells(rest, delimiter, quoted=not is_map, n_before=n_comments)
        first = next(rows, None)
        if first is None:
            return
        columns = [cell.strip() for cell in first[1]]
        if is_map:
            for line, cells in context.named_cells(rows, columns, (*_MAP_COLUMNS, _TARGET)):
                yield from _map_row(context, line, cells, accepts)
        elif ".sssom." in name or not set(columns).isdisjoint(_SSSOM_COLUMNS):
            for line, cells in context.named_cells(rows, columns, _SSSOM_COLUMNS):
                yield from _sssom_row(context, line, cells, accepts)
        else:
            for line, cells in context.named_cells(chain([first], rows), [_SUBJECT, _OBJECT]):
                yield from _row(context, line, cells, "")


def _after_comments(lines: Iterable[str]) -> tuple[int, Iterator[str]]:
    """Return the number of comment lines at the start, and the lines after them."""
    rest = iter(lines)
    for number, line in enumerate(rest):
        if not line.startswith("#"):
            return number, chain([line], rest)
    return 0, iter(())


def _sssom_row(
    context: ReaderContext, line: int, cells: dict[str, str], accepts: Callable[[str], bool]
) -> Iterator[MappingRow]:
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
        yield from _row(context, line, cells, predicate)


def _map_row(
    context: ReaderContext, line: int, cells: dict[str, str], accepts: Callable[[str], bool]
) -> Iterator[MappingRow]:
    active, refset, concept = (cells[column].strip() for column in _MAP_COLUMNS)
    target = cells[_TARGET].strip()
    if active != "1":
        context.drop("inactive")
    elif not accepts(MAP_TARGET):
        context.drop(MAP_TARGET)
    elif not target:
        context.drop("no target")
    elif not concept.isdecimal():
        context.drop_broken(line, f"'{concept[:50]}' is not a concept of SNOMED CT")
    else:
        system = _MAP_SYSTEMS.get(refset, f"REFSET{refset}")
        group, priority, *texts = (cells.get(column, "").strip() for column in _MAP_ADVICE)
        advice = "; ".join(filter(None, [f"{group}.{priority}".strip("."), *texts]))
        yield f"SNOMEDCT:{concept}", MAP_TARGET, canonical_id(f"{system}:{target}"), advice


def _row(context: ReaderContext, line: int, cells: dict[str, str], predicate: str) -> Iterator[MappingRow]:
    ids = []
    for column in (_SUBJECT, _OBJECT):
        if cells[column].strip().lower() == _NO_TERM:
            return context.drop("no term found")
        concept_id = canonical_id(context.clean(cells[column]))
        if concept_id in NO_ID:
            return context.drop_broken(line, f"no {column}")
        ids.append(concept_id)
    yield ids[0], predicate, ids[1]


# --- cross-references


def vocabulary(prefix: str) -> str:
    """Return the prefix of a vocabulary as `vocabulary_of` writes it, e.g. "UMLS" for "umls_cui"."""
    return _BARE_VOCABULARIES.get(prefix.lower()) or canonical_id(f"{prefix}:0").partition(":")[0]


class MappedIds(NamedTuple):
    """A cross-reference of a record.

    Attributes:
        record: Number of the record.
        concept_id: Id of the record.
        xref: The id that it refers to.
    """

    record: int
    concept_id: str
    xref: str


def one_to_one(links: Iterable[MappedIds]) -> tuple[list[MappedIds], int]:
    """Drop cross-references that cannot mean the same concept.

    A concept may refer to two ids of one vocabulary, or two concepts of one vocabulary may refer to the same id. Such
    references are broader or narrower. Merging them would join concepts that a vocabulary distinguishes.

    Returns:
        The one-to-one cross-references in their order, and the number of the others.
    """
    unique: dict[tuple[str, str], MappedIds] = {}
    for link in links:
        unique.setdefault((link.concept_id, link.xref), link)
    xrefs_per_concept = Counter((concept_id, vocabulary_of(xref)) for concept_id, xref in unique)
    concepts_per_xref = Counter((vocabulary_of(concept_id), xref) for concept_id, xref in unique)
    paired = [
        link
        for (concept_id, xref), link in unique.items()
        if xrefs_per_concept[concept_id, vocabulary_of(xref)] == concepts_per_xref[vocabulary_of(concept_id), xref] == 1
    ]
    return paired, len(unique) - len(paired)


class NamedRecord(NamedTuple):
    """A record of a vocabulary.

    Attributes:
        number: Its number.
        concept_id: Its id.
        name: Its preferred name.
        source: The source of this name.
        types: Its semantic types, one on each line.
    """

    number: int
    concept_id: str
    name: str
    source: str
    types: str


def shared_names(records: Sequence[NamedRecord]) -> Iterator[MappedIds]:
    """Yield the records that mean the same as the first of them, as cross-references to it.

    A short form may mean something else in another source, and so may a name that a source gives to several records.
    Their types have one in common, or are all of disorders and findings: a crab and a disease differ. Records without
    types are left alone.

    Args:
        records: Records with the same preferred name, but for case, in the order of their sources.
    """
    from ..text.words import is_acronym  # imported here, because it prepares the rules of all languages

    once = Counter(record.source for record in records)
    own = [record for record in records if once[record.source] == 1 and not is_acronym(record.name)]
    for other in own[1:]:
        if vocabulary_of(other.concept_id) != vocabulary_of(own[0].concept_id) and _have_like_types(own[0], other):
            yield MappedIds(other.number, other.concept_id, own[0].concept_id)


def _have_like_types(*records: NamedRecord) -> bool:
    first, second = (
        {_FINDING if _FINDINGS.search(name) else name for name in record.types.split("\n")} - {""} for record in records
    )
    return not first.isdisjoint(second)


def merge(
    firsts: Iterable[tuple[str, int]],
    equivalents: Equivalents,
    links: Sequence[MappedIds],
    between_sources: Sequence[MappedIds] = (),
) -> tuple[dict[int, int], int]:
    """Find records that are the same concept although their ids differ.

    Args:
        firsts: Every id that a record has, with the number of the first such record.
        equivalents: Ids that stand for one concept.
        links: Cross-references that merge concepts.
        between_sources: Further ones, which never join two concepts of one vocabulary.

    Returns:
        Two results. The first maps each record that may be merged to the first record of its concept. The second counts
        the concepts that a later record joined: both parts were already there.
    """
    classes = equivalents.copy()
    every = [*links, *between_sources]
    linked = {concept_id for link in every for concept_id in (link.concept_id, link.xref)}
    may_merge = [(number, concept_id) for concept_id, number in firsts if concept_id in linked or concept_id in classes]
    leads: dict[str, int] = {}
    vocabularies: defaultdict[str, set[str]] = defaultdict(set)
    for number, concept_id in sorted(may_merge):
        root = classes.find(concept_id)
        leads.setdefault(root, number)
        vocabularies[root].add(vocabulary_of(concept_id))
    n_joined = 0
    for position, link in enumerate(every):
        roots = classes.find(link.concept_id), classes.find(link.xref)
        own, other = (vocabularies[root] for root in roots)
        if roots[0] == roots[1] or (position >= len(links) and own & other):
            continue
        classes.join(*roots)
        vocabularies[classes.find(roots[0])] = own | other
        numbers = [leads.pop(root) for root in roots if root in leads]
        n_joined += len(numbers) == 2 and max(numbers) < link.record
        leads[classes.find(roots[0])] = min(numbers)
    return {number: leads[classes.find(concept_id)] for number, concept_id in may_merge}, n_joined
