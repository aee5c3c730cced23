"""Fixtures for the commands."""

import io
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from functools import lru_cache
from pathlib import Path

import pytest
import spacy
import spacy.cli
import typer.main
from typer.testing import CliRunner

from spacy_sapbert.cli import main

PAGES = Path(__file__).parents[2] / "docs"


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


@pytest.fixture
def run_page(command):
    """A function that runs a page of docs/ from top to bottom: its code, all one program, and its commands.

    A text block right after code is what that code prints.
    """

    def run(page, instead=None):
        """instead (dict | None): parts of commands that would take long, each with what is run in its place."""
        text = (PAGES / f"{page}.md").read_text(encoding="utf8")
        for slow, quick in (instead or {}).items():
            assert slow in text
            text = text.replace(slow, quick)
        blocks = re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)
        namespace = {}
        for (language, block), (following, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
            if language == "python":
                with redirect_stdout(io.StringIO()) as printed:
                    exec(block, namespace)
                assert following != "text" or printed.getvalue() == expected
            for line in block.splitlines() if language == "bash" else []:
                run_line(command, line)

    return run


def run_line(command, line):
    program, *arguments = shlex.split(line)
    if program == "spacy-sapbert":
        finished = command(*arguments)
        assert finished.status == 0, finished.err
    elif program == "spacy":
        finished = CliRunner().invoke(spacy.cli.app, arguments)
        assert finished.exit_code == 0, finished.output
    else:
        subprocess.run(["bash", "-o", "pipefail", "-c", line], check=True)
