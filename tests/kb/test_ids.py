import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import BadRecordError, SapbertError
from spacy_sapbert.kb import ids
from spacy_sapbert.kb.ids import (
    SUPPLEMENTARY_ID,
    add_converter,
    canonical_id,
    canonical_prefix,
    curie,
    curie_of,
    decode_id,
    encode_id,
    prefixes,
    read_labels,
    split_ids,
    to_converter,
    write_labels,
)
from spacy_sapbert.kb.readers.ontology import has_prefix

from ..cases import cases

TABLE = json.loads(Path(ids.__file__).with_name("prefixes.json").read_text(encoding="utf-8"))


# the first of each row is the canonical form
@pytest.mark.parametrize(*cases(__file__, "canonical_form"))
def test_canonical_form(spellings):
    assert [canonical_id(spelling) for spelling in spellings] == spellings[:1] * len(spellings)


def test_what_has_no_known_prefix_stays():
    """A prefix that nobody knows may be a part of the id."""
    ids = ["ABC:ABC:5", "HGNC:DOID:5", "DOID:MESH:D1", "HGNC:", "HGNC:HGNC:", "DO:wk", "145250", "http://a.org/x:1"]
    ids += ["CVCL_0030", "HP_term", "EFO:HP_0000118", "250.0", "ICD9CM:250.0", "1E50", "ICD11:1E50.0"]
    assert [canonical_id(concept_id) for concept_id in ids] == ids


def test_default_prefix_is_for_bare_numbers_only():
    assert canonical_id(" 145250", default_prefix="OMIM") == "OMIM:145250"
    assert canonical_id("omim:145250", default_prefix="OMIM") == "OMIM:145250"
    assert canonical_id("D009369", default_prefix="OMIM") == "D009369"
    assert canonical_id("22298006", default_prefix="SNOMEDCT_US") == "SNOMEDCT:22298006"
    assert split_ids("D006938|145250", default_prefix="OMIM") == ("D006938", "OMIM:145250")


@pytest.mark.parametrize(
    ("ids", "joined"),
    [
        ((), ["", "-1", " - ", "MESH:-1"]),
        (("D1",), ["D1|-1", "D1||", " D1"]),
        (("D1", "D2"), ["D1+D2", "D1|D2", "D1,D2", " D1; MESH:D2|D1"]),
        (("D2", "OMIM:7", "D1"), ["D2,omim:7; D1"]),
        ((), ["nan", "CUI-less", "9.0E+17", "SNOMEDCT:1.23457E+14"]),
        (("111101007", "2"), ["111101007.0|9.0E+17|2"]),
        (("HP:0001945", "EFO:1"), ["http://purl.obolibrary.org/obo/HP_0001945|http://www.ebi.ac.uk/efo/EFO_1"]),
        (("SNOMEDCT:22298006", "D1"), ["http://snomed.info/sct|22298006,D1"]),
    ],
)
def test_split_ids(ids, joined):
    assert [split_ids(text) for text in joined] == [ids] * len(joined)


@given(st.text(alphabet="abDMESHmesh:|+,-1 0\u00a0_umlsUMLS\n\x1c.ßſ", max_size=30))
def test_canonical_ids_stay_as_they_are(raw):
    once = canonical_id(raw)
    assert canonical_id(once) == once
    assert once == once.strip()


@given(st.lists(st.sampled_from(["D009369", "C0012634", "OMIM:145250", "DOID:1612"])), st.sampled_from("|+,;"))
def test_joined_ids_come_apart_again(ids, separator):
    assert split_ids(f" {separator} ".join(ids)) == tuple(dict.fromkeys(ids))


def test_supplementary_records_of_mesh_and_medic():
    others = [
        "C0012634",
        "D009369",
        "C56558",
        "C00059257",
        "C0000592577",
        "OMIM:C565588",
        "DOID:1612",
    ]  # the first: UMLS
    assert all(map(SUPPLEMENTARY_ID.fullmatch, ["C565588", "C000592577", "OMIM:145250"]))
    assert not any(map(SUPPLEMENTARY_ID.fullmatch, [*others, "C56558x", "c565588", "C٥٦٥٥٨٨", ""]))


ODD_IDS = st.text(st.one_of(st.sampled_from("%|+,;27BC\t\n\r\u2028: a"), st.characters(exclude_categories=["Cs"])))


@given(ODD_IDS)
def test_an_encoded_id_has_no_separator_and_is_decoded(concept_id):
    encoded = encode_id(concept_id)
    assert not set(encoded) & set("|+,;\t\n\r\u2028")
    assert decode_id(encoded) == concept_id


def test_ids_of_other_files_are_not_decoded():
    ids = ["D009369", "OMIM:145250", "X%41", "100%", "http://example.org/a%20b"]
    assert [decode_id(concept_id) for concept_id in ids] == ids


def test_curies_have_the_prefix_that_canonical_ids_of_mesh_and_umls_lack():
    ids = ["C0012634", "D009369", "C000604007", "D0012345", "OMIM:145250", "custom"]
    curies = ["UMLS:C0012634", "MESH:D009369", "MESH:C000604007", *ids[3:]]
    assert [curie_of(concept_id) for concept_id in ids] == curies


# --- lists of ids


def test_ids_come_once_and_in_canonical_form(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_bytes("\ufeffMESH:D001943\r\n\n D003550 \nD001943\nomim:219700".encode())
    assert read_labels(path) == ["D001943", "D003550", "OMIM:219700"]
    (tmp_path / "labels.txt.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read_labels(tmp_path / "labels.txt.gz") == read_labels(path)
    write_labels(["D2", "D1"], path)
    assert read_labels(path) == ["D2", "D1"]


@pytest.mark.parametrize("line", ["D001943|D010051", "D001943\tBreast Cancer", "-1", "Breast Neoplasms", "D1, D2"])
def test_lines_that_are_not_an_id(tmp_path, line):
    path = tmp_path / "labels.txt"
    path.write_text(f"D001943\n\n{line}\n")
    with pytest.raises(BadRecordError, match=r"labels\.txt, line 3"):
        read_labels(path)


@pytest.mark.parametrize(
    ("data", "code"), [(b" \n\n", "E105"), (b"", "E105"), (b"D1\n\xff\n", "E122|E127"), (None, "E120")]
)
def test_files_without_labels(tmp_path, data, code):
    path = tmp_path / "labels.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(SapbertError, match=code):
        read_labels(path)


# --- the table of prefixes


def test_the_license_is_beside_the_table():
    assert TABLE["license"] == "CC0 1.0"
    assert TABLE["source"].startswith("bioregistry ")


def test_every_spelling_leads_to_one_canonical_prefix():
    """Which is in upper case, but for three of them."""
    assert [prefix for prefix in TABLE["prefixes"] if prefix != prefix.upper()] == ["NCBIGene", "NCBITaxon", "Orphanet"]
    spellings = [text for prefix, about in TABLE["prefixes"].items() for text in (prefix.lower(), *about["synonyms"])]
    assert len(spellings) == len(set(spellings))
    assert all(text == text.lower() for text in spellings)
    for prefix in TABLE["prefixes"]:
        assert canonical_prefix(prefix) == prefix


def test_every_page_is_an_address_with_a_place_for_the_id():
    for page in prefixes().pages.values():
        assert page.startswith(("https://", "http://"))
        assert page.count("$1") == 1
        assert not any(sign in page for sign in " \"'<>")


def test_every_address_stands_for_ids():
    for prefix, about in TABLE["prefixes"].items():
        for start in (f"{scheme}{address}" for address in about["addresses"] for scheme in ("https://", "http://www.")):
            assert canonical_id(curie(f"{start}C1")) == canonical_id(f"{prefix}:C1"), start


def test_a_prefix_can_be_asked_for_in_any_spelling():
    assert has_prefix("HP:0000118", ["hpo"])
    assert has_prefix("Orphanet:558", ["ORDO"])
    assert not has_prefix("ORPHA:558", ["Orphanet"])


def test_converters(monkeypatch):
    curies = pytest.importorskip("curies")
    converter = to_converter()
    assert converter.expand("MESH:D009369") == "https://meshb.nlm.nih.gov/record/ui?ui=D009369"
    assert converter.compress("http://purl.obolibrary.org/obo/HP_0000118") == "HP:0000118"
    assert converter.standardize_curie("snomed:22298006") == "SNOMEDCT:22298006"
    table = prefixes()
    own = table._replace(spelled=dict(table.spelled), addresses=dict(table.addresses))
    monkeypatch.setattr(ids, "prefixes", lambda: own)
    given = curies.Converter(
        [curies.Record(prefix="Fev", prefix_synonyms=["fever"], uri_prefix="https://example.org/fevers/number/")]
    )
    add_converter(given)
    add_converter(curies.Converter.from_prefix_map({"hpo": "http://hpo.example.org/"}))
    assert canonical_id("FEVER:1") == "Fev:1"
    assert own.find_curie("example.org/fevers/number/12") == "Fev:12"
    assert own.find_curie("hpo.example.org/0000118") == "HP:0000118"
