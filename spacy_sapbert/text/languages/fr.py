"""The rules of French."""

from __future__ import annotations

import re

from ..lists import read_lists
from . import rules
from .rules import LETTER

_ELIDED = ("[ldnsjmtc]", "qu")
_LISTS = read_lists(__file__)
_LONG_CONNECTORS = frozenset(("ainsi que", "mais pas", "et non", "mais aussi"))
_LETTERS = rules.letters_without_accents()
_fold = rules.folding({**_LETTERS, ord("œ"): "oe", ord("æ"): "ae"})
# A severe disease ("maladie grave") is not Graves disease.
_NOT_PLURALS = frozenset({"graves"})
# A final "é" makes another word: côte (rib) and côté (side). Not in "obésité", which has no such neighbor.
_FINAL = re.compile("(?<!it)é(?=e?s?$)")


def spell(word: str) -> str:
    """Fold case and accents, except for a final "é"; "œ" becomes "oe"."""
    if word.isascii():
        return word.lower()
    stem, *end = _FINAL.split(word.lower(), maxsplit=1)
    return "é".join([_fold(stem), *end])


def singular(word: str) -> str:
    """Fold the singular and the plural of a lower-case word to one form, which may not be a word.

    Both numbers give the same form (tumeurs, tumeur; vaisseaux, vaisseau; cérébraux, cérébral). Words of fewer than
    five letters, and words with a digit, stay as they are. So does the feminine.
    """
    if len(word) < 5 or not word.isalpha() or word in _NOT_PLURALS:
        return word
    if word.endswith("aux") and word[-4] not in "ey":  # "vaisseaux" and "noyaux" have a singular in "au"
        return word[:-2] + "l"
    if word.endswith(("aux", "eux", "oux")) or (word.endswith("s") and word[-2] not in "si"):
        return word[:-1]
    return word


_WORDS = rules.WordRules(
    pattern=rules.words_with_marks(*_ELIDED),
    spell=spell,
    singular=singular,
    **rules.words_of(rules.WordRules, _LISTS),
)

_ABBREVIATIONS = rules.AbbreviationRules(
    spelled=rules.spelled(_LISTS["spelled"]),
    sentence_end=rules.sentence_end(
        ["vs", "cf", "Dr", "ex", "env"], capitals="ÀÂÇÉÈÊËÎÏÔŒÙÛ", opening="«“", closing="»”"
    ),
    joining=("et", "ou", "et/ou"),
    letters=_LETTERS,
    quotes="«»",
    head_first=True,
    **rules.words_of(rules.AbbreviationRules, _LISTS),
)

_COMPOSITES = rules.CompositeRules(
    connectors=_LONG_CONNECTORS | {"et", "ou", "ni", "&", "/", ",", "et/ou", "ou/et"},
    parts_of_connectors=(" et ", " ou ", " ni ", "&", "/", " ainsi que ", " mais "),
    phrases=_LONG_CONNECTORS | frozenset(("tête et cou", "nez et gorge", "main et pied", "mains et pieds")),
    classifier=re.compile(r"(?:type|grade|stade|forme|groupe|classe|phase)s?", re.IGNORECASE),
    prefix=rules.beginnings(_LISTS["prefixes"]),
    combining_form=re.compile(f"{LETTER}{{2,7}}?o(?={LETTER}{{4}})", re.IGNORECASE),
    qualifier_endings=("é", "ée", "és", "ées"),
    conditions=rules.conditions(_LISTS, "s?"),
    adjectives=re.compile("..+(?:al|ale|aux|ique|aire|oire|eux|euse|if|ive|ien|ienne|ile|able|ible|aque|ané|ulaire)s?"),
    numerals=rules.numerals(),
    head_first=True,
    elided=rules.elided_words(*_ELIDED),
    **rules.words_of(rules.CompositeRules, _LISTS),
)

_OPPOSITES = rules.opposites(_WORDS, _LISTS, endings=("", "e"))

RULES = rules.LanguageRules("fr", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
