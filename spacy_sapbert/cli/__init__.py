"""`spacy-sapbert`: one command a file."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from ..errors import SapbertError
from .assemble import assemble
from .augment import augment
from .calibrate import calibrate
from .convert import convert
from .demo import demo
from .discover import discover
from .encoder import encoder
from .evaluate import evaluate
from .import_ import import_
from .kb import kb
from .link import link
from .mine import mine
from .pairs import pairs
from .pretrain import OVERRIDES, pretrain
from .serve import serve

_HELP = "Biomedical text to concepts of a vocabulary."


class _Commands(TyperGroup):
    """Tells what a user can mend without a traceback, also where spaCy's command line runs the commands."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SapbertError as error:
            typer.secho(str(error), fg="red", err=True)
            raise typer.Exit(1) from error


app = typer.Typer(name="spacy-sapbert", cls=_Commands, help=_HELP, no_args_is_help=True, add_completion=False)
app.command("demo")(demo)
app.add_typer(kb, name="kb")
app.add_typer(encoder, name="encoder")
app.add_typer(import_, name="import")
app.command("pairs")(pairs)
app.command("mine")(mine)
app.command("pretrain", context_settings=OVERRIDES)(pretrain)
app.command("augment")(augment)
app.command("assemble")(assemble)
app.command("calibrate")(calibrate)
app.command("link")(link)
app.command("discover")(discover)
app.command("serve")(serve)
app.command("convert")(convert)
app.add_typer(evaluate, name="evaluate")


def main() -> None:
    """Run the command line."""
    app()
