"""Settings of components: the keyword-only arguments of `__init__` are the one list of them.

`add_factory` makes the default config from this list, and `Component.keep` the attributes.
"""

import inspect
import warnings
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Dict, List, Mapping, Optional, Sequence, Type, get_type_hints

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import DOCS, SettingError, Warnings
from ..settings_block import SettingsBlock, check_type
from ..text.languages import ENGLISH, LANGUAGES, LanguageRules, rules_of
from .attributes import register
from .factories import EXTERNAL, INSIDE

# Settings that must not be set, and what to do instead. The first two are scispaCy's, the others are in pipelines that
# version 1.0.0 saved. spaCy refuses an unknown setting with a message that shows the whole config.
_GONE = {
    "linker_name": f"Set `kb` to 'starter', or to a file that `kb build` made. See {DOCS}/coming-from-scispacy/",
    "make_serializable": f"The abbreviations can always be saved. See {DOCS}/coming-from-scispacy/",
    "approximate": "The matcher finds exact names.",
    "model": "The retriever has its own document encoder.",
}


class Component(Pipe):
    """A component of ours. Its class is its factory, and the keyword-only arguments of `__init__` are its settings.

    Attributes:
        blocks: The settings that are blocks of settings, with their classes.
        shared: The class of the settings that the component shares with the object that does the work, as
            `self.settings`. Each becomes an attribute of the component.
        fixed: Other settings that have no effect when they are changed. Their attributes begin with `_`.
        shown: The settings that `repr` shows.
    """

    blocks: ClassVar[Mapping[str, Type[SettingsBlock]]] = MappingProxyType({})
    shared: ClassVar[Optional[Type[SettingsBlock]]] = None
    fixed: ClassVar[Sequence[str]] = ()
    shown: ClassVar[Sequence[str]] = ("spans_key",)

    settings: Any

    if TYPE_CHECKING:  # `keep` sets the attributes

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for field in fields(cls.shared) if cls.shared else ():
            setattr(cls, field.name, _shared_setting(field.name))

    def keep(self, nlp: Any, name: str, arguments: Mapping[str, Any]) -> None:
        """Make attributes of the settings. Lists and mappings are copied.

        Args:
            nlp: The pipeline.
            name: The name of the component.
            arguments: All arguments of `__init__` by name.
        """
        self.vocab, self.name = nlp.vocab, name
        for setting, remedy in _GONE.items():
            if value := arguments.get(setting):
                component = type(self).__name__
                raise SettingError(remedy, setting=setting, component=component, value=value, wanted="left out")
        values = {setting: arguments[setting] for setting in settings_names(type(self))}
        hints = get_type_hints(type(self).__init__)
        for setting, value in values.items():
            check_type(name, setting, value, hints.get(setting, Any))
        values.update((setting, value.copy()) for setting, value in values.items() if isinstance(value, (list, dict)))
        for setting, block in self.blocks.items():
            values[setting] = block.read(name, setting, values[setting] or {})
        if self.shared:
            common = {field.name: values.pop(field.name) for field in fields(self.shared)}
            self.settings = self.shared(**common)
            self.settings.check(name)
        for setting, value in values.items():
            setattr(self, f"_{setting}" if setting in self.fixed else setting, value)
        if "storage" in values:
            known = f"'{INSIDE}' or '{EXTERNAL}'"
            check_setting(self, "storage", values["storage"] in (INSIDE, EXTERNAL), known)
        if "language" in values:
            self._rules = language_rules(values["language"], self.vocab)
            if values["language"] is None and nlp.lang not in LANGUAGES:
                page = f"{DOCS}/languages/#choose-the-rules"
                message = Warnings.W570.format(lang=nlp.lang, known=", ".join(LANGUAGES), page=page)
                warnings.warn(message, stacklevel=1)  # of equal warnings of one place, Python shows the first
        register()

    def __repr__(self) -> str:
        settings = settings_of(self)
        values = [f"{name}={settings[name]!r}" for name in self.shown if name in settings]
        return f"{type(self).__name__}({', '.join([repr(self.name), *values])})"

    def __call__(self, doc: Doc) -> Doc:
        """Process one document."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def predict(self, docs: Sequence[Doc]) -> List[Any]:
        """Return what `find` returns for each document."""
        return [self.find(doc) for doc in docs]

    def set_annotations(self, docs: Sequence[Doc], predictions: Sequence[Any]) -> None:
        """Write the predictions to the documents. They replace earlier ones."""
        register()  # scispaCy may have replaced the attributes meanwhile
        for doc, found in zip(docs, predictions):
            self.annotate(doc, found)

    def find(self, doc: Doc) -> Any:
        """Return what the component finds in a document, which is not changed."""
        raise NotImplementedError

    def annotate(self, doc: Doc, found: Any) -> None:
        """Write what was found to a document."""
        raise NotImplementedError


def settings_names(component: Type[Any]) -> List[str]:
    """Return the names of the settings of a component class."""
    arguments = inspect.signature(component).parameters.values()
    return [
        argument.name for argument in arguments if argument.kind == argument.KEYWORD_ONLY and argument.name not in _GONE
    ]


def add_factory(
    component: Type[Component],
    *,
    assigns: Sequence[str],
    requires: Sequence[str] = (),
    score_weights: Mapping[str, float] = MappingProxyType({}),
    **others: Any,
) -> None:
    """Make a component class its own factory, under the default of its argument `name`.

    Args:
        component: The class.
        assigns: The attributes that it sets.
        requires: The attributes that it needs.
        score_weights: The default weights of its scores in training.
        others: The defaults of settings that a config has in another form, such as a registered function.
    """
    arguments = inspect.signature(component).parameters
    defaults = {name: arguments[name].default for name in settings_names(component)}
    defaults.update((name, block().as_dict()) for name, block in component.blocks.items())
    Language.factory(
        arguments["name"].default,
        func=component,
        assigns=assigns,
        requires=requires,
        default_config={**defaults, **others},
        default_score_weights=dict(score_weights),
    )


def settings_of(component: Any) -> Dict[str, Any]:
    """Return all settings of a component, as its class takes them."""
    return {name: _value(component, name) for name in settings_names(type(component))}


def check_setting(component: Any, setting: str, holds: bool, wanted: str) -> None:
    """Check a setting of a component.

    Args:
        component: The component.
        setting: The name of the setting.
        holds: Whether the value is allowed.
        wanted: The allowed values, such as "at least 1".
    """
    if not holds:
        value = _value(component, setting)
        raise SettingError(setting=setting, component=component.name, value=value, wanted=wanted)


def language_rules(language: Optional[str], vocab: Vocab) -> LanguageRules:
    """Return the rules that a component uses: those of its setting, of its pipeline's language, or of English.

    Args:
        language: The setting; None for the language of the pipeline.
        vocab: The vocabulary of the pipeline.
    """
    if language is None:
        return rules_of(vocab.lang) if vocab.lang in LANGUAGES else ENGLISH
    return rules_of(language)


def _shared_setting(name: str) -> Any:
    def get(component: Any) -> Any:
        return getattr(component.settings, name)

    def set(component: Any, value: Any) -> None:
        setattr(component.settings, name, value)

    return property(get, set)


def _value(component: Any, setting: str) -> Any:
    # `_name` holds the original value if the attribute `name` is something else
    own = vars(component)
    value = own[f"_{setting}"] if f"_{setting}" in own else getattr(component, setting)
    return value.as_dict() if isinstance(value, SettingsBlock) else value
