"""Define the `spacy-sapbert` command line, with one command per file."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..errors import CannotWriteError, Errors, SapbertError
from ..files.console import json_on_terminals
from .assemble import assemble
from .augment import augment
from .calibrate import calibrate
from .configs import OVERRIDES
from .convert import convert
from .demo import demo
from .discover import discover
from .encoder import encoder
from .evaluate import evaluate
from .import_ import import_
from .init import init
from .interrupting import command_line, exit_status, interruptible
from .kb import kb
from .link import link
from .mine import mine
from .pairs import pairs
from .pretrain import pretrain
from .review import review
from .serve import serve

_INTERRUPTED = (
    "Interrupted. No unfinished file is left, and vectors that are complete are kept. {hint}To start again: {command}"
)
_HINTS = {
    "link": "With --output, what is done is kept, see --resume. ",
    "pretrain": "With --resume, training goes on from its last checkpoint. ",
}
_HELP = "Link biomedical text to UMLS, MeSH or your own vocabulary."

# the order in which the help text shows them
_PANELS: dict[str, dict[str, Any]] = {
    "Start": {"demo": demo},
    "Vocabulary": {"kb": kb, "discover": discover},
    "Pipelines": {
        "assemble": assemble,
        "calibrate": calibrate,
        "link": link,
        "review": review,
        "serve": serve,
    },
    "Training": {
        "init": init,
        "convert": convert,
        "augment": augment,
        "pairs": pairs,
        "mine": mine,
        "pretrain": pretrain,
        "encoder": encoder,
        "import": import_,
    },
    "Evaluation": {"evaluate": evaluate},
}


@contextmanager
def _named_errors() -> Iterator[None]:
    """Show errors that a user can correct without a traceback."""
    try:
        yield
        sys.stdout.flush()  # a full disk shows here
        return
    except SapbertError as error:
        message = str(error)
    except OSError as error:
        if error.filename is not None:
            path = str(error.filename)
            shown = path if len(path) < 500 else f"{path[:100]}…"
            message = Errors.E595.format(path=shown, reason=error.strerror)
        elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            message = str(CannotWriteError(path="standard output", reason=error.strerror))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python tries again at its end
        else:
            raise
    typer.secho(message, fg="red", err=True)
    sys.exit(1)


class _Commands(TyperGroup):
    """Shows errors that a user can correct without a traceback, also under spaCy's command line."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with interruptible(), _named_errors():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            if ctx.invoked_subcommand not in ("serve", "review"):  # there it is the way to stop
                hint = _HINTS.get(ctx.invoked_subcommand, "")
                typer.echo(_INTERRUPTED.format(command=command_line(sys.argv[1:]), hint=hint), err=True)
            raise typer.Exit(exit_status(error)) from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept `--json` also after the subcommand."""
        given = ["--json"] if "--json" in args else []
        return super().parse_args(ctx, [*given, *(arg for arg in args if arg != "--json")])

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for commands in _PANELS.values() for name in commands]


app = typer.Typer(name="spacy-sapbert", cls=_Commands, no_args_is_help=True, add_completion=False)


@app.callback(help=_HELP)
def _everywhere(
    json: Annotated[bool, typer.Option("--json", help="Print results as JSON on a terminal, too.")] = False,
) -> None:
    json_on_terminals.set(json)


for panel, commands in _PANELS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(
                name,
                context_settings=OVERRIDES if command in (augment, mine, pairs, pretrain) else None,
                rich_help_panel=panel,
            )(command)


def main() -> None:
    """Run the command line."""
    with _named_errors():  # those of the help, which come before a command
        app()
