from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
import typer
from typer.testing import CliRunner

from spacy_sapbert.cli.options import grouped


@dataclass(frozen=True)
class Size:
    PANEL: ClassVar[str] = "Size"

    height: Annotated[int, typer.Option(min=1, help="Height.")] = 2
    names: Annotated[list[str] | None, typer.Option("--name", help="Name.")] = None


@pytest.fixture
def seen():
    return []


@pytest.fixture
def app(seen):
    def show(
        text: Annotated[str, typer.Argument(help="Text.")],
        size: Size,
        output: Annotated[str, typer.Option(help="Output.")],
    ) -> None:
        """Show a text."""
        seen.append((text, size, output))

    app = typer.Typer(add_completion=False)
    app.command()(grouped(show))
    return app


def test_a_group_is_filled_from_its_options(app, seen):
    arguments = ["a text", "--output", "out", "--height", "3", "--name", "a", "--name", "b"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert seen == [("a text", Size(3, ["a", "b"]), "out")]


def test_defaults_of_a_group(app, seen):
    assert CliRunner().invoke(app, ["a text", "--output", "out"]).exit_code == 0
    assert seen == [("a text", Size(), "out")]


@pytest.mark.parametrize("arguments", [["a text"], ["a text", "--output", "out", "--height", "0"]])
def test_options_are_checked(app, seen, arguments):
    assert CliRunner().invoke(app, arguments).exit_code == 2
    assert not seen


def test_the_options_of_a_group_stand_under_its_heading(app):
    parameters = {parameter.name: parameter for parameter in typer.main.get_command(app).params}
    assert list(parameters) == ["text", "height", "names", "output"]
    assert [parameters[name].rich_help_panel for name in ("height", "output")] == ["Size", None]
    assert typer.main.get_command(app).help == "Show a text."
