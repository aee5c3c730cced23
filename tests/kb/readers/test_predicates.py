from __future__ import annotations

import json

import pytest

from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.kb.readers.ontology import obo_predicates, skos_match


@pytest.mark.parametrize(
    ("relation", "predicate"),
    [
        ("skos:exactMatch", "skos:exactMatch"),
        ("http://www.w3.org/2004/02/skos/core#broadMatch", "skos:broadMatch"),
        ("exactMatch", None),
        ("skos:prefLabel", None),
        ("", None),
    ],
)
def test_skos_matches(relation, predicate):
    assert skos_match(relation) == predicate


def test_what_a_cross_reference_says():
    xrefs = [
        "MESH:D1",
        'MESH:D2 {source="MONDO:equivalentTo"}',
        'ICD10CM:A1 {source="MONDO:mondoIsNarrowerThanSource", source="MONDO:relatedTo"} ! label',
        'X:1 "a label" {source="other"}',
    ]
    values = ["skos:closeMatch OMIM:5", 'http://www.w3.org/2004/02/skos/core#exactMatch "Y:1" xsd:string', "a b c", "a"]
    assert list(obo_predicates(xrefs, values, {"X"})) == [
        ("MESH:D2", "skos:exactMatch"),
        ("ICD10CM:A1", "skos:relatedMatch"),
        ("ICD10CM:A1", "skos:broadMatch"),
        ("X:1", "owl:equivalentClass"),
        ("OMIM:5", "skos:closeMatch"),
        ("Y:1", "skos:exactMatch"),
    ]


def test_obo(tmp_path):
    path = tmp_path / "a.obo"
    path.write_text(
        "treat-xrefs-as-equivalent: CL ! the same cells\n\n[Term]\nid: A:1\nname: a cell\nxref: CL:1\nxref: FMA:1\n"
        'xref: MSH:D1 {source="MONDO:equivalentTo"}\nproperty_value: skos:narrowMatch SNOMEDCT_US_2018_03_01:7\n'
    )
    (record,) = read_vocabulary(path, report=ReadReport(), strict=True)
    assert record.xrefs == ("CL:1", "FMA:1", "D1", "SNOMEDCT:7")
    assert record.xref_predicates == (
        ("CL:1", "owl:equivalentClass"),
        ("D1", "skos:exactMatch"),
        ("SNOMEDCT:7", "skos:narrowMatch"),
    )


def test_obo_graphs(tmp_path):
    matches = [{"pred": "http://www.w3.org/2004/02/skos/core#exactMatch", "val": "http://omim.org/entry/5"}]
    node = {"id": "http://purl.obolibrary.org/obo/A_1", "lbl": "a", "type": "CLASS"}
    node["meta"] = {"xrefs": [{"val": "MESH:D1"}], "basicPropertyValues": matches}
    (tmp_path / "a.json").write_text(json.dumps({"graphs": [{"nodes": [node], "edges": []}]}))
    (record,) = read_vocabulary(tmp_path / "a.json", "obograph", report=ReadReport(), strict=True)
    assert record.xrefs == ("D1", "OMIM:5")
    assert record.xref_predicates == (("OMIM:5", "skos:exactMatch"),)
