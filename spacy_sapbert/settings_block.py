"""`SettingsBlock`: a block of settings in the config of a component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import SettingError

Block = TypeVar("Block", bound="SettingsBlock")
_PLAIN = frozenset({str, int, float, bool, type(None)})


@dataclass
class SettingsBlock:
    """A block of settings in the config of a component."""

    @classmethod
    def read(cls: type[Block], component: str, name: str, values: Mapping[str, Any]) -> Block:
        """Make a block from the values in a config.

        Args:
            component: The name of the component, for messages.
            name: The name of the block, for messages.
            values: Settings by name. A missing setting has its default.
        """
        known, hints = [one.name for one in fields(cls)], get_type_hints(cls)
        for setting, value in values.items():
            if setting not in known:
                raise SettingError(
                    setting=name, component=component, value=repr(setting), wanted=f"one of {', '.join(known)}"
                )
            check_type(component, f"{name}.{setting}", value, hints[setting])
        block = cls(**values)
        block.check(component, f"{name}.")
        return block

    def check(self, component: str, prefix: str = "") -> None:
        """Check the rules of the block.

        Args:
            component: The name of the component, for messages.
            prefix: A prefix for the names of settings, for messages.
        """
        for setting, holds, wanted in self.rules():
            if not holds:
                value = getattr(self, setting)
                raise SettingError(setting=prefix + setting, component=component, value=value, wanted=wanted)

    def rules(self) -> Sequence[tuple[str, bool, str]]:
        """Return a rule per setting: the name, whether the value is allowed, and what is allowed."""
        return ()

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as a config has them."""
        return asdict(self)


def check_type(owner: str, setting: str, value: Any, hint: Any) -> None:
    """Check that a setting has its type, if that is a plain one: a text, a number, a truth value or None.

    Args:
        owner: What the setting is of, for the message.
        setting: The name of the setting, for the message.
        value: The value.
        hint: The annotation of the setting.
    """
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if not _PLAIN.issuperset(kinds):
        return
    try:
        _type(hint).validate_python(value)
    except ValueError as error:
        wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise SettingError(setting=setting, component=owner, value=repr(value), wanted=wanted) from error


@cache
def _type(hint: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter  # imported here, because a vocabulary needs none of it

    return TypeAdapter(hint, config=ConfigDict(strict=True))


def check_counts(owner: str, **counts: int | None) -> None:
    """Check that counts are whole numbers above 0, or None.

    Args:
        owner: What the settings are of, for the message.
        **counts: The counts by name.
    """
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise SettingError(setting=name, component=owner, value=count, wanted="1 or more")


def check_rules(settings: Any, *rules: tuple[str, bool, str]) -> None:
    """Check settings by rules: the name of an attribute, whether its value is allowed, and the allowed values."""
    for name, holds, wanted in rules:
        if not holds:
            owner, value = type(settings).__name__, getattr(settings, name)
            raise SettingError(setting=name, component=owner, value=value, wanted=wanted)
