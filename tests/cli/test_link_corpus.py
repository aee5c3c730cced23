"""What `link --engine` refuses, and what it tells."""

import json
import pickle
from pathlib import Path

import pytest
from rich.console import Console

pytest.importorskip("pyarrow")

from spacy_sapbert.kb.code_systems import CodeOptions


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("some aspirin")
    return folder


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--output must be a folder"),
        (["-o", "{notes}/a.txt"], "--output must be a folder"),
        (["-o", "{out}", "--to", "csv"], "--to must be parquet"),
        (["-o", "{out}", "--resume"], "--resume and --restart have no effect"),
        (["-o", "{notes}/links"], "[E533]"),
        (["-o", "{notes}/.."], "[E533]"),
    ],
)
def test_options_that_do_not_fit(command, linking_folder, notes, tmp_path, options, message):
    given = [one.format(notes=notes, out=tmp_path / "out") for one in options]
    finished = command("link", linking_folder, notes, "--engine", "local", *given)
    assert finished.status == 1
    assert message in finished.err
    assert (notes / "a.txt").read_text() == "some aspirin"


def test_standard_input_cannot_be_read_again(command, linking_folder, tmp_path):
    finished = command("link", linking_folder, "-", "--format", "text", "--engine", "local", "-o", tmp_path / "out")
    assert "could not read standard input again" in finished.err
    unknown = command("link", linking_folder, "-", "--format", "text", "--engine", "dask", "-o", tmp_path / "out")
    assert "[E125] 'dask'" in unknown.err


@pytest.mark.usefixtures("no_processes")
def test_records_that_are_all_broken_are_an_error(command, linking_folder, tmp_path):
    (tmp_path / "a.jsonl").write_text("broken\nbroken, too\n")
    finished = command("link", linking_folder, tmp_path / "a.jsonl", "--engine", "local", "-o", tmp_path / "out")
    assert finished.status == 1
    assert "a.jsonl, line 1" in finished.err
    assert "[E508]" in finished.err


def test_the_summary(command, linking_folder, notes, tmp_path):
    (notes / "empty.txt").write_text("")
    for told in ("1 partitions linked, 0 were done before", "0 partitions linked, 1 were done before"):
        finished = command("link", linking_folder, notes, "--engine", "local", "-o", tmp_path / "out")
        assert finished.status == 0
        assert "2 documents, 1 mentions, 1 of them linked; 1 documents failed" in finished.err
        assert told in finished.err
    assert json.loads((tmp_path / "out" / "_manifest.json").read_text())["complete"]


def test_codes_of_a_worker_are_those_of_the_command():
    """Otherwise each partition would load the pipeline again."""
    codes = CodeOptions(("ICD10CM",), (Path("a"),), ("exactMatch",), Console())
    assert hash(pickle.loads(pickle.dumps(codes))) == hash(codes)
    assert pickle.loads(pickle.dumps(codes)) == codes
