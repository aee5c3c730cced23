"""Write the table NOTE_NLP of the OMOP Common Data Model 5.4, with concepts of a table CONCEPT that the user gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import BadRecordError, MissingColumnError
from ..files.opening import open_text
from ..files.postgres import Database, is_postgres
from ..files.values import table_lines
from ..kb.ids import canonical_id, canonical_prefix, curie_of
from ..types import NIL
from .tables import table_rows

_NUMBERS = ("note_nlp_id", "note_id", "section_concept_id", "note_nlp_concept_id", "note_nlp_source_concept_id")
_NAMES = (
    "note_nlp_id note_id section_concept_id snippet offset lexical_variant note_nlp_concept_id "
    "note_nlp_source_concept_id nlp_system nlp_date nlp_datetime term_exists term_temporal term_modifiers"
)
COLUMNS: dict[str, type] = dict.fromkeys(_NAMES.split(), str) | dict.fromkeys(_NUMBERS, int)
"""The columns of the table and their types."""
COLUMNS |= {"nlp_date": date, "nlp_datetime": datetime}
_LONGEST = 250  # characters of a snippet and of a lexical variant
_NOTE_ID = re.compile(r"([0-9]{1,18})(?:[.]\w+)?")
_SYSTEM = "spacy-sapbert"
_NOTES_PER_BATCH = 500
_REPLACED = "DELETE FROM note_nlp WHERE note_id = ANY(%s) AND nlp_system LIKE %s"
_FIND = """
SELECT c.vocabulary_id, c.concept_code, c.concept_id, array(
    SELECT r.concept_id_2 FROM concept_relationship r WHERE r.concept_id_1 = c.concept_id
    AND r.relationship_id = 'Maps to' AND coalesce(r.invalid_reason, '') = '' AND r.concept_id_2 <> c.concept_id
) FROM concept c WHERE c.concept_code = %s ORDER BY coalesce(c.invalid_reason, '') <> '', c.concept_id
"""
_CONCEPT = ("concept_id", "vocabulary_id", "concept_code", "standard_concept", "invalid_reason")
_RELATIONSHIP = ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason")
_ABSENT = frozenset({"negated", "family", "uncertain", "hypothetical"})
_TERMS = json.loads(Path(__file__).with_suffix(".json").read_bytes())
"""The words of `term_modifiers` for the flags of assertion, and the codes of LOINC for sections."""


def note_id_of(doc_id: str) -> int | None:
    """Return the id of a note, which is a whole number: "12" or the name of a file, "12.txt"; else None."""
    match = _NOTE_ID.fullmatch(doc_id)
    return int(match[1]) if match else None


class OmopConcepts:
    """Finds the concepts of OMOP for ids, in a table CONCEPT as Athena writes it: with tabs and a header.

    A vocabulary of the table is read when the first of its codes is looked up, so the memory holds no other.

    Args:
        path: The table. A table CONCEPT_RELATIONSHIP.csv beside it has the standard concept of other concepts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._vocabularies: dict[str, dict[str, list[int]]] = {}
        next(_rows(path, _CONCEPT), None)  # a wrong table is found before hours of work

    def find(self, concept_id: str) -> tuple[list[int], int]:
        """Return the standard concepts of an id, or else its own concept, and this own one; 0 for none."""
        prefix = curie_of(concept_id).partition(":")[0]
        if prefix not in self._vocabularies:
            self._vocabularies[prefix] = self._read(prefix)
        own, *standard = self._vocabularies[prefix].get(concept_id, [0])
        return standard or [own], own

    @classmethod
    def open(cls, place: Path | str) -> OmopConcepts:
        """Open the table in a file, or the tables of a database."""
        return DatabaseConcepts(str(place)) if is_postgres(place) else cls(Path(place))

    def _read(self, prefix: str) -> dict[str, list[int]]:
        concepts: dict[str, list[int]] = {}
        others: dict[str, str] = {}
        for number, vocabulary, code, standard, invalid in _rows(self._path, _CONCEPT):
            concept_id = canonical_id(f"{vocabulary}:{code}") if canonical_prefix(vocabulary) == prefix else ""
            if concept_id and not (invalid and concept_id in concepts):
                concepts[concept_id] = [int(number)]
                others |= {} if standard == "S" else {number: concept_id}
        related = self._path.with_name("CONCEPT_RELATIONSHIP.csv")
        for first, second, kind, invalid in _rows(related, _RELATIONSHIP) if others and related.is_file() else ():
            if kind == "Maps to" and not invalid and first in others and second.isdecimal():
                concepts[others[first]].append(int(second))
        return concepts


class DatabaseConcepts(OmopConcepts):
    """Finds the concepts of OMOP in the tables of a database, each when it is first looked up.

    Args:
        address: See `files.postgres.Database`.
    """

    def __init__(self, address: str) -> None:
        self._database = Database(address, "public")
        self._known: dict[str, tuple[list[int], int]] = {}
        self.find("LOINC:10154-3")  # missing tables are found before hours of work

    def find(self, concept_id: str) -> tuple[list[int], int]:
        if concept_id not in self._known:
            with self._database.transaction() as connection:
                rows = connection.execute(_FIND, [curie_of(concept_id).partition(":")[2]]).fetchall()
            own = [row for row in rows if canonical_id(f"{row[0]}:{row[1]}") == concept_id]
            _, _, number, standard = own[0] if own else ("", "", 0, [])
            self._known[concept_id] = standard or [number], number
        return self._known[concept_id]


def write_note_nlp(records: Iterable[Mapping[str, Any]], database: Database, concepts: OmopConcepts) -> None:
    """Write the rows of NOTE_NLP into a database, in one transaction for each batch of notes.

    They replace the rows that this package wrote for these notes before.
    """
    from psycopg import sql

    columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
    rest = iter(records)
    while batch := list(islice(rest, _NOTES_PER_BATCH)):
        rows = list(note_nlp_rows(batch, concepts))
        with database.transaction() as connection:
            connection.execute("LOCK TABLE note_nlp IN SHARE ROW EXCLUSIVE MODE")  # or others take the same numbers
            connection.execute(_REPLACED, [[note_id_of(record["id"]) for record in batch], f"{_SYSTEM} %"])
            (last,) = connection.execute("SELECT coalesce(max(note_nlp_id), 0) FROM note_nlp").fetchone() or (0,)
            with connection.cursor().copy(sql.SQL("COPY note_nlp ({}) FROM STDIN").format(columns)) as copy:
                for row in rows:
                    copy.write_row([row.pop("note_nlp_id") + last, *row.values()])


def _rows(path: Path, columns: Sequence[str]) -> Iterator[list[str]]:
    """Yield the cells of some columns, of which the first is a number."""
    with open_text(path, newline="\n") as lines:
        header = next(lines, "").rstrip("\r\n").lower().split("\t")
        for column in columns:
            if column not in header:
                raise MissingColumnError(path=path, column=column, columns=", ".join(filter(None, header)) or "none")
        numbers = [header.index(column) for column in columns]
        for number, line in enumerate(lines, start=2):
            cells = line.rstrip("\r\n").split("\t")
            if len(cells) != len(header) or not cells[numbers[0]].isdecimal():
                raise BadRecordError(path=path, line=number, reason=f"it has no number or not {len(header)} cells")
            yield [cells[column] for column in numbers]


def note_nlp_rows(records: Iterable[Mapping[str, Any]], concepts: OmopConcepts) -> Iterator[dict[str, Any]]:
    """Yield the rows of NOTE_NLP: one for each link and standard concept, and one for a mention without a link.

    Offsets count the characters of the note. Texts longer than the 250 characters of their column are cut.
    """
    now = datetime.now().replace(microsecond=0)
    system = {"nlp_system": f"{_SYSTEM} {__version__}", "nlp_date": now.date(), "nlp_datetime": now}
    number = 0
    for row in table_rows({**record, "passages": ()} for record in records):
        flags = frozenset((row["assertion"] or "").split("|"))
        exists = _ABSENT.isdisjoint(flags)
        targets, source = concepts.find(row["concept_id"]) if row["concept_id"] != NIL else ([0], 0)
        section = _TERMS["sections"].get(row["section"])
        for target in targets:
            number += 1
            yield {
                "note_nlp_id": number,
                "note_id": note_id_of(row["doc_id"]),
                "section_concept_id": concepts.find(f"LOINC:{section}")[1] if section else 0,
                "snippet": row["snippet"][:_LONGEST],
                "offset": str(row["start"]),
                "lexical_variant": row["text"][:_LONGEST],
                "note_nlp_concept_id": target,
                "note_nlp_source_concept_id": source,
                **system,
                "term_exists": "Y" if exists else "N",
                "term_temporal": "past" if "historical" in flags else "present" if exists else None,
                "term_modifiers": ",".join(text for flag, text in _TERMS["modifiers"].items() if flag in flags) or None,
            }


def note_nlp_lines(records: Iterable[Mapping[str, Any]], concepts: str) -> Iterator[str]:
    """Yield the lines of NOTE_NLP as CSV."""
    rows = note_nlp_rows(records, OmopConcepts.open(concepts))
    return table_lines(chain([COLUMNS], (row.values() for row in rows)), ",")
