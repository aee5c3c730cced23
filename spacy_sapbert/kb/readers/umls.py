"""Read the UMLS Metathesaurus and RxNorm in Rich Release Format (RRF), concept by concept.

`MRCONSO` is required. `MRSTY`, `MRDEF`, `MRREL`, `MRRANK` and `MRCUI` are read if they exist. The format is described
in chapter 3 of the UMLS Reference Manual (https://www.ncbi.nlm.nih.gov/books/NBK9685/). A row of `MRCONSO` is an atom:
a name of a concept in a source. A row of `MRCUI` with the relation SY has a retired CUI and the one that it was merged
into, of which it becomes an alternative id.

Rows go into a temporary database, which sorts them by concept, so memory does not grow with the release. The tables of
RxNorm have the same columns as those of UMLS, as the RxNorm Technical Documentation describes them. But they do not say
which name a concept prefers.

In a row of `MRREL`, REL and RELA say what the *second* concept is to the *first*. `CUI1|…|RO|CUI2|…|tradename_of|`
makes the second one the brand of the first. `PAR` and `inverse_isa` make it the parent. Most relations exist in both
directions, and either direction is enough here.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from operator import attrgetter
from typing import NamedTuple

from ...errors import ChoiceError, NotFoundError
from ...files.opening import check_encoding
from ...files.values import parse_int
from ...types import Name, Record
from ..ids import canonical_id, known_tag
from ..semantic_types import find_types
from .context import ReaderContext, ReadReport
from .rrf import (
    RXNORM,
    UMLS,
    Layout,
    Row,
    RrfTable,
    find_release,
    load_rows,
    rows_by_concept,
    rows_of,
    temporary_database,
)

SUPPRESS_FLAGS = "OEY"

# The columns of the tables
_CUI, _LAT, _TS, _STT, _ISPREF, _AUI, _SAB, _TTY, _CODE, _STR, _SUPPRESS = 0, 1, 2, 4, 6, 7, 11, 12, 13, 14, 16
_TUI = 1
_DEF_AUI, _DEF_SAB, _DEF, _DEF_SUPPRESS = 1, 4, 5, 6
_CUI1, _REL, _CUI2, _RELA, _REL_SAB, _REL_SUPPRESS = 0, 3, 4, 7, 10, 14
# By table of retired ids, the columns of the old and new id, and the one that shows that they mean the same.
_RETIRED = {"RXNCUI": (0, 4, 3, b"1"), "MRCUI": (0, 5, 2, b"SY")}
# By relation, the columns of brand and drug, or of child and parent.
_TRADE_NAMES = {b"tradename_of": (_CUI2, _CUI1), b"has_tradename": (_CUI1, _CUI2)}
_IS_A = {b"isa": (_CUI2, _CUI1), b"inverse_isa": (_CUI1, _CUI2)}
_HIERARCHY = {b"CHD": (_CUI2, _CUI1), b"PAR": (_CUI1, _CUI2)}

_RXNORM = "RXNORM"
# The term types of RxNorm's own names, the preferred one first. Other sources come last.
_TERM_TYPES = (
    *("IN", "PIN", "MIN", "BN", "SCD", "SBD", "GPCK", "BPCK", "SCDC", "SBDC", "SCDF", "SCDFP", "SBDF", "SBDFP"),
    *("SCDG", "SCDGP", "SBDG", "DF", "DFG", "PSN", "SY", "TMSY", "ET"),
)
_Ranks = Mapping[tuple[bytes, bytes], int]
"""The ranks of sources and their term types. A higher rank takes precedence."""


@dataclass(frozen=True)
class UmlsSettings:
    """What to read from a UMLS release. An empty sequence does not restrict anything.

    Attributes:
        languages: Languages of names (LAT). If a concept has names in several, its preferred name is in the first of
            these.
        sources: Sources (SAB) of names, definitions and relations.
        without_sources: Sources to leave out.
        drop_suppressed: Flags (SUPPRESS) of the rows to leave out: O obsolete, E by an editor, Y by its term type.
        term_types: Term types (TTY) of names.
        semantic_types: TUIs or names of semantic types. A concept must have one of them.
        semantic_groups: Codes or names of semantic groups. A concept must have a type in one of them.
        codes: Sources (SAB) whose codes become cross-references of the concept, also if their names are left out.
        trade_names: Whether the names of a drug's brand become names of the drug.
        definitions: Whether to read definitions.
        parents: Whether to read parents.
    """

    languages: Sequence[str] = ("ENG",)
    sources: Sequence[str] = ()
    without_sources: Sequence[str] = ()
    drop_suppressed: str = SUPPRESS_FLAGS
    term_types: Sequence[str] = ()
    semantic_types: Sequence[str] = ()
    semantic_groups: Sequence[str] = ()
    codes: Sequence[str] = ()
    trade_names: bool = True
    definitions: bool = True
    parents: bool = False

    def __post_init__(self) -> None:
        if not set(self.drop_suppressed) <= set(SUPPRESS_FLAGS):
            choices = "O, E and Y, also several of them, such as OE"
            raise ChoiceError(given=self.drop_suppressed, what="choice of suppression flags", choices=choices)
        self.needed_types()

    def needed_types(self) -> frozenset[str]:
        """Return the TUIs of which a concept must have one. Empty if all concepts are read."""
        return find_types(self.semantic_types, self.semantic_groups)


def read_umls(context: ReaderContext, *, umls: UmlsSettings | None = None) -> Iterator[Record]:
    """Read a UMLS release from any path that `rrf.find_release` accepts.

    Names keep their sources (SAB). The preferred name is that of the release. If the settings leave it out, the order
    of `_Atom` decides. If atoms are equal in this order, as without `MRRANK`, the first in the file is preferred.

    An author who writes the name of a brand means the drug. So the brand's names become names of the drug, as SapBERT
    uses them for synonyms (Liu et al. 2021). The drug's names do not become names of the brand, since each would then
    stand for all brands of the drug. A brand of several drugs combines them, so it is a synonym of none.

    The definition is that of the source with the highest rank. It is never in a language that the settings leave out.

    Args:
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
    return _ReleaseReader(context, umls or UmlsSettings(), RXNORM).records()


# --- atoms


class _Atom(NamedTuple):
    """A name of a concept in one source."""

    text: str
    source: str  # SAB
    language: str  # LAT as a BCP 47 tag
    # Sort key; the lowest of a concept is preferred. The language comes first, then TS, STT and ISPREF, which select
    # one atom per concept and language, then the rank of source and term type.
    order: tuple[int, bool, bool, bool, int]


class _Selection:
    """Selects rows by the settings, and gives the reason for each row that is left out."""

    def __init__(self, settings: UmlsSettings) -> None:
        self.languages = {language.encode(): order for order, language in enumerate(settings.languages)}
        self.suppressed = {flag.encode(): f"suppressed {flag}" for flag in settings.drop_suppressed}
        self._sources = {source.encode() for source in settings.sources}
        self._without_sources = {source.encode() for source in settings.without_sources}
        self._term_types = {term_type.encode() for term_type in settings.term_types}

    def why_not_source(self, source: bytes, suppress: bytes) -> str | None:
        """Return why a row with this SAB and SUPPRESS is left out, or None if it is taken."""
        if suppress in self.suppressed:
            return self.suppressed[suppress]
        if source in self._without_sources or (self._sources and source not in self._sources):
            return "source"
        return None

    def why_not_atom(self, cells: list[bytes]) -> str | None:
        """Return why a row of `MRCONSO` is left out, or None if it is taken."""
        if self.languages and cells[_LAT] not in self.languages:
            return "language"
        if self._term_types and cells[_TTY] not in self._term_types:
            return "term type"
        return self.why_not_source(cells[_SAB], cells[_SUPPRESS])


class _AtomReader:
    """Creates atoms from rows, keeps their `sources`, and counts the rows that are left out."""

    def __init__(self, table: RrfTable, context: ReaderContext, selection: _Selection, ranks: _Ranks) -> None:
        self.sources: dict[bytes, str] = {}
        self._table, self._context, self._selection, self._ranks = table, context, selection, ranks

    def atom(self, line: int, cells: list[bytes]) -> _Atom | None:
        """Return the atom of a row, or None if the row is left out."""
        reason = self._selection.why_not_atom(cells)
        if reason:
            self._context.drop(reason)
            return None
        decoded = self._table.decode(line, cells[_STR])
        source = self.sources.get(cells[_SAB]) or self._table.decode(line, cells[_SAB])
        if decoded is None or source is None:
            return None
        text = self._context.clean(decoded)
        if not text:
            self._context.report.names_dropped["empty"] += 1
            return None
        self.sources[cells[_SAB]] = source
        # if all languages are read, English comes first
        language = self._selection.languages.get(cells[_LAT], cells[_LAT] != b"ENG")
        release = cells[_TS] != b"P", cells[_STT] != b"PF", cells[_ISPREF] != b"Y"
        rank = self._ranks.get((cells[_SAB], cells[_TTY]), 0)
        return _Atom(text, source, _language_tag(cells[_LAT]), (language, *release, -rank))


@cache
def _language_tag(code: bytes) -> str:
    return known_tag(code.decode("latin-1"))


# --- concepts


class _ReleaseReader:
    """Reads a release of UMLS, or of RxNorm, which has the same tables with other names."""

    def __init__(self, context: ReaderContext, settings: UmlsSettings, layout: Layout = UMLS) -> None:
        check_encoding(context.path, context.encoding, of_lines=True)
        release = find_release(context.path, layout)
        self._needed_types = settings.needed_types()
        if self._needed_types and "MRSTY" not in release.tables:
            remedy = "Put it there, since semantic types were requested, or take all types."
            raise NotFoundError(what=f"MRSTY in the folder of {context.file}", remedy=remedy)
        self._context, self._release, self._settings = context, release, settings
        self._is_rxnorm = layout is RXNORM
        self._prefix = f"{context.id_prefix}:" if self._is_rxnorm else ""
        self._report, self._notes = context.report, context.report.notes
        self._selection = _Selection(settings)
        self._code_sources = {source.encode(): source for source in settings.codes}
        unused = {"MRDEF": not settings.definitions, "MRREL": not (settings.trade_names or settings.parents)}
        used = {name: file for name, file in layout.files.items() if not unused.get(name)}
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
        self._ranks, self._replaced = self._ranks_of_names(), self._replaced_ids()
        reader = _AtomReader(names, self._context, self._selection, self._ranks)
        with closing(temporary_database()) as database:
            of_concepts = ("MRCONSO", "MRSTY", "MRDEF")
            tables = {name: self._tables[name].rows_with_cui() for name in of_concepts if name in self._tables}
            load_rows(database, {**tables, "MRREL": self._parents()})
            trade_names = self._names_of_brands(database)
            for cui, rows in rows_by_concept(database):
                if "MRCONSO" in rows:
                    yield from self._concept(cui, rows, reader, trade_names.get(cui, []))
                    continue
                for name in rows:
                    label = f"{self._tables[name].label} rows of concepts that {names.label} does not have"
                    self._notes[label] += len(rows[name])
        self._report_totals(set(reader.sources.values()))

    def _concept(
        self, cui: bytes, rows: Mapping[str, list[Row]], reader: _AtomReader, trade_names: list[_Atom]
    ) -> Iterator[Record]:
        """Yield the record of a concept, unless the settings leave it out."""
        types, definition = self._types(rows["MRSTY"]), self._definition(rows["MRDEF"], rows["MRCONSO"])
        atoms = [atom for line, cells in rows["MRCONSO"] if (atom := reader.atom(line, cells))]
        if not atoms:
            self._notes["concepts of which no name was taken"] += 1
        elif self._needed_types and self._needed_types.isdisjoint(types):
            self._report.rows_dropped["semantic type"] += len(atoms)
        else:
            old = sorted(self._replaced.get(cui.decode(), ()))
            parents = sorted({parent.decode() for _, (_, parent) in rows["MRREL"]})
            yield Record(
                self._prefix + cui.decode(),
                self._names(atoms, trade_names),
                tuple(self._prefix + other for other in old),
                types or self._context.types,
                definition,
                tuple(self._prefix + parent for parent in parents),
                xrefs=self._codes(rows["MRCONSO"]),
            )

    # --- what differs in RxNorm

    def _ranks_of_names(self) -> _Ranks:
        """Return the ranks of sources and term types. Without `MRRANK`, all are equal."""
        if self._is_rxnorm:
            return {
                (_RXNORM.encode(), name.encode()): -order for order, name in enumerate(_TERM_TYPES, -len(_TERM_TYPES))
            }
        ranks: dict[tuple[bytes, bytes], int] = {}
        table = self._tables.get("MRRANK")
        for line, (rank, source, term_type, *_) in table.rows() if table else ():
            try:
                ranks[source, term_type] = parse_int(rank.decode("latin-1"))
            except ValueError:
                self._tables["MRRANK"].broken(line, "the rank is not a number")
        return ranks

    def _replaced_ids(self) -> Mapping[str, set[str]]:
        """Return the retired ids that each one replaces alone."""
        replaced: defaultdict[str, set[str]] = defaultdict(set)
        for name in self._tables.keys() & _RETIRED.keys():
            old_column, new_column, sign, same = _RETIRED[name]
            for _, cells in self._tables[name].rows():
                old, new = cells[old_column].decode("latin-1"), cells[new_column].decode("latin-1")
                if cells[sign] == same and old != new and old.isalnum():
                    replaced[new].add(old)
        return replaced

    def _is_preferred(self, atom: _Atom) -> bool:
        """Return whether the release prefers this name within its language."""
        return atom.source == _RXNORM if self._is_rxnorm else not any(atom.order[1:4])

    # --- the parts of a record

    def _names(self, atoms: list[_Atom], trade_names: list[_Atom]) -> tuple[Name, ...]:
        preferred = min(atoms, key=attrgetter("order"))
        self._notes["concepts named by another than the release prefers"] += not self._is_preferred(preferred)
        others = [atom for atom in atoms if self._is_preferred(atom) and atom.language != preferred.language]
        names = {(atom.text, atom.source, atom.language): "preferred" for atom in (preferred, *others)}
        for atom in atoms:
            names.setdefault((atom.text, atom.source, atom.language), "exact")
        n_own = len(names)
        self._report.names_dropped["duplicate"] += len(atoms) - n_own
        for atom in trade_names:
            names.setdefault((atom.text, atom.source, atom.language), "exact")
        self._notes["trade names added"] += len(names) - n_own
        return tuple(Name(text, scope, source, language) for (text, source, language), scope in names.items())

    def _types(self, rows: list[Row]) -> tuple[str, ...]:
        tuis = (self._tables["MRSTY"].decode(line, cells[_TUI]) for line, cells in rows)
        return tuple(dict.fromkeys(filter(None, tuis)))

    def _definition(self, definitions: list[Row], names: list[Row]) -> str | None:
        """Return the definition of the source with the highest rank. A definition has the language of its atom."""
        if not definitions:
            return None
        languages = self._selection.languages
        foreign = {cells[_AUI] for _, cells in names if languages and cells[_LAT] not in languages}
        selected = []
        for line, cells in definitions:
            reason = self._selection.why_not_source(cells[_DEF_SAB], cells[_DEF_SUPPRESS])
            if cells[_DEF_AUI] in foreign:
                reason = "language"
            if reason:
                self._notes[f"MRDEF rows left out: {reason}"] += 1
            else:
                selected.append((line, cells))
        if not selected:
            return None
        line, cells = max(selected, key=lambda row: self._source_ranks[row[1][_DEF_SAB]])
        return self._context.clean(self._tables["MRDEF"].decode(line, cells[_DEF]) or "") or None

    @cached_property
    def _source_ranks(self) -> Counter[bytes]:
        """The rank of each source: that of its highest term type."""
        ranks: Counter[bytes] = Counter()
        for (source, _), rank in self._ranks.items():
            ranks[source] = max(ranks[source], rank)
        return ranks

    def _codes(self, rows: list[Row]) -> tuple[str, ...]:
        """Return the codes of a concept in the chosen sources as canonical ids, in the order of the rows."""
        codes: dict[str, None] = {}
        for _, cells in rows if self._code_sources else ():
            source = self._code_sources.get(cells[_SAB])
            code = cells[_CODE].decode("utf8", "replace").strip()
            if source and code not in ("", "NOCODE") and cells[_SUPPRESS] not in self._selection.suppressed:
                # HPO, GO and HGNC write their own prefix into the code
                codes[canonical_id(code if ":" in code else f"{source}:{code}")] = None
        return tuple(codes)

    # --- relations

    def _parents(self) -> Iterator[Row]:
        """Yield child and parent of each relation of the hierarchy, and note the drugs of each brand, which are few."""
        self._drugs: defaultdict[bytes, set[bytes]] = defaultdict(set)
        table, settings = self._tables.get("MRREL"), self._settings

        def is_needed(line: bytes) -> bool:  # a quick test, since most of the many rows do not matter
            is_parent = settings.parents and (b"isa|" in line or b"|PAR|" in line or b"|CHD|" in line)
            return is_parent or (settings.trade_names and b"tradename" in line)

        for line, cells in table.rows(is_needed) if table else ():
            brand_columns = _TRADE_NAMES.get(cells[_RELA]) if settings.trade_names else None
            columns = brand_columns or (_parent_columns(cells) if settings.parents else None)
            if not columns:
                continue
            cui, related = cells[columns[0]], cells[columns[1]]
            reason = self._selection.why_not_source(cells[_REL_SAB], cells[_REL_SUPPRESS])
            if not (cui.isalnum() and related.isalnum()):
                reason = "no CUI"
            if reason:
                self._notes[f"{self._tables['MRREL'].label} rows left out: {reason}"] += 1
            elif cui != related and brand_columns:
                self._drugs[cui].add(related)
            elif cui != related:
                yield line, [cui, related]

    def _names_of_brands(self, database: sqlite3.Connection) -> Mapping[bytes, list[_Atom]]:
        """Return the names of the brands of each drug."""
        drug_of = {brand: next(iter(of)) for brand, of in self._drugs.items() if len(of) == 1}
        self._notes["brands of several drugs, not taken as trade names"] += len(self._drugs) - len(drug_of)
        # these rows are read again with all others and reported then
        unreported = replace(self._context, report=ReadReport(), strict=False)
        table = RrfTable("MRCONSO", self._release.tables["MRCONSO"], unreported)
        reader = _AtomReader(table, unreported, self._selection, self._ranks)
        names: defaultdict[bytes, list[_Atom]] = defaultdict(list)
        for line, cells in sorted(row for brand in drug_of for row in rows_of(database, brand, "MRCONSO")):
            if atom := reader.atom(line, cells):
                names[drug_of[cells[_CUI]]].append(atom)
        return names

    def _report_totals(self, sources: set[str]) -> None:
        """Report the counts that are known only at the end. The sources are those of the names that were read."""
        names = self._tables["MRCONSO"]
        self._report.rows_read += names.n_rows
        self._report.rows_dropped["broken"] += names.n_broken
        for table in self._tables.values():
            if table is not names:
                self._notes[f"{table.label} rows broken"] += table.n_broken
        without = sorted(set(self._settings.sources) - sources)
        self._notes[f"sources without a name: {', '.join(without)}"] += len(without)
        for counts in (self._report.rows_dropped, self._report.names_dropped, self._notes):
            counts += Counter()  # removes zeros
        self._report.origins[self._context.path] = {
            "release": self._release.name,
            "files": [file for table in self._tables.values() for file in table.files],
            "rows": {table.label: table.n_rows for table in self._tables.values()},
            "absent": self._absent,
            "settings": asdict(self._settings),
        }


def _parent_columns(cells: list[bytes]) -> tuple[int, int] | None:
    # the relation of a hierarchy may not be is_a but, for example, part_of
    return _IS_A.get(cells[_RELA]) if cells[_RELA] else _HIERARCHY.get(cells[_REL])
