"""The rules of each language: words and plurals, abbreviations, composite mentions.

A language is a module of this package that is named by its code and has `RULES`. To add one, write such a module, and
add its code to `LANGUAGES`. No other module depends on a language.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ...errors import ChoiceError
from . import en
from .rules import LanguageRules

__all__ = ["ENGLISH", "LANGUAGES", "LanguageRules", "rules_of"]

ENGLISH: LanguageRules = en.RULES
"""The rules of English, the default of all functions on text."""
LANGUAGES = ("de", "en", "es", "fr")
"""The codes of the languages with rules, as spaCy writes them."""


@cache
def rules_of(code: str) -> LanguageRules:
    """Return the rules of a language, the same object at each call.

    Args:
        code: The code of the language, one of `LANGUAGES`.
    """
    if code not in LANGUAGES:
        raise ChoiceError(given=code, what="language with rules", choices=LANGUAGES)
    rules: LanguageRules = import_module(f".{code}", __package__).RULES
    return rules
