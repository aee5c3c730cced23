"""The rules of English."""

from __future__ import annotations

import re

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
    word_set,
)

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
    general_names=(
        "abnormality", "complication", "condition", "disease", "disorder", "finding", "illness", "lesion", "sign",
        "included", "symptom", "syndrome", "drug", "chemical", "compound", "agent", "element", "solution", "mixture",
        "protein", "emergency", "injury", "recurrence", "relapse", "strain",
    ),
    modifiers=(
        # They were inside the annotated mention in most cases, in two corpora or more: docs/results/ner.md.
        word_set(
            "autosomal benign bladder bone cerebellar cerebral cervical colorectal congenital cutaneous desmoid "
            "dominant familial fulminant gastric glomerular hemorrhagic lung malignant mesenchymal non-syndromic "
            "ovarian papillary prostate recessive renal sensorineural serous skin systemic t-cell x-linked"
        ),
        # Severity, course, side and age. Annotators mostly leave them out: "severe" was inside in 6 of 109 cases.
        word_set(
            "acute adult advanced asymptomatic bilateral childhood chronic complete early elderly extensive fatal "
            "infantile intractable invasive juvenile late left massive metastatic mild moderate neonatal partial "
            "persistent primary progressive recurrent refractory right secondary severe sporadic symptomatic transient "
            "unilateral"
        ),
    ),
)  # fmt: skip

_ABBREVIATIONS = AbbreviationRules(
    # articles, prepositions, conjunctions and auxiliaries
    stop_words=word_set(
        "a about after against all an and any are as at be been before between both but by can during each either et "
        "for from had has have in into is it its not of on onto or over per such than that the their these this those "
        "through to under until upon using versus via vs was were which while who whose with within without"
    ),
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
    prepositions=word_set(
        "of in to with without for from by on at during after before within between against following under"
    ),
    qualifiers=word_set(
        "acute subacute chronic severe mild milder moderate progressive recurrent persistent transient abnormal "
        "familial hereditary congenital sporadic primary secondary metastatic malignant benign advanced early late "
        "bilateral unilateral multiple focal diffuse total subtotal partial complete postoperative preoperative "
        "perioperative rare common new fatal poor excessive dominant"
    ),
    qualifier_endings=("ed",),
    positions=word_set(
        "left right upper lower central peripheral anterior posterior dorsal ventral proximal distal lateral medial "
        "superior inferior middle low high short long small large soft hard"
    ),
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

_OPPOSITES = opposites(
    _WORDS,
    (
        "increased increase increasing elevated elevation high higher raised rise excess excessive gain"
        " prolonged accelerated exaggerated enhanced large enlarged tall long wide thick fast rapid /"
        " decreased decrease decreasing reduced reduction low lowered diminished fall deficient deficiency"
        " lack loss absent absence shortened small short narrow thin slow slowed",
        "left / right",
        "anterior / posterior",
        "systolic / diastolic",
        "male man men boy / female woman women girl",
        "deletion deleted / duplication duplicated",
        "upper superior / lower inferior",
        "proximal / distal",
        "dorsal / ventral",
        "medial / lateral",
        "internal inner / external outer",
        "central / peripheral",
        "superficial / deep",
        "acute / chronic",
        "benign / malignant",
        "congenital / acquired",
        "primary / secondary / tertiary",
        "maternal / paternal",
        "dominant / recessive",
        "homozygous / heterozygous",
        "unilateral / bilateral",
        "mild / moderate / severe profound",
        "early premature precocious / late delayed",
        "juvenile childhood infantile pediatric / adult",
        "focal / generalized",
        "positive / negative",
        "flexion / extension",
        "abduction / adduction",
        "open / closed closure",
    ),
    beginnings="hyper tachy / hypo brady",
    not_beginnings="hypothal hypophys hypogloss hypoderm hypophar hypospad hypothen hypochond hypogast",
    numerals="one two three four five six seven eight nine ten / first second third fourth fifth sixth seventh eighth"
    " ninth tenth",
    negations="non not no without",
    negating="non anti",
    lacking="less",
)

RULES = LanguageRules("en", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
