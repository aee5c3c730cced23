from __future__ import annotations

import json
from pathlib import Path

import pytest

VOCABULARY = "id,name,synonyms\nA:1,Depression,Low mood\nA:2,Pneumonia,Lung infection|ALS\n"


@pytest.fixture
def folder(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(VOCABULARY)
    Path("genes.csv").write_text("id,name,synonyms\nHGNC:1,gene one,ALS\n")
    for name in ("a", "genes"):
        assert command("kb", "build", f"{name}.csv", "-o", f"{name}.kb").status == 0
    Path("notes").mkdir()
    Path("notes/1.txt").write_text("Cardiac depression. Depression and pneumonia.")
    Path("notes/2.txt").write_text("Pneumonia, pneumonia, pneumonia.")


@pytest.mark.usefixtures("folder")
def test_suspicious_names(command):
    finished = command("kb", "check", "a.kb", "--also-in", "genes.kb")
    result = json.loads(finished.out)
    assert [(one["name"], one["why"]) for one in result["suspicious_names"]] == [
        ("ALS", "also a name in genes.kb"),
        ("Depression", "a frequent English noun"),
    ]
    assert "names that may mean something else in text" in finished.err


@pytest.mark.usefixtures("folder")
def test_names_are_counted_in_texts(command):
    finished = command("kb", "check", "a.kb", "--texts", "notes", "--number", "1")
    assert finished.status == 0
    result = json.loads(finished.out)
    assert result["documents"] == 2
    (suspicious,), (frequent,) = result["suspicious_names"], result["most_frequent_names"]
    assert (suspicious["name"], suspicious["occurrences"], suspicious["documents"]) == ("Depression", 2, 1)
    assert suspicious["example"] == "Cardiac [depression]. Depression and pneumoni"
    assert (frequent["name"], frequent["ids"], frequent["occurrences"]) == ("Pneumonia", ["A:2"], 4)
    assert "Cardiac [depression]" in finished.err


@pytest.mark.usefixtures("folder")
def test_general_words_come_first_in_a_list_to_accept(command):
    Path("b.csv").write_text("id,name\nA:1,Depression\nA:2,Chicken\nA:3,Pneumonia\n")
    Path("c.txt").write_text("Depression, depression. She had chicken and pneumonia.")
    command("kb", "build", "b.csv", "-o", "b.kb")
    finished = command("kb", "check", "b.kb", "--texts", "c.txt", "--stop-names", "stop.txt")
    assert [name["name"] for name in json.loads(finished.out)["suspicious_names"]] == ["Chicken", "Depression"]
    lines = Path("stop.txt").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == ["chicken"]
    assert "# depression" in lines
    assert command("kb", "build", "b.csv", "-o", "b.kb", "--stop-names", "stop.txt").status == 0
    again = json.loads(command("kb", "check", "b.kb", "--texts", "c.txt").out)
    assert [name["name"] for name in again["most_frequent_names"]] == ["Depression", "Pneumonia"]
    assert command("kb", "check", "b.kb", "--texts", "c.txt", "--stop-names", "c.txt").status == 1
    before = Path("b.kb").read_bytes()
    assert "E533" in command("kb", "check", "b.kb", "--stop-names", "b.kb").err
    assert Path("b.kb").read_bytes() == before
    three = ("--type", "A", "--type", "B", "--type", "C")
    assert "given 3 times for 2 files" in command("kb", "build", "b.csv", "b.csv", "-o", "d.kb", *three).err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "error"),
    [(["--texts", "none"], "[E504]"), (["--also-in", "none.kb"], "[E504]"), (["--number", "-1"], "--number")],
)
def test_wrong_arguments(command, arguments, error):
    finished = command("kb", "check", "a.kb", *arguments)
    assert finished.status
    assert error in finished.err
