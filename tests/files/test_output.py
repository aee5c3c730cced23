"""An output is written completely or not at all, and never over an input."""

import os
from pathlib import Path

import pytest

from spacy_sapbert.errors import OptionError
from spacy_sapbert.files.output import refuse_input


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("fever")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1.txt").write_text("fever")
    (tmp_path / "link.txt").symlink_to("a.txt")
    os.link(tmp_path / "a.txt", tmp_path / "hard.txt")
    (tmp_path / "folder").symlink_to("notes")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "outputs"),
    [
        ("a.txt", ["a.txt", "notes/../a.txt", "link.txt", "hard.txt"]),
        ("link.txt", ["a.txt"]),
        ("notes", ["notes", "folder", "notes/out.txt", "folder/out.txt"]),
        ("notes/1.txt", ["notes"]),
        ("folder", ["notes/new/out.txt"]),
    ],
)
def test_an_output_that_is_an_input_is_refused(files, source, outputs):
    for output in outputs:
        with pytest.raises(OptionError, match=rf"E533.*--output {output} .*{source}"):
            refuse_input(Path(output), [None, Path("other.txt"), Path(source)], in_folders=True)
    assert (files / "a.txt").read_text() == "fever"


@pytest.mark.parametrize(
    ("output", "source"),
    [("b.txt", "a.txt"), ("a.txt.gz", "a.txt"), ("out.txt", "notes"), ("missing", "other"), ("/dev/null", "/dev/null")],
)
def test_any_other_output_is_taken(files, output, source):
    refuse_input(Path(output), [Path(source)], in_folders=True)
    refuse_input(None, [Path(source)])
    refuse_input(Path("notes/out.kb"), [Path("notes")])  # a folder of which only some files are read
