"""`spacy-sapbert`: one command a file."""

from __future__ import annotations

import sys

import typer

from ..errors import SapbertError
from .assemble import assemble
from .convert import convert
from .demo import demo
from .evaluate import evaluate
from .kb import kb
from .link import link

app = typer.Typer(name="spacy-sapbert", help=__doc__, no_args_is_help=True, add_completion=False)
app.command("demo")(demo)
app.add_typer(kb, name="kb")
app.command("assemble")(assemble)
app.command("link")(link)
app.command("convert")(convert)
app.add_typer(evaluate, name="evaluate")


def main() -> None:
    """Run the command line. What a user can mend is told without a traceback; the exit status is then 1."""
    try:
        app()
    except SapbertError as error:
        typer.secho(str(error), fg="red", err=True)
        sys.exit(1)
