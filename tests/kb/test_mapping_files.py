from __future__ import annotations

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.mapping_files import MappingRow, read_mapping_rows
from spacy_sapbert.kb.readers.context import ReaderContext, ReadReport

SSSOM = """\
# license: CC0
subject_id\tsubject_type\tpredicate_id\tpredicate_modifier\tobject_id
DOID:1\t\tskos:exactMatch\t\tUMLS_CUI:C0000001
DOID:2\t\thttp://www.w3.org/2004/02/skos/core#broadMatch\t\tmesh:D000001
DOID:3\t\tskos:closeMatch\tNot\tMESH:D000002
a text\trdfs literal\tskos:exactMatch\t\tMESH:D000003
DOID:4\t\tskos:exactMatch\t\tsssom:NoTermFound
DOID:5\t\t\t\tMESH:D000004
DOID:6\t\tskos:exactMatch\t\t-
"""


def read(path, text, **kwargs):
    path.write_text(text)
    report = ReadReport()
    return list(read_mapping_rows(ReaderContext(path, report), **kwargs)), report


def test_sssom(tmp_path):
    rows, report = read(tmp_path / "a.tsv", SSSOM)
    assert rows == [
        MappingRow("DOID:1", "skos:exactMatch", "C0000001"),
        MappingRow("DOID:2", "skos:broadMatch", "D000001"),
    ]
    assert report.rows_dropped == {
        "Not skos:closeMatch": 1,
        "a text without an id": 1,
        "no term found": 1,
        "broken": 2,
    }
    assert [(line, reason) for _, line, reason, _ in report.problems] == [(8, "no predicate_id"), (9, "no object_id")]


def test_chosen_predicates(tmp_path):
    rows, report = read(tmp_path / "a.tsv", SSSOM, accepts=lambda predicate: predicate == "skos:exactMatch")
    assert rows == [MappingRow("DOID:1", "skos:exactMatch", "C0000001")]
    assert report.rows_dropped["skos:broadMatch"] == 1


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.txt", "\t")])
def test_two_columns(tmp_path, name, delimiter):
    rows, _ = read(tmp_path / name, f"# ids\nDOID:1{delimiter}UMLS:C0000001\n")
    assert rows == [MappingRow("DOID:1", "", "C0000001")]


def test_a_missing_column_and_an_empty_file(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E106\] .*predicate_id"):
        read(tmp_path / "a.tsv", "subject_id\tobject_id\nA:1\tB:1\n")
    assert read(tmp_path / "b.tsv", "")[0] == []
