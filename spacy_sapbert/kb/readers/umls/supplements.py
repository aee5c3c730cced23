"""Read types, definitions, parents and brand names of concepts from the UMLS tables other than `MRCONSO`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ..context import ReaderContext
from ..report import ReadReport
from .atoms import AUI, CUI, LAT, Atom, AtomReader, AtomSelection, Ranks
from .packed import RrfPart
from .relations import Relations, read_relations
from .settings import UmlsSettings
from .tables import ByConcept, Row, RrfTable

_TUI = 1
_DEF_AUI, _DEF_SAB, _DEF, _DEF_SUPPRESS = 1, 4, 5, 6


class ConceptSupplement(NamedTuple):
    """What the other tables contain about one concept."""

    types: tuple[str, ...]
    definition: str | None
    parents: tuple[str, ...]
    trade_names: list[Atom]


class SupplementTables:
    """The tables other than `MRCONSO`, as far as they exist, read concept by concept in the order of `MRCONSO`."""

    def __init__(
        self,
        tables: Mapping[str, RrfTable],
        names: tuple[RrfPart, ...],
        context: ReaderContext,
        settings: UmlsSettings,
        selection: AtomSelection,
        ranks: Ranks,
    ) -> None:
        """Read the relations, and open the other tables.

        Args:
            tables: The tables of the release.
            names: The parts of `MRCONSO`, where brand names are looked up.
            context: The path and the settings of all readers.
            settings: What to read.
            selection: Selects rows.
            ranks: Ranks of sources.
        """
        self._tables, self._context, self._selection, self._ranks = tables, context, selection, ranks
        self._notes = context.report.notes
        relations = Relations({}, iter(()))
        if "MRREL" in tables:
            relations = read_relations(tables["MRREL"], settings, selection, self._notes)
        self._trade_names = self._names_of_brands(names, relations.drugs)
        self._rows = {
            "MRSTY": ByConcept(tables["MRSTY"].by_concept(settings.sort) if "MRSTY" in tables else iter(())),
            "MRDEF": ByConcept(tables["MRDEF"].by_concept(settings.sort) if "MRDEF" in tables else iter(())),
            "MRREL": ByConcept(relations.parents),
        }

    def of(self, cui: bytes, names: list[Row]) -> ConceptSupplement:
        """Return the supplement of a concept.

        Args:
            cui: The concept.
            names: All its rows in `MRCONSO`.
        """
        tuis = (self._tables["MRSTY"].decode(line, cells[_TUI]) for line, cells in self._rows["MRSTY"].take(cui))
        definitions = self._rows["MRDEF"].take(cui)
        parents = tuple(cells[1].decode() for _, cells in self._rows["MRREL"].take(cui))
        return ConceptSupplement(
            tuple(dict.fromkeys(filter(None, tuis))),
            self._definition(definitions, names) if definitions else None,
            parents,
            self._trade_names.get(cui, []),
        )

    def finish(self) -> None:
        """Read the tables to their ends, and count the rows that belong to no concept."""
        for name, rows in self._rows.items():
            rows.finish()
            label = self._tables[name].label if name in self._tables else name
            names = self._tables["MRCONSO"].label
            self._notes[f"{label} rows of concepts that {names} does not have"] += rows.n_unknown

    def _definition(self, definitions: list[Row], names: list[Row]) -> str | None:
        """Return the definition of the source with the highest rank. A definition has the language of its atom."""
        languages = self._selection.languages
        foreign = {cells[AUI] for _, cells in names if languages and cells[LAT] not in languages}
        kept = []
        for line, cells in definitions:
            reason = self._selection.of_source(cells[_DEF_SAB], cells[_DEF_SUPPRESS])
            if cells[_DEF_AUI] in foreign:
                reason = "language"
            if reason:
                self._notes[f"MRDEF rows left out: {reason}"] += 1
            else:
                kept.append((line, cells))
        if not kept:
            return None
        line, cells = max(kept, key=lambda row: self._ranks.sources.get(row[1][_DEF_SAB], 0))
        return self._context.clean(self._tables["MRDEF"].decode(line, cells[_DEF]) or "") or None

    def _names_of_brands(
        self, parts: tuple[RrfPart, ...], drugs: Mapping[bytes, set[bytes]]
    ) -> Mapping[bytes, list[Atom]]:
        """Return the names of the brands of each drug."""
        drug_of = {brand: next(iter(of)) for brand, of in drugs.items() if len(of) == 1}
        self._notes["brands of several drugs, not taken as trade names"] += len(drugs) - len(drug_of)
        names: defaultdict[bytes, list[Atom]] = defaultdict(list)
        if drug_of:
            # these rows are read again with all others and reported then
            unreported = replace(self._context, report=ReadReport(), strict=False)
            table = RrfTable("MRCONSO", parts, unreported)
            reader = AtomReader(table, unreported, self._selection, self._ranks)
            for line, cells in table.rows(lambda line: line.split(b"|", 1)[0] in drug_of):
                atom = reader.atom(line, cells)
                if atom:
                    names[drug_of[cells[CUI]]].append(atom)
        return names
