"""The rules of English."""

from __future__ import annotations

import re

from ..lists import read_lists, word_set
from ..normalize import american
from .rules import (
    AbbreviationRules,
    CompositeRules,
    LanguageRules,
    WordRules,
    folding,
    letters_without_accents,
    numerals,
    opposites,
    sentence_end,
    spelled,
)

_LISTS = read_lists(__file__)
_LONG_CONNECTORS = frozenset(("as well as", "but not", "but also", "and also", "and not"))

_NOT_PLURALS = frozenset({"aids", "lens"})
_fold = folding({**letters_without_accents(), **str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "ß": "ss"})})


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


_WORDS = WordRules(
    # "Parkinson's" counts as "Parkinson"
    pattern=re.compile(r"([^\W_]+(?:['’][sS](?![^\W_]))?)"),
    possessives=("'s", "'S", "’s", "’S"),
    # "cancer of the breast", "breast cancer". Not among them are "a" ("hepatitis A"), and "and", "or", "no" and
    # "without", since they change the meaning.
    function_words=word_set("of the in on by to for with due an at from"),
    open_words=word_set("of the an"),
    spell=spell,
    singular=singular,
    general_names=tuple(_LISTS["general_names"].split()),
    modifiers=(word_set(_LISTS["modifiers of kind"]), word_set(_LISTS["modifiers of state"])),
)

_ABBREVIATIONS = AbbreviationRules(
    # articles, prepositions, conjunctions and auxiliaries
    stop_words=word_set(_LISTS["stop_words"]),
    linking_words=word_set("and at by for from of or to"),
    spelled=spelled(
        r"one|first|mono|uni|i\b two|twice|second|double|dual|di|bi|ii\b three|third|tri|iii\b four|quadr|tetra|iv\b "
        r"five|fifth|penta|v\b six|hexa|vi\b seven|hepta|vii\b eight|octa|viii\b nine|ninth|nona|ix\b alpha beta gamma "
        r"delta epsilon kappa omega"
    ),
    sentence_end=sentence_end(["vs"]),
    joining=("and", "or", "and/or"),
    letters={},
)

_COMPOSITES = CompositeRules(
    connectors=_LONG_CONNECTORS | {"and", "or", "nor", "&", "/", ",", "and/or", "or/and"},
    parts_of_connectors=("and", "or", "&", "/", "but", "well"),
    phrases=_LONG_CONNECTORS | frozenset(("head and neck", "head & neck", "foot and mouth", "nose and throat")),
    announcers=word_set("both either neither some any various several"),
    others=frozenset({"other"}),
    classifier=re.compile(r"(?:type|grade|stage|form|group|class)(?:e?s)?", re.IGNORECASE),
    prefix=re.compile(
        "(?:hyper|hypo|normo|intra|extra|inter|infra|supra|trans|retro|ultra|pre|post|peri|para|sub|epi|endo|exo|anti"
        "|ante|dys|uni|bi|tri|tetra|quadri|hemi|mono|oligo|poly|multi|pan|micro|macro|tachy|brady|an(?=uri))(?=[a-z]{3})",
        re.IGNORECASE,
    ),
    # "nephro" in "nephrotoxicity", after "hepato-"
    combining_form=re.compile("[a-z]{2,7}?o(?=[a-z]{4})", re.IGNORECASE),
    determiners=word_set("a an the this these those his her its their"),
    prepositions=word_set(_LISTS["prepositions"]),
    qualifiers=word_set(_LISTS["qualifiers"]),
    qualifier_endings=("ed",),
    positions=word_set(_LISTS["positions"]),
    conditions=re.compile(
        "(?:pain|ache|disease|disorder|syndrome|failure|insufficienc|deficienc|deficit|dysfunction|impairment|injur|damage"
        "|lesion|cancer|tumou?r|neoplasm|infection|abnormalit|anomal|malformation|defect|disturbance|depression"
        "|degeneration|toxicit|epileps|seizure|diabetes|stroke|fever"
        "|.+(?:itis|oma|osis|a?emia|path|algia|plegia|penia|rrho?ea|troph))(?:s|y|ies)?"
    ),
    adjectives=re.compile("..+(?:al|ic|ar|[ao]ry|ous|ive|ian|ile|[ai]ble)"),
    nouns_like_adjectives=word_set("ovary artery memory capillary withdrawal colic"),
    numerals=numerals("A-Zb-z"),
    # the "tube" in "ovarian and fallopian tube cancers" belongs to the last conjunct only
    bound_nouns=word_set("tube tubes system systems cord duct ducts marrow"),
)

_OPPOSITES = opposites(_WORDS, _LISTS)

RULES = LanguageRules("en", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
