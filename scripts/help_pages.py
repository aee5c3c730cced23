"""Print the help text of every command, at a fixed width and without colors.

python scripts/help_pages.py
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROGRAM = "spacy-sapbert"
WIDTH = "100"


def commands() -> Iterator[tuple[list[str], Any]]:
    """Yield the words and the object of every command and group of commands, in the order of the help text."""
    # before typer is imported, which reads the width once
    os.environ.update(TERMINAL_WIDTH=WIDTH, COLUMNS=WIDTH, NO_COLOR="1", TERM="dumb")
    sys.path.insert(0, str(ROOT))  # these sources, whatever is installed
    import typer

    from spacy_sapbert.cli import app

    yield from _below([], typer.main.get_command(app))


def _below(words: list[str], command: Any) -> Iterator[tuple[list[str], Any]]:
    yield words, command
    for name, subcommand in getattr(command, "commands", {}).items():
        if not getattr(subcommand, "hidden", False):  # an old name
            yield from _below([*words, name], subcommand)


def help_pages() -> str:
    """Return the help text of every command, each under a heading."""
    pages = []
    for words, _ in commands():
        from typer.testing import CliRunner

        from spacy_sapbert.cli import app

        shown = CliRunner().invoke(app, [*words, "--help"], prog_name=PROGRAM).output
        pages.append(f"# {' '.join([PROGRAM, *words])}\n" + "\n".join(map(str.rstrip, shown.splitlines())) + "\n")
    return "\n".join(pages)


if __name__ == "__main__":
    sys.stdout.write(help_pages())
