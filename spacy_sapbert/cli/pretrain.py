"""Define `spacy-sapbert pretrain`, which trains an encoder from a config file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import Errors, SapbertError
from ..files.console import show_values
from ..files.output import open_output

SECTION = "pretrain"
CONFIG_FILE = "config.cfg"
# let typer pass on overrides such as --paths.pairs
OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}


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

    overrides = _overrides(ctx)
    if device is not None:
        overrides[f"{SECTION}.encoder.device"] = device
    config, run = _resolve(config_path, overrides)
    if run.processes.is_first and not has_checkpoint(output):  # a resumed run keeps the config in the folder
        _write(config, output)
    result = run.train(output, resume=resume, max_minutes=max_minutes, settings=dict(config.interpolate()[SECTION]))
    if not run.processes.is_first:
        return
    show_values(result)


def _overrides(ctx: typer.Context) -> dict[str, Any]:
    from click import UsageError
    from spacy.cli._util import parse_config_overrides

    try:
        return parse_config_overrides(ctx.args)
    except UsageError as error:  # typer has its own copy of click, and does not know this error
        raise typer.BadParameter(error.format_message(), ctx=ctx) from error


def _resolve(path: Path, overrides: dict[str, Any]) -> tuple[Any, Any]:
    """Return the filled config, and the run that it describes.

    Raises:
        SapbertError: E541 the config cannot be read, is incomplete, or uses an unregistered name. E542 a package of the
            extra `train` is not installed.
    """
    from confection import ConfigValidationError
    from spacy import util

    try:
        config = util.registry.fill(util.load_config(path, overrides=overrides, interpolate=False))
        if "@misc" not in config.get(SECTION, {}):
            raise ValueError(f"there is no section [{SECTION}] with a line @misc")
        return config, util.registry.resolve({SECTION: config.interpolate()[SECTION]})[SECTION]
    except SapbertError:
        raise
    except ModuleNotFoundError as error:
        raise SapbertError(Errors.E542.format(module=error.name, extra="train")) from error
    except ConfigValidationError as error:
        reason = ConfigValidationError.from_error(error, title="", show_config=False)
        raise SapbertError(Errors.E541.format(path=path, reason=str(reason).strip())) from error
    except (AssertionError, OSError, RuntimeError, TypeError, ValueError) as error:  # from functions of the config
        raise SapbertError(Errors.E541.format(path=path, reason=error)) from error


def _write(config: Any, output: Path) -> None:
    """Write the config to the output folder.

    Raises:
        SapbertError: E507 the folder or the file cannot be written.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=output, reason=error.strerror)) from error
    with open_output(output / CONFIG_FILE) as write:
        write(config.to_str() + "\n")
