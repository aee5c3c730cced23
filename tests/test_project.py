"""The project file: what spaCy's own loader says of it, and whether its commands are ones that we have."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from weasel.cli.document import project_document
from weasel.util import load_project_config

from spacy_sapbert.cli import app

ROOT = Path(__file__).parents[1]
VARIABLE = re.compile(r"\$\{vars\.([^}]+)\}")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    # the loader makes the directories of the project, so that it gets a copy
    folder = tmp_path_factory.mktemp("project")
    (folder / "project.yml").write_bytes((ROOT / "project.yml").read_bytes())
    config: dict[str, Any] = load_project_config(folder)
    return config


def lines(project: dict[str, Any]) -> Iterator[list[str]]:
    for command in project["commands"]:
        yield from map(shlex.split, command["script"])


def test_lines_run_our_commands_or_our_scripts(project: dict[str, Any]) -> None:
    for program, first, *_ in lines(project):
        assert program in ("spacy-sapbert", "python")
        if program == "python":
            assert first == "-m" or (ROOT / first).is_file()


def test_arguments_are_those_of_our_commands(project: dict[str, Any]) -> None:
    command = typer.main.get_command(app)
    for line in lines(project):
        if line[0] == "spacy-sapbert":
            parse(command, line[1:])


def parse(command: Any, args: list[str]) -> None:
    """Parse arguments down to the command that they are for; what is wrong with them is raised."""
    if hasattr(command, "commands"):
        context = command.make_context(command.name, list(args), resilient_parsing=True)
        first, *rest = [*context._protected_args, *context.args]
        parse(command.commands[first], rest)
    else:
        command.make_context(command.name, list(args))


def test_a_wrong_option_would_be_seen() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(typer.main.get_command(app), ["kb", "info", "names.kb", "--most-pairs", "5"])


def test_variables_are_defined_and_used(project: dict[str, Any]) -> None:
    written = (ROOT / "project.yml").read_text(encoding="utf-8")
    assert set(VARIABLE.findall(written)) == set(project["vars"])


def test_no_line_needs_a_shell() -> None:
    written = load_project_config(ROOT, interpolate=False)
    for line in lines(written):
        assert not re.search(r"[|&;<>*?`~]|\$\(", VARIABLE.sub("", " ".join(arg for arg in line if arg != " | ")))


def test_what_a_command_needs_was_made_or_is_an_asset(project: dict[str, Any]) -> None:
    commands = {command["name"]: command for command in project["commands"]}
    assets = [Path(asset["dest"]) for asset in project["assets"]]
    for workflow in project["workflows"].values():
        made: set[str] = set()
        for name in workflow:
            for needed in commands[name].get("deps", ()):
                is_asset = any(asset.is_relative_to(needed) for asset in assets)
                assert needed in made or is_asset or (ROOT / needed).exists()
            made.update(commands[name].get("outputs", ()))


def test_what_a_line_reads_of_another_command_is_a_dependency(project: dict[str, Any]) -> None:
    made = {path for command in project["commands"] for path in command.get("outputs", ())}
    for command in project["commands"]:
        own = {*command.get("deps", ()), *command.get("outputs", ())}
        read = {argument for line in map(shlex.split, command["script"]) for argument in line}
        if not command.get("no_skip"):
            assert read & made <= own, command["name"]


def test_assets_that_a_line_reads_are_listed(project: dict[str, Any]) -> None:
    listed = {asset["dest"] for asset in project["assets"]}
    assert {arg for line in lines(project) for arg in line if arg.startswith("assets/")} == listed


def test_what_all_makes_is_verified(project: dict[str, Any]) -> None:
    commands = {command["name"]: command for command in project["commands"]}
    *before, verify = project["workflows"]["all"]
    made = {path for name in before for path in commands[name].get("outputs", ())}
    _, _, *checked = shlex.split(commands[verify]["script"][0])
    assert set(checked[1:]) <= made
    assert {path for name in before[-5:] for path in commands[name]["outputs"]} <= set(checked[1:])


def test_the_documentation_is_that_of_the_project(tmp_path: Path) -> None:
    shutil.copy(ROOT / "PROJECT.md", tmp_path)
    project_document(ROOT, tmp_path / "PROJECT.md")
    written, made = ((folder / "PROJECT.md").read_text(encoding="utf-8") for folder in (ROOT, tmp_path))
    assert written == made, "PROJECT.md is mended by: python -m spacy project document . --output PROJECT.md"


def test_assets_tell_their_licence_and_stay_out_of_version_control(project: dict[str, Any]) -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    for asset in project["assets"]:
        assert re.search(r"CC0|CC BY|Apache|BSD|Government|public|licen[cs]e|attribution", asset["description"])
        assert any(f"/{asset['dest']}/".startswith(folder) for folder in ignored)
        assert asset.get("url", "https://").startswith(("https://", "http://purl.obolibrary.org/"))
