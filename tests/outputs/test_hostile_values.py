"""Values that others wrote run nothing, break no output, and are read back: in every place of a record."""

import csv
import io
import json

import pytest

from spacy_sapbert.files.values import unescaped
from spacy_sapbert.outputs.writers import write_records

HOSTILE = {
    "a formula": '=HYPERLINK("http://x","y")',
    "a command": "@SUM(1+1)*cmd|' /C calc'!A0",
    "a sign": "-2+3",
    "full-width": "\uff1d1+1",
    "markup": "</td><script>alert(1)</script>&amp;",
    "a template": "{{7*7}}${7*7}",
    "SQL": "'; DROP TABLE note_nlp; --",
    "a path": "../../etc/passwd",
    "line ends": "a\r\nb\tc\x85d\u2028e",
    "control characters": "a\x01\x1b[31m\x7fb",
    "no characters of XML": "a\ufffe\uffffb",
    "directions": "\u202eabc\u2066",
    "delimiters": 'a|b;c,d"e\\f',
    "a long text": "x" * 40_000,
    "beyond 16 bits": "😀𝄞",
}
PLACES = ("text", "id", "patient", "name", "types", "label", "section", "reason")


def record(value, place):
    text = f"A {value} B"
    link = {
        **dict.fromkeys(("score", "probability", "long_form", "reason", "tie", "runner_up", "rejected")),
        "text": value,
        "split": False,
        "concept_id": "HP:0001945",
        "name": "n",
        "preferred_name": "p",
        "types": ["Phenotype"],
    }
    entity = {
        "start": 2,
        "end": 2 + len(value),
        "text": value,
        "label": "Phenotype",
        "snippet": text,
        "assertion": ["negated"],
        "section": None,
        "kb_id": "",
        "kb_ents": [],
        "links": [link],
    }
    made = {"id": "12", "text": text, "entities": [entity], "abbreviations": [], "meta": {"patient_id": "p1"}}
    if place in ("name", "reason"):
        link["preferred_name" if place == "name" else place] = value
    elif place in ("label", "section"):
        entity[place] = value
    elif place == "types":
        link["types"] = [value]
    elif place == "id":
        made["id"] = value
    elif place == "patient":
        made["meta"]["patient_id"] = value
    return made


@pytest.fixture(params=PLACES)
def records(request):
    return [record(value, request.param) for value in HOSTILE.values()]


def one_line(text):
    return " ".join(text.split())


def test_a_bundle_is_valid_and_has_the_texts(records, tmp_path):
    valid = pytest.importorskip("fhir.resources.R4B.bundle").Bundle
    path = tmp_path / "a.fhir.json"
    write_records(records, "fhir", path)
    text = path.read_text(encoding="utf-8")
    valid.model_validate_json(text)
    resources = [entry["resource"] for entry in json.loads(text)["entry"]]
    documents = [one for one in resources if one["resourceType"] == "DocumentReference"]
    assert [one["identifier"][0]["value"] for one in documents] == [record["id"] for record in records]
    coded = [one["code"]["text"] for one in resources if "code" in one]
    assert coded == [record["entities"][0]["text"] for record in records]


def test_a_phenopacket_has_the_texts(records, tmp_path):
    json_format = pytest.importorskip("google.protobuf.json_format")
    schema = pytest.importorskip("phenopackets").Phenopacket
    for given in records:
        path = tmp_path / "a.phenopacket.json"
        write_records([given], "phenopacket", path)
        packet = json_format.Parse(path.read_text(encoding="utf-8"), schema())
        assert (packet.id, packet.phenotypic_features[0].type.label) == (
            given["id"],
            given["entities"][0]["links"][0]["preferred_name"],
        )


def test_a_sheet_runs_no_formula_and_has_all_rows(records, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    write_records(records, "xlsx", tmp_path / "a.xlsx")
    rows = list(openpyxl.load_workbook(tmp_path / "a.xlsx").active.iter_rows())
    assert len(rows) == len(records) + 1
    assert {cell.data_type for row in rows for cell in row} <= {"s", "n", "b"}
    columns = [cell.value for cell in rows[0]]
    for row, given in zip(rows[1:], records, strict=True):
        shown = unescaped(str(row[columns.index("text")].value))
        wanted = given["entities"][0]["text"].translate(dict.fromkeys([1, 0x1B, 0xFFFE, 0xFFFF], " "))
        assert one_line(shown)[:200] == one_line(wanted)[:200]


def test_rows_of_note_nlp_stay_rows(records, tmp_path):
    (tmp_path / "CONCEPT.csv").write_text(
        "concept_id\tvocabulary_id\tstandard_concept\tconcept_code\tinvalid_reason\n6\tHPO\t\t0001945\t\n"
    )
    numbered = [{**given, "id": str(number)} for number, given in enumerate(records)]
    write_records(numbered, "omop", tmp_path / "a.csv", concepts=str(tmp_path / "CONCEPT.csv"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_bytes().decode(), newline="")))
    assert [row["note_id"] for row in rows] == [given["id"] for given in numbered]
    for row, given in zip(rows, numbered, strict=True):
        assert one_line(unescaped(row["lexical_variant"]))[:200] == one_line(given["entities"][0]["text"])[:200]
        assert row["note_nlp_source_concept_id"] == "6"
