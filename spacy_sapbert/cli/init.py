"""Define `spacy-sapbert init config`, which writes a training config."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import DOCS, CannotWriteError
from ..files.output import open_output
from .configs import KINDS, config_name, read_config

STDOUT = Path("-")
_PAGE = re.compile(r"docs/([\w-]+)\.md")

init = typer.Typer(help="Write a config to start from.", no_args_is_help=True)

Kind = Enum("Kind", {kind: kind for kind in KINDS}, type=str)  # type: ignore[misc]


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
    force: Annotated[bool, typer.Option(help="Replace an existing file.")] = False,
) -> None:
    """Write a complete config, with comments, for `spacy train` or for `pretrain`.

    The comments at its beginning show the command that trains with it. Every value can be changed in the file or on the
    command line.
    """
    if gpu and kind.value == "pretrain":
        raise typer.BadParameter("pretrain chooses the device by itself", param_hint="--gpu")
    path = output or Path(f"{kind.value}.cfg")
    if path != STDOUT and path.exists() and path.is_file() and not force:
        raise CannotWriteError(path=path, reason="it already exists", remedy="Choose another name, or use --force.")
    shown = f"{kind.value}.cfg" if path == STDOUT else str(path)
    with open_output(None if path == STDOUT else path) as write:
        write(_for_user(read_config(kind.value, gpu=gpu), config_name(kind.value, gpu=gpu), shown))


def _for_user(text: str, name: str, path: str) -> str:
    """Let the comments name the user's file and the pages of the site, instead of files of the repository."""
    return _PAGE.sub(lambda page: f"{DOCS}/{page[1]}/", text.replace(f"configs/{name}", path))
