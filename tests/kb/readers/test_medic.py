from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Name, Record


def read(path, **kwargs) -> tuple[list[Record], ReadReport]:
    report = ReadReport()
    return list(read_vocabulary(path, "medic", report=report, **kwargs)), report


def test_bare_numbers_are_omim_and_the_first_name_is_preferred(tmp_path):
    path = tmp_path / "diseases.txt"
    path.write_text("C1|145250|MESH:D2||Red  fever|Fever, red\n123||Blue fever\n")
    records, _ = read(path, types=["Disease"])
    assert records[0] == Record(
        "C1",
        (Name("Red fever", "preferred", "diseases"), Name("Fever, red", "exact", "diseases")),
        ("OMIM:145250", "D2"),
        ("Disease",),
    )
    assert records[1].concept_id == "OMIM:123"


def test_another_prefix(tmp_path):
    path = tmp_path / "genes.txt"
    path.write_text("7157||TP53\n")
    records, _ = read(path, id_prefix="NCBIGene", source="Gene")
    assert records == [Record("NCBIGene:7157", (Name("TP53", "preferred", "Gene"),))]


def test_what_is_left_out_is_counted(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("D1||name||syn|syn\n\nno bars\n||no id\nD2||\nD3|D3|D4|D4||x\x00y\n")
    records, report = read(path)
    assert [record.concept_id for record in records] == ["D1", "D3"]
    assert records[1].alternative_ids == ("D4",)
    assert records[1].names[0].text == "xy"
    assert (report.rows_read, report.rows_kept, report.records, report.names) == (5, 2, 2, 3)
    assert report.rows_dropped == {"broken": 2, "no name": 1}
    assert report.names_dropped == {"empty": 2, "duplicate": 1}
    assert report.control_characters == 1
    assert [(row.path, row.line) for row in report.problems] == [(path, 3), (path, 4)]


NAMES = st.text(st.characters(blacklist_categories=["Cc", "Cs"], blacklist_characters="|"), min_size=1).map(
    lambda text: " ".join(text.split())
)


@settings(max_examples=40)
@given(st.lists(st.lists(NAMES.filter(bool), min_size=1, unique=True), min_size=1))
def test_round_trip(tmp_path_factory, concepts):
    path = tmp_path_factory.mktemp("medic") / "a.txt"
    lines = [f"D{number}||{'|'.join(names)}\n" for number, names in enumerate(concepts)]
    path.write_bytes("".join(lines).encode())
    records, report = read(path, strict=True)
    assert [[name.text for name in record.names] for record in records] == concepts
    assert report.rows_kept == len(concepts)


def test_medic(data_dir):
    records, report = read(data_dir / "dictionaries/medic/medic_06Jul2012.txt.gz", strict=True)
    assert (report.rows_read, report.records, report.names) == (11915, 11915, 76237)
    assert sum(bool(record.alternative_ids) for record in records) == 3026
    assert records[0].names[0].source == "medic_06Jul2012"
    assert all(not record.concept_id[0].isdigit() for record in records)


def test_mesh_chemicals(data_dir):
    _, report = read(data_dir / "vocabularies/mesh_chemicals/mesh_chemicals.txt.gz", strict=True)
    assert report.records == 33438


def test_html_entities_are_decoded(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("D1||Crohn&apos;s Disease|Crohn's Disease|Beh&#231;et Syndrome\nD2||Body &amp; scalp&nbsp;hair\n")
    (crohn, hair), report = read(path)
    assert [name.text for name in crohn.names] == ["Crohn's Disease", "Crohn's Disease", "Behçet Syndrome"]
    assert [name.text for name in hair.names] == ["Body & scalp hair"]
    assert report.notes == {"texts with HTML entities decoded": 3}


def test_names_that_are_equal_without_entities_are_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("D1||Enteritis|Crohn&apos;s Disease|Crohn's Disease|Crohn&#39;s Disease\n")
    (record,), report = read(path)
    assert [name.text for name in record.names] == ["Enteritis", "Crohn's Disease"]
    assert report.names_dropped == {"duplicate": 2}
