"""Paths that are too long, or lead to pipes and through links: a named error, or the file that is meant."""

import os
import re
import stat
import subprocess
import sys

import pytest

LONG = ["x" * 300 + ".tsv", "d/" * 2500 + "a.tsv"]

# {} is the path, PIPE a saved pipeline, DOC a document, OUT a file that does not exist
READ = {
    "kb build": ["kb", "build", "{}", "--output", "OUT.kb"],
    "assemble": ["assemble", "--kb", "{}", "--output", "OUT"],
    "link DOCUMENT": ["link", "PIPE", "{}"],
    "link --corrections": ["link", "PIPE", "DOC", "--corrections", "{}"],
    "evaluate pipeline": ["evaluate", "pipeline", "PIPE", "{}"],
    "pretrain": ["pretrain", "{}", "--output", "OUT"],
}
WRITE = {
    "kb build": ["kb", "build", "TABLE", "--output", "{}"],
    "kb export": ["kb", "export", "starter", "--format", "table", "--output", "{}"],
    "link": ["link", "PIPE", "DOC", "--to", "jsonl", "--output", "{}"],
    "init config": ["init", "config", "linker", "-o", "{}"],
}


@pytest.fixture
def run(command, linking_folder, tmp_path, monkeypatch):
    """Runs a command line with a path in the place of {}, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("fever")
    (tmp_path / "a.tsv").write_text("id\tname\nD1\tfever\n")
    words = {"PIPE": str(linking_folder), "DOC": "a.txt", "TABLE": "a.tsv"}
    return lambda line, path: command(*(words.get(word, word.replace("{}", path)) for word in line))


def check_named(finished, left):
    assert finished.status in (1, 2), finished.out
    assert re.search(r"\[E\d{3}\]|Error", finished.err)
    assert "Traceback" not in finished.err
    assert not [name for name in os.listdir() if name not in left]


@pytest.mark.parametrize("path", LONG, ids=["name", "path"])
@pytest.mark.parametrize("line", [*READ.values(), *WRITE.values()])
def test_paths_that_are_too_long(run, line, path):
    finished = run(line, path)
    check_named(finished, ["a.txt", "a.tsv"])


@pytest.mark.parametrize("line", READ.values(), ids=READ)
def test_inputs_that_are_pipes_do_not_wait_for_a_writer(run, line):
    os.mkfifo("pipe.tsv")
    check_named(run(line, "pipe.tsv"), ["a.txt", "a.tsv", "pipe.tsv"])


@pytest.mark.parametrize("name", WRITE)
def test_outputs_that_are_pipes_stay_pipes(run, name):
    """A reader takes what is written. A knowledge base cannot be written to a pipe."""
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.DEVNULL) as reader:
        finished = run(WRITE[name], "pipe")
        reader.kill()
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    assert finished.status == (1 if name == "kb build" else 0)


@pytest.mark.parametrize("name", WRITE)
def test_an_output_that_is_a_link_stays_one(run, name, tmp_path):
    (tmp_path / "place").mkdir()
    os.symlink("place/real", "link")
    assert run(WRITE[name], "link").status == 0
    assert os.readlink("link") == "place/real"
    assert (tmp_path / "place" / "real").stat().st_size > 20
    assert os.listdir("place") == ["real"]


def test_standard_output_that_is_a_file(linking_folder, tmp_path):
    (tmp_path / "a.txt").write_text("aspirin")
    command = [sys.executable, "-m", "spacy_sapbert", "link", linking_folder, tmp_path / "a.txt", "--to", "jsonl"]
    with (tmp_path / "out").open("wb") as file:
        subprocess.run([*map(str, command), "--output", "/dev/stdout"], stdout=file, stderr=subprocess.PIPE, check=True)
    assert os.path.islink("/dev/stdout")
    assert b"aspirin" in (tmp_path / "out").read_bytes()
