"""Find the long form of a short form that a document uses without defining it."""

from __future__ import annotations

from collections.abc import Iterable

from .abbreviations import MAX_CHARS
from .languages import ENGLISH, LanguageRules
from .long_forms import find_long_form
from .words import word_keys

# Of the strategies of Ab3P, those with at least this estimated precision.
MIN_PRECISION = 0.9
# Texts that start with the same letter. This bounds the work on a document with very many of them.
MOST_TEXTS = 64


def likely_long_forms(
    short_forms: Iterable[str], texts: Iterable[str], rules: LanguageRules = ENGLISH
) -> dict[str, str]:
    """Return for each short form the text that fits it best: "acute liver failure" for "ALF".

    A text fits if it would be the long form in a definition, and begins with the same letter. Among several, the one
    with the most precise strategy is taken. If there are several of these with other words, none is taken.

    Args:
        short_forms: Short forms without a definition.
        texts: Possible long forms, in the order of the document.
        rules: The rules of the language.

    Returns:
        The long forms, by short form. Short forms without a fitting text are left out.
    """
    starting: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        if len(text) > MAX_CHARS:
            continue
        of_letter = starting.setdefault(_first_letter(text), [])
        if len(of_letter) < MOST_TEXTS:
            of_letter.append(text)
    found = {}
    for short in dict.fromkeys(short_forms):
        precisions = {text: _fit(short, text, rules) for text in starting.get(_first_letter(short), ())}
        highest = max(precisions.values(), default=0.0)
        best = [text for text, precision in precisions.items() if precision == highest > 0]
        if len(set(map(word_keys, best))) == 1:
            found[short] = best[0]
    return found


def _fit(short: str, text: str, rules: LanguageRules) -> float:
    """Return the estimated precision of a whole text as the long form, or 0 if it does not fit."""
    found = find_long_form(short, text, MIN_PRECISION, rules)
    return found.precision if found and found.start == 0 else 0.0


def _first_letter(text: str) -> str:
    return next(filter(str.isalnum, text.casefold()), "")
