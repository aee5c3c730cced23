"""`ReaderContext`: one run of a reader over one file, and what all readers do in the same way."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from html.entities import html5
from pathlib import Path
from typing import TextIO

from ...errors import Errors, SapbertError
from ...files import open_text
from ...types import Name, Record
from ..ids import NO_ID, canonical_id
from .report import ReadReport

# Control characters that are no blanks, and halves of surrogate pairs, which escapes in JSON can make.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
# MEDIC and the names that PubChem, ChEBI and HPO pass on were taken from web pages. The semicolon must be there, since
# without it "AT&T" and "R&D" would be read as well.
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")


DECODED = "texts with HTML entities decoded"
"""What `ReadReport.notes` counts them as."""


@dataclass(frozen=True)
class ReaderContext:
    """What a reader needs to know, and where it reports.

    Attributes:
        source: the vocabulary's name, for `Name.source`.
        types: semantic types for concepts to which the file gives none.
        id_prefix: prefix of ids that are written as bare numbers, e.g. "OMIM".
        strict: the first broken row raises E127 instead of being counted.
    """

    path: Path
    source: str
    types: tuple[str, ...] = ()
    id_prefix: str | None = None
    encoding: str = "utf-8"
    strict: bool = False
    report: ReadReport = field(default_factory=ReadReport)

    def open(self, newline: str | None = None) -> AbstractContextManager[TextIO]:
        """Open the file as text, unpacked where it is gzipped."""
        return open_text(self.path, encoding=self.encoding, newline=newline)

    def broken(self, line: int, reason: str) -> None:
        """Report a place that cannot be read.

        Raises:
            SapbertError: E127 in a strict reading.
        """
        if self.strict:
            raise SapbertError(Errors.E127.format(path=self.path, line=line, reason=reason))
        self.report.add_broken(self.path, line, reason)

    def drop_broken(self, line: int, reason: str) -> None:
        """Report a row that cannot be read at all."""
        self.broken(line, reason)
        self.drop("broken")

    def drop(self, reason: str) -> None:
        """Count a row that is left out."""
        self.report.rows_dropped[reason] += 1

    def clean(self, text: str) -> str:
        """Return the text without HTML entities and control characters, each run of white space one blank."""
        if "&" in text:
            text = self._decode_entities(text)
        text, n_removed = _CONTROL.subn("", text)
        self.report.control_characters += n_removed
        return " ".join(text.split())

    def _decode_entities(self, text: str) -> str:
        decoded = _ENTITY.sub(lambda found: _decode(found[0]), text)
        if decoded != text:
            self.report.notes[DECODED] += 1
        return decoded

    def names(self, names: Iterable[tuple[str, str]]) -> tuple[Name, ...]:
        """Clean the (text, scope) pairs of a row; empty names and repeated pairs are left out and counted."""
        kept: dict[Name, None] = {}
        for text, scope in names:
            name = Name(self.clean(text), scope, self.source)
            if not name.text:
                self.report.names_dropped["empty"] += 1
            elif name in kept:
                self.report.names_dropped["duplicate"] += 1
            else:
                kept[name] = None
        return tuple(kept)

    def ids(self, raw: Iterable[str]) -> tuple[str, ...]:
        """Return the ids in canonical form, each once."""
        return self.canonical_ids(raw, self.id_prefix)

    def canonical_ids(self, raw: Iterable[str], prefix: str | None) -> tuple[str, ...]:
        """Return the same, with a prefix for bare numbers."""
        canonical = (canonical_id(self.clean(text), prefix) for text in raw)
        return tuple(dict.fromkeys(concept_id for concept_id in canonical if concept_id not in NO_ID))

    def record(
        self,
        line: int,
        concept_id: str,
        names: Iterable[tuple[str, str]],
        *,
        alternative_ids: Iterable[str] = (),
        types: Iterable[str] = (),
        definition: str | None = None,
        parents: Iterable[str] = (),
        xrefs: Iterable[str] = (),
    ) -> Iterator[Record]:
        """Make the record of a row; ids are given as the file writes them.

        Args:
            line: where the row starts.
            names: text and scope, the preferred name first.
            xrefs: ids of other vocabularies, so `id_prefix` does not apply to them.

        Yields:
            one, or none where the row has no id or no name, which is counted.
        """
        ids = self.ids([concept_id])
        if not ids:
            return self.drop_broken(line, "no id")
        kept = self.names(names)
        if not kept:
            return self.drop("no name")
        alternatives = tuple(other for other in self.ids(alternative_ids) if other not in ids)
        types = tuple(dict.fromkeys(filter(None, map(self.clean, types)))) or self.types
        definition = self.clean(definition or "") or None
        others = self.canonical_ids(xrefs, None)
        yield Record(ids[0], kept, alternatives, types, definition, self.ids(parents), others)


def _decode(entity: str) -> str:
    """Return the character of an entity; one with a name that HTML does not know stays."""
    return html.unescape(entity) if entity[1] == "#" or entity[1:] in html5 else entity
