from __future__ import annotations

import gzip
import tarfile
from itertools import combinations

import pytest

from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Name, Record


def read(path, format="biosyn", **kwargs) -> tuple[list[Record], ReadReport]:
    report = ReadReport()
    return list(read_vocabulary(path, format, report=report, **kwargs)), report


def test_ids_that_always_stand_together_are_one_concept(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("C1|613097||tooth agenesis\nC1|613097||sthag6\nD2||cyst\n")
    records, _ = read(path, id_prefix="OMIM")
    assert records == [
        Record("C1", (Name("tooth agenesis", "exact", "d"),), ("OMIM:613097",)),
        Record("C1", (Name("sthag6", "exact", "d"),), ("OMIM:613097",)),
        Record("D2", (Name("cyst", "exact", "d"),)),
    ]


def test_ids_that_share_a_name_stay_apart(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("D1||liver fibrosis\nD2|X2||hepatic cirrhosis\nD1|D2|X2||cirrhosis\n")
    records, report = read(path)
    of_last = [(record.concept_id, record.alternative_ids) for record in records if record.names[0].text == "cirrhosis"]
    assert of_last == [("D1", ()), ("D2", ("X2",))]
    assert (report.rows_read, report.rows_kept, report.records) == (3, 3, 4)


def test_composite_mentions_give_each_part_the_name(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("D1||breast cancer\nD2||ovarian cancer\nD1+D2||breast and ovarian cancer\n")
    records, _ = read(path)
    assert [record.concept_id for record in records[2:]] == ["D1", "D2"]
    assert not any(record.alternative_ids for record in records)


def test_the_name_is_what_follows_the_first_bars(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("D1||a||b|c\n")
    assert read(path)[0][0].names == (Name("a||b|c", "exact", "d"),)


def test_huner_rows_hold_several_names(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("7157||TP53|tumor protein p53\n7157|7158||p53-like\n7158||TP53BP1\n")
    records, report = read(path, "huner", id_prefix="NCBIGene")
    assert [name.text for name in records[0].names] == ["TP53", "tumor protein p53"]
    assert [record.concept_id for record in records[1:]] == ["NCBIGene:7157", "NCBIGene:7158", "NCBIGene:7158"]
    assert report.names == 5


def test_what_is_left_out_is_counted(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("D1||\n||name\n\nD1 name\nD1||name\n")
    records, report = read(path)
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


def test_medic_as_biosyn_writes_it(data_dir, train_dictionary):
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
