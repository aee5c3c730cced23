"""Write links as health records: a Bundle of FHIR, phenopackets, and the table NOTE_NLP of OMOP.

`fhir.json` has the addresses that HL7 gives to code systems, the types and prefixes of each kind of statement ("" for
those that say nothing of patients), and how each is written; its states are present, negated, uncertain. `omop.json`
has the words of `term_modifiers` for the flags of assertion, and the codes of LOINC for sections.
"""

from __future__ import annotations

import json
import re
import warnings
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from itertools import chain, islice
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from .. import __version__
from ..errors import BadRecordError, MissingColumnError, Warnings
from ..files.opening import open_text
from ..files.postgres import Database, is_postgres
from ..files.values import json_list, table_lines
from ..kb.ids import canonical_id, canonical_prefix, curie_of
from ..kb.semantic_types import DRUG, kind_of
from ..text.notes.drugs import NO_MEDICATION
from ..types import NIL
from .tables import table_rows

Values = dict[str, Any]
Record = Mapping[str, Any]

# --- a Bundle of FHIR R4, with elements that R4B has as well
#
# A document is a `DocumentReference` with its text. What it says about the patient is a `Condition`, a
# `MedicationStatement`, an `AllergyIntolerance` or an `Observation`, by the type of the concept and the section; about
# a relative, a `FamilyMemberHistory`. Each has the place of its text in the extension `derivation-reference` of HL7.

_DERIVED = "http://hl7.org/fhir/StructureDefinition/derivation-reference"
_BUNDLE = '{"resourceType": "Bundle", "type": "collection", "entry": ['
_ID = re.compile("[A-Za-z0-9.-]{1,64}")
_TABLES = json.loads(Path(__file__).with_name("fhir.json").read_bytes())
_QUANTITY = re.compile(r"([<>]=?)? ?(\d{1,15}(?:\.\d{1,15})?) ?([^\s\d().,][^\s().,]*)?")
_HIGH_OR_LOW = re.compile(r"(?: \(?[HL]\)?|\([HL]\))$")
_REASON = (
    "they are hypothetical, deny a disease of the family, "
    "or are about genes, species, cell lines or substances that are no drugs"
)


def fhir(records: Iterable[Record]) -> Iterator[str]:
    """Yield the pieces of a Bundle. Mentions that state nothing of patients are left out, with a warning."""
    return json_list(_BUNDLE, _bundle_entries(records), "\n]}\n")


def _bundle_entries(records: Iterable[Record]) -> Iterator[Values]:
    recorded = datetime.now(timezone.utc).isoformat(timespec="seconds")
    numbers: Counter[str] = Counter()
    for record in records:
        numbers[record["id"]] += 1  # a Bundle has each address once
        yield from _entries(record, f"{record['id']}\n{numbers[record['id']]}", recorded)


def _entries(record: Record, name: str, recorded: str) -> Iterator[Values]:
    patient = subject_of(record)
    named = {"reference": f"Patient/{patient}"} if _ID.fullmatch(patient) else {"display": patient}
    content = {"contentType": "text/plain; charset=utf-8", "data": b64encode(record["text"].encode()).decode()}
    head = {"status": "current", "identifier": [{"value": record["id"]}], "subject": named}
    document = _entry(name, "DocumentReference", {**head, "content": [{"attachment": content}]})
    source = {"reference": document["fullUrl"]}
    yield document
    targets: list[Values] = []
    for entity in record["entities"]:
        for link in entity["links"] or [{}]:
            kind, statement = _statement(entity, link, named)
            if not kind:
                left_out("fhir", _REASON)
                continue
            places = link.get("offsets") or entity.get("offsets") or [(entity["start"], entity["end"])]
            statement["extension"] = [_place(source, *place) for place in places]
            entry = _entry(f"{name}\n{len(targets)}", kind, statement)
            targets.append({"reference": entry["fullUrl"]})
            yield entry
    if targets:
        agent = [{"who": {"display": f"spacy-sapbert {__version__}"}}]
        made = {"recorded": recorded, "agent": agent, "entity": [{"role": "source", "what": source}]}
        yield _entry(f"{name}\nprovenance", "Provenance", {"target": targets, **made})


def subject_of(record: Record) -> str:
    """Return the patient: the value "patient_id" of the metadata of the document, or a description."""
    return str(record.get("meta", {}).get("patient_id") or f"patient of document {record['id']}")


def left_out(format: str, reason: str) -> None:
    """Warn of mentions that a format cannot state. Python shows the same warning once."""
    warnings.warn(Warnings.W512.format(format=format, reason=reason), stacklevel=2)


def _entry(name: str, kind: str, values: Values) -> Values:
    uuid = str(uuid5(NAMESPACE_URL, f"spacy-sapbert:{name}"))
    return {"fullUrl": f"urn:uuid:{uuid}", "resource": {"resourceType": kind, "id": uuid, **values}}


def _place(source: Values, start: int, end: int) -> Values:
    numbers = [{"url": "offset", "valueInteger": start}, {"url": "length", "valueInteger": end - start}]
    return {"url": _DERIVED, "extension": [{"url": "reference", "valueReference": source}, *numbers]}


def _coded(system: str, code: str, **others: str) -> Values:
    system = system if ":" in system else f"http://terminology.hl7.org/CodeSystem/{system}"
    return {"coding": [{"system": system, "code": code, **others}]}


def _statement(entity: Record, link: Record, patient: Values) -> tuple[str, Values]:
    """Return the kind and the values of the resource of a link. The kind is empty if it states nothing of patients."""
    flags, prefix = set(entity.get("assertion", ())), curie_of(link.get("concept_id") or "").rpartition(":")[0]
    kind = kind_of(link.get("types") or [entity["label"]], prefix)
    if kind == DRUG:
        kind = _kind_of_drug(entity)
    state = 1 if "negated" in flags else 2 if "uncertain" in flags else 0
    if not kind or "hypothetical" in flags or ("family" in flags and (kind != "Condition" or state == 1)):
        return "", {}
    code = _code(entity["text"], link, prefix)
    common: Values = {"note": [{"text": f"assertion: {', '.join(entity['assertion'])}"}]} if flags else {}
    if "family" in flags:
        relative = {"relationship": _coded("v3-RoleCode", "FAMMEMB"), "condition": [{"code": code}]}
        return "FamilyMemberHistory", {"status": "partial", "patient": patient, **relative, **common}
    if kind == DRUG and entity.get("drug_state"):
        status = "not-taken" if state == 1 else _TABLES["drug_states"][entity["drug_state"]]
        dosage = {"dosage": [{"text": entity["dosage"]}]} if entity["dosage"] else {}
        return kind, {"status": status, "subject": patient, "medicationCodeableConcept": code, **dosage, **common}
    if kind == "Observation" and entity.get("value"):
        return kind, {"status": "final", "subject": patient, "code": code, **_measured(entity["value"]), **common}
    return kind, _of_patient(kind, state, "historical" in flags, patient, code, common)


def _kind_of_drug(entity: Record) -> str:
    """Return the kind of what is said of a drug. A record of an earlier version has no states."""
    if entity.get("drug_state") == NO_MEDICATION:
        return "Observation" if entity["value"] else ""
    is_allergy = entity.get("drug_state") == "allergy" or entity.get("section") == "allergies"
    return "AllergyIntolerance" if is_allergy else DRUG


def _measured(value: str) -> Values:
    """Return a value of the laboratory: a number with its unit if it is that alone."""
    if _HIGH_OR_LOW.search(value) or not (parts := _QUANTITY.fullmatch(value)):  # "H" is no unit
        return {"valueString": value}
    comparator, number, unit = parts.groups("")
    others = {"comparator": comparator, "unit": unit}
    return {"valueQuantity": {"value": float(number), **{name: text for name, text in others.items() if text}}}


def _of_patient(kind: str, state: int, is_past: bool, patient: Values, code: Values, common: Values) -> Values:
    """Return the values of a resource about a patient."""
    if kind == "Observation":
        unknown = {"dataAbsentReason": _coded("data-absent-reason", "unknown")}
        value: Values = unknown if state == 2 else {"valueBoolean": state == 0}
        return {"status": "final", "subject": patient, "code": code, **value, **common}
    table = _TABLES["statements"][kind]
    status = table["states"][state]
    if kind == "MedicationStatement":
        status = "completed" if is_past and not state else status
        return {"status": status, "subject": patient, "medicationCodeableConcept": code, **common}
    is_over = state == 1 or (is_past and kind == "Condition")  # an allergy stays
    clinical = _coded(table["clinical"], "inactive" if is_over else "active")
    about = {"verificationStatus": _coded(table["verified"], status), table["subject"]: patient, "code": code}
    return {**about, **common, "clinicalStatus": clinical}


def _code(text: str, link: Record, prefix: str) -> Values:
    """Return the concept of a link as FHIR codes it, with the text of the mention."""
    if not (concept_id := link.get("concept_id")):
        return {"text": text}
    system = _TABLES["systems"].get(prefix, f"https://bioregistry.io/{prefix.lower()}")
    local = concept_id if prefix == "HP" else concept_id.rpartition(":")[2]  # as HL7 has the codes of HPO
    return {"text": text, **_coded(system, local, **({"display": name} if (name := link["preferred_name"]) else {}))}


# --- phenopackets of GA4GH, version 2: the terms of HPO that are linked

_OBO = "http://purl.obolibrary.org/obo/"
_RESOURCES = {"HP": "human phenotype ontology", "ECO": "evidence and conclusion ontology"}
_AUTOMATIC = {"id": "ECO:0000501", "label": "evidence used in automatic assertion"}


def phenopacket(record: Record) -> Values:
    """Return the phenopacket of a document. A term is excluded if each of its mentions is denied.

    Mentions of relatives, those that are uncertain or hypothetical, and other concepts are left out, with a warning.
    """
    features: dict[str, Values] = {}
    for entity in record["entities"]:
        flags = set(entity.get("assertion", ()))
        for link in entity["links"]:
            concept_id = link["concept_id"] or ""
            if not concept_id.startswith("HP:"):
                left_out("phenopacket", "they are no terms of HPO")
            elif flags & {"family", "uncertain", "hypothetical"}:
                left_out("phenopacket", "they are uncertain, hypothetical or about a relative")
            else:
                term = {"id": concept_id, "label": link["preferred_name"] or link["name"] or ""}
                feature = features.setdefault(concept_id, {"type": term, "excluded": True, "evidence": []})
                feature["excluded"] &= "negated" in flags
                place = f"characters {entity['start']} to {entity['end']}: {entity['text']}"
                reference = {"id": record["id"], "description": place}
                feature["evidence"].append({"evidenceCode": _AUTOMATIC, "reference": reference})
    return {
        "id": record["id"],
        "subject": {"id": subject_of(record)},
        "phenotypicFeatures": list(features.values()),
        "metaData": {
            "created": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "createdBy": f"spacy-sapbert {__version__}",
            "resources": [_resource(prefix, name) for prefix, name in _RESOURCES.items()],
            "phenopacketSchemaVersion": "2.0",
        },
    }


def _resource(prefix: str, name: str) -> dict[str, str]:
    iris = {"url": f"{_OBO}{prefix.lower()}.owl", "iriPrefix": f"{_OBO}{prefix}_"}
    return {"id": prefix.lower(), "name": name, "namespacePrefix": prefix, "version": "unknown", **iris}


# --- the table NOTE_NLP of the OMOP Common Data Model 5.4, with concepts of a table CONCEPT that the user gives

_NUMBERS = ("note_nlp_id", "note_id", "section_concept_id", "note_nlp_concept_id", "note_nlp_source_concept_id")
_NAMES = (
    "note_nlp_id note_id section_concept_id snippet offset lexical_variant note_nlp_concept_id "
    "note_nlp_source_concept_id nlp_system nlp_date nlp_datetime term_exists term_temporal term_modifiers"
)
COLUMNS: dict[str, type] = dict.fromkeys(_NAMES.split(), str) | dict.fromkeys(_NUMBERS, int)
"""The columns of NOTE_NLP and their types."""
COLUMNS |= {"nlp_date": date, "nlp_datetime": datetime}
_LONGEST = 250  # characters of a snippet and of a lexical variant
_NOTE_ID = re.compile(r"0|[1-9][0-9]{0,17}")  # "01" and "1.txt" would be the same note as "1"
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
_TERMS = json.loads(Path(__file__).with_name("omop.json").read_bytes())


def note_id_of(doc_id: str) -> int | None:
    """Return the id of a note: a whole number as it stands, such as "12"; None for any other text."""
    return int(doc_id) if _NOTE_ID.fullmatch(doc_id) else None


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


def write_note_nlp(records: Iterable[Record], database: Database, concepts: OmopConcepts) -> None:
    """Write the rows of NOTE_NLP into a database, in one transaction for each batch of notes.

    They replace the rows that this package wrote for these notes before. Records with the same id are of one note.
    """
    from psycopg import sql

    columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
    rest, written = iter(records), set[int | None]()
    while batch := list(islice(rest, _NOTES_PER_BATCH)):
        rows = list(note_nlp_rows(batch, concepts))
        with database.transaction() as connection:
            connection.execute("LOCK TABLE note_nlp IN SHARE ROW EXCLUSIVE MODE")  # or others take the same numbers
            notes = {note_id_of(record["id"]) for record in batch} - written
            connection.execute(_REPLACED, [[*notes], f"{_SYSTEM} %"])
            (last,) = connection.execute("SELECT coalesce(max(note_nlp_id), 0) FROM note_nlp").fetchone() or (0,)
            with connection.cursor().copy(sql.SQL("COPY note_nlp ({}) FROM STDIN").format(columns)) as copy:
                for row in rows:
                    copy.write_row([row.pop("note_nlp_id") + last, *row.values()])
        written |= notes


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


def note_nlp_rows(records: Iterable[Record], concepts: OmopConcepts) -> Iterator[Values]:
    """Yield the rows of NOTE_NLP: one for each link and standard concept, and one for a mention without a link.

    Offsets count the characters of the note. Texts longer than the 250 characters of their column are cut.
    """
    now = datetime.now().replace(microsecond=0)
    system = {"nlp_system": f"{_SYSTEM} {__version__}", "nlp_date": now.date(), "nlp_datetime": now}
    number = 0
    for row in table_rows({**record, "passages": ()} for record in records):
        flags = frozenset((row["assertion"] or "").split("|"))
        flags -= {"historical"} if row["drug_state"] == "allergy" else set()  # it is one today
        exists = _ABSENT.isdisjoint(flags)
        is_past = "historical" in flags or row["drug_state"] in _TERMS["past_drugs"]
        modifiers = [text for flag, text in _TERMS["modifiers"].items() if flag in flags]
        modifiers += [f"drug_state={row['drug_state']}"] if row["drug_state"] else []
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
                "term_temporal": "past" if is_past else "present" if exists else None,
                "term_modifiers": ",".join(modifiers) or None,
            }


def note_nlp_lines(records: Iterable[Record], concepts: str) -> Iterator[str]:
    """Yield the lines of NOTE_NLP as CSV."""
    rows = note_nlp_rows(records, OmopConcepts.open(concepts))
    return table_lines(chain([COLUMNS], (row.values() for row in rows)), ",")
