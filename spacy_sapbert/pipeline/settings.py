"""Settings of components: the arguments that `__init__` takes by name only, kept as attributes."""

import inspect
from typing import Any, Dict

from ..errors import Errors, SapbertError
from ..settings import SettingsBlock


def settings_of(component: Any) -> Dict[str, Any]:
    """Return all settings; the attribute of one that cannot be changed any more begins with `_`."""
    arguments = inspect.signature(type(component)).parameters.values()
    names = [argument.name for argument in arguments if argument.kind == argument.KEYWORD_ONLY]
    values = {name: _value(component, name) for name in names}
    return {name: value.as_dict() if isinstance(value, SettingsBlock) else value for name, value in values.items()}


def check_setting(component: Any, setting: str, holds: bool, wanted: str) -> None:
    """Complain of a setting whose value does not hold.

    Args:
        wanted: what it must be, e.g. "at least 1".

    Raises:
        SapbertError: E406.
    """
    if not holds:
        value = _value(component, setting)
        raise SapbertError(Errors.E406.format(setting=setting, component=component.name, value=value, wanted=wanted))


def _value(component: Any, setting: str) -> Any:
    # as it was given, where the attribute itself stands for more than that
    given = f"_{setting}"
    value = vars(component)[given] if given in vars(component) else getattr(component, setting)
    return value.as_dict() if isinstance(value, SettingsBlock) else value
