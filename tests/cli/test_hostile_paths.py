"""Paths that are too long, or are pipes: each command ends at once, with a named error."""

from __future__ import annotations

import importlib
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import spacy

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.encoders import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.opening import open_text
from spacy_sapbert.files.output import open_output
from spacy_sapbert.kb import KnowledgeBase
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.kb.storage import load_knowledge_base

LONG = "d/" * 2500 + "a.tsv"

# {} is the hostile path, PIPE a saved pipeline, DOC a document, OUT a file that does not exist
READ = {
    "kb build": ["kb", "build", "{}", "--output", "OUT.kb"],
    "kb build --format": ["kb", "build", "{}", "--format", "table", "--output", "OUT.kb"],
    "kb search": ["kb", "search", "{}", "fever"],
    "assemble --kb": ["assemble", "--kb", "{}", "--output", "OUT"],
    "link PIPELINE": ["link", "{}", "DOC"],
    "link DOCUMENT": ["link", "PIPE", "{}"],
    "link --corrections": ["link", "PIPE", "DOC", "--corrections", "{}"],
    "convert": ["convert", "{}", "OUT.spacy"],
    "pairs --mentions": ["pairs", "starter", "--output", "OUT.tsv", "--mentions", "{}"],
    "mine": ["mine", "{}", "--kb", "starter", "--encoder", "starter", "--output", "OUT.tsv"],
    "calibrate": ["calibrate", "PIPE", "{}", "--output", "OUT"],
    "evaluate pipeline": ["evaluate", "pipeline", "PIPE", "{}"],
    "review": ["review", "page", "{}", "--corrections", "OUT.corrections"],
    "discover": ["discover", "PIPE", "{}", "--output", "OUT.tsv"],
    "corpus": ["corpus", "page", "{}", "--output", "OUT.html"],
    "pretrain": ["pretrain", "{}", "--output", "OUT"],
    "serve --token-file": ["serve", "PIPE", "--token-file", "{}", "--port", "0"],
}
WRITE = {
    "kb build": ["kb", "build", "TABLE", "--output", "{}"],
    "kb export": ["kb", "export", "starter", "--format", "table", "--output", "{}"],
    "link": ["link", "PIPE", "DOC", "--to", "jsonl", "--output", "{}"],
    "init config": ["init", "config", "linker", "{}"],
    "review": ["review", "page", "PIPE", "DOC", "--corrections", "{}"],
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


@pytest.mark.parametrize("line", READ.values(), ids=READ)
def test_inputs_whose_path_is_too_long(run, line):
    check_named(run(line, LONG), ["a.txt", "a.tsv"])


@pytest.mark.parametrize("line", WRITE.values(), ids=WRITE)
def test_outputs_whose_path_is_too_long(run, line):
    check_named(run(line, LONG), ["a.txt", "a.tsv"])


@pytest.mark.parametrize("line", READ.values(), ids=READ)
def test_inputs_that_are_pipes_do_not_wait_for_a_writer(run, line):
    os.mkfifo("pipe.tsv")
    check_named(run(line, "pipe.tsv"), ["a.txt", "a.tsv", "pipe.tsv"])


def test_the_message_on_a_pipe_says_what_to_do(run):
    os.mkfifo("pipe.tsv")
    assert run(READ["convert"], "pipe.tsv").err.startswith("[E120] Cannot read pipe.tsv (it is a pipe). Write its")


def test_an_output_with_the_longest_possible_name(run, tmp_path):
    name = "x" * 251 + ".tsv"
    assert run(WRITE["kb export"], name).status == 0
    assert (tmp_path / name).is_file()


@pytest.mark.parametrize("line", WRITE.values(), ids=WRITE)
def test_outputs_that_are_pipes_stay_pipes(run, line):
    """A reader takes what is written. A knowledge base and corrections cannot be written to a pipe."""
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.DEVNULL) as reader:
        finished = run(line, "pipe")
        reader.kill()
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    if line in (WRITE["kb build"], WRITE["review"]):
        assert re.match(r"\[E(104|507)\].*it is a folder, a device or a pipe", finished.err)
    else:
        assert finished.status == 0


@pytest.mark.parametrize("name", ["kb build", "kb export", "link", "init config"])
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


def test_a_token_file_without_an_end(run):
    assert run(READ["serve --token-file"], "/dev/zero").err.startswith("[E533] ")


@pytest.mark.parametrize("place", ["a.txt/demo.html", "."])
def test_the_page_of_the_demo_cannot_be_written(command, linking_nlp, run, place, monkeypatch):
    monkeypatch.setattr(importlib.import_module("spacy_sapbert.pipeline.demo"), "demo_pipeline", lambda: linking_nlp)
    assert run(["demo", "--text", "fever", "--output", "{}"], place).err.startswith("[E507] ")


def component(name, path):
    nlp = spacy.blank("en")
    nlp.add_pipe(name, config={"kb": path})
    nlp("fever")


FUNCTIONS = {
    "open_text": lambda path: open_text(Path(path)).__enter__(),
    "open_output": lambda path: open_output(Path(path)).__enter__(),
    "KnowledgeBase": KnowledgeBase,
    "load_knowledge_base": load_knowledge_base,
    "build_knowledge_base": lambda path: build_knowledge_base([], Path(path)),
    "TransformerEncoder": lambda path: TransformerEncoder(path, device="cpu").encode(["fever"]),
    "read_vocabulary": lambda path: list(read_vocabulary(Path(path), "obo", report=ReadReport())),
    "read_corpus": lambda path: list(read_corpus(Path(path), "pubtator")),
    "concept_matcher": lambda path: component("concept_matcher", path),
    "concept_retriever": lambda path: component("concept_retriever", path),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_with_a_path_that_is_too_long(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SapbertError, match=r"\[E\d{3}\]"):
        function(LONG)
    assert os.listdir() == []
