"""Settings of components: keyword-only arguments of `__init__` that are kept as attributes."""

import inspect
import warnings
from typing import Any, Dict, Optional

from spacy.language import Language
from spacy.vocab import Vocab

from ..errors import DOCS, Errors, SapbertError, Warnings
from ..settings_block import SettingsBlock
from ..text.languages import ENGLISH, LANGUAGES, LanguageRules, rules_of

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


def warn_of_language(nlp: Language, language: Optional[str]) -> None:
    """Warn that the rules of English are used for another language, once for each language.

    Python shows an equal warning of one place only once.

    Args:
        nlp: The pipeline.
        language: The setting of a component. If it is given, there is nothing to warn of.
    """
    if language is None and nlp.lang not in LANGUAGES:
        page = f"{DOCS}/languages/#choose-the-rules"
        warnings.warn(Warnings.W570.format(lang=nlp.lang, known=", ".join(LANGUAGES), page=page), stacklevel=1)


def language_rules(language: Optional[str], vocab: Vocab) -> LanguageRules:
    """Return the rules that a component uses: those of its setting, of its pipeline's language, or of English.

    Args:
        language: The setting; None for the language of the pipeline.
        vocab: The vocabulary of the pipeline.

    Raises:
        SapbertError: E165 the language of the setting has no rules.
    """
    if language is None:
        return rules_of(vocab.lang) if vocab.lang in LANGUAGES else ENGLISH
    return rules_of(language)


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
