"""Read the concepts of a release of UMLS or RxNorm as a stream.

The tables of UMLS are sorted by concept and read in parallel. Those of RxNorm have the same columns, as the RxNorm
Technical Documentation describes them. But they are not sorted, and do not say which name a concept prefers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import groupby
from operator import attrgetter

from ....errors import NotFoundError
from ....files.opening import check_encoding
from ....types import Name, Record
from ..context import ReaderContext
from .atoms import CUI, Atom, AtomReader, AtomSelection, CodeReader, Ranks, UmlsSettings
from .release import RXNORM, UMLS, Layout, find_release
from .supplements import ConceptSupplement, SupplementTables
from .tables import COLUMNS, Row, RrfTable

_RXNORM = "RXNORM"
# The term types of RxNorm's own names, the preferred one first. Other sources come last.
_TERM_TYPES = (
    *("IN", "PIN", "MIN", "BN", "SCD", "SBD", "GPCK", "BPCK", "SCDC", "SBDC", "SCDF", "SCDFP", "SBDF", "SBDFP"),
    *("SCDG", "SCDGP", "SBDG", "DF", "DFG", "PSN", "SY", "TMSY", "ET"),
)
_OLD, _CARDINALITY, _NEW = 0, 3, 4


def read_umls(context: ReaderContext, *, umls: UmlsSettings | None = None) -> Iterator[Record]:
    """Read a UMLS release from any path that `release.find_release` accepts.

    Names keep their sources (SAB). The preferred name is that of the release. If the settings leave it out, the order
    of `Atom` decides. If atoms are equal in this order, as without `MRRANK`, the first in the file is preferred.

    An author who writes the name of a brand means the drug. So the brand's names become names of the drug, as SapBERT
    uses them for synonyms (Liu et al. 2021). The drug's names do not become names of the brand, since each would then
    stand for all brands of the drug. A brand of several drugs combines them, so it is a synonym of none.

    The definition is that of the source with the highest rank. It is never in a language that the settings leave out.

    Args:
        context: The path and the settings of all readers.
        umls: What to read. Default: the English names that are not suppressed.

    Yields:
        One record per concept. Its id is the CUI, and its types are TUIs.
    """
    return _ReleaseReader(context, umls or UmlsSettings()).records()


def read_rxnorm(context: ReaderContext, *, umls: UmlsSettings | None = None) -> Iterator[Record]:
    """Read a release of RxNorm. Ids are RXCUIs: `RXNORM:161`.

    Names and types are read as from UMLS, and a drug gets its brand names. The preferred name is that of RxNorm, by
    term type: ingredients, brands, clinical drugs, then synonyms. A retired RXCUI that became one other is an
    alternative id.

    Args:
        context: The folder of a release, its folder `rrf`, its zip file, or RXNCONSO.RRF. If a release also holds the
            prescribable subset, the whole is read.
        umls: What to read. Default: the English names that are not suppressed.

    Yields:
        One record per concept. Its types are TUIs.
    """
    context = replace(context, id_prefix=context.id_prefix or _RXNORM)
    return _RxNormReader(context, replace(umls or UmlsSettings(), sort=True), RXNORM).records()


class _ReleaseReader:
    """Reads a release of UMLS. A subclass reads RxNorm, which has the same tables.

    Args:
        context: The path and the settings of all readers.
        settings: What to read.
        layout: The names of the files.
    """

    def __init__(self, context: ReaderContext, settings: UmlsSettings, layout: Layout = UMLS) -> None:
        check_encoding(context.path, context.encoding, of_lines=True)
        release = find_release(context.path, layout)
        if settings.wanted_types() and "MRSTY" not in release.tables:
            remedy = "Put it there, since semantic types were requested, or take all types."
            raise NotFoundError(what=f"MRSTY in the folder of {context.file}", remedy=remedy)
        self._context, self._release, self._settings, self._layout = context, release, settings, layout
        self._report = context.report
        self._wanted_types = settings.wanted_types()
        self._codes = CodeReader(settings.codes, AtomSelection(settings))
        unused = {"MRDEF": not settings.definitions, "MRREL": not (settings.trade_names or settings.parents)}
        used = {name: layout.files[name] for name in COLUMNS if name in layout.files and not unused.get(name)}
        self._absent = [file for name, file in used.items() if name not in release.tables]
        self._tables = {
            name: RrfTable(name, release.tables[name], context, file)
            for name, file in used.items()
            if name in release.tables
        }

    def records(self) -> Iterator[Record]:
        """Yield one record per concept."""
        self._report.bytes_total += sum(table.size for table in self._tables.values())
        names = self._tables["MRCONSO"]
        selection, ranks = AtomSelection(self._settings), self.ranks()
        parts = self._release.tables["MRCONSO"]
        supplements = SupplementTables(self._tables, parts, self._context, self._settings, selection, ranks)
        reader = AtomReader(names, self._context, selection, ranks)
        for cui, group in groupby(names.by_concept(self._settings.sort), key=lambda row: row[1][CUI]):
            rows = list(group)
            # called even for concepts that are then dropped, so that skipped rows really belong to no concept
            supplement = supplements.of(cui, rows)
            yield from self._record(cui.decode(), rows, supplement, reader)
        supplements.finish()
        self._report_totals(set(reader.sources.values()))

    def ranks(self) -> Ranks:
        """Return the ranks of sources and term types."""
        return Ranks(self._tables.get("MRRANK"))

    def concept_id(self, cui: str) -> str:
        """Return the id of a concept."""
        return cui

    def alternative_ids(self, cui: str) -> tuple[str, ...]:
        """Return other ids of a concept."""
        return ()

    def is_preferred(self, atom: Atom) -> bool:
        """Return whether the release prefers this name within its language."""
        return atom.is_preferred

    def _record(self, cui: str, rows: list[Row], supplement: ConceptSupplement, reader: AtomReader) -> Iterator[Record]:
        atoms = [atom for line, cells in rows if (atom := reader.atom(line, cells))]
        if not atoms:
            self._report.notes["concepts of which no name was taken"] += 1
        elif self._wanted_types and self._wanted_types.isdisjoint(supplement.types):
            self._report.rows_dropped["semantic type"] += len(atoms)
        else:
            names = self._names(atoms, supplement.trade_names)
            types = supplement.types or self._context.types
            codes = self._codes.codes(cells for _, cells in rows)
            yield Record(
                self.concept_id(cui),
                names,
                self.alternative_ids(cui),
                types,
                supplement.definition,
                tuple(map(self.concept_id, supplement.parents)),
                xrefs=codes,
            )

    def _names(self, atoms: list[Atom], trade_names: list[Atom]) -> tuple[Name, ...]:
        preferred = min(atoms, key=attrgetter("order"))
        self._report.notes["concepts named by another than the release prefers"] += not self.is_preferred(preferred)
        others = [atom for atom in atoms if self.is_preferred(atom) and atom.language != preferred.language]
        names = {(atom.text, atom.source, atom.language): "preferred" for atom in (preferred, *others)}
        for atom in atoms:
            names.setdefault((atom.text, atom.source, atom.language), "exact")
        n_own = len(names)
        self._report.names_dropped["duplicate"] += len(atoms) - n_own
        for atom in trade_names:
            names.setdefault((atom.text, atom.source, atom.language), "exact")
        self._report.notes["trade names added"] += len(names) - n_own
        return tuple(Name(text, scope, source, language) for (text, source, language), scope in names.items())

    def _report_totals(self, sources: set[str]) -> None:
        """Report the counts that are known only at the end.

        Args:
            sources: The sources of the names that were read.
        """
        names = self._tables["MRCONSO"]
        self._report.rows_read += names.n_rows
        self._report.rows_dropped["broken"] += names.n_broken
        for table in self._tables.values():
            if table is not names:
                self._report.notes[f"{table.label} rows broken"] += table.n_broken
        without = sorted(set(self._settings.sources) - sources)
        self._report.notes[f"sources without a name: {', '.join(without)}"] += len(without)
        for counts in (self._report.rows_dropped, self._report.names_dropped, self._report.notes):
            counts += Counter()  # removes zeros
        self._report.origins[self._context.path] = {
            "release": self._release.name,
            "files": [file for table in self._tables.values() for file in table.files.values()],
            "rows": {table.label: table.n_rows for table in self._tables.values()},
            "absent": self._absent,
            "settings": asdict(self._settings),
        }


class _RxNormReader(_ReleaseReader):
    def records(self) -> Iterator[Record]:
        self._old_ids = self._retired()
        yield from super().records()

    def ranks(self) -> Ranks:
        ranks = Ranks(None)
        for rank, term_type in enumerate(reversed(_TERM_TYPES), start=1):
            ranks.atoms[_RXNORM.encode(), term_type.encode()] = rank
        return ranks

    def concept_id(self, cui: str) -> str:
        return f"{self._context.id_prefix}:{cui}"

    def alternative_ids(self, cui: str) -> tuple[str, ...]:
        return tuple(map(self.concept_id, self._old_ids.get(cui, ())))

    def is_preferred(self, atom: Atom) -> bool:
        return atom.source == _RXNORM

    def _retired(self) -> dict[str, list[str]]:
        """Return the retired RXCUIs by the one that each became."""
        old_ids: defaultdict[str, list[str]] = defaultdict(list)
        table = self._tables.get("RXNCUI")
        for _, cells in table.rows() if table else ():
            old, new = cells[_OLD].decode("latin-1"), cells[_NEW].decode("latin-1")
            if cells[_CARDINALITY] == b"1" and old != new and old.isalnum():
                old_ids[new].append(old)
        return {new: sorted(set(old)) for new, old in old_ids.items()}
