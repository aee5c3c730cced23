"""A short run of the fuzzer, always with the same inputs. A new reader needs a target."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyoxigraph")
pytest.importorskip("fastapi")

import spacy_sapbert
from spacy_sapbert.documents import input_documents as documents
from spacy_sapbert.documents import reader as corpora_reader
from spacy_sapbert.documents.formats import InputFormat
from spacy_sapbert.documents.reader import FORMATS
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import READERS

from .mutation import mutate
from .running import Crash, Run, Target, input_of, made_smaller, try_input
from .targets import TARGETS

ROOT = Path(__file__).parents[2]
PACKAGE = Path(spacy_sapbert.__file__).parent
INPUTS = 25
NAMES = [target.name for target in TARGETS]


def test_a_short_run_finds_nothing(tmp_path):
    command = [sys.executable, "-m", "fuzz", "--inputs", str(INPUTS), "--folder", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    counts = json.loads((tmp_path / "counts-0.json").read_text())
    assert set(counts) == set(NAMES)
    assert all(count["inputs"] for count in counts.values())


# --- every reader has a target


def test_every_format_has_a_target():
    wanted = {f"vocabulary:{format}" for format in READERS} | {f"corpus:{format}" for format in FORMATS}
    wanted |= {f"document:{format.value}" for format in InputFormat}
    assert wanted <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))


# the functions that no target calls by name: the target that reaches them, or why none is needed
REACHED = {
    "read_all": "document:text",
    "read_array": "cache:vectors",
    "read_bioc_documents": "corpus:bioc",
    "read_brat": "list:brat",
    "read_catalog": "It reads a file of the package.",
    "read_cells": "vocabulary:table",
    "read_component": "saved:component",
    "read_config": "It reads a file of the package.",
    "read_docbin_corpus": "corpus:docbin",
    "read_file": "document:text",
    "read_index": "tests/vectors/test_faiss_index.py damages its files.",
    "read_lexical_model": "saved:encoder",
    "read_licences": "It copies files.",
    "read_log": "It reads the log that the same process writes.",
    "read_mapping_rows": "list:mappings",
    "read_mmi": "list:mmi",
    "read_pairs": "list:pairs",
    "read_plain_bert": "saved:encoder",
    "read_plain_tokenizer": "saved:encoder",
    "read_pmc": "list:answers",
    "read_relations": "vocabulary:umls",
    "read_rows": "vocabulary:biosyn",
    "read_settings": "saved:encoder",
    "read_vectorizer": "tests/encoders/test_safe_pickle.py damages its files.",
    "read_whole": "vocabulary:json",
}


def test_every_function_that_reads_has_a_target():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("read_"):
                found.add(node.name)
    named = {function.__name__ for function in READERS.values()} | {"read_jats", "read_pubmed"}
    for table in (corpora_reader._READERS, documents._READERS):
        named |= {getattr(function, "func", function).__name__.removeprefix("_") for function in table.values()}
    folder = Path(__file__).parent
    sources = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py") if path.name != "test_fuzz.py")
    named |= {name for name in found if f" {name}" in sources or f"({name}" in sources}
    assert found - named - REACHED.keys() == set()
    assert REACHED.keys() <= found
    assert {target for target in REACHED.values() if " " not in target} <= set(NAMES)


# --- the fuzzer itself


def test_the_same_number_makes_the_same_input():
    target = next(target for target in TARGETS if target.name == "vocabulary:umls")
    seeds = target.seeds()
    made = [input_of(target, seeds, 0, number) for number in range(30)]
    assert made == [input_of(target, seeds, 0, number) for number in range(30)]
    assert sum(one in seeds for one in made) < 5
    assert made != [input_of(target, seeds, 1, number) for number in range(30)]


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b'{"a": [1, {"b": "c"}]}', [b"1000000", b"NaN", b"[[["]),
        (b'<a b="c"><d>e</d></a>', [b"<sec>", b"<![CDATA[", b"&#0;"]),
        (b"id\tname\nD1\tfever\n", [b"\0", b"\xed\xa0\x80", b"\xff\xfe"]),
    ],
)
def test_the_structure_of_an_input_is_changed(data, parts):
    made = b"".join(mutate(data, [data], Random(number)) for number in range(1000))
    assert all(part in made for part in parts)


def use(folder):
    content = (folder / "a").read_bytes()
    if b"told" in content:
        raise SapbertError("told")
    if b"x" in content:
        raise ZeroDivisionError
    while b"slow" in content:
        pass


TARGET = Target("made:up", lambda: [{"a": b"fine"}], use)


def test_only_documented_errors_are_no_crash(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzz.running.SECONDS", 0.05)
    assert try_input(TARGET, {"a": b"fine"}, tmp_path / "in") is True
    assert try_input(TARGET, {"a": b"told"}, tmp_path / "in") is False
    assert try_input(TARGET, {"a": b"x"}, tmp_path / "in").kind.startswith("ZeroDivisionError")
    assert try_input(TARGET, {"a": b"slow"}, tmp_path / "in").kind.startswith("_TooSlow")


def test_a_crash_is_kept_small_and_counted_once(tmp_path):
    run = Run([TARGET], tmp_path, 0)
    crash = try_input(TARGET, {"a": b"much more than one x is needed for"}, tmp_path / "in")
    assert isinstance(crash, Crash)
    assert made_smaller(crash, TARGET, {"a": b"much more than one x is needed for"}, tmp_path / "in") == {"a": b"x"}
    for _ in range(2):
        run.keep(crash, TARGET, {"a": b"one x"}, tmp_path / "in")
    (place,) = (tmp_path / "crashes").iterdir()
    assert (place / "input" / "a").read_bytes() == b"x"
    assert "--repeat" in (place / "report.txt").read_text()
    assert list(run.count_of(TARGET)["crashes"].values()) == [2]


# --- guided by what an input reaches

GUIDED = """
import os
from pathlib import Path
from fuzz.guided import guide
from fuzz.running import Run, Target
from spacy_sapbert.kb.id_lists import read_labels

def use(folder):
    content = (folder / "a.txt").read_bytes()
    list(read_labels(folder / "a.txt"))
    if content.count(b"D") > 1:
        raise ZeroDivisionError

def end(folder):
    use(folder) if (folder / "a.txt").read_bytes() == b"D1\\n" else os._exit(9)

seeds = lambda: [{"a.txt": b"D1\\n"}]
guide(Run([Target("made:up", seeds, use), Target("made:ends", seeds, end)], Path.cwd(), 0), 0, 100, [])
"""


@pytest.mark.slow
def test_a_guided_run_keeps_what_is_new_and_crashes(tmp_path):
    pytest.importorskip("atheris")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *sys.path])}
    done = subprocess.run([sys.executable, "-c", GUIDED], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert re.search(r"made:up: 100 inputs, \d+ branches", done.stdout)
    assert len(list((tmp_path / "corpus" / "made-up").iterdir())) > 2
    reports = "".join(path.read_text() for path in tmp_path.glob("crashes/*/report.txt"))
    assert "ZeroDivisionError" in reports
    assert "status 9" in reports
    assert all((path / "input" / "a.txt").exists() for path in tmp_path.glob("crashes/*"))
