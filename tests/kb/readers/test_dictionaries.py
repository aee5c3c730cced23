"""Dictionaries of BioSyn, HUNER and MEDIC: what the joined ids of a line mean."""

import gzip
import tarfile
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.types import Name, Record

FORMAT = "biosyn"


def test_ids_that_always_stand_together_are_one_concept(read, tmp_path):
    records, _ = read(tmp_path / "d.txt", "C1|613097||tooth agenesis\nC1|613097||sthag6\nD2||cyst\n", id_prefix="OMIM")
    assert records == [
        Record("C1", (Name("tooth agenesis", "exact", "d"),), ("OMIM:613097",)),
        Record("C1", (Name("sthag6", "exact", "d"),), ("OMIM:613097",)),
        Record("D2", (Name("cyst", "exact", "d"),)),
    ]


def test_ids_that_share_a_name_stay_apart(read, tmp_path):
    records, report = read(tmp_path / "d.txt", "D1||liver fibrosis\nD2|X2||hepatic cirrhosis\nD1|D2|X2||cirrhosis\n")
    of_last = [(record.concept_id, record.alternative_ids) for record in records if record.names[0].text == "cirrhosis"]
    assert of_last == [("D1", ()), ("D2", ("X2",))]
    assert (report.rows_read, report.rows_kept, report.records) == (3, 3, 4)


def test_composite_mentions_give_each_part_the_name(read, tmp_path):
    records, _ = read(tmp_path / "d.txt", "D1||breast cancer\nD2||ovarian cancer\nD1+D2||breast and ovarian cancer\n")
    assert [record.concept_id for record in records[2:]] == ["D1", "D2"]
    assert not any(record.alternative_ids for record in records)


def test_the_name_is_what_follows_the_first_bars(read, tmp_path):
    assert read(tmp_path / "d.txt", "D1||a||b|c\n")[0][0].names == (Name("a||b|c", "exact", "d"),)


def test_huner_rows_hold_several_names(read, tmp_path):
    records, report = read(
        tmp_path / "d.txt",
        "7157||TP53|tumor protein p53\n7157|7158||p53-like\n7158||TP53BP1\n",
        "huner",
        id_prefix="NCBIGene",
    )
    assert [name.text for name in records[0].names] == ["TP53", "tumor protein p53"]
    assert [record.concept_id for record in records[1:]] == ["NCBIGene:7157", "NCBIGene:7158", "NCBIGene:7158"]
    assert report.names == 5


def test_what_is_left_out_is_counted(read, tmp_path):
    records, report = read(tmp_path / "d.txt", "D1||\n||name\n\nD1 name\nD1||name\n")
    assert len(records) == 1
    assert report.rows_read == 4
    assert report.rows_dropped == {"no name": 1, "broken": 2}
    assert [row.line for row in report.problems] == [2, 4]


@pytest.fixture(scope="session")
def train_dictionary(data_dir, tmp_path_factory):
    with tarfile.open(data_dir / "biosyn_protocol/ncbi-disease.tar.gz") as archive:
        member = next(member for member in archive if member.name.endswith("/train_dictionary.txt"))
        path = tmp_path_factory.mktemp("biosyn") / "train_dictionary.txt"
        path.write_bytes(archive.extractfile(member).read())
    return path


def test_medic_as_biosyn_writes_it(read, data_dir, train_dictionary):
    records, report = read(train_dictionary, id_prefix="OMIM", strict=True)
    assert (report.rows_read, report.rows_kept) == (71924, 71924)
    found = {pair for record in records for pair in pairs((record.concept_id, *record.alternative_ids))}
    with gzip.open(data_dir / "dictionaries/medic/medic_06Jul2012.txt.gz", "rt") as lines:
        ids = [line.split("||")[0].split("|") for line in lines]
    wanted = {pair for row in ids for pair in pairs(f"OMIM:{one}" if one.isdigit() else one for one in row)}
    assert len(found & wanted) / len(found) > 0.99
    assert len(found & wanted) / len(wanted) > 0.99


def pairs(ids):
    return combinations(sorted(set(ids)), 2)


def test_bare_numbers_are_omim_and_the_first_name_is_preferred(read, tmp_path):
    records, _ = read(
        tmp_path / "diseases.txt",
        "C1|145250|MESH:D2||Red  fever|Fever, red\n123||Blue fever\n",
        "medic",
        types=["Disease"],
    )
    assert records[0] == Record(
        "C1",
        (Name("Red fever", "preferred", "diseases"), Name("Fever, red", "exact", "diseases")),
        ("OMIM:145250", "D2"),
        ("Disease",),
    )
    assert records[1].concept_id == "OMIM:123"


def test_another_prefix(read, tmp_path):
    records, _ = read(tmp_path / "genes.txt", "7157||TP53\n", "medic", id_prefix="NCBIGene", source="Gene")
    assert records == [Record("NCBIGene:7157", (Name("TP53", "preferred", "Gene"),))]


def test_what_is_left_out_of_medic_is_counted(read, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("D1||name||syn|syn\n\nno bars\n||no id\nD2||\nD3|D3|D4|D4||x\x00y\n")
    records, report = read(path, format="medic")
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
def test_round_trip(read, tmp_path_factory, concepts):
    path = tmp_path_factory.mktemp("medic") / "a.txt"
    lines = [f"D{number}||{'|'.join(names)}\n" for number, names in enumerate(concepts)]
    path.write_bytes("".join(lines).encode())
    records, report = read(path, format="medic", strict=True)
    assert [[name.text for name in record.names] for record in records] == concepts
    assert report.rows_kept == len(concepts)


def test_medic(read, data_dir):
    records, report = read(data_dir / "dictionaries/medic/medic_06Jul2012.txt.gz", format="medic", strict=True)
    assert (report.rows_read, report.records, report.names) == (11915, 11915, 76237)
    assert sum(bool(record.alternative_ids) for record in records) == 3026
    assert records[0].names[0].source == "medic_06Jul2012"
    assert all(not record.concept_id[0].isdigit() for record in records)


def test_names_that_are_equal_without_entities_are_one(read, tmp_path):
    (record,), report = read(
        tmp_path / "a.txt", "D1||Enteritis|Crohn&apos;s Disease|Crohn's Disease|Crohn&#39;s Disease\n", "medic"
    )
    assert [name.text for name in record.names] == ["Enteritis", "Crohn's Disease"]
    assert report.names_dropped == {"duplicate": 2}
