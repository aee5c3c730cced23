"""The rules of Spanish."""

from __future__ import annotations

import re

from ..lists import read_lists, word_set
from .rules import (
    LETTER,
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
    words_with_marks,
)

_LISTS = read_lists(__file__)
_LONG_CONNECTORS = frozenset(("así como", "pero no", "y no"))
# "año" and "ano" differ
_LETTERS = letters_without_accents(kept="ñ")
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


_WORDS = WordRules(
    pattern=words_with_marks(),
    # not "a" ("hepatitis A"), nor "y", "o", "no" and "sin", since they change the meaning
    function_words=word_set(
        "de del la el los las lo un una unos unas en por para con al desde sobre entre debido debida debidos debidas"
    ),
    open_words=word_set("de del la el los las lo un una unos unas"),
    spell=folding(_LETTERS),
    singular=singular,
    general_names=tuple(_LISTS["general_names"].split()),
)

_ABBREVIATIONS = AbbreviationRules(
    stop_words=word_set(_LISTS["stop_words"]),
    linking_words=word_set("de del e o para por u y"),
    spelled=spelled(
        r"uno?\b|una\b|primer|mono|uni|i\b dos\b|segund|doble|dual|di|bi|ii\b tres\b|tercer|tri|iii\b "
        r"cuatr|cuart|cuadr|tetra|iv\b cinco|quint|penta|v\b seis|sext|hexa|vi\b siete|s[eé]ptim|hepta|vii\b "
        r"ocho|octa|viii\b nueve|noven|nona|ix\b alfa|alpha beta gamma delta [eé]psilon kappa omega"
    ),
    sentence_end=sentence_end(["vs", "Dr", "Dra", "ej", "aprox"], capitals="ÁÉÍÓÚÑ", opening="«“¿¡", closing="»”"),
    joining=("y", "e", "o", "u", "y/o"),
    letters=_LETTERS,
    quotes="«»„",
    head_first=True,
)

_COMPOSITES = CompositeRules(
    connectors=_LONG_CONNECTORS | {"y", "e", "o", "u", "ni", "&", "/", ",", "y/o", "o/y"},
    parts_of_connectors=(" y ", " e ", " o ", " u ", " ni ", "&", "/", " así como ", " pero no "),
    phrases=_LONG_CONNECTORS | frozenset(("cabeza y cuello", "pie y boca", "manos y pies")),
    announcers=word_set(
        "ambos ambas algún algunos algunas varios varias diversos diversas diferentes distintos distintas"
    ),
    others=word_set("otro otra otros otras"),
    classifier=re.compile(r"(?:tipo|grado|estadio|fase|forma|grupo|clase)s?", re.IGNORECASE),
    prefix=re.compile(
        "(?:hiper|hipo|normo|intra|extra|inter|infra|supra|trans|retro|ultra|pre|post?|peri|para|sub|epi|endo|exo|anti"
        f"|ante|dis|uni|bi|tri|tetra|cuadri|hemi|mono|oligo|poli|multi|pan|micro|macro|taqui|bradi)(?={LETTER}{{3}})",
        re.IGNORECASE,
    ),
    combining_form=re.compile(f"{LETTER}{{2,7}}?[oó](?={LETTER}{{4}})", re.IGNORECASE),
    determiners=word_set("el la los las un una unos unas este esta estos estas su sus lo"),
    prepositions=word_set(_LISTS["prepositions"]),
    qualifiers=word_set(_LISTS["qualifiers"]),
    qualifier_endings=("ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas"),
    positions=word_set(_LISTS["positions"]),
    conditions=re.compile(
        "(?:dolor|enfermedad|trastorno|síndrome|fallo|fracaso|insuficiencia|deficiencia|déficit|disfunción|alteraci[oó]n"
        "|lesi[oó]n|daño|cáncer|tumor|neoplasia|infecci[oó]n|anormalidad|anomalía|malformaci[oó]n|defecto|depresión"
        "|degeneraci[oó]n|toxicidad|epilepsia|convulsi[oó]n|diabetes|ictus|accidente|fiebre|parálisis"
        "|.+(?:itis|oma|osis|emia|patía|algia|plej[ií]a|penia|rrea|trofia|megalia|uria))(?:e?s)?"
    ),
    adjectives=re.compile(
        "..+(?:al|ic[oa]|ar|ari[oa]|[oó]ri[oa]|os[oa]|iv[oa]|ian[oa]|il|ble|[ií]ac[oa]|éne[oa])(?:e?s)?"
    ),
    nouns_like_adjectives=word_set(_LISTS["nouns_like_adjectives"]),
    numerals=numerals(),
    head_first=True,
)

_OPPOSITES = opposites(_WORDS, _LISTS, endings=("o", "a"))

RULES = LanguageRules("es", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
