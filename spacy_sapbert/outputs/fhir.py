"""Write links as a Bundle of FHIR R4, with elements that R4B has as well.

A document is a `DocumentReference` with its text. What it says about the patient is a `Condition`, a
`MedicationStatement`, an `AllergyIntolerance` or an `Observation`, by the type of the concept and the section; about a
relative, a `FamilyMemberHistory`. Each has the place of its text in the extension `derivation-reference` of HL7.

`fhir.json` has the addresses that HL7 gives to code systems, the types and prefixes of each kind of statement ("" for
those that say nothing of patients), and how each is written; its states are present, negated, uncertain.
"""

from __future__ import annotations

import json
import re
import warnings
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from .. import __version__
from ..errors import Warnings
from ..kb.ids import curie_of
from ..kb.semantic_types import SEMANTIC_TYPES

Values = dict[str, Any]
Record = Mapping[str, Any]

_DERIVED = "http://hl7.org/fhir/StructureDefinition/derivation-reference"
BUNDLE = '{"resourceType": "Bundle", "type": "collection", "entry": ['
"""The beginning of a Bundle, before its entries."""
_FINDINGS = {"T033", "T184"}  # of the semantic group of disorders, but no diagnoses
_ID = re.compile("[A-Za-z0-9.-]{1,64}")
_TABLES = json.loads(Path(__file__).with_suffix(".json").read_bytes())
_REASON = "they are hypothetical, deny a disease of the family, or are about genes, species or cell lines"


def bundle_entries(records: Iterable[Record]) -> Iterator[Values]:
    """Yield the entries of a Bundle. Mentions that state nothing of patients are left out, with a warning."""
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
    code: Values = {"text": entity["text"]}
    if concept_id := link.get("concept_id"):
        system = _TABLES["systems"].get(prefix, f"https://bioregistry.io/{prefix.lower()}")
        local = concept_id if prefix == "HP" else concept_id.rpartition(":")[2]  # as HL7 has the codes of HPO
        code |= _coded(system, local, **({"display": link["preferred_name"]} if link["preferred_name"] else {}))
    kind = _kind(link.get("types") or [entity["label"]], prefix)
    if kind == "MedicationStatement" and entity.get("section") == "allergies":
        kind = "AllergyIntolerance"
    state = 1 if "negated" in flags else 2 if "uncertain" in flags else 0
    if not kind or "hypothetical" in flags or ("family" in flags and (kind != "Condition" or state == 1)):
        return "", {}
    common: Values = {"note": [{"text": f"assertion: {', '.join(entity['assertion'])}"}]} if flags else {}
    if "family" in flags:
        relative = {"relationship": _coded("v3-RoleCode", "FAMMEMB"), "condition": [{"code": code}]}
        return "FamilyMemberHistory", {"status": "partial", "patient": patient, **relative, **common}
    if kind == "Observation":
        unknown = {"dataAbsentReason": _coded("data-absent-reason", "unknown")}
        value: Values = unknown if state == 2 else {"valueBoolean": state == 0}
        return kind, {"status": "final", "subject": patient, "code": code, **value, **common}
    is_past, table = "historical" in flags, _TABLES["statements"][kind]
    status = table["states"][state]
    if kind == "MedicationStatement":
        status = "completed" if is_past and not state else status
        return kind, {"status": status, "subject": patient, "medicationCodeableConcept": code, **common}
    common["clinicalStatus"] = _coded(table["clinical"], "inactive" if is_past or state == 1 else "active")
    return kind, {
        "verificationStatus": _coded(table["verified"], status),
        table["subject"]: patient,
        "code": code,
        **common,
    }


def _kind(types: Iterable[str], prefix: str) -> str:
    """Return the kind of statement for the types of a concept, or the label of a mention, and the prefix of its id."""
    groups = (SEMANTIC_TYPES[name].group for name in types if name in SEMANTIC_TYPES and name not in _FINDINGS)
    names = {name.lower().replace(" ", "") for name in (*types, *groups, prefix)}
    return next((kind for kind, known in _TABLES["kinds"].items() if not names.isdisjoint(known)), "Observation")
