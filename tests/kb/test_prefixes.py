"""The table of prefixes: its data, and the web addresses that stand for ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spacy_sapbert.kb import prefixes as module
from spacy_sapbert.kb.ids import canonical_id, canonical_prefix
from spacy_sapbert.kb.prefixes import prefixes
from spacy_sapbert.kb.readers.ontology import curie, has_prefix

TABLE = json.loads(Path(module.__file__).with_suffix(".json").read_text(encoding="utf-8"))


def test_the_license_is_beside_the_table():
    assert TABLE["license"] == "CC0 1.0"
    assert TABLE["source"].startswith("bioregistry ")


def test_every_spelling_leads_to_one_canonical_prefix():
    spellings = [text for prefix, about in TABLE["prefixes"].items() for text in (prefix.lower(), *about["synonyms"])]
    assert len(spellings) == len(set(spellings))
    assert all(text == text.lower() for text in spellings)
    for prefix in TABLE["prefixes"]:
        assert canonical_prefix(prefix) == prefix


def test_canonical_prefixes_are_in_upper_case_but_for_three():
    assert [prefix for prefix in TABLE["prefixes"] if prefix != prefix.upper()] == [
        "NCBIGene",
        "NCBITaxon",
        "Orphanet",
    ]


def test_every_page_is_an_address_with_a_place_for_the_id():
    for page in prefixes().pages.values():
        assert page.startswith(("https://", "http://"))
        assert page.count("$1") == 1
        assert not any(sign in page for sign in " \"'<>")


@pytest.mark.parametrize("prefix", [prefix for prefix, about in TABLE["prefixes"].items() if about["addresses"]])
def test_every_address_stands_for_ids(prefix):
    for address in TABLE["prefixes"][prefix]["addresses"]:
        wanted = canonical_id(f"{prefix}:C1")
        for start in ("https://", "http://www."):
            assert canonical_id(curie(f"{start}{address}C1")) == wanted


@pytest.mark.parametrize(
    ("iri", "canonical"),
    [
        ("https://pubchem.ncbi.nlm.nih.gov/compound/440120", "PUBCHEM.COMPOUND:440120"),
        ("https://www.ncbi.nlm.nih.gov/medgen/75", "MEDGEN:75"),
        ("https://meshb.nlm.nih.gov/record/ui?ui=D009369", "D009369"),
        ("https://go.drugbank.com/drugs/DB00945", "DRUGBANK:DB00945"),
        ("https://amigo.geneontology.org/amigo/term/GO:0008150", "GO:0008150"),
        ("https://n2t.net/mim:145250", "OMIM:145250"),
    ],
)
def test_addresses_of_the_table(iri, canonical):
    assert canonical_id(curie(iri)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "https://omim.org/entry/",
        "https://omim.org/entry/about",
        "https://omim.org/entry/145250#title",
        "https://omim.org/entry/145250/history",
        "https://www.ncbi.nlm.nih.gov/gene/?term=p53",
        "https://example.org/entry/145250",
    ],
)
def test_other_pages_stay(text):
    assert curie(text) == text


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ("NCI:C3262", "NCIT:C3262"),
        ("hpo:0000118", "HP:0000118"),
        ("MIM:145250", "OMIM:145250"),
        ("MSH:D009369", "D009369"),
        ("HGNC:HGNC:5", "HGNC:5"),
        ("hgnc:hgnc:HGNC:5", "HGNC:5"),
        ("MEDRA:10022016", "MEDDRA:10022016"),
        ("HGNC:", "HGNC:"),
        ("HGNC:HGNC:", "HGNC:HGNC:"),
        ("x:x:1", "X:x:1"),
        ("DO:wk", "DO:wk"),
        ("UMLS:MESH:D1", "D1"),
        ("DOID:MESH:D1", "DOID:MESH:D1"),
    ],
)
def test_other_spellings_of_prefixes(raw, canonical):
    assert canonical_id(raw) == canonical
    assert canonical_id(canonical) == canonical


def test_a_prefix_can_be_asked_for_in_any_spelling():
    assert has_prefix("HP:0000118", ["hpo"])
    assert has_prefix("Orphanet:558", ["ORDO"])
    assert not has_prefix("ORPHA:558", ["Orphanet"])
