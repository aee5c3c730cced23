from __future__ import annotations

import json

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Name, Record

ENTITY = {
    "concept_id": "C0000001",
    "canonical_name": "Red fever",
    "aliases": ["Fever, red"],
    "types": ["T047"],
    "definition": "A fever.",
}


def read(path, lines, **kwargs) -> tuple[list[Record], ReadReport]:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    report = ReadReport()
    return list(read_vocabulary(path, report=report, **kwargs)), report


def test_an_entity(tmp_path):
    records, _ = read(tmp_path / "kb.jsonl", [ENTITY], strict=True)
    names = (Name("Red fever", "preferred", "kb"), Name("Fever, red", "exact", "kb"))
    assert records == [Record("C0000001", names, (), ("T047",), "A fever.")]


def test_fields_that_may_be_missing(tmp_path):
    short = {"concept_id": "C1", "canonical_name": "a", "definition": None}
    records, _ = read(tmp_path / "kb.jsonl", [short, ""], types=["T033"], strict=True)
    assert records == [Record("C1", (Name("a", "preferred", "kb"),), (), ("T033",))]


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
def test_broken_lines_are_reported_and_the_rest_goes_on(tmp_path, line, reason):
    records, report = read(tmp_path / "kb.jsonl", [ENTITY, line, ENTITY])
    assert len(records) == 2
    assert [row.line for row in report.problems] == [2]
    assert reason in report.problems[0].reason
    with pytest.raises(SapbertError, match=r"E127.*kb\.jsonl, line 2"):
        read(tmp_path / "kb.jsonl", [ENTITY, line, ENTITY], strict=True)


def test_half_a_surrogate_pair_is_taken_out(tmp_path):
    line = r'{"concept_id": "C1", "canonical_name": "a\ud800b", "aliases": ["\ud83d\ude00"]}'
    records, report = read(tmp_path / "kb.jsonl", [line])
    assert [name.text for name in records[0].names] == ["ab", "😀"]
    assert report.control_characters == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [('{"concept_id": ' + "[" * 100_000, "nested too deeply"), ('{"a": ' + "1" * 5000 + "}", "too many digits")],
)
def test_json_that_cannot_be_held_costs_its_line_only(tmp_path, line, reason):
    records, report = read(tmp_path / "kb.jsonl", [line, ENTITY])
    assert [record.concept_id for record in records] == ["C0000001"]
    assert [(row.line, reason in row.reason) for row in report.problems] == [(1, True)]
    with pytest.raises(SapbertError, match=rf"E127.*line 1.*{reason}"):
        read(tmp_path / "kb.jsonl", [line, ENTITY], strict=True)
