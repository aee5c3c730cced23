"""Read the config file of a command, with overrides from the command line such as --pairs.seed 1."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import Errors, MissingExtraError, SapbertError
from ..training.configs import read_config

OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The context settings of a command that takes overrides."""

OptionalConfig = Annotated[
    Path | None, typer.Option("--config", "-c", help="Config file. Default: the one that `init config` writes.")
]


def resolve(ctx: typer.Context, path: Path | None, section: str, **overrides: Any) -> tuple[Any, Any]:
    """Read a config, and make what one of its sections describes.

    Args:
        ctx: The context of the command, with the overrides that the user gave.
        path: The config file. None takes the config that comes with the package.
        section: The section. It is also the kind of the config.
        **overrides: Further settings of the section. None changes nothing.

    Returns:
        The filled config, and the object of the section.

    Raises:
        SapbertError: E541 the config cannot be read, is incomplete, or has an unknown setting.
        MissingExtraError: A package is not installed.
    """
    from confection import Config, ConfigValidationError
    from spacy import util

    given = {f"{section}.{name}": value for name, value in overrides.items() if value is not None}
    given |= _from_command_line(ctx)
    try:
        if path is None:
            config = Config().from_str(read_config(section), interpolate=False, overrides=given)
        else:
            config = util.load_config(path, interpolate=False, overrides=given)
        config = util.registry.fill(config)
        if "@misc" not in config.get(section, {}):
            raise ValueError(f"there is no section [{section}] with a line @misc")
        return config, util.registry.resolve({section: config.interpolate()[section]})[section]
    except SapbertError:
        raise
    except ModuleNotFoundError as error:
        raise MissingExtraError(what=f"The section [{section}]", package=error.name, extra="train") from error
    except ConfigValidationError as error:
        reason = str(ConfigValidationError.from_error(error, title="", show_config=False)).strip()
        raise SapbertError(Errors.E541.format(path=path or f"{section}.cfg", reason=reason)) from error
    except (AssertionError, OSError, RuntimeError, TypeError, ValueError) as error:  # from functions of the config
        raise SapbertError(Errors.E541.format(path=path or f"{section}.cfg", reason=error)) from error


def _from_command_line(ctx: typer.Context) -> dict[str, Any]:
    from click import UsageError
    from spacy.cli._util import parse_config_overrides

    try:
        return parse_config_overrides(ctx.args)
    except UsageError as error:  # typer has its own copy of click, and does not know this error
        raise typer.BadParameter(error.format_message(), ctx=ctx) from error
