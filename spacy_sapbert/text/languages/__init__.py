"""The rules of each language: words and plurals, abbreviations, composite mentions.

A language is a text file of this folder that is named by its code. To add one, write such a file: README.md describes
its sections. No module depends on a language. Other folders have more for some languages, which a new one may lack:
cues and headings of notes, synonyms, words of general language. `docs/languages.md` says what happens without them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ...errors import ChoiceError
from ...files.values import languages_of
from .rules import LanguageRules, read_rules

__all__ = ["ENGLISH", "LANGUAGES", "LanguageRules", "rules_of"]

_FOLDER = Path(__file__).parent
LANGUAGES = languages_of(_FOLDER)
"""The codes of the languages with rules, as spaCy writes them."""


@cache
def rules_of(code: str) -> LanguageRules:
    """Return the rules of a language, the same object at each call.

    Args:
        code: The code of the language, one of `LANGUAGES`.
    """
    if code not in LANGUAGES:
        raise ChoiceError(given=code, what="language with rules", choices=LANGUAGES)
    return read_rules(_FOLDER / f"{code}.txt")


ENGLISH = rules_of("en")
"""The rules of English, the default of all functions on text."""
