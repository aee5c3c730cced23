"""Define `spacy-sapbert pretrain`, which trains an encoder from a config file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..files.console import show_values
from ..files.output import open_output
from .configs import resolve

SECTION = "pretrain"
CONFIG_FILE = "config.cfg"


def pretrain(
    ctx: typer.Context,
    config_path: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Config file, such as one that `init config pretrain` writes.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for encoders, checkpoints and the log.")],
    resume: Annotated[bool, typer.Option(help="Continue from the last checkpoint in the output folder.")] = False,
    max_minutes: Annotated[
        float | None, typer.Option(min=0, help="Stop after this time, and save a checkpoint.")
    ] = None,
) -> None:
    """Train an encoder on pairs of synonyms, with the settings of a config file.

    To override a setting, give it as with `spacy train`: --paths.pairs pairs.txt --pretrain.batcher.size 512.
    """
    from ..training.checkpoints import has_checkpoint

    config, run = resolve(ctx, config_path, SECTION)
    if run.processes.is_first and not has_checkpoint(output):  # a resumed run keeps the config in the folder
        output.mkdir(parents=True, exist_ok=True)
        with open_output(output / CONFIG_FILE) as write:
            write(config.to_str() + "\n")
    result = run.train(output, resume=resume, max_minutes=max_minutes, settings=dict(config.interpolate()[SECTION]))
    if run.processes.is_first:
        show_values(result)
