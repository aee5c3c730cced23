"""`spacy-sapbert import`: models that others published, made into encoders of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .progress import show_values

import_ = typer.Typer(help="Make published models into encoders.", no_args_is_help=True)


@import_.callback()
def _group() -> None:
    """Keeps the name of the one command."""


@import_.command("biosyn")
def biosyn(
    folder: Annotated[Path, typer.Argument(help="A folder that BioSyn's own code wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The encoder folder to write.")],
) -> None:
    """Write an encoder folder from a published BioSyn model, with its n-grams and their weight.

    Its pickle is read as plain data: nothing that it names is run.
    """
    from ..encoders.biosyn_import import import_biosyn
    from ..encoders.info import describe
    from ..encoders.transformer import TransformerEncoder

    import_biosyn(folder, output)
    found = describe(TransformerEncoder(str(output), device="cpu"))
    shown = ("encoder", "layers", "dim", "vocabulary", "bytes", "pooling", "l2_normalized", "lexical_model")
    show_values({name: found[name] for name in shown})
