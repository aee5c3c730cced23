"""The rules of German."""

from __future__ import annotations

import re

from ..lists import read_lists
from . import rules
from .rules import LETTER

_LISTS = read_lists(__file__)
_LONG_CONNECTORS = frozenset(("aber nicht", "als auch", "und nicht"))
_LETTERS = rules.letters_without_accents(kept="ß")
_fold = rules.folding({**_LETTERS, ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue", ord("ß"): "ss"})
# Latin "c" as it is spoken: Carcinom, Karzinom; Ulcus, Ulkus. "ch", "ck" and "sch" stay.
_SOFT_C = re.compile("c(?=[eiy]|ae|oe)")
_HARD_C = re.compile("(?<!s)c(?![hk])")
# An adjective with its ending: chronischer, akuten. Nouns in "er" stay (Leber, Fieber).
_ADJECTIVE = re.compile(
    "(.*(?:isch|lich|haft|bar|los|ig|iv|ell|al|aer|oes|ent|ant)|(?:sub|per)?akut|schwer|leicht|link|recht|maligne?|benign"
    "|diffus|multipl|rezidivierend|angeboren|erworben|obstruktiv|spastisch)e[rnms]?"
)


def spell(word: str) -> str:
    """Fold case, umlauts ("ae"), "ß" ("ss") and the two spellings of Latin words (Carcinom, Karzinom)."""
    form = _fold(word)
    return _HARD_C.sub("k", _SOFT_C.sub("z", form)) if "c" in form else form


def singular(word: str) -> str:
    """Fold numbers and cases of a word that `spell` returned to one form, which may not be a word.

    Nouns lose -e, -en and the -s of the genitive (Tumoren, Tumor; Niere, Nieren; Karzinoms, Karzinom). Adjectives
    lose their endings (chronischer, chronische). Latin "-osis" becomes "-ose". Plurals with an umlaut or -er stay,
    as do words of fewer than five letters.
    """
    if len(word) < 5 or not word.isalpha():
        return word
    if adjective := _ADJECTIVE.fullmatch(word):
        return adjective[1].removesuffix("e")
    if word.endswith("itiden"):
        return word[:-3] + "s"
    if word.endswith("osis"):  # as "-ose"
        return word[:-2]
    for ending in ("en", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 3:
            return word[: -len(ending)]
    if word.endswith("eln") or (word.endswith(("ms", "ngs", "rs", "ls", "ns")) and len(word) > 5):
        return word[:-1]
    return word


def _inflected(stems: str) -> str:
    """Return adjectives with all their endings."""
    return " ".join(stem + ending for stem in stems.split() for ending in ("", "e", "er", "en", "em", "es"))


_LISTS |= {name: _inflected(_LISTS[name]) for name in ("qualifiers", "positions")}

_WORDS = rules.WordRules(
    pattern=rules.words_with_marks(),
    spell=spell,
    singular=singular,
    **rules.words_of(rules.WordRules, _LISTS),
)

_ABBREVIATIONS = rules.AbbreviationRules(
    spelled=rules.spelled(_LISTS["spelled"]),
    sentence_end=rules.sentence_end(
        ["vs", "bzw", "ca", "vgl", "inkl", "sog", "evtl", "ggf", "Dr", "Prof", "usw"],
        capitals="ÄÖÜ",
        opening="„»",
        closing="“«",
    ),
    joining=("und", "oder", "sowie", "bzw.", "und/oder"),
    letters=_LETTERS,
    quotes="„«»",
    **rules.words_of(rules.AbbreviationRules, _LISTS),
)

_COMPOSITES = rules.CompositeRules(
    connectors=_LONG_CONNECTORS
    | {"und", "oder", "sowie", "bzw.", "beziehungsweise", "noch", "&", "/", ",", "und/oder", "oder/und"},
    parts_of_connectors=("und", "oder", "sowie", "bzw", "beziehungsweise", "noch", "&", "/", "als auch", "aber nicht"),
    phrases=_LONG_CONNECTORS | frozenset(("kopf und hals", "hals und nase", "maul und klauen", "hand und fuß")),
    classifier=re.compile(r"(?:typ|grad|stadium|stufe|form|gruppe|klasse|phase)(?:en?|n|s)?", re.IGNORECASE),
    prefix=rules.beginnings(_LISTS["prefixes"]),
    combining_form=re.compile(f"{LETTER}{{2,7}}?o(?={LETTER}{{4}})", re.IGNORECASE),
    head=re.compile(rf"(?<={LETTER}{{2}})(?:{'|'.join(_LISTS['heads'].split())})(?:e[nrs]?|n|s)?$", re.IGNORECASE),
    qualifier_endings=(),
    conditions=rules.conditions(_LISTS, "(?:e[nrs]?|n|s)?", before=f"{LETTER}*"),
    adjectives=re.compile("..+(?:isch|lich|al|ell|är|ös|ig|iv|bar|haft|los|gen|end)(?:e[rnms]?)?"),
    numerals=rules.numerals("A-Zb-z"),
    **rules.words_of(rules.CompositeRules, _LISTS),
)

_OPPOSITES = rules.opposites(_WORDS, _LISTS, endings=("", "e", "er", "en", "em", "es"))

RULES = rules.LanguageRules("de", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
