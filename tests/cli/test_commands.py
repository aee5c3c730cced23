"""The table of commands, which are imported when they are called."""

import subprocess
import sys

import pytest
import typer.main

from spacy_sapbert.cli import COMMANDS, app

HEAVY = {"numpy", "spacy", "torch", "scipy", "faiss", "transformers"}
HELP = """
import sys
sys.argv = ["spacy-sapbert", "--help"]
from spacy_sapbert.cli import main
try:
    main()
finally:
    print("LOADED", *sys.modules)
"""


@pytest.mark.parametrize(("name", "text"), [row for panel in COMMANDS.values() for row in panel.items()])
def test_the_table_has_the_first_line_of_each_help(name, text):
    command = typer.main.get_command(app).commands[name]
    assert command.name == name
    assert " ".join(command.help.split("\n\n")[0].split()) == text


def test_the_help_loads_no_command():
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    shown, _, loaded = done.stdout.rpartition("LOADED")
    assert all(name in shown for panel in COMMANDS.values() for name in panel)
    assert not HEAVY.intersection(loaded.split())
    own = {name for name in loaded.split() if name.startswith("spacy_sapbert.cli.")}
    assert own == set()


def test_an_unknown_command_is_reported_with_a_similar_one(command):
    finished = command("lnk")
    assert finished.status == 2
    assert "link" in finished.err
