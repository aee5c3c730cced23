"""Words before a name that say more about it: "familial", "severe". A vocabulary rarely has names with all of them."""

from __future__ import annotations

from collections.abc import Collection

OUTSIDE = "outside"
KIND = "kind"
ALL = "all"
CHOICES = (OUTSIDE, KIND, ALL)

LONGEST = 32  # characters of a modifier; it bounds the work before a name


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


# They were inside the annotated mention in most cases, in two corpora or more: docs/results/ner.md.
_KIND = _split(
    "autosomal benign bladder bone cerebellar cerebral cervical colorectal congenital cutaneous desmoid dominant "
    "familial fulminant gastric glomerular hemorrhagic lung malignant mesenchymal non-syndromic ovarian papillary "
    "prostate recessive renal sensorineural serous skin systemic t-cell x-linked"
)
# Severity, course, side and age. Annotators mostly leave them out: "severe" was inside in 6 of 109 cases.
_STATE = _split(
    "acute adult advanced asymptomatic bilateral childhood chronic complete early elderly extensive fatal infantile "
    "intractable invasive juvenile late left massive metastatic mild moderate neonatal partial persistent primary "
    "progressive recurrent refractory right secondary severe sporadic symptomatic transient unilateral"
)
_WORDS = {"en": {KIND: _KIND, ALL: _KIND | _STATE}}
_BEFORE_WORD = "([\"'"


def modifiers_of(choice: str, language: str) -> Collection[str]:
    """Return the lower-case modifiers of a language.

    Args:
        choice: One of `CHOICES`: none, those of the kind of a disease (also its site), or those of its state, too.
        language: The code of the language. There are words for "en" only.
    """
    return _WORDS.get(language, {}).get(choice, frozenset())


def start_with_modifiers(text: str, start: int, modifiers: Collection[str], barred: Collection[int]) -> int:
    """Return where a name starts with the modifiers before it.

    A modifier is a whole word, with one blank after it.

    Args:
        text: The text.
        start: The first character of the name.
        modifiers: Lower-case modifiers of at most `LONGEST` characters.
        barred: The ends of other names, as positions after their last characters. No modifier ends there.
    """
    while start > 1 and text[start - 1] == " " and start - 1 not in barred:
        before = text[max(0, start - LONGEST - 2) : start - 1]
        words = before.split()
        word = words[-1].lstrip(_BEFORE_WORD) if words and not before[-1].isspace() else ""
        if word.lower() not in modifiers:
            break
        start -= len(word) + 1
    return start
