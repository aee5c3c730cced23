"""Write links as a Bundle of FHIR R4, with elements that R4B has as well.

A document is a `DocumentReference` with its text. What it says about the patient is a `Condition`, a
`MedicationStatement`, an `AllergyIntolerance` or an `Observation`, by the type of the concept and the section; about a
relative, a `FamilyMemberHistory`. Each has the place of its text in the extension `derivation-reference` of HL7.
"""

from __future__ import annotations

import json
import re
import warnings
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from .. import __version__
from ..errors import Warnings
from ..kb.ids import curie_of
from ..kb.semantic_types import SEMANTIC_TYPES

Values = dict[str, Any]
Record = Mapping[str, Any]

_HL7 = "http://terminology.hl7.org/CodeSystem/"
_DERIVED = "http://hl7.org/fhir/StructureDefinition/derivation-reference"
_SYSTEMS = {
    "SNOMEDCT": "http://snomed.info/sct",
    "RXNORM": "http://www.nlm.nih.gov/research/umls/rxnorm",
    "LOINC": "http://loinc.org",
    "UMLS": "http://www.nlm.nih.gov/research/umls",
    "MESH": "urn:oid:2.16.840.1.113883.6.177",
    "HP": "http://human-phenotype-ontology.org",
    "ICD10": "http://hl7.org/fhir/sid/icd-10",
    "ICD10CM": "http://hl7.org/fhir/sid/icd-10-cm",
    "OMIM": "http://www.omim.org",
    "ATC": "http://www.whocc.no/atc",
    "MEDDRA": "https://www.meddra.org",
}
"""The addresses of code systems that HL7 names. Others have that of Bioregistry."""
_CONDITIONS = {"disease", "disorder", "diso", "doid", "mondo", "omim", "orpha", "icd10", "icd10cm", "diagnosis"}
_MEDICATIONS = {"chemical", "drug", "medication", "substance", "product", "chem", "chebi", "rxnorm", "drugbank", "atc"}
_NOT_OF_PATIENTS = {"gene", "species", "cellline", "livb", "ncbigene", "ncbitaxon", "cellosaurus"}
_FINDINGS = {"T033", "T184"}  # of the semantic group of disorders, but no diagnoses
_ID = re.compile("[A-Za-z0-9.-]{1,64}")


def bundle_pieces(records: Iterable[Record]) -> Iterator[str]:
    """Yield a Bundle, one document at a time. Mentions that state nothing of patients are left out, with a warning."""
    recorded = datetime.now(timezone.utc).isoformat(timespec="seconds")
    separator = '{"resourceType": "Bundle", "type": "collection", "entry": [\n'
    for record in records:
        for entry in _entries(record, recorded):
            yield separator + json.dumps(entry, ensure_ascii=False)
            separator = ",\n"
    yield "\n]}\n" if separator == ",\n" else '{"resourceType": "Bundle", "type": "collection"}\n'


def _entries(record: Record, recorded: str) -> Iterator[Values]:
    patient = subject_of(record)
    named = {"reference": f"Patient/{patient}"} if _ID.fullmatch(patient) else {"display": patient}
    content = {"contentType": "text/plain; charset=utf-8", "data": b64encode(record["text"].encode()).decode()}
    head = {"status": "current", "identifier": [{"value": record["id"]}], "subject": named}
    document = _entry(record["id"], {"resourceType": "DocumentReference", **head, "content": [{"attachment": content}]})
    source = {"reference": document["fullUrl"]}
    yield document
    targets: list[Values] = []
    for entity in record["entities"]:
        for link in entity["links"] or [{}]:
            resource = _resource(entity, link, named)
            if not resource:
                continue
            places = link.get("offsets") or entity.get("offsets") or [(entity["start"], entity["end"])]
            flags = ", ".join(entity.get("assertion", ()))
            resource |= {"extension": [_place(source, *place) for place in places]}
            resource |= {"note": [{"text": f"assertion: {flags}"}]} if flags else {}
            entry = _entry(f"{record['id']}\n{len(targets)}", resource)
            targets.append({"reference": entry["fullUrl"]})
            yield entry
    if targets:
        agent = [{"who": {"display": f"spacy-sapbert {__version__}"}}]
        made = {"recorded": recorded, "agent": agent, "entity": [{"role": "source", "what": source}]}
        yield _entry(f"{record['id']}\nprovenance", {"resourceType": "Provenance", "target": targets, **made})


def subject_of(record: Record) -> str:
    """Return the patient: the value "patient_id" of the metadata of the document, or a description."""
    return str(record.get("meta", {}).get("patient_id") or f"patient of document {record['id']}")


def left_out(format: str, reason: str) -> None:
    """Warn of mentions that a format cannot state. Python shows the same warning once."""
    warnings.warn(Warnings.W512.format(format=format, reason=reason), stacklevel=2)


def _entry(name: str, resource: Values) -> Values:
    uuid = str(uuid5(NAMESPACE_URL, f"spacy-sapbert:{name}"))
    return {"fullUrl": f"urn:uuid:{uuid}", "resource": {**resource, "id": uuid}}


def _place(source: Values, start: int, end: int) -> Values:
    numbers = [{"url": "offset", "valueInteger": start}, {"url": "length", "valueInteger": end - start}]
    return {"url": _DERIVED, "extension": [{"url": "reference", "valueReference": source}, *numbers]}


def _concept(system: str, code: str, display: str | None = None) -> Values:
    coding = {"system": system, "code": code, **({"display": display} if display else {})}
    return {"coding": [coding]}


def _resource(entity: Record, link: Record, patient: Values) -> Values:
    """Return the statement of a link without its place; empty if it states nothing of a patient."""
    flags = set(entity.get("assertion", ()))
    prefix, _, local = curie_of(link.get("concept_id") or "").rpartition(":")
    code = {"text": entity["text"]}
    if local:
        system = _SYSTEMS.get(prefix, f"https://bioregistry.io/{prefix.lower()}")
        local = f"HP:{local}" if prefix == "HP" else local  # as HL7 has the codes of HPO
        code = {**_concept(system, local, link["preferred_name"]), **code}
    types = link.get("types") or [entity["label"]]
    groups = [SEMANTIC_TYPES[name].group for name in types if name in SEMANTIC_TYPES and name not in _FINDINGS]
    kinds = {name.lower().replace(" ", "") for name in [*types, *groups, prefix]}
    is_condition = not kinds.isdisjoint(_CONDITIONS)
    if "hypothetical" in flags:
        return _nothing("they are hypothetical")
    if "family" in flags:
        if not is_condition or "negated" in flags:
            return _nothing("they are absent in a family, or no diseases of it")
        relative = _concept(f"{_HL7}v3-RoleCode", "FAMMEMB")
        history = {"status": "partial", "patient": patient, "relationship": relative, "condition": [{"code": code}]}
        return {"resourceType": "FamilyMemberHistory", **history}
    status = "negated" if "negated" in flags else "uncertain" if "uncertain" in flags else ""
    is_drug = not kinds.isdisjoint(_MEDICATIONS)
    if is_condition or (is_drug and entity.get("section") == "allergies"):
        kind = "condition" if is_condition else "allergyintolerance"
        verified = {
            "negated": "refuted",
            "uncertain": "provisional" if is_condition else "unconfirmed",
            "": "confirmed",
        }
        verification = _concept(f"{_HL7}{kind}-ver{'-status' if is_condition else 'ification'}", verified[status])
        clinical = _concept(f"{_HL7}{kind}-clinical", "inactive" if flags & {"historical", "negated"} else "active")
        statement = {"verificationStatus": verification, "clinicalStatus": clinical, "code": code}
        if is_condition:
            return {"resourceType": "Condition", "subject": patient, **statement}
        return {"resourceType": "AllergyIntolerance", "patient": patient, **statement}
    if is_drug:
        taken = "completed" if "historical" in flags else "active"
        taken = {"negated": "not-taken", "uncertain": "unknown", "": taken}[status]
        return {
            "resourceType": "MedicationStatement",
            "status": taken,
            "subject": patient,
            "medicationCodeableConcept": code,
        }
    if not kinds.isdisjoint(_NOT_OF_PATIENTS):
        return _nothing("they are genes, species or cell lines")
    unknown = {"dataAbsentReason": _concept(f"{_HL7}data-absent-reason", "unknown")}
    value: Values = unknown if status == "uncertain" else {"valueBoolean": status != "negated"}
    return {"resourceType": "Observation", "status": "final", "subject": patient, "code": code, **value}


def _nothing(reason: str) -> Values:
    left_out("fhir", reason)
    return {}
