"""Fixtures for the commands."""

import io
from functools import lru_cache

import pytest
import spacy
import typer.main

from spacy_sapbert.cli import main


class Finished:
    """A command that has ended: exit status, standard output as bytes, standard error as text."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


# typer puts all commands together for each run, which takes longer than most of them
get_command = lru_cache(typer.main.get_command)


@pytest.fixture
def command(monkeypatch, capsysbinary):
    """A function that runs `spacy-sapbert` in this process."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr("typer.main.get_command", get_command)
        monkeypatch.setattr("sys.argv", ["spacy-sapbert", *map(str, arguments)])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsysbinary.readouterr()
        return Finished(stopped.value.code or 0, out, err.decode())

    return run


@pytest.fixture(scope="session")
def linking_nlp(small_store):
    """A pipeline that finds a few mentions by rule and links them, by the sparse score alone."""
    nlp = spacy.blank("en")
    names = ["breast cancer", "breast and ovarian cancer", "cystic fibrosis", "CF", "CF patients", "aspirin", "zebra"]
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Entity", "pattern": name} for name in names])
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_store.path), "encoder": "none"})
    return nlp


@pytest.fixture(scope="session")
def linking_folder(linking_nlp, tmp_path_factory):
    """Where that pipeline is saved."""
    folder = tmp_path_factory.mktemp("linking") / "pipeline"
    linking_nlp.to_disk(folder)
    return folder


@pytest.fixture(scope="session")
def dense_folder(linking_folder, small_store, tmp_path_factory):
    """The same with the starter encoder."""
    nlp = spacy.load(linking_folder, exclude=["sapbert_linker"])
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_store.path)})
    folder = tmp_path_factory.mktemp("dense") / "pipeline"
    nlp.to_disk(folder)
    return folder
