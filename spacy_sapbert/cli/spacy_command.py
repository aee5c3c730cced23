"""`python -m spacy sapbert`: the commands of `spacy-sapbert` under spaCy's own command line."""

from __future__ import annotations

from typing import Any

import typer
from spacy.cli import app as spacy_app
from typer.core import TyperGroup

from ..errors import SapbertError
from . import app


class SapbertGroup(TyperGroup):
    """Tells what a user can mend without a traceback, as `main` does; spaCy's own `main` knows nothing of ours."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SapbertError as error:
            typer.secho(str(error), fg="red", err=True)
            raise typer.Exit(1) from error


spacy_app.add_typer(app, name="sapbert", cls=SapbertGroup)
