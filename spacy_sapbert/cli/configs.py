"""Define `spacy-sapbert init config`, which writes a config, and read configs with overrides: --pairs.seed 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..errors import DOCS, CannotWriteError, Errors, MissingExtraError, SapbertError
from ..files.output import add_inputs, open_output

_LONGEST_REASON = 4000  # characters; a parser can quote a whole line of a config

OptionalConfig = Annotated[
    Path | None, typer.Option("--config", "-c", help="Config file. Default: the one that `init config` writes.")
]
STDOUT = Path("-")
_PAGE = re.compile(r"docs/([\w-]+)\.md")

init = typer.Typer(help="Write a config to start from.", no_args_is_help=True)

KINDS = ("linker", "ner", "retriever", "pretrain", "pairs", "mine", "augment", "discover", "serve")
Kind = Enum("Kind", {kind: kind for kind in KINDS}, type=str)  # type: ignore[misc]


class ConfigCommand(TyperCommand):
    """A command that takes the settings of its config as options, which have a dot in their names: --pairs.seed 1."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        others: list[str] = []
        overrides: list[str] = []
        takes_value = False
        for arg in args:
            is_setting = arg.startswith("--") and "." in arg.partition("=")[0]
            is_value = takes_value and not arg.startswith("--")
            (overrides if is_setting or is_value else others).append(arg)
            takes_value = is_setting and "=" not in arg
        rest = super().parse_args(ctx, others)
        ctx.meta[__name__] = overrides
        return rest


def given_overrides(ctx: typer.Context) -> dict[str, Any]:
    """Return the settings that the user gave to a `ConfigCommand`."""
    from spacy.cli._util import parse_config_overrides

    overrides: dict[str, Any] = parse_config_overrides(ctx.meta[__name__])
    return overrides


def resolve(
    ctx: typer.Context, path: Path | None, section: str, make: Callable[..., Any] | None = None
) -> tuple[Any, Any]:
    """Read a config, and make what one of its sections describes.

    Args:
        ctx: The context of the command, with the overrides that the user gave.
        path: The config file. None takes the config that comes with the package.
        section: The section. It is also the kind of the config.
        make: Makes the object from the settings of the section. None takes what the section names with `@misc`.

    Returns:
        The filled config, and the object of the section.

    Raises:
        SapbertError: E541 the config cannot be read, is incomplete, or has an unknown setting.
        MissingExtraError: A package is not installed.
    """
    from confection import Config, ConfigValidationError
    from spacy import util

    given = given_overrides(ctx)
    try:
        if path is None:
            config = Config().from_str(read_config(section), interpolate=False, overrides=given)
        else:
            config = util.load_config(path, interpolate=False, overrides=given)
        if section not in config or not (make or "@misc" in config[section]):
            raise ValueError(f"there is no section [{section}]" + ("" if make else " with a line @misc"))
        if make:
            config[section]["@misc"] = f"spacy-sapbert.{section}"
            util.registry.misc.register(config[section]["@misc"], func=make)
        config = util.registry.fill(config)
        add_inputs(_texts(config.interpolate()))
        return config, util.registry.resolve({section: config.interpolate()[section]})[section]
    except SapbertError:
        raise
    except ModuleNotFoundError as error:
        raise MissingExtraError(what=f"The section [{section}]", package=error.name, extra="train") from error
    except (AssertionError, OSError, RuntimeError, TypeError, ValueError) as error:  # from functions of the config
        if isinstance(error, ConfigValidationError):
            error = ConfigValidationError.from_error(error, title="", show_config=False)
        reason = str(error).strip()[:_LONGEST_REASON]
        raise SapbertError(Errors.E541.format(path=path or f"{section}.cfg", reason=reason)) from error


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in a config, which can name files that are read."""
    for value in values.values():
        yield from _texts(value) if isinstance(value, Mapping) else [value] if isinstance(value, str) else []


# --- the configs that come with the package

# A wheel has the configs in the package. A checkout has them in the top folder, where the project reads them.
_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (_PACKAGE / "configs", _PACKAGE.parent / "configs")


def read_config(kind: str, *, gpu: bool = False) -> str:
    """Return the text of a config, with its comments.

    Args:
        gpu: Whether the config is for training on a GPU: an NER is a transformer, and spaCy takes the memory that
            PyTorch has.
    """
    name = config_name(kind, gpu=gpu)
    folder = next(folder for folder in _FOLDERS if (folder / name).is_file())
    text = (folder / name).read_text(encoding="utf-8")
    return text.replace("gpu_allocator = null", 'gpu_allocator = "pytorch"') if gpu else text


def config_name(kind: str, *, gpu: bool = False) -> str:
    """Return the name of the file in which the package has a config."""
    names = {"retriever": "concept_retriever.cfg", "ner": "ner_trf.cfg" if gpu else "ner.cfg"}
    return names.get(kind, f"{kind}.cfg")


# --- init config


@init.callback()
def _group() -> None:
    """Write a config to start from."""


@init.command("config")
def config(
    kind: Annotated[Kind, typer.Argument(help="What the config trains.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Config file; - for standard output. Default: KIND.cfg.")
    ] = None,
    gpu: Annotated[bool, typer.Option("--gpu/--cpu", help="Training on a GPU. The NER is then a transformer.")] = False,
) -> None:
    """Write a complete config, with comments, for `spacy train` or for `pretrain`.

    The comments at its beginning show the command that trains with it. Every value can be changed in the file or on the
    command line.
    """
    if gpu and kind.value == "pretrain":
        raise typer.BadParameter("pretrain chooses the device by itself", param_hint="--gpu")
    path = output or Path(f"{kind.value}.cfg")
    if path != STDOUT and path.exists() and path.is_file():
        raise CannotWriteError(path=path, reason="it already exists", remedy="Choose another name.")
    shown = f"{kind.value}.cfg" if path == STDOUT else str(path)
    with open_output(None if path == STDOUT else path) as write:
        write(_for_user(read_config(kind.value, gpu=gpu), config_name(kind.value, gpu=gpu), shown))


def _for_user(text: str, name: str, path: str) -> str:
    """Let the comments name the user's file and the pages of the site, instead of files of the repository."""
    return _PAGE.sub(lambda page: f"{DOCS}/{page[1]}/", text.replace(f"configs/{name}", path))
