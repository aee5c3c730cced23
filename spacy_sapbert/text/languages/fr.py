"""The rules of French."""

from __future__ import annotations

import re

from ..lists import read_lists, word_set
from .rules import (
    LETTER,
    AbbreviationRules,
    CompositeRules,
    LanguageRules,
    WordRules,
    elided_words,
    folding,
    letters_without_accents,
    numerals,
    opposites,
    sentence_end,
    spelled,
    words_with_marks,
)

_ELIDED = ("[ldnsjmtc]", "qu")
_LISTS = read_lists(__file__)
_LONG_CONNECTORS = frozenset(("ainsi que", "mais pas", "et non", "mais aussi"))
_LETTERS = letters_without_accents()
_fold = folding({**_LETTERS, ord("œ"): "oe", ord("æ"): "ae"})
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


_WORDS = WordRules(
    pattern=words_with_marks(*_ELIDED),
    # not "et", "ou", "non", "ni", "pas" and "sans", since they change the meaning
    function_words=word_set(
        "de du des la le les l' d' l’ d’ un une en dans sur par pour avec à au aux chez due dû dus dues lors"
    ),
    open_words=word_set("de du des la le les l' d' l’ d’ un une"),
    spell=spell,
    singular=singular,
    general_names=tuple(_LISTS["general_names"].split()),
)

_ABBREVIATIONS = AbbreviationRules(
    stop_words=word_set(_LISTS["stop_words"]),
    linking_words=word_set("de des du et ou par pour"),
    spelled=spelled(
        r"une?\b|premi|mono|uni|i\b deux|second|double|di|bi|ii\b trois|tri|iii\b quatr|quadr|tétra|tetra|iv\b "
        r"cinq|penta|v\b six|hexa|vi\b sept|hepta|vii\b huit|octa|viii\b neuf|neuvi|nona|ix\b alpha b[eê]ta gamma "
        r"delta epsilon kappa om[eé]ga"
    ),
    sentence_end=sentence_end(["vs", "cf", "Dr", "ex", "env"], capitals="ÀÂÇÉÈÊËÎÏÔŒÙÛ", opening="«“", closing="»”"),
    joining=("et", "ou", "et/ou"),
    letters=_LETTERS,
    quotes="«»",
    head_first=True,
)

_COMPOSITES = CompositeRules(
    connectors=_LONG_CONNECTORS | {"et", "ou", "ni", "&", "/", ",", "et/ou", "ou/et"},
    parts_of_connectors=(" et ", " ou ", " ni ", "&", "/", " ainsi que ", " mais "),
    phrases=_LONG_CONNECTORS | frozenset(("tête et cou", "nez et gorge", "main et pied", "mains et pieds")),
    announcers=word_set("quelques plusieurs divers diverses différents différentes certains certaines soit"),
    others=word_set("autre autres"),
    classifier=re.compile(r"(?:type|grade|stade|forme|groupe|classe|phase)s?", re.IGNORECASE),
    prefix=re.compile(
        "(?:hyper|hypo|normo|intra|extra|inter|infra|supra|trans|rétro|ultra|pré|post|péri|para|sub|épi|endo|exo|anti"
        f"|anté|dys|uni|bi|tri|tétra|quadri|hémi|mono|oligo|poly|multi|pan|micro|macro|tachy|brady)(?={LETTER}{{3}})",
        re.IGNORECASE,
    ),
    combining_form=re.compile(f"{LETTER}{{2,7}}?o(?={LETTER}{{4}})", re.IGNORECASE),
    determiners=word_set("le la les un une ce cette ces son sa ses leur leurs l' l’"),
    prepositions=word_set(_LISTS["prepositions"]),
    qualifiers=word_set(_LISTS["qualifiers"]),
    qualifier_endings=("é", "ée", "és", "ées"),
    positions=word_set(_LISTS["positions"]),
    conditions=re.compile(
        "(?:douleur|maladie|trouble|syndrome|insuffisance|déficience|carence|déficit|dysfonction|altération|lésion|atteinte"
        "|dommage|cancer|tumeur|néoplasie|infection|anomalie|malformation|défaut|dépression|dégénérescence|toxicité"
        "|épilepsie|convulsion|diabète|accident|fièvre|paralysie"
        "|.+(?:ite|ome|ose|émie|pathie|algie|plégie|pénie|rrhée|trophie|mégalie|urie))s?"
    ),
    adjectives=re.compile("..+(?:al|ale|aux|ique|aire|oire|eux|euse|if|ive|ien|ienne|ile|able|ible|aque|ané|ulaire)s?"),
    nouns_like_adjectives=word_set(_LISTS["nouns_like_adjectives"]),
    numerals=numerals(),
    head_first=True,
    elided=elided_words(*_ELIDED),
)

_OPPOSITES = opposites(_WORDS, _LISTS, endings=("", "e"))

RULES = LanguageRules("fr", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
