"""Fixtures for the commands."""

import importlib
import io
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from glob import glob
from pathlib import Path

import pytest
import spacy
import spacy.cli
from typer.testing import CliRunner

from spacy_sapbert.cli import main

cli_init = importlib.import_module("spacy_sapbert.cli.configs")  # the package has a command of this name
PAGES = Path(__file__).parents[2] / "docs"


class Finished:
    """A finished command: exit status, standard output as bytes, standard error as text."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def counts(err):
    """RETURNS (dict): the rows of a report that have a number."""
    rows = [line.strip().rsplit(None, 1) for line in err.splitlines()]
    return {row[0].strip(): int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def shown(finished):
    """RETURNS (str): the tables on standard error as one text, cells joined by one blank."""
    return " ".join(re.sub("[│┃]", " ", finished.err).split())


@pytest.fixture
def command(monkeypatch, capsysbinary):
    """A function that runs `spacy-sapbert` in this process."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr("sys.argv", ["spacy-sapbert", *map(str, arguments)])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsysbinary.readouterr()
        return Finished(stopped.value.code or 0, out, err.decode())

    return run


@pytest.fixture
def shorten(monkeypatch):
    """A function that lets `init config` write a config with some texts replaced, so that training is quick."""

    def run(kind, replaced):
        others = cli_init.read_config

        def read(wanted, **options):
            text = others(wanted, **options)
            for before, after in replaced.items() if wanted == kind else ():
                assert before in text
                text = text.replace(before, after)
            return text

        monkeypatch.setattr(cli_init, "read_config", read)

    return run


@pytest.fixture
def no_processes(monkeypatch):
    """Let `--engine local` work in this process. `test_the_summary` and the tests of `run_local` start processes."""
    monkeypatch.setattr(
        "spacy_sapbert.runs.engines.run_local", lambda work, tasks, workers: (work(one) for one in tasks)
    )


@pytest.fixture(scope="session")
def dense_folder(linking_folder, small_kb, tmp_path_factory):
    """The pipeline of `linking_folder` with the starter encoder."""
    nlp = spacy.load(linking_folder, exclude=["sapbert_linker"])
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path)})
    folder = tmp_path_factory.mktemp("dense") / "pipeline"
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def run_page(command):
    """A function that runs a page of docs/: its code blocks as one program, and its commands.

    A text block after a code block is its expected output. A block of YAML that begins with the name of a file is its
    content.
    """

    def run(page, instead=None, *, section="", commands_only=False):
        """Run a page, or a section of it. `instead` replaces slow parts of commands by quick ones.

        RETURNS: The finished commands of this package by their lines.
        """
        text = (PAGES / f"{page}.md").read_text(encoding="utf8")
        text = text.partition(f"## {section}\n")[2].partition("\n## ")[0] if section else text
        for slow, quick in (instead or {}).items():
            assert slow in text
            text = text.replace(slow, quick)
        blocks = re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)
        namespace, finished = {}, {}
        for (language, block), (following, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
            if language == "python" and not commands_only:
                with redirect_stdout(io.StringIO()) as printed:
                    exec(block, namespace)
                assert following != "text" or printed.getvalue() == expected
            if language == "yaml" and (name := re.match(r"# (\S+\.yaml)\n", block)):
                Path(name[1]).write_text(block)
            for line in block.splitlines() if language == "bash" else []:
                finished[line] = run_line(command, line)
        assert namespace or any(finished.values())
        return finished

    return run


def run_line(command, line):
    program, *arguments = shlex.split(line)
    if program == "spacy-sapbert":
        finished = command(*(path for word in arguments for path in (sorted(glob(word)) if "*" in word else [word])))
        assert finished.status == 0, finished.err
        return finished
    if program == "spacy":
        finished = CliRunner().invoke(spacy.cli.app, arguments)
        assert finished.exit_code == 0, finished.output
    else:
        subprocess.run(["bash", "-o", "pipefail", "-c", line], check=True)
    return None
