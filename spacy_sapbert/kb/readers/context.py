"""`ReaderContext`: settings, reports, and cleaning of names and ids, shared by all readers of vocabulary files."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.entities import html5

from ...files.source import Source
from ...types import Name, Record
from ..ids import NO_ID, canonical_id
from .report import ReadReport

# Control characters other than whitespace, and halves of surrogate pairs, which JSON escapes can produce.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
# MEDIC and some names in PubChem, ChEBI and HPO come from web pages. The semicolon is required, since "AT&T" and "R&D"
# would match without it.
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")


DECODED = "texts with HTML entities decoded"
"""The key under which `ReadReport.notes` counts decoded texts."""


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

    def drop_broken(self, line: int, reason: str) -> None:
        """Report a row that cannot be read at all."""
        self.broken(line, reason)
        self.drop("broken")

    def drop(self, reason: str) -> None:
        """Count a row that is left out."""
        self.report.rows_dropped[reason] += 1

    def clean(self, text: str) -> str:
        """Decode HTML entities, remove control characters, and replace each run of whitespace by one space."""
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
        """Clean the (text, scope) pairs of a row. Empty names and repeated pairs are counted and skipped."""
        kept: dict[Name, None] = {}
        for text, scope in names:
            name = Name(self.clean(text), scope, self.source, self.language)
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
        """Return the ids in canonical form, each once, with this prefix for bare numbers."""
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
        xref_predicates: Iterable[tuple[str, str]] = (),
    ) -> Iterator[Record]:
        """Create the record of a row. Ids are passed as the file writes them.

        Args:
            line: Line at which the row starts.
            concept_id: Primary id.
            names: Text and scope of each name, the preferred name first.
            alternative_ids: Other ids of the concept.
            types: Semantic types.
            definition: Definition of the concept.
            parents: Ids of the parents.
            xrefs: Ids in other vocabularies, so `id_prefix` does not apply to them.
            xref_predicates: Pairs of such an id and the predicate that the file gives. The ids need not be in `xrefs`.

        Yields:
            One record. If the row has no id or no name, it is counted and yields none.
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
        said = tuple(
            (one, predicate) for xref, predicate in xref_predicates for one in self.canonical_ids([xref], None)
        )
        others = tuple(dict.fromkeys((*others, *(xref for xref, _ in said))))
        yield Record(
            ids[0], kept, alternatives, types, definition, self.ids(parents), others, tuple(dict.fromkeys(said))
        )


def _decode(entity: str) -> str:
    """Return the character of an entity. An entity name that HTML does not know stays as it is."""
    return html.unescape(entity) if entity[1] == "#" or entity[1:] in html5 else entity
