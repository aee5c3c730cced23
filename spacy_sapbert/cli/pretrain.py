"""Define `spacy-sapbert pretrain`, which trains an encoder from a config file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import CannotWriteError
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
    device: Annotated[
        str | None, typer.Option(help="Device: cpu, cuda, cuda:1, …. Default: the setting in the config.")
    ] = None,
) -> None:
    """Train an encoder on pairs of synonyms, with the settings of a config file.

    To override a setting, give it as with `spacy train`: --paths.pairs pairs.txt --pretrain.batcher.size 512.
    """
    from ..training.checkpoints import has_checkpoint

    config, run = resolve(ctx, config_path, SECTION, **{"encoder.device": device})
    if run.processes.is_first and not has_checkpoint(output):  # a resumed run keeps the config in the folder
        _write(config, output)
    result = run.train(output, resume=resume, max_minutes=max_minutes, settings=dict(config.interpolate()[SECTION]))
    if not run.processes.is_first:
        return
    show_values(result)


def _write(config: Any, output: Path) -> None:
    """Write the config to the output folder."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWriteError(path=output, reason=error.strerror) from error
    with open_output(output / CONFIG_FILE) as write:
        write(config.to_str() + "\n")
