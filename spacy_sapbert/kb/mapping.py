"""Merge the same concept across vocabularies: read id mappings and follow cross-references."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, SapbertError
from .ids import canonical_id
from .mapping_files import read_mapping_rows
from .readers.context import ReaderContext, ReadReport

EXACT = frozenset({"skos:exactmatch", "owl:equivalentclass", "owl:sameas"})
"""Predicates, in lower case, which say that two ids stand for the same concept."""

_BARE_VOCABULARIES = {"umls": "UMLS", "umls_cui": "UMLS", "mesh": "MESH", "msh": "MESH"}
_CUI = re.compile(r"C\d{7}")
_MESH_ID = re.compile(r"[CDQ](?:\d{6}|\d{9})")  # ids created since 2017 have nine digits


class Equivalents:
    """Sets of equivalent ids: all ids of a set stand for one concept.

    The structure is union–find (Galler and Fischer 1964).

    Args:
        pairs: Pairs of equivalent ids.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._parents: dict[str, str] = {}
        for one, other in pairs:
            self.join(one, other)

    def join(self, one: str, other: str) -> None:
        """Make two ids equivalent, and with them their sets."""
        first, second = self.find(one), self.find(other)
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
        SapbertError: E106 if an SSSOM column is missing; E107 if no file has an exact match; E120 to E123 if a file
            cannot be read; E127 if a row is broken and `strict` is set.
    """
    report = report or ReadReport()
    equivalents = Equivalents()
    paths = [Path(path) for path in paths]
    for path in paths:
        context = ReaderContext(path, source=path.name, strict=strict, report=report)
        for row in read_mapping_rows(context, accepts=is_exact):
            equivalents.join(row.subject, row.object)
    if paths and not equivalents:
        dropped = dict(report.rows_dropped)
        raise SapbertError(Errors.E107.format(paths=", ".join(map(str, paths)), n=report.rows_read, dropped=dropped))
    return equivalents


def is_exact(predicate: str) -> bool:
    """Return whether two ids with this predicate stand for the same concept. A file without predicates says so, too."""
    return not predicate or predicate.lower() in EXACT


# --- cross-references


def vocabulary(prefix: str) -> str:
    """Return the prefix of a vocabulary as `vocabulary_of` writes it, e.g. "UMLS" for "umls_cui"."""
    return _BARE_VOCABULARIES.get(prefix.lower()) or canonical_id(f"{prefix}:0").partition(":")[0]


def vocabulary_of(concept_id: str) -> str:
    """Return the vocabulary of a canonical id.

    Canonical ids of UMLS and MeSH have no prefix, but their numbers differ in length. C and seven digits is a CUI. C, D
    or Q and six or nine digits is a MeSH id.

    Returns:
        The prefix of the id, "UMLS" or "MESH". Empty if the vocabulary is unknown.
    """
    prefix, colon, _ = concept_id.partition(":")
    if colon:
        return prefix
    if _CUI.fullmatch(concept_id):
        return "UMLS"
    return "MESH" if _MESH_ID.fullmatch(concept_id) else ""


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

    Args:
        links: The cross-references.

    Returns:
        The one-to-one cross-references in their order, and the number of the others.
    """
    unique: dict[tuple[str, str], MappedIds] = {}
    for link in links:
        unique.setdefault((link.concept_id, link.xref), link)
    xrefs_per_concept = Counter((one, vocabulary_of(other)) for one, other in unique)
    concepts_per_xref = Counter((vocabulary_of(one), other) for one, other in unique)
    kept = [
        link
        for (one, other), link in unique.items()
        if xrefs_per_concept[one, vocabulary_of(other)] == concepts_per_xref[vocabulary_of(one), other] == 1
    ]
    return kept, len(unique) - len(kept)


def merge(
    firsts: Iterable[tuple[str, int]], equivalents: Equivalents, links: Sequence[MappedIds]
) -> tuple[dict[int, int], int]:
    """Find records that are the same concept although their ids differ.

    Args:
        firsts: Every id that a record has, with the number of the first such record.
        equivalents: Ids that stand for one concept.
        links: Cross-references that merge concepts.

    Returns:
        Two results. The first maps each record that may be merged to the first record of its concept. The second counts
        the concepts that a later record joined: both parts were already there.
    """
    classes = equivalents.copy()
    linked = {concept_id for link in links for concept_id in (link.concept_id, link.xref)}
    may_merge = [(number, concept_id) for concept_id, number in firsts if concept_id in linked or concept_id in classes]
    leads: dict[str, int] = {}
    for number, concept_id in sorted(may_merge):
        leads.setdefault(classes.find(concept_id), number)
    n_joined = 0
    for link in links:
        one, other = classes.find(link.concept_id), classes.find(link.xref)
        if one == other:
            continue
        classes.join(one, other)
        found = [leads.pop(root) for root in (one, other) if root in leads]
        n_joined += len(found) == 2 and max(found) < link.record
        leads[classes.find(one)] = min(found)
    return {number: leads[classes.find(concept_id)] for number, concept_id in may_merge}, n_joined
