"""The rules of English."""

from __future__ import annotations

import re

from ..lists import read_lists, word_set
from ..normalize import american
from . import rules

_LISTS = read_lists(__file__)
_LONG_CONNECTORS = frozenset(("as well as", "but not", "but also", "and also", "and not"))

_NOT_PLURALS = frozenset({"aids", "lens"})
_fold = rules.folding(
    {**rules.letters_without_accents(), **str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "ß": "ss"})}
)


def spell(word: str) -> str:
    """Fold case, accents and British spelling."""
    return american(_fold(word))


def singular(word: str) -> str:
    """Fold the singular and the English or Latin plural of a lower-case word to one form, which may not be a word.

    Both numbers give the same form (diseases, disease; metastases, metastasis; biopsies, biopsy; nodes, node). Words of
    four letters only lose an "s" (eyes, eye). Shorter words, and words with a digit, stay as they are. Too many of
    those differ only in such an ending.
    """
    if len(word) < 4 or not word.isalpha() or word in _NOT_PLURALS:
        return word
    if len(word) == 4:
        return word[:-1] if word.endswith("s") and word[-2] not in "ius" else word
    if word.endswith("ae"):  # "Haemophilus influenzae" is not influenza
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("sis"):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


_WORDS = rules.WordRules(
    # "Parkinson's" counts as "Parkinson"
    pattern=re.compile(r"([^\W_]+(?:['’][sS](?![^\W_]))?)"),
    possessives=("'s", "'S", "’s", "’S"),
    spell=spell,
    singular=singular,
    modifiers=(word_set(_LISTS["modifiers of kind"]), word_set(_LISTS["modifiers of state"])),
    **rules.words_of(rules.WordRules, _LISTS),
)

_ABBREVIATIONS = rules.AbbreviationRules(
    spelled=rules.spelled(_LISTS["spelled"]),
    sentence_end=rules.sentence_end(["vs"]),
    joining=("and", "or", "and/or"),
    letters={},
    **rules.words_of(rules.AbbreviationRules, _LISTS),
)

_COMPOSITES = rules.CompositeRules(
    connectors=_LONG_CONNECTORS | {"and", "or", "nor", "&", "/", ",", "and/or", "or/and"},
    parts_of_connectors=("and", "or", "&", "/", "but", "well"),
    phrases=_LONG_CONNECTORS | frozenset(("head and neck", "head & neck", "foot and mouth", "nose and throat")),
    classifier=re.compile(r"(?:type|grade|stage|form|group|class)(?:e?s)?", re.IGNORECASE),
    prefix=rules.beginnings(_LISTS["prefixes"], "[a-z]"),
    # "nephro" in "nephrotoxicity", after "hepato-"
    combining_form=re.compile("[a-z]{2,7}?o(?=[a-z]{4})", re.IGNORECASE),
    qualifier_endings=("ed",),
    conditions=rules.conditions(_LISTS, "(?:s|y|ies)?"),
    adjectives=re.compile("..+(?:al|ic|ar|[ao]ry|ous|ive|ian|ile|[ai]ble)"),
    numerals=rules.numerals("A-Zb-z"),
    **rules.words_of(rules.CompositeRules, _LISTS),
)

_OPPOSITES = rules.opposites(_WORDS, _LISTS)

RULES = rules.LanguageRules("en", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
