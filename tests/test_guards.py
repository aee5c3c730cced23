"""How complex and how large the package is, and how much of it one link needs. These numbers may only fall."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from radon.complexity import cc_visit
from radon.visitors import Function

import spacy_sapbert
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.pipeline.assemble import assemble

PACKAGE = Path(spacy_sapbert.__file__).parent
TRIPS = Path(__file__).with_name("trips.py")

MOST_LINES = 57_033  # of all modules
MOST_COMPLEX = 14_452  # complexity of all functions and methods; the mean would rise where a simple one goes
C = 20  # the highest complexity of radon's rank C
ABOVE_C: dict[str, int] = {}

# Python before 3.12 also counts comprehensions as functions
MENTION_FILES, MENTION_FUNCTIONS, MENTION_CHANGES = 20, 170, 89
DOCUMENT_FILES = 75


@pytest.fixture(scope="module")
def sources():
    """The text of each module, by path."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """The folder of a pipeline that links to two concepts by their names alone."""
    folder = tmp_path_factory.mktemp("trips")
    table = folder / "two.tsv"
    table.write_text("id\tname\tsynonyms\nD:1\tasthma\tbronchial asthma\nD:2\tfever\tpyrexia\n")
    kb = build_knowledge_base(read_vocabulary(table, "table", report=ReadReport()), folder / "two.kb")
    assemble(folder / "pipeline", kb=str(kb.path), encoder="none")
    return folder / "pipeline"


@pytest.fixture
def trip(tmp_path):
    """A function that makes a trip in a new process, and returns what `tests/trips.py` counts there."""

    def make(*arguments):
        command = [sys.executable, str(TRIPS), *map(str, arguments)]
        env = {**os.environ, "SPACY_SAPBERT_CACHE": str(tmp_path / "cache")}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return make


def test_the_package_grows_no_longer(sources):
    assert sum(text.count("\n") for text in sources.values()) <= MOST_LINES


def test_functions_become_no_more_complex(sources):
    blocks = {path: cc_visit(text) for path, text in sources.items()}
    functions = [block for found in blocks.values() for block in found if isinstance(block, Function)]
    assert sum(function.complexity for function in functions) <= MOST_COMPLEX
    above = {
        f"{path} {block.fullname}": block.complexity
        for path, found in blocks.items()
        for block in found
        if isinstance(block, Function) and block.complexity > C
    }
    assert {name: number for name, number in above.items() if number > ABOVE_C.get(name, C)} == {}
    assert ABOVE_C.keys() - above.keys() == set()  # what is no longer above C leaves the list


def test_a_mention_needs_no_more_of_the_package(trip, pipeline):
    found = trip("mention", pipeline)
    assert found["id"] == "D:1"
    assert len(found["files"]) <= MENTION_FILES, found
    assert sum(found["files"].values()) <= MENTION_FUNCTIONS, found
    assert found["changes"] <= MENTION_CHANGES, found


def test_a_document_needs_no_more_of_the_package(trip, pipeline, tmp_path):
    text, output = tmp_path / "a.txt", tmp_path / "links.jsonl"
    text.write_text("He had asthma.\n")
    found = trip("document", pipeline, text, output)
    assert "D:1" in output.read_text(encoding="utf-8")
    assert len(found["files"]) <= DOCUMENT_FILES, found
