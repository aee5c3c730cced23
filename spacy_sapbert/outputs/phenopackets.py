"""Write the phenotypic features of documents as phenopackets (GA4GH, version 2): the terms of HPO that are linked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from .. import __version__
from .fhir import left_out, subject_of

_OBO = "http://purl.obolibrary.org/obo/"
_RESOURCES = {"HP": "human phenotype ontology", "ECO": "evidence and conclusion ontology"}
_AUTOMATIC = {"id": "ECO:0000501", "label": "evidence used in automatic assertion"}


def phenopacket(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the phenopacket of a document. A term is excluded if each of its mentions is denied.

    Mentions of relatives, those that are uncertain or hypothetical, and other concepts are left out, with a warning.
    """
    features: dict[str, dict[str, Any]] = {}
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
