"""`link_files` does in one call what the command does."""

import json
from collections import Counter

import pytest

import spacy_sapbert
from spacy_sapbert.documents.input_documents import ReadOptions
from spacy_sapbert.errors import SapbertError


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("note\nbreast cancer and diabetes\nthe weather\n")
    return path


def test_a_file(linking_folder, notes, tmp_path):
    output = tmp_path / "links.jsonl"
    counts = spacy_sapbert.link_files(linking_folder, [notes], output, reading=ReadOptions(text_column="note"))
    records = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [len(record["entities"]) for record in records] == [1, 0]
    assert {name: counts[name] for name in ("documents", "mentions", "linked", "broken", "kept")} == {
        "documents": 2,
        "mentions": 1,
        "linked": sum(entity["kb_id"] != "NIL" for entity in records[0]["entities"]),
        "broken": 0,
        "kept": 0,
    }


def test_an_engine(linking_folder, notes, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    reading = ReadOptions(text_column="note")
    counts = spacy_sapbert.link_files(linking_folder, [notes], tmp_path / "out", reading=reading, engine="local")
    assert (counts["documents"], counts["failures"]) == (2, 0)
    assert (tmp_path / "out" / "notes.csv.parquet").is_file()
    assert "1 partitions linked" in capsys.readouterr().err


def test_a_run_that_fails_keeps_documents(linking_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.runs.document_linker.DOCUMENTS_PER_BATCH", 1)
    notes, output, counts = tmp_path / "notes.jsonl", tmp_path / "links.csv", Counter()
    notes.write_text('{"text": "breast cancer"}\n{"text": "diabetes"}\nbroken\n')
    with pytest.raises(SapbertError, match="line 3"):
        spacy_sapbert.link_files(linking_folder, [notes], output, strict=True, counts=counts)
    assert counts["kept"] == 1  # the second waits for the third
    notes.write_text('{"text": "breast cancer"}\n{"text": "diabetes"}\n')
    counts = spacy_sapbert.link_files(linking_folder, [notes], output, resume=True)
    assert (counts["documents"], counts["old"]) == (2, 1)


@pytest.mark.parametrize(
    ("inputs", "format", "message"),
    [
        ("notes.csv", None, "not a list of paths"),
        (["none.txt"], None, "no file or folder none.txt"),
        (["notes.csv"], "word", "Choose one of: jsonl, "),
    ],
)
def test_wrong_arguments_are_named(linking_folder, notes, tmp_path, monkeypatch, inputs, format, message):
    monkeypatch.chdir(notes.parent)
    with pytest.raises(SapbertError, match=message):
        spacy_sapbert.link_files(linking_folder, inputs, tmp_path / "links", format=format)
    assert not (tmp_path / "links").exists()
