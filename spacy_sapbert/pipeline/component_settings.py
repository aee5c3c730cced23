"""Settings of components: keyword-only arguments of `__init__` that are kept as attributes."""

import inspect
import warnings
from typing import Any, Dict

from spacy.language import Language

from ..errors import DOCS, Errors, SapbertError, Warnings
from ..settings_block import SettingsBlock

# settings of scispaCy's components, and what to use instead
_FOREIGN = {
    "linker_name": "Set `kb` to 'starter', or to a file that `spacy-sapbert kb build` made.",
    "make_serializable": "Leave it out: the abbreviations can always be saved.",
}


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


def refuse_foreign(component: str, **settings: Any) -> None:
    """Refuse the settings of scispaCy's components that have another name here.

    spaCy refuses an unknown setting before the factory runs, with a message that shows the whole config. So the factory
    accepts these settings.

    Args:
        component: The name of the factory.
        settings: Such settings. None and False are not set.

    Raises:
        SapbertError: E570 one of them is set.
    """
    for setting, value in settings.items():
        if value:
            page = f"{DOCS}/coming-from-scispacy/"
            remedy = _FOREIGN[setting]
            raise SapbertError(Errors.E570.format(component=component, setting=setting, remedy=remedy, page=page))


def warn_of_language(nlp: Language) -> None:
    """Warn that the rules of some components are for English only, once for each other language.

    Python shows an equal warning of one place only once.
    """
    if nlp.lang != "en":
        page = f"{DOCS}/troubleshooting/#a-pipeline-finds-nothing-in-another-language"
        warnings.warn(Warnings.W570.format(lang=nlp.lang, page=page), stacklevel=1)


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
