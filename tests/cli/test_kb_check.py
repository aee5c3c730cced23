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


@pytest.mark.usefixtures("folder")
def test_suspicious_names(command):
    finished = command("kb", "check", "a.kb", "--also-in", "genes.kb")
    result = json.loads(finished.out)
    assert [(one["name"], one["why"]) for one in result["suspicious_names"]] == [
        ("ALS", "also a name in genes.kb"),
        ("Depression", "a frequent English noun"),
    ]
    assert "suspicious names: 2" in finished.err


@pytest.mark.usefixtures("folder")
def test_general_words_come_first_in_a_list_to_accept(command):
    Path("b.csv").write_text("id,name\nA:1,Depression\nA:2,Chicken\nA:3,Pneumonia\n")
    command("kb", "build", "b.csv", "-o", "b.kb")
    finished = command("kb", "check", "b.kb", "--stop-names", "stop.txt")
    assert [name["name"] for name in json.loads(finished.out)["suspicious_names"]] == ["Chicken", "Depression"]
    lines = Path("stop.txt").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == ["chicken"]
    assert "# depression" in lines
    assert command("kb", "build", "b.csv", "-o", "b.kb", "--stop-names", "stop.txt").status == 0
    again = json.loads(command("kb", "check", "b.kb").out)
    assert [name["name"] for name in again["suspicious_names"]] == ["Depression"]
    before = Path("b.kb").read_bytes()
    assert "E533" in command("kb", "check", "b.kb", "--stop-names", "b.kb").err
    assert Path("b.kb").read_bytes() == before
    three = ("--type", "A", "--type", "B", "--type", "C")
    assert "given 3 times for 2 files" in command("kb", "build", "b.csv", "b.csv", "-o", "d.kb", *three).err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "error"), [(["--also-in", "none.kb"], "[E504]"), (["--number", "-1"], "--number")]
)
def test_wrong_arguments(command, arguments, error):
    finished = command("kb", "check", "a.kb", *arguments)
    assert finished.status
    assert error in finished.err
