"""The container: what its steps copy and run is there. No container is built."""

import ast
import json
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from spacy_sapbert.cli import app, main

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf8")
# a step may go on in the next line
LINES = [line for line in TEXT.replace("\\\n", "").splitlines() if line and not line.startswith("#")]
STEPS = [tuple(line.split(maxsplit=1)) for line in LINES]


def of(*names):
    return [arguments for name, arguments in STEPS if name in names]


def exec_form(arguments):
    return json.loads(arguments[arguments.index("[") :])


def test_what_is_copied_is_there_and_not_ignored():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = {name for step in of("COPY") if "--from" not in step for name in shlex.split(step)[:-1]}
    # the tests of the wheel run without the sources of the package
    assert all((ROOT / name).exists() for name in copied - {"spacy_sapbert"})
    assert ignored[1] == "*"
    assert {line[1:] for line in ignored if line.startswith("!")} == copied


def test_the_server_runs_as_a_user_without_rights():
    names = [name for name, _ in STEPS]
    assert of("USER") == ["server"]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert any("useradd" in step and step.endswith(" server") for step in of("RUN"))


def test_the_command_has_the_options(capsys, monkeypatch):
    program, *arguments = exec_form(of("ENTRYPOINT")[0])
    assert program == "spacy-sapbert"
    monkeypatch.setattr("sys.argv", [program, *arguments, "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    command = typer.main.get_command(app).commands["serve"]
    context = command.make_context("serve", [*arguments[1:], "/pipeline"])
    assert (context.params["host"], context.params["pipeline"]) == ("0.0.0.0", "/pipeline")
    assert str(context.params["port"]) == of("EXPOSE")[0]


def test_the_health_check_asks_whether_it_is_ready():
    program, option, code = exec_form(of("HEALTHCHECK")[0])
    assert (program, option) == ("python", "-c")
    ast.parse(code)
    assert f"http://127.0.0.1:{of('EXPOSE')[0]}/ready" in code


def test_it_has_the_python_of_the_package_and_no_address_of_a_registry():
    assert {step.split()[0] for step in of("FROM")} == {"python:3.11-slim"}
    assert re.findall(r"https?://(?!127\.0\.0\.1)\S+", TEXT) == []
