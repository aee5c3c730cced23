from __future__ import annotations

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, guess_format, read_vocabulary
from spacy_sapbert.types import Name, Record

HEADER = "id\tkeep\tname\tmatched_name\tsimilarity\tmy notes\n"


def read(path, text, **kwargs) -> tuple[list[Record], ReadReport]:
    path.write_bytes(text.encode())
    report = ReadReport()
    return list(read_vocabulary(path, report=report, **kwargs)), report


def test_marked_rows_are_names_of_their_scope(tmp_path):
    marks = ["y", "Yes ", "exact", "narrow", "broad", "related", "", " ", "n", "No"]
    rows = [f'MESH:D{i}\t{mark}\tthe "{i}"\tx\t0.9\t\n' for i, mark in enumerate(marks)]
    records, report = read(tmp_path / "reviewed.tsv", HEADER + "".join(rows))
    scopes = ["exact", "exact", "exact", "narrow", "broad", "related"]
    assert records == [Record(f"D{i}", (Name(f'the "{i}"', scope, "reviewed"),)) for i, scope in enumerate(scopes)]
    assert report.rows_dropped == {"not marked to be kept": 4}


def test_a_mark_that_nobody_knows_is_broken(tmp_path):
    records, report = read(tmp_path / "a.tsv", HEADER + "D1\tmaybe\tb\tx\t0.9\t\nD2\ty\tb\tx\t0.9\t\n")
    assert [record.concept_id for record in records] == ["D2"]
    assert report.problems[0].line == 2
    assert "'maybe' in the column keep is none of: y, " in report.problems[0].reason


def test_without_its_columns_it_is_an_ordinary_table(tmp_path):
    text = HEADER.replace("keep\t", "") + "D1\tb\tx\t0.9\t\n"
    records, _ = read(tmp_path / "a.tsv", text)
    assert records == [Record("D1", (Name("b", "exact", "a"),))]
    with pytest.raises(SapbertError, match=r"E128.*no column keep"):
        read(tmp_path / "a.tsv", text, format="discovered")
    (tmp_path / "b.tsv").write_text(HEADER)
    assert guess_format(tmp_path / "b.tsv") == "discovered"
