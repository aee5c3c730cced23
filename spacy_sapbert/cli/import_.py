"""Define `spacy-sapbert import`, which converts published models to encoder folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..files.console import show_values

import_ = typer.Typer(help="Convert published models to encoders.", no_args_is_help=True)


@import_.callback()
def _group() -> None:
    """Convert published models to encoders."""


@import_.command("biosyn")
def biosyn(
    folder: Annotated[Path, typer.Argument(help="Model folder, as BioSyn's own code writes it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the encoder.")],
) -> None:
    """Convert a published BioSyn model to an encoder, with its lexical model and sparse weight.

    The command reads the model's pickle as plain data and runs no code from it.
    """
    from ..encoders.biosyn_import import import_biosyn
    from ..encoders.info import describe
    from ..encoders.transformer import TransformerEncoder

    import_biosyn(folder, output)
    found = describe(TransformerEncoder(str(output), device="cpu"))
    shown = ("encoder", "layers", "dim", "vocabulary", "bytes", "pooling", "l2_normalized", "lexical_model")
    show_values({name: found[name] for name in shown})
