"""No command replaces what it reads, by one mechanism that no command can forget."""

import re

import pytest
import typer.main

from spacy_sapbert.cli import OUTPUTS, app
from spacy_sapbert.errors import OptionError
from spacy_sapbert.files.output import keeping_inputs, open_output


def _leaves(command, path=()):
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name in command.commands:
        yield from _leaves(command.commands[name], (*path, name))


LEAVES = dict(_leaves(typer.main.get_command(app)))
WRITING = {path: command for path, command in LEAVES.items() if OUTPUTS.intersection(p.name for p in command.params)}
# the input of these commands is optional
READ_BY_OPTION = {"assemble": ["--kb", "in.txt"], "ground": ["--file", "in.txt"], "kb get": ["in.txt"]}
READ_NOTHING = {("demo",), ("init", "config")}


def test_the_help_of_every_other_option_names_no_output():
    """A new option that names what a command writes belongs to OUTPUTS."""
    for path, command in LEAVES.items():
        for param in command.params:
            writes = re.match(r"(?:(?:File|Folder) for|.* to write\b)", param.help or "")
            assert not writes or param.name in OUTPUTS, (path, param.name)


@pytest.mark.parametrize("path", sorted(WRITING.keys() - READ_NOTHING), ids=" ".join)
def test_an_output_that_is_an_input_is_refused(path, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("what must stay")
    words = list(READ_BY_OPTION.get(" ".join(path), []))
    for param in WRITING[path].params:
        is_read = param.required and param.name not in OUTPUTS
        words += ([] if param.param_type_name == "argument" else [param.opts[0]]) + ["in.txt"] if is_read else []
    for option in [p.opts[0] for p in WRITING[path].params if p.name in OUTPUTS]:
        others = [] if option == "--output" or not _requires_output(path) else ["-o", "new"]
        finished = command(*path, *words, *others, option, "in.txt")
        assert finished.status == 1, finished.err
        assert f"{option} in.txt" in finished.err
        assert "E533" in finished.err
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("in.txt", "what must stay")]


def _requires_output(path):
    return any(param.name == "output" and param.required for param in WRITING[path].params)


@pytest.mark.parametrize("line", ["evaluate linking PIPE c.txt -o PIPE/meta.json", "link PIPE c.txt -o PIPE"])
def test_a_pipeline_that_is_read_stays(line, command, linking_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.txt").write_text("1|t|cold\n1\t0\t4\tcold\tDisease\tD003139\n")
    before = (linking_folder / "meta.json").read_bytes()
    finished = command(*line.replace("PIPE", str(linking_folder)).split())
    assert (finished.status, "E533" in finished.err) == (1, True), finished.err
    assert (linking_folder / "meta.json").read_bytes() == before


def test_a_pipeline_can_be_updated(command, small_kb, tmp_path):
    assert command("assemble", "--kb", small_kb.path, "--encoder", "none", "-o", tmp_path / "p").status == 0
    again = command("assemble", "--from", tmp_path / "p", "--kb", small_kb.path, "-o", tmp_path / "p")
    assert again.status == 0, again.err


def test_two_outputs_of_one_name(command, linking_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.txt").write_text("1|t|cold\n1\t0\t4\tcold\tDisease\tD003139\n")
    finished = command(
        "evaluate", "linking", linking_folder, "c.txt", "--predictions", "x", "--errors", "./x", "-o", "y"
    )
    assert re.search(r"E533.*(--predictions|--errors) is the same file", finished.err)
    assert [path.name for path in tmp_path.iterdir()] == ["c.txt"]


def test_what_a_config_names_stays(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = "1|t|cold\n1\t0\t4\tcold\tDisease\tD003139\n"
    (tmp_path / "corpus.txt").write_text(corpus)
    (tmp_path / "pairs.cfg").write_text('[pairs]\nmentions = "corpus.txt"\nmentions_format = "pubtator"\n')
    assert "E533" in command("pairs", "starter", "-c", "pairs.cfg", "-o", "corpus.txt").err
    assert (tmp_path / "corpus.txt").read_text() == corpus


def test_what_a_command_writes_beside_its_output_is_checked_too(tmp_path):
    path = tmp_path / "shared.txt"
    path.write_text("read")
    outputs = {"--output": str(tmp_path / "new")}
    with keeping_inputs([str(path)], outputs), pytest.raises(OptionError, match="E533"), open_output(path) as write:
        write("other")
    assert path.read_text() == "read"
    with open_output(path) as write:
        write("no command runs")
