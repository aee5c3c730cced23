from __future__ import annotations

import gzip

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.code_mappings import CodeMappings, parse_predicates
from spacy_sapbert.kb.mapping import EXACT, is_exact
from spacy_sapbert.kb.readers import ReadReport

HEAD = "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\n"
SSSOM = f"# mapping_set_id: a\n{HEAD}" + (
    "MONDO:1\tskos:exactMatch\t\tumls:C0000001\n"
    "MONDO:1\tskos:broadMatch\t\tICD10CM:A1\n"
    "MONDO:1\thttp://www.w3.org/2004/02/skos/core#closeMatch\t\tICD10CM:A2\n"
    "MONDO:1\toboInOwl:hasDbXref\t\tICD10CM:A3\n"
    "MONDO:1\tskos:exactMatch\tNot\tICD10CM:A4\n"
    "MONDO:1\tskos:exactMatch\t\tsssom:NoTermFound\n"
)


def write(path, text):
    path.write_text(text)
    return path


def related(mappings, concept_id):
    return [mapped[:2] for mapped in mappings.of(concept_id)]


def test_predicates_have_a_direction(tmp_path):
    report = ReadReport()
    mappings = CodeMappings([write(tmp_path / "a.sssom.tsv", SSSOM)], report=report)
    assert related(mappings, "MONDO:1") == [
        ("C0000001", "skos:exactMatch"),
        ("ICD10CM:A1", "skos:broadMatch"),
        ("ICD10CM:A2", "skos:closeMatch"),
        ("ICD10CM:A3", "oboInOwl:hasDbXref"),
    ]
    assert related(mappings, "C0000001") == [("MONDO:1", "skos:exactMatch")]
    assert related(mappings, "ICD10CM:A1") == [("MONDO:1", "skos:narrowMatch")]
    assert related(mappings, "ICD10CM:A3") == []  # its inverse is unknown
    assert report.rows_dropped == {"Not skos:exactMatch": 1, "no term found": 1}
    assert {mapped.origin for mapped in mappings.of("MONDO:1")} == {"a.sssom.tsv"}


def test_a_table_of_two_columns_has_no_predicates(tmp_path):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write('MESH:D1,"icd10cm:A1"\n')
    mappings = CodeMappings([path])
    assert related(mappings, "D1") == [("ICD10CM:A1", "")]
    assert related(mappings, "ICD10CM:A1") == [("D1", "")]


def test_broken_rows(tmp_path):
    path = write(tmp_path / "a.sssom.tsv", f"#\n{HEAD}A:1\t\t\tB:1\nA:1\tskos:exactMatch\t\t\nA:1\tB:1\n")
    report = ReadReport()
    assert len(CodeMappings([path], report=report)) == 0
    assert [(row.line, row.reason) for row in report.problems] == [
        (3, "no predicate_id"),
        (4, "no object_id"),
        (5, "2 cells instead of 4"),
    ]
    with pytest.raises(SapbertError, match=r"E127.*line 3"):
        CodeMappings([path], strict=True)
    with pytest.raises(SapbertError, match=r"E106.*no column predicate_id"):
        CodeMappings([write(tmp_path / "b.tsv", "subject_id\tobject_id\n")])
    with pytest.raises(SapbertError, match="E120"):
        CodeMappings([tmp_path / "missing.tsv"])
    assert len(CodeMappings([write(tmp_path / "empty.tsv", "# nothing\n")])) == 0


def test_names_of_predicates():
    assert parse_predicates(["exact"]) == EXACT
    assert parse_predicates(["Close, broad", "oboInOwl:hasDbXref"]) == {
        "skos:closematch",
        "skos:broadmatch",
        "oboinowl:hasdbxref",
    }
    for given in ("", "nope", ":", "a:"):
        with pytest.raises(SapbertError, match="E195"):
            parse_predicates([given])
    assert [is_exact(one) for one in ("", "owl:sameAs", "skos:closeMatch")] == [True, True, False]
