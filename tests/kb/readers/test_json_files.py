import json
from pathlib import Path

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Name, Record

FORMAT = "json"

FEVER = {
    "id": "0000001",
    "name": "red fever",
    "namespace": "fev",
    "synonyms": ["febris rubra", 'hot red" BROAD layperson [x:1, y:2]', 'redness" NARROW []', 'a "b" c'],
    "xrefs": ["MSH:D1", "UMLS:C2", "SNOMEDCT_US_2018_03_01:3", "4"],
}


def test_a_term(read, tmp_path):
    records, report = read(tmp_path / "f.json", [FEVER], types=["Disease"], strict=True)
    names = [("red fever", "preferred"), ("febris rubra", "exact"), ("hot red", "broad"), ("redness", "narrow")]
    names = tuple(Name(*name, "f") for name in [*names, ('a "b" c', "exact")])
    assert records == [Record("FEV:0000001", names, (), ("Disease",), xrefs=("D1", "C2", "SNOMEDCT:3", "4"))]
    assert (report.rows_read, report.records, report.names) == (1, 1, 5)
    assert report.notes == {"names without the rest of a line of OBO": 2}


def test_a_term_of_a_newer_file(read, tmp_path):
    term = {
        "id": "FEV:1",
        "name": "red fever",
        "alt_ids": ["FEV:2"],
        "relations": {"is_a": ["FEV:0"], "part_of": ["FEV:9"]},
        "xrefs": [{"namespace": "MESH", "id": "D1"}],
        "definition": "A fever.",
    }
    (record,) = read(tmp_path / "f.json", [term], strict=True)[0]
    assert record[2:7] == (("FEV:2",), (), "A fever.", ("FEV:0",), ("D1",))


@pytest.mark.parametrize(
    ("entry", "wanted", "with_prefix"),
    [
        ({"id": "7", "namespace": "efo"}, "EFO:7", "X:7"),
        ({"id": "7"}, "7", "X:7"),
        ({"id": "HP:7", "namespace": "efo"}, "HP:7", "HP:7"),
        ({"id": "D7", "namespace": "mesh"}, "D7", "X:D7"),
        ({"id": "http://www.ebi.ac.uk/efo/EFO_7", "namespace": "x"}, "EFO:7", "EFO:7"),
    ],
)
def test_prefixes(read, tmp_path, entry, wanted, with_prefix):
    for prefix, expected in ((None, wanted), ("X", with_prefix)):
        (record,), _ = read(tmp_path / "f.json", [{**entry, "name": "a"}], id_prefix=prefix)
        assert record.concept_id == expected


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("text", "not a JSON object"),
        ({**FEVER, "id": None}, "no id"),
        ({**FEVER, "id": 1}, "id is not a str"),
        ({**FEVER, "synonyms": "one"}, "synonyms is not a list"),
        ({**FEVER, "synonyms": [1]}, "synonyms holds something that is not a str"),
        ({**FEVER, "xrefs": [1]}, "xrefs holds"),
        ({**FEVER, "xrefs": [{"id": 1}]}, "id is not a str"),
        ({**FEVER, "xrefs": [{"id": "1"}]}, "xrefs holds"),
        ({**FEVER, "relations": []}, "relations is not a dict"),
    ],
)
def test_broken_terms_are_reported(read, tmp_path, entry, reason):
    text = f"[\n{json.dumps(FEVER)},\n\n{json.dumps(entry)}\n, {json.dumps(FEVER)}]\n"
    records, report = read(tmp_path / "f.json", text)
    assert len(records) == 2
    (problem,) = report.problems
    assert problem.reason.startswith("no id" if reason == "no id" else f"term 2: {reason}")
    assert (report.rows_read, report.rows_dropped) == (3, {"broken": 1})
    with pytest.raises(SapbertError, match=rf"E127.*f\.json, line 1: .*{reason}"):
        read(tmp_path / "f.json", text, strict=True)


def test_terms_without_a_name_are_counted_and_a_list_may_be_empty(read, tmp_path):
    records, report = read(tmp_path / "f.json", [{"id": "F:1"}, {"id": "F:2", "name": " "}])
    assert records == []
    assert report.rows_dropped == {"no name": 2}
    assert [read(tmp_path / "f.json", text)[0] for text in ("[]", " [ ]\n", "[\n]")] == [[]] * 3


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[\n{"id": "F:1", "name": "a"},\n{"id": "F:2", "na', 3),
        ('[\n{"id": "F:1", "name": "a"}', 2),
        ('[\n{"id": "F:1", "name": "a"}\n{"id": "F:2", "name": "b"}]', 3),
        ('[{"id": "F:1", "name": "a"}] x', 1),
        ("[", 1),
        ("[,]", 1),
        ("[" * 100_000, 1),
        ("", 1),
        ("id\tname\n", 1),
    ],
)
def test_what_is_not_json(read, tmp_path, text, line):
    with pytest.raises(SapbertError, match=rf"E127.*f\.json, line {line}"):
        read(tmp_path / "f.json", text)


def test_what_is_not_a_list(read, tmp_path):
    with pytest.raises(SapbertError, match=r"E121.*f\.json.*json.*obograph"):
        read(tmp_path / "f.json", '{"graphs": []}')


# --- scispaCy

ENTITY = {
    "concept_id": "C0000001",
    "canonical_name": "Red fever",
    "aliases": ["Fever, red"],
    "types": ["T047"],
    "definition": "A fever.",
}


@pytest.fixture
def read_lines(read, tmp_path):
    """A function that reads a file with an entity on each line; a text is a line as it is."""

    def run(lines, **kwargs):
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        return read(tmp_path / "kb.jsonl", text, "scispacy", **kwargs)

    return run


def test_an_entity_and_one_without_what_may_be_missing(read_lines):
    short = {"concept_id": "C1", "canonical_name": "a", "definition": None}
    records, _ = read_lines([ENTITY, short, ""], types=["T033"], strict=True)
    names = (Name("Red fever", "preferred", "kb"), Name("Fever, red", "exact", "kb"))
    assert records == [
        Record("C0000001", names, (), ("T047",), "A fever."),
        Record("C1", (Name("a", "preferred", "kb"),), (), ("T033",)),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "no JSON"),
        ("[]", "not a JSON object"),
        ({**ENTITY, "aliases": "one"}, "aliases"),
        ({**ENTITY, "aliases": [1]}, "aliases"),
        ({**ENTITY, "canonical_name": None}, "canonical_name"),
        ({"canonical_name": "a"}, "concept_id"),
        ({**ENTITY, "concept_id": " "}, "no id"),
    ],
)
def test_broken_lines_are_reported_and_the_rest_goes_on(read_lines, line, reason):
    records, report = read_lines([ENTITY, line, ENTITY])
    assert len(records) == 2
    assert [row.line for row in report.problems] == [2]
    assert reason in report.problems[0].reason
    with pytest.raises(SapbertError, match=r"E127.*kb\.jsonl, line 2"):
        read_lines([ENTITY, line, ENTITY], strict=True)


def test_half_a_surrogate_pair_is_taken_out(read_lines):
    line = r'{"concept_id": "C1", "canonical_name": "a\ud800b", "aliases": ["\ud83d\ude00"]}'
    records, report = read_lines([line])
    assert [name.text for name in records[0].names] == ["ab", "😀"]
    assert report.control_characters == 1


def test_a_list_is_read_like_lines(read, read_lines, tmp_path):
    records, _ = read_lines([ENTITY])
    broken = {**ENTITY, "aliases": "one"}
    of_list, report = read(tmp_path / "kb.json", [ENTITY, broken], None)
    assert of_list == records
    assert "concept 2: aliases" in report.problems[0].reason


# --- FHIR

ROOT = Path(__file__).parents[3]
FHIR = ROOT / "tests" / "fuzz" / "seeds" / "vocabularies" / "fhir"  # invented concepts


def test_a_code_system(read):
    records, report = read(FHIR / "1" / "codes.json", None, None, source="F", strict=True)
    texts = (("Fever", "preferred", "en"), ("Fieber", "preferred", "de"), ("Hitze", "exact", "de"))
    names = tuple(Name(text, scope, "F", tag) for text, scope, tag in (*texts, ("Pyrexia", "exact", "en")))
    assert records[0] == Record("FEV:1", names, definition="A high temperature.")
    parents = {record.concept_id: record.parents for record in records[1:]}
    assert parents == {"FEV:2": ("FEV:1",), "FEV:3": ("FEV:2",), "FEV:5": ("FEV:1", "FEV:2")}
    assert report.rows_dropped == {"inactive": 1}


def test_value_sets(read):
    records, report = read(FHIR / "2" / "values.json", None, None, strict=True)
    assert [record.concept_id for record in records] == ["SNOMEDCT:100", "ICD10GM:A00", "ICD10GM:A00.0"]
    assert [name.language for name in records[0].names] == ["de", "fr"]
    assert records[2].parents == ("ICD10GM:A00",)
    assert report.notes["filters and value sets that are not read"] == 1


def test_a_bulk_export_has_a_resource_on_each_line(read):
    codes, values = (read(FHIR / name, None, None, source="F")[0] for name in ("1/codes.json", "2/values.json"))
    assert read(FHIR / "3" / "all.ndjson", None, None, source="F", strict=True)[0] == [*codes, *values]


ADDRESSES = json.loads((ROOT / "spacy_sapbert" / "outputs" / "fhir.json").read_bytes())["systems"]


@pytest.mark.parametrize(
    ("system", "concept_id"),
    [
        *[(system, "1" if prefix in ("MESH", "UMLS") else f"{prefix}:1") for prefix, system in ADDRESSES.items()],
        ("http://fhir.de/CodeSystem/bfarm/ops", "OPS:1"),
        ("http://hl7.org/fhir/sid/icd-9-cm", "ICD9CM:1"),
        ("", "1"),
    ],
)
def test_systems(read, tmp_path, system, concept_id):
    concept = {"code": "1", "display": "a", "concept": [7], "designation": {"value": "b"}, "property": "c"}
    resource = {"resourceType": "CodeSystem", "url": system, "concept": [concept, 5]}
    (record,), _ = read(tmp_path / "a.json", resource, None)
    assert record.concept_id == concept_id
    with pytest.raises(SapbertError, match=r"not a CodeSystem, ValueSet or Bundle"):
        read(tmp_path / "a.json", {**resource, "resourceType": "Patient"}, "fhir")
