"""Parse options with two values, and group the options of a command."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_args, get_type_hints

from ..errors import OptionError


def split_pairs(option: str, pairs: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Split each value of an option at its first `=`.

    Raises:
        OptionError: One of the two values is missing.
    """
    for pair in pairs or []:
        left, _, right = pair.partition("=")
        if not left or not right:
            reason = "it needs two values with = between them, such as synonyms=Synonyms"
            raise OptionError(option=f"{option} {pair}", reason=reason)
        yield left, right


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take some of its options in groups.

    A group is a dataclass. Each of its fields becomes an option of the command, under the heading `PANEL` in the help
    text. typer itself knows only plain parameters.
    """
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    # not get_type_hints: in Python 3.10 it turns a type with the default None into an `Optional`
    for name, parameter in signature(command, eval_str=True).parameters.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            parameters += _options(groups[name])
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    # keywords, because typer passes nothing else; a required option can then follow one with a default
    plain = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = Signature(plain)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in plain}
    return run


def _options(group: Any) -> Iterator[Parameter]:
    """Yield a parameter for each field of a group, under the heading of the group."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        kind, option = get_args(hints[field.name])
        option = copy.copy(option)
        option.rich_help_panel = group.PANEL
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=Annotated[kind, option])
