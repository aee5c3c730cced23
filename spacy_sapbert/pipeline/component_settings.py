"""Settings of components: keyword-only arguments of `__init__` that are kept as attributes."""

import inspect
from typing import Any, Dict

from ..errors import Errors, SapbertError
from ..settings_block import SettingsBlock


def settings_of(component: Any) -> Dict[str, Any]:
    """Return all settings. The attribute of a setting that cannot be changed starts with `_`."""
    arguments = inspect.signature(type(component)).parameters.values()
    names = [argument.name for argument in arguments if argument.kind == argument.KEYWORD_ONLY]
    values = {name: _value(component, name) for name in names}
    return {name: value.as_dict() if isinstance(value, SettingsBlock) else value for name, value in values.items()}


def check_setting(component: Any, setting: str, holds: bool, wanted: str) -> None:
    """Check a setting of a component.

    Args:
        component: The component.
        setting: The name of the setting.
        holds: Whether the value is allowed.
        wanted: The allowed values, such as "at least 1".

    Raises:
        SapbertError: E406 the value is not allowed.
    """
    if not holds:
        value = _value(component, setting)
        raise SapbertError(Errors.E406.format(setting=setting, component=component.name, value=value, wanted=wanted))


def shared_setting(name: str) -> Any:
    """Make a property for a setting in the component's `settings`, which the object that does the work shares."""

    def get(component: Any) -> Any:
        return getattr(component.settings, name)

    def set(component: Any, value: Any) -> None:
        setattr(component.settings, name, value)

    return property(get, set)


def _value(component: Any, setting: str) -> Any:
    # `_name` holds the original value if the attribute `name` is something else
    attribute = f"_{setting}"
    value = vars(component)[attribute] if attribute in vars(component) else getattr(component, setting)
    return value.as_dict() if isinstance(value, SettingsBlock) else value
