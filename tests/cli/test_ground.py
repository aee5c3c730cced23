import csv
import json

import pytest


def test_strings_have_candidates_with_reasons(command, small_kb):
    finished = command("ground", "breast cancer", "zzzzzzzz qqqq", "", "--kb", small_kb.path)
    shown = json.loads(finished.out)
    texts, ids, (linked, unlinked, nothing) = zip(*map(dict.values, shown["results"]), strict=True)
    assert texts == ("breast cancer", "zzzzzzzz qqqq", "")
    assert ids == ("D001943", "NIL", "NIL")
    assert nothing == []
    assert linked[0]["score"] == 1
    assert {"concept_id", "preferred_name", "name", "types", "probability", "refusal", "rewrite"} <= set(linked[0])
    assert linked[0]["grade"] == "same"
    assert linked[0]["refusal"] is None
    assert all(candidate["refusal"] for candidate in unlinked)
    assert linked[0]["preferred_name"] == "Breast Neoplasms"
    assert linked[0]["concept_id"] in finished.err
    assert "not linked" in " ".join(finished.err.split())


def test_context_and_types_are_passed_on(command, small_kb):
    finished = command("ground", "QQ", "--context", "quick queries (QQ)", "--kb", small_kb.path)
    ((_, _, candidates),) = map(dict.values, json.loads(finished.out)["results"])
    assert "quick queries" in candidates[0]["rewrite"]
    finished = command("ground", "asthma", "--type", "Metal", "--kb", small_kb.path)
    assert finished.status == 1
    assert "Metal" in finished.err


@pytest.mark.parametrize("name", ["heart attack", "[bold]asthma"])
def test_names_are_no_markup(command, small_kb, name):
    assert command("ground", name, "--kb", small_kb.path).status == 0


def test_a_file_of_strings_becomes_a_table(command, small_kb, tmp_path):
    (tmp_path / "terms.csv").write_text('id;term\n1;breast cancer\n2;"=zzzzzzzz; qqqq"\n')
    options = ("--file", tmp_path / "terms.csv", "--kb", small_kb.path, "-o")
    for name, delimiter in (("a.csv", ","), ("a.tsv", "\t")):
        assert command("ground", *options, tmp_path / name).status == 0
        rows = list(csv.DictReader((tmp_path / name).open(newline=""), delimiter=delimiter))
        assert rows[0].items() >= {"text": "breast cancer", "concept_id": "D001943", "score": "1.0"}.items()
        assert rows[-1]["text"] == "'=zzzzzzzz; qqqq"
        assert rows[-1]["reason"]
    assert command("ground", "asthma", *options, tmp_path / "a.json").status == 0
    found = json.loads((tmp_path / "a.json").read_text())["results"]
    assert [result["text"] for result in found] == ["asthma", "breast cancer", "=zzzzzzzz; qqqq"]
    assert "give strings" in command("ground").err
