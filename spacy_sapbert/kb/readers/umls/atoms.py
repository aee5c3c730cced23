"""Read the rows of `MRCONSO` as atoms (names of a concept in a source), select them, and find the preferred one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ....errors import ChoiceError
from ....files.values import parse_int
from ...ids import canonical_id
from ...languages import known_tag
from ...semantic_types import find_types
from ..context import ReaderContext
from .tables import RrfTable

SUPPRESS_FLAGS = "OEY"
CUI, LAT, TS, STT, ISPREF, AUI, SAB, TTY, CODE, STR, SUPPRESS = 0, 1, 2, 4, 6, 7, 11, 12, 13, 14, 16


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
        sort: Sort the rows by concept in a temporary file. Needed for files that are not sorted as in a release.
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
    sort: bool = False

    def __post_init__(self) -> None:
        if not set(self.drop_suppressed) <= set(SUPPRESS_FLAGS):
            choices = "O, E and Y, also several of them, such as OE"
            raise ChoiceError(given=self.drop_suppressed, what="choice of suppression flags", choices=choices)
        self.wanted_types()

    def wanted_types(self) -> frozenset[str]:
        """Return the TUIs of which a concept must have one. Empty if all concepts are read."""
        return find_types(self.semantic_types, self.semantic_groups)


class Atom(NamedTuple):
    """A name of a concept in one source.

    Attributes:
        text: The name.
        source: The source (SAB).
        language: The language (LAT) as a BCP 47 tag.
        order: Sort key; the concept's atom with the lowest key is preferred. The key compares the language first. Then
            come TS, STT and ISPREF, which select one atom per concept and language. The rank of source and term type is
            last.
    """

    text: str
    source: str
    language: str
    order: tuple[int, bool, bool, bool, int]

    @property
    def is_preferred(self) -> bool:
        """Whether the release prefers this atom within its language."""
        return not any(self.order[1:4])


class Ranks:
    """The ranks of `MRRANK`: a higher rank takes precedence. Without that table, all ranks are equal.

    Attributes:
        atoms: Rank by source and term type.
        sources: Rank by source: that of its highest term type.
    """

    def __init__(self, table: RrfTable | None) -> None:
        self.atoms: dict[tuple[bytes, bytes], int] = {}
        self.sources: defaultdict[bytes, int] = defaultdict(int)
        if table:
            self._read(table)

    def _read(self, table: RrfTable) -> None:
        for line, (rank, source, term_type, *_) in table.rows():
            try:
                number = parse_int(rank.decode("latin-1"))
            except ValueError:
                table.broken(line, "the rank is not a number")
            else:
                self.atoms[source, term_type] = number
                self.sources[source] = max(self.sources[source], number)


class AtomSelection:
    """Selects rows by the settings, and gives the reason for each row that is left out."""

    def __init__(self, settings: UmlsSettings) -> None:
        self.languages = {language.encode(): order for order, language in enumerate(settings.languages)}
        self._sources = {source.encode() for source in settings.sources}
        self._without_sources = {source.encode() for source in settings.without_sources}
        self._term_types = {term_type.encode() for term_type in settings.term_types}
        self._suppressed = {flag.encode(): f"suppressed {flag}" for flag in settings.drop_suppressed}

    def is_suppressed(self, suppress: bytes) -> bool:
        """Return whether rows with this SUPPRESS are left out."""
        return suppress in self._suppressed

    def of_source(self, source: bytes, suppress: bytes) -> str | None:
        """Return why a row with this SAB and SUPPRESS is left out, or None if it is kept."""
        if suppress in self._suppressed:
            return self._suppressed[suppress]
        if source in self._without_sources or (self._sources and source not in self._sources):
            return "source"
        return None

    def of_atom(self, cells: list[bytes]) -> str | None:
        """Return why a row of `MRCONSO` is left out, or None if it is kept."""
        if self.languages and cells[LAT] not in self.languages:
            return "language"
        if self._term_types and cells[TTY] not in self._term_types:
            return "term type"
        return self.of_source(cells[SAB], cells[SUPPRESS])


class CodeReader:
    """Reads the codes of a concept in some sources.

    Args:
        sources: The sources (SAB).
        selection: Which rows are suppressed.
    """

    def __init__(self, sources: Sequence[str], selection: AtomSelection) -> None:
        self._sources = {source.encode(): source for source in sources}
        self._selection = selection

    def codes(self, rows: Iterable[list[bytes]]) -> tuple[str, ...]:
        """Return the codes in the rows of a concept as canonical ids, each once, in the order of the rows."""
        if not self._sources:
            return ()
        codes: dict[str, None] = {}
        for cells in rows:
            source = self._sources.get(cells[SAB])
            code = cells[CODE].decode("utf8", "replace").strip()
            if source and code not in ("", "NOCODE") and not self._selection.is_suppressed(cells[SUPPRESS]):
                # HPO, GO and HGNC write their own prefix into the code
                codes[canonical_id(code if ":" in code else f"{source}:{code}")] = None
        return tuple(codes)


class AtomReader:
    """Creates atoms from rows, and counts the rows that are left out.

    Attributes:
        sources: Sources of the atoms so far.
    """

    def __init__(self, table: RrfTable, context: ReaderContext, selection: AtomSelection, ranks: Ranks) -> None:
        self.sources: dict[bytes, str] = {}
        self._languages: dict[bytes, str] = {}
        self._table, self._context, self._selection, self._ranks = table, context, selection, ranks

    def atom(self, line: int, cells: list[bytes]) -> Atom | None:
        """Return the atom of a row, or None if the row is left out."""
        reason = self._selection.of_atom(cells)
        if reason:
            self._context.drop(reason)
            return None
        decoded = self._table.decode(line, cells[STR])
        source = self.sources.get(cells[SAB]) or self._table.decode(line, cells[SAB])
        if decoded is None or source is None:
            return None
        text = self._context.clean(decoded)
        if not text:
            self._context.report.names_dropped["empty"] += 1
            return None
        self.sources[cells[SAB]] = source
        return Atom(text, source, self._language(cells[LAT]), self._order(cells))

    def _language(self, code: bytes) -> str:
        if code not in self._languages:
            self._languages[code] = known_tag(code.decode("latin-1"))
        return self._languages[code]

    def _order(self, cells: list[bytes]) -> tuple[int, bool, bool, bool, int]:
        # if all languages are read, English comes first
        language = self._selection.languages.get(cells[LAT], cells[LAT] != b"ENG")
        rank = self._ranks.atoms.get((cells[SAB], cells[TTY]), 0)
        return language, cells[TS] != b"P", cells[STT] != b"PF", cells[ISPREF] != b"Y", -rank
