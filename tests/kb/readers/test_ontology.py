"""What readers of ontologies share: CURIEs of IRIs, ids of obsolete terms, relations to other vocabularies."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.kb.ids import canonical_id, curie
from spacy_sapbert.kb.readers import ReaderContext, ReadReport, read_vocabulary
from spacy_sapbert.kb.readers.ontology import obo_predicates, replaced_ids, skos_match, without_release

from ...cases import cases


@pytest.mark.parametrize(*cases(__file__, "iris_of_concepts"))
def test_iris_of_concepts(iri, canonical):
    assert canonical_id(curie(iri)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        *("DOID:1612", "D009369", "CVCL_E548", "", "<5% of cases"),
        "http://purl.obolibrary.org/obo/doid#part_of",
        "http://www.w3.org/2002/07/owl#Thing",
        "http://www.orpha.net/ORDO/ObsoleteClass",
        "https://en.wikipedia.org/wiki/Type_2_diabetes",
        *(f"https://omim.org/entry/{local}" for local in ("", "about", "145250#title", "145250/history")),
        "https://www.ncbi.nlm.nih.gov/gene/?term=p53",
        "https://example.org/entry/145250",
    ],
)
def test_other_texts_stay(text):
    assert curie(text) == text


PREFIXES = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}", fullmatch=True)
LOCALS = st.from_regex(r"[A-Za-z]{0,2}[0-9]{1,9}", fullmatch=True)
BASES = st.sampled_from(["http://purl.obolibrary.org/obo/", "https://example.org/terms#", "http://www.ebi.ac.uk/efo/"])


@given(BASES, PREFIXES, LOCALS, st.booleans())
def test_iri_and_curie_are_one_id(base, prefix, local, in_brackets):
    iri = f"{base}{prefix}_{local}"
    assert canonical_id(curie(f"<{iri}>" if in_brackets else iri)) == canonical_id(f"{prefix}:{local}")


@given(st.text("abDOI:/_#.<>019 ") | st.text("ht:/ps.org_1A#").map("http://identifiers.org/".__add__))
def test_nothing_changes_twice(text):
    assert curie(curie(text)) == curie(text)


@pytest.mark.parametrize(
    ("xref", "wanted"),
    [
        ("SNOMEDCT_US_2018_03_01:92698005", "SNOMEDCT_US:92698005"),
        ("NCI2004_11_17:C1", "NCI:C1"),
        ("NCI2009_04D:C1", "NCI:C1"),
        ("CSP2005:1", "CSP:1"),
        ("MTHICD9_2006:1", "MTHICD9:1"),
        (" ICD9CM_2006 :250", " ICD9CM :250"),
        *((same, same) for same in ("ICD10CM:E23.0", "UMLS_CUI:C2010", "2010:1", "no prefix 2010")),
    ],
)
def test_releases_of_vocabularies(xref, wanted):
    assert without_release(xref) == wanted


def followed(concept_id, links):
    """Follow one replacement after the other."""
    visited = set()
    while concept_id in links:
        if concept_id in visited or len(links[concept_id]) != 1:
            return None
        visited.add(concept_id)
        (concept_id,) = links[concept_id]
    return concept_id


@given(st.dictionaries(st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefghi"), max_size=2, unique=True)))
def test_chains_circles_and_several_replacements(links):
    expected = {}
    for term in links:
        if replacement := followed(term, links):
            expected.setdefault(replacement, []).append(term)
    context = ReaderContext(Path("a.obo"))
    assert replaced_ids(context, (([term], others) for term, others in links.items())) == expected


def test_skos_matches():
    assert skos_match("skos:exactMatch") == "skos:exactMatch"
    assert skos_match("http://www.w3.org/2004/02/skos/core#broadMatch") == "skos:broadMatch"
    assert [skos_match(relation) for relation in ("exactMatch", "skos:prefLabel", "")] == [None] * 3


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
