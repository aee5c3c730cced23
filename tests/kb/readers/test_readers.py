from __future__ import annotations

from pathlib import Path

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import READERS, ReadReport, guess_format, read_vocabulary
from spacy_sapbert.kb.readers.report import MAX_EXAMPLES


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("doid.obo", "obo"),
        ("hp-2015.01.OBO.gz", "obo"),
        ("umls_kb.jsonl", "scispacy"),
        ("names.tsv.gz", "table"),
        ("drugs.csv", "table"),
        ("CTD_diseases.csv.gz", "ctd"),
        ("CTD_chemicals.tsv", "ctd"),
    ],
)
def test_format_is_guessed_where_it_is_plain(name, format):
    assert guess_format(Path(name)) == format


@pytest.mark.parametrize("name", ["medic.txt", "dictionary", "a.json.zip", "obo.gz"])
def test_format_is_not_guessed_elsewhere(name):
    with pytest.raises(SapbertError, match=r"E124.*biosyn, ctd, huner"):
        guess_format(Path(name))


def test_errors_come_at_once(tmp_path):
    with pytest.raises(SapbertError, match=r"E125.*format rdf"):
        read_vocabulary(tmp_path / "a.obo", "rdf", report=ReadReport())
    with pytest.raises(SapbertError, match=r"E126.*medic has no option columns.*none"):
        read_vocabulary(tmp_path / "a.txt", "medic", report=ReadReport(), columns={})


@pytest.mark.parametrize("format", ["biosyn", "ctd", "huner", "medic", "obo", "scispacy"])
def test_every_reader_names_a_missing_file(tmp_path, format):
    assert format in READERS
    with pytest.raises(SapbertError, match=r"E120.*missing"):
        list(read_vocabulary(tmp_path / "missing", format, report=ReadReport()))


def test_one_report_counts_several_files(tmp_path):
    report = ReadReport()
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("D1||x\nbroken\n")
        list(read_vocabulary(tmp_path / name, "medic", report=report))
    assert (report.rows_read, report.rows_kept, report.n_broken) == (4, 2, 2)
    assert [row.path.name for row in report.broken] == ["a.txt", "b.txt"]


def test_examples_of_broken_rows_do_not_pile_up(tmp_path):
    (tmp_path / "a.txt").write_text("broken\n" * (MAX_EXAMPLES + 5))
    report = ReadReport()
    list(read_vocabulary(tmp_path / "a.txt", "medic", report=report))
    assert report.n_broken == MAX_EXAMPLES + 5
    assert len(report.broken) == MAX_EXAMPLES


def test_source_is_the_name_of_the_file_without_its_endings(tmp_path):
    path = tmp_path / "hp-2015.01.obo.gz"
    path.write_text("[Term]\nid: HP:1\nname: a\n")
    assert next(read_vocabulary(path, report=ReadReport())).names[0].source == "hp-2015.01"
