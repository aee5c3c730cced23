"""The rules of Spanish."""

from __future__ import annotations

import re

from ..lists import read_lists
from . import rules
from .rules import LETTER

_LISTS = read_lists(__file__)
_LONG_CONNECTORS = frozenset(("así como", "pero no", "y no"))
# "año" and "ano" differ
_LETTERS = rules.letters_without_accents(kept="ñ")
# A severe disease ("enfermedad grave") is not Graves disease.
_NOT_PLURALS = frozenset({"graves"})


def singular(word: str) -> str:
    """Fold the singular and the plural of a lower-case word without accents to one form, which may not be a word.

    Both numbers give the same form (lesiones, lesión; raíces, raíz; índices, índice; genes, gen). Words of fewer than
    four letters, and words with a digit, stay as they are.
    """
    if len(word) < 4 or not word.isalpha() or word in _NOT_PLURALS:
        return word
    if word.endswith(("as", "es", "os")):
        word = word[:-1]
    if word.endswith("z"):
        return word[:-1] + "c"
    return word[:-1] if len(word) > 3 and word.endswith("e") and word[-2] not in "aeiou" else word


_WORDS = rules.WordRules(
    pattern=rules.words_with_marks(),
    spell=rules.folding(_LETTERS),
    singular=singular,
    **rules.words_of(rules.WordRules, _LISTS),
)

_ABBREVIATIONS = rules.AbbreviationRules(
    spelled=rules.spelled(_LISTS["spelled"]),
    sentence_end=rules.sentence_end(
        ["vs", "Dr", "Dra", "ej", "aprox"], capitals="ÁÉÍÓÚÑ", opening="«“¿¡", closing="»”"
    ),
    joining=("y", "e", "o", "u", "y/o"),
    letters=_LETTERS,
    quotes="«»„",
    head_first=True,
    **rules.words_of(rules.AbbreviationRules, _LISTS),
)

_COMPOSITES = rules.CompositeRules(
    connectors=_LONG_CONNECTORS | {"y", "e", "o", "u", "ni", "&", "/", ",", "y/o", "o/y"},
    parts_of_connectors=(" y ", " e ", " o ", " u ", " ni ", "&", "/", " así como ", " pero no "),
    phrases=_LONG_CONNECTORS | frozenset(("cabeza y cuello", "pie y boca", "manos y pies")),
    classifier=re.compile(r"(?:tipo|grado|estadio|fase|forma|grupo|clase)s?", re.IGNORECASE),
    prefix=rules.beginnings(_LISTS["prefixes"]),
    combining_form=re.compile(f"{LETTER}{{2,7}}?[oó](?={LETTER}{{4}})", re.IGNORECASE),
    qualifier_endings=("ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas"),
    conditions=rules.conditions(_LISTS, "(?:e?s)?"),
    adjectives=re.compile(
        "..+(?:al|ic[oa]|ar|ari[oa]|[oó]ri[oa]|os[oa]|iv[oa]|ian[oa]|il|ble|[ií]ac[oa]|éne[oa])(?:e?s)?"
    ),
    numerals=rules.numerals(),
    head_first=True,
    **rules.words_of(rules.CompositeRules, _LISTS),
)

_OPPOSITES = rules.opposites(_WORDS, _LISTS, endings=("o", "a"))

RULES = rules.LanguageRules("es", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
