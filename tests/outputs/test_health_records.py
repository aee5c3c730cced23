"""The table of OMOP, the Bundle of FHIR and phenopackets are as their schemas demand, and say what the notes say."""

import base64
import csv
import json

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.outputs.health_records import COLUMNS, note_id_of
from spacy_sapbert.outputs.writers import write_records
from spacy_sapbert.runs.link_files import link_files
from spacy_sapbert.text.notes.drugs import NO_MEDICATION

from ..cases import cases

NOTE = "Fever, 😀 no rash; mother had flu. Aspirin, BRCA1."
LINK = {
    **dict.fromkeys(("score", "probability", "long_form", "reason", "tie", "runner_up", "rejected")),
    "split": False,
}


def entity(text, concept_id, label, assertion=(), section=None, links=None):
    start = NOTE.index(text)
    link = {**LINK, "text": text, "concept_id": concept_id, "name": text, "preferred_name": text, "types": [label]}
    place = {"start": start, "end": start + len(text), "text": text, "label": label, "snippet": "x" * 300}
    about = {"assertion": list(assertion), "section": section, "kb_id": "", "kb_ents": []}
    return {**place, **about, "links": [link] if links is None else links}


def record(*entities, doc_id="12.txt"):
    return {"id": doc_id, "text": NOTE, "entities": list(entities), "abbreviations": [], "meta": {"patient_id": "p1"}}


ENTITIES = {
    "fever": entity("Fever", "HP:0001945", "Phenotype", section="chief complaint"),
    "rash": entity("rash", "HP:0000988", "Phenotype", ["negated"]),
    "flu": entity("flu", "D007251", "Disease", ["family"]),
    "aspirin": entity("Aspirin", "D001241", "Chemical", ["historical"]),
    "gene": entity("BRCA1", "HGNC:1100", "Gene", ["uncertain"]),
    "alone": entity("mother", None, "Disease", links=[]),
}


@pytest.fixture
def write(tmp_path):
    """A function that writes records. RETURNS: the text of the output."""

    def run(name, *records, **settings):
        formats = {"csv": "omop", "fhir.json": "fhir", "phenopacket.json": "phenopacket"}
        write_records(records, formats[name], tmp_path / f"a.{name}", **settings)
        return (tmp_path / f"a.{name}").read_text(encoding="utf8")

    return run


# --- OMOP

CONCEPTS = """\
concept_id\tvocabulary_id\tstandard_concept\tconcept_code\tinvalid_reason
1\tMeSH\t\tD007251\t
2\tSNOMED\tS\t6142004\t
3\tMeSH\t\tD001241\t
4\tLOINC\tS\t10154-3\t
5\tHPO\t\t0001945\tD
6\tHPO\t\t0001945\t
"""
RELATIONS = (
    "concept_id_1\tconcept_id_2\trelationship_id\tinvalid_reason\n1\t2\tMaps to\t\n1\t9\tIs a\t\n3\t9\tMaps to\tD\n"
)


@pytest.fixture
def concepts(tmp_path):
    (tmp_path / "CONCEPT_RELATIONSHIP.csv").write_text(RELATIONS)
    (tmp_path / "CONCEPT.csv").write_text(CONCEPTS)
    return tmp_path / "CONCEPT.csv"


def test_rows_of_note_nlp(write, concepts):
    header, *rows = csv.reader(write("csv", record(*ENTITIES.values(), doc_id="12"), concepts=concepts).splitlines())
    assert header == list(COLUMNS)
    shown = [[row[number] for number in (0, 1, 2, 4, 5, 6, 7, 11, 12, 13)] for row in rows]
    assert shown == [
        ["1", "12", "4", "0", "Fever", "6", "6", "Y", "present", ""],
        ["2", "12", "0", "12", "rash", "0", "0", "N", "", "negated=yes"],
        ["3", "12", "0", "29", "flu", "2", "1", "N", "", "subject=family"],
        ["4", "12", "0", "34", "Aspirin", "3", "3", "Y", "past", "history=yes"],
        ["5", "12", "0", "43", "BRCA1", "0", "0", "N", "", "certainty=uncertain"],
        ["6", "12", "0", "18", "mother", "0", "0", "Y", "present", ""],
    ]
    stopped = {**ENTITIES["aspirin"], "assertion": [], "drug_state": "stopped"}
    (row,) = csv.DictReader(write("csv", record(stopped, doc_id="12"), concepts=concepts).splitlines())
    assert (row["term_exists"], row["term_temporal"], row["term_modifiers"]) == ("Y", "past", "drug_state=stopped")
    assert {len(row[3]) for row in rows} == {250}


@pytest.mark.parametrize("doc_id", ["1.txt", "001", "2.5", "1e3", "-", "", "١", "1\n", "9" * 19])
def test_an_id_that_is_no_whole_number_is_no_note(doc_id):
    assert note_id_of(doc_id) is None


def test_notes_whose_ids_would_be_one_are_named(linking_folder, concepts, tmp_path, capsys):
    (tmp_path / "notes.csv").write_text("id,text\n1,CF\n001,CF\n1.txt,CF\n2.5,CF\n")
    output = tmp_path / "a.omop.csv"
    link_files(str(linking_folder), [tmp_path / "notes.csv"], output, format="omop", concepts=str(concepts))
    assert [row["note_id"] for row in csv.DictReader(output.open())] == ["1"]
    shown = " ".join(capsys.readouterr().err.split())
    assert all(f"the id {doc_id!r} is no whole number" in shown for doc_id in ("001", "1.txt", "2.5"))


def test_note_nlp_in_parquet(tmp_path, concepts):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_records([record(ENTITIES["flu"])], "omop", tmp_path / "a.parquet", concepts=concepts)
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.schema.names == list(COLUMNS)
    assert table.schema.field("nlp_date").type == "date32[day]"
    assert table.to_pylist()[0]["note_nlp_concept_id"] == 2


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("concept_id,vocabulary_id\n", "E128"),
        (CONCEPTS + "half\n", "E127"),
        (CONCEPTS.replace("1\tMeSH", "x\tMeSH"), "E127"),
        (None, "E533"),
    ],
)
def test_tables_of_concepts_that_cannot_be(write, concepts, content, code):
    concepts.write_text(content or "")
    with pytest.raises(SapbertError, match=rf"\[{code}\]"):
        write("csv", record(ENTITIES["flu"]), concepts=concepts if content else None)


# --- FHIR


@pytest.fixture
def bundle(write):
    """A function that writes records as a Bundle, which is valid. RETURNS: its resources."""
    valid = pytest.importorskip("fhir.resources.R4B.bundle").Bundle

    def run(*records):
        text = write("fhir.json", *records)
        valid.model_validate_json(text)
        return [entry["resource"] for entry in json.loads(text).get("entry", ())]

    return run


def test_resources_by_type_and_assertion(bundle):
    with pytest.warns(UserWarning, match=r"W512.*fhir.*genes"):
        document, fever, rash, flu, aspirin, alone, provenance = bundle(record(*ENTITIES.values()))
    assert base64.b64decode(document["content"][0]["attachment"]["data"]).decode() == NOTE
    assert (fever["resourceType"], fever["valueBoolean"], rash["valueBoolean"]) == ("Observation", True, False)
    assert fever["code"]["coding"][0]["system"] == "http://human-phenotype-ontology.org"
    assert (fever["code"]["coding"][0]["code"], fever["subject"]) == ("HP:0001945", {"reference": "Patient/p1"})
    assert (flu["resourceType"], flu["condition"][0]["code"]["coding"][0]["code"]) == ("FamilyMemberHistory", "D007251")
    assert (aspirin["resourceType"], aspirin["status"]) == ("MedicationStatement", "completed")
    assert (alone["resourceType"], alone["code"]) == ("Condition", {"text": "mother"})
    assert len(provenance["target"]) == 5
    (place,) = rash["extension"]
    assert [part.get("valueInteger") for part in place["extension"]] == [None, 12, 4]


@pytest.mark.parametrize(*cases(__file__, "the_state_of_a_statement"))
def test_the_state_of_a_statement(bundle, flags, label, section, wanted):
    _, resource, _ = bundle(record(entity("flu", "X:1", label, flags, section)))
    verified = resource.get("verificationStatus", {}).get("coding", [{}])[0].get("code")
    active = resource.get("clinicalStatus", {}).get("coding", [{}])[0].get("code")
    assert (resource["resourceType"], verified or resource["status"], active) == wanted


@pytest.mark.parametrize(
    ("state", "flags", "wanted"),
    [
        ("active", [], "active"),
        ("stopped", [], "stopped"),
        ("stopped", ["negated"], "not-taken"),
        ("on-hold", [], "on-hold"),
        ("completed", ["historical"], "completed"),
        ("planned", [], "intended"),
        ("unknown", ["uncertain"], "unknown"),
    ],
)
def test_the_state_of_a_drug_is_the_status_of_its_statement(bundle, state, flags, wanted):
    drug = {**entity("Aspirin", "D001241", "Chemical", flags), "drug_state": state, "dosage": "81 mg", "value": None}
    _, resource, _ = bundle(record(drug))
    assert (resource["resourceType"], resource["status"]) == ("MedicationStatement", wanted)
    assert resource["dosage"] == [{"text": "81 mg"}]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("9.1", {"valueQuantity": {"value": 9.1}}),
        ("<0.5 mg/dL", {"valueQuantity": {"value": 0.5, "comparator": "<", "unit": "mg/dL"}}),
        ("9.1 (H)", {"valueString": "9.1 (H)"}),
    ],
)
def test_a_value_of_the_laboratory_is_an_observation(bundle, value, wanted):
    measured = {**entity("Aspirin", "D001241", "Chemical"), "drug_state": NO_MEDICATION, "dosage": None, "value": value}
    _, resource, _ = bundle(record(measured))
    assert resource["resourceType"] == "Observation"
    assert {key: given for key, given in resource.items() if key.startswith("value")} == wanted


def test_a_substance_that_is_no_drug_and_an_allergy_are_no_medications(bundle):
    other = {"dosage": None, "value": None}
    substance = {**entity("Aspirin", "D001241", "Chemical"), "drug_state": NO_MEDICATION, **other}
    allergy = {**entity("Aspirin", "D001241", "Chemical"), "drug_state": "allergy", **other}
    with pytest.warns(UserWarning, match=r"W512.*no drugs"):
        kinds = [resource["resourceType"] for resource in bundle(record(substance, allergy))]
    assert kinds == ["DocumentReference", "AllergyIntolerance", "Provenance"]


@pytest.mark.parametrize("flags", [["hypothetical"], ["family", "negated"]])
def test_what_says_nothing_of_the_patient_is_left_out_with_a_warning(bundle, flags):
    with pytest.warns(UserWarning, match="W512"):
        assert [
            resource["resourceType"] for resource in bundle(record(entity("flu", "D007251", "Disease", flags)))
        ] == ["DocumentReference"]


def test_documents_of_one_id_have_ids_of_their_own(bundle):
    assert bundle() == []
    resources = bundle(*[record(ENTITIES["flu"])] * 2)
    assert len({resource["id"] for resource in resources}) == len(resources) == 6


def test_a_phenopacket_has_terms_of_hpo(write):
    json_format = pytest.importorskip("google.protobuf.json_format")
    schema = pytest.importorskip("phenopackets").Phenopacket
    uncertain = entity("flu", "HP:0000989", "Phenotype", ["uncertain"])
    with pytest.warns(UserWarning, match=r"W512.*phenopacket"):
        text = write("phenopacket.json", record(*ENTITIES.values(), uncertain))
    packet = json_format.Parse(text, schema())
    found = [(feature.type.id, feature.type.label, feature.excluded) for feature in packet.phenotypic_features]
    assert found == [("HP:0001945", "Fever", False), ("HP:0000988", "rash", True)]
    assert (packet.id, packet.subject.id, packet.meta_data.phenopacket_schema_version) == ("12.txt", "p1", "2.0")
    prefixes = {resource.namespace_prefix for resource in packet.meta_data.resources}
    assert prefixes == {"HP", "ECO"}
    assert packet.meta_data.created.seconds > 0


# --- files of documents


def test_each_document_has_files_in_a_new_folder(tmp_path):
    records = [record(ENTITIES["flu"], doc_id=doc_id) for doc_id in ("a/b", "A/B", ".x")]
    write_records(records, "brat", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"{name}.{ending}" for name in ("a%2Fb", "A%2FB~2", "%2Ex") for ending in ("ann", "txt")}
    with pytest.raises(SapbertError, match="E533"):
        write_records(records, "brat", tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == names


@pytest.mark.parametrize("n", [0, 2])
def test_a_file_holds_one_document(tmp_path, n):
    with pytest.raises(SapbertError, match="E533"):
        write_records([record()] * n, "xmi", tmp_path / "a.xmi")
    assert list(tmp_path.iterdir()) == []
    write_records([record()], "xmi", tmp_path / "a.xmi")
    with pytest.raises(SapbertError, match="E507"):
        write_records([record(doc_id="x" * 300)], "xmi", tmp_path / "folder")
