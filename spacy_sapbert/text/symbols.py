"""Symbols, such as those of genes, and names with accents: "GSK3β" is written "GSK3B" and "GSK-3beta", too."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from .critical_parts import ARABIC
from .languages import ENGLISH, LanguageRules
from .normalize import LATIN, SHORTEST_STEM, n_common, plain, spell_out_greek, symbol_runs
from .words import joined_letters

MAX_LETTERS = 16  # of a symbol, with digits
MAX_WORD = 5  # letters of a symbol before a blank
_MOST_RUNS = 5

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe"})
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SPECIES = re.compile(r"^(?:hsa-|[Hh]um(?=[A-Z])|[hmr](?=[A-Z]))")
_VARIANT = re.compile(r"(?<=[A-Z\d])v\d+$")  # "FLNBv4"
_SERIES = re.compile(r"\d[-/. ]\d")  # "IL-1/2" is not "IL-12"
_LETTERS_BEHIND = re.compile(r"\d[A-Z][a-z]")  # a formula such as "NH4Ac", which may be written in another order
_SMALL_LETTERS, _LETTERS = re.compile("[a-z]{5}"), re.compile(r"[^\W\d_]+")
_ONE_WORD, _PART = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*"), re.compile(r"[^\W_]+")
_SHARED, _STEM = 4, 5  # letters of a part that two words share; more of a word that may be misspelled
# Sounds that languages write in several ways, and endings of INNs, which are those of Latin or of none.
_SOUNDS = {
    "ph": "f", "th": "t", "rh": "r", "ch": "c", "ae": "e", "oe": "e", "ck": "c", "qu": "cu",
    "y": "i", "j": "i", "k": "c", "z": "s", "x": "cs", "w": "v",
}  # fmt: skip
_INN_ENDING, _DOUBLE = re.compile(r"(?<=.{4})(?:ium|um|us|is|os|as|ae|e|a|o|i|s)$"), re.compile(r"(.)\1+")
_DERIVED = re.compile(
    "(?:ed|ical?|als?|ous|ness|ata|oid|ives?|ity|ings?|ions?|ism|ia|osis|oses|emia|uria|itis|oma|ory|y|ies|iform|ent|ants?"
    "|ence|ency|lysis|lytic|eurs?|ages?|en|es)$"
)
# the end of a group, or what is joined with the name
_GROUP = re.compile(
    r"(?:[^\W\d_]|(?:yl|oxy|oxo|keto|amino|chloro|bromo|fluoro|iodo|nitro|cyano|hydro|aza|nor|phospho|sulfo|thio)-)$"
)
_TO_GREEK = dict(zip("abgd", "αβγδ", strict=True))


def without_accents(text: str) -> list[str]:
    """Return a name in ASCII letters, and with two letters for an umlaut."""
    bare = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
    return [form for form in (bare, text.translate(_UMLAUTS)) if form != text]


def symbol_spellings(text: str) -> list[str]:
    """Return other ways to write a symbol, the most plausible first. A text that is no symbol has none."""
    runs = symbol_runs(text.replace("kB", "κB"))
    if not _is_symbol(text, runs):
        return []
    is_long = sum(len(run) for run in runs if run not in LATIN) >= SHORTEST_STEM
    spellings = [[LATIN.get(run, run) for run in runs]] * is_long + [[spell_out_greek(run) for run in runs]]
    last = runs[-1][-1].lower()
    if last in _TO_GREEK and len("".join(runs)) > 2:  # "GSK3B" may be GSK3-beta
        spellings.append([*runs[:-1], *filter(None, [runs[-1][:-1]]), spell_out_greek(_TO_GREEK[last])])
    written = dict.fromkeys(form for spelling in spellings for form in _with_hyphens(spelling))
    return [form for form in written if form != text]


def why_another(text: str, name: str, language: LanguageRules = ENGLISH) -> str | None:
    """Return why a text of one word cannot mean a name that is only similar; None if it may.

    A symbol or code has the numbers and letters of the name. A word shares more than a stem, a beginning or an ending
    with a word of the name: "procalcitonin" is not calcitonin, and "burosumab" no other antibody. A substance has no
    group that the name lacks. A misspelled word, an INN in another language and an English word of the same family
    ("cataractous") may be meant.
    """
    if " " in text:
        return None
    if _SMALL_LETTERS.search(text):
        differs = _shares_a_part if _ONE_WORD.fullmatch(text) else _adds_a_group
        return "it is another word" if language is ENGLISH and differs(text, name) else None
    if _SMALL_LETTERS.search(name) or "/" in text or "/" in name or _LETTERS_BEHIND.search(text):
        return None
    if not (any(map(str.isdigit, text)) or sum(map(str.isupper, text)) > 1):
        return None
    return "it is another symbol" if _are_other_symbols(text, name) else None


def _are_other_symbols(text: str, name: str) -> bool:
    """Return whether the numbers of two symbols differ, or their letters other than by a prefix or one last letter.

    A prefix for the species makes no difference: "hSERCA2", "hsa-mir-21". Nor does another word in front ("NCI-H1155"),
    and a letter behind a number may name a variant: "STAT5A". The first of a family may have no number: "IFNB1".
    """
    if joined_letters(text) == joined_letters(name):
        return False
    (numbers, letters), (others, other_letters) = _numbers_and_letters(text), _numbers_and_letters(name)
    if numbers != others:
        return True
    shorter, longer = sorted((letters, other_letters), key=len)
    if longer.startswith(shorter):
        rest = longer[len(shorter) :]
        return len(rest) > 1 or (rest not in ("", "1") and not shorter[-1:].isdigit())
    return not (letters.endswith(other_letters) and not text[-len(other_letters) - 1].isalnum())


@lru_cache(maxsize=1 << 12)
def _numbers_and_letters(symbol: str) -> tuple[frozenset[str], str]:
    """Return the numbers of a symbol, each once, and the symbol in small Latin letters and Arabic digits."""
    parts = _PART.findall(_VARIANT.sub("", _SPECIES.sub("", plain(symbol))))
    runs = [run for part in parts for run in symbol_runs(ARABIC.get(part.lower(), part) if part.isupper() else part)]
    runs = [run.lstrip("0") or "0" if run.isdecimal() else LATIN.get(run, run) for run in runs]
    return frozenset(filter(str.isdecimal, runs)) - {"1"}, "".join(runs).casefold()


def _shares_a_part(text: str, name: str) -> bool:
    """Return whether a word shares a beginning or an ending with a word of a name, and is no other form of any."""
    word, shares = max(text.split("-"), key=len).lower(), False
    for other in _LETTERS.findall(plain(name).lower()):
        if len(other) < _SHARED:
            continue
        first, second = _inn(word), _inn(other)
        if first == second or (min(len(first), len(second)) > _STEM and _is_misspelled(first, second)):
            return False
        beginning = n_common(word, other)
        is_derived = _DERIVED.search(word) and _DERIVED.search(other)
        if beginning >= _SHARED and beginning * 2 >= min(len(word), len(other)) and is_derived:
            return False
        endings = n_common(word[::-1], other[::-1]), n_common(first[::-1], second[::-1]) - 1
        shares = shares or max(beginning, *endings) >= _SHARED
    return shares


def _adds_a_group(text: str, name: str) -> bool:
    """Return whether a text is a name with a group before it: 8-bromotheophylline is not theophylline."""
    substance, parent = (other.lower().removesuffix("s") for other in (text, name))
    rest = substance.removesuffix(parent)
    return _SMALL_LETTERS.search(name) is not None and rest != substance and _GROUP.search(rest) is not None


@lru_cache(maxsize=1 << 12)
def _inn(word: str) -> str:
    """Return a word as an INN of any language: "Aciclovirum" and "acyclovir" are the same."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    for letters, sound in _SOUNDS.items():
        bare = bare.replace(letters, sound)
    return _INN_ENDING.sub("", _DOUBLE.sub(r"\1", bare))


def _is_misspelled(word: str, other: str) -> bool:
    """Return whether two words differ by one letter, or by two letters that changed places."""
    beginning, ending = n_common(word, other), n_common(word[::-1], other[::-1])
    if len(word) != len(other):
        return abs(len(word) - len(other)) == 1 and beginning + ending >= min(len(word), len(other))
    swapped = word[beginning : beginning + 2] == other[beginning : beginning + 2][::-1]
    return beginning + ending >= len(word) - (2 if swapped else 1)


def _is_symbol(text: str, runs: list[str]) -> bool:
    """Return whether a text may be a symbol: a few short runs of letters, digits or Greek letters, not two words."""
    if len(text) > 2 * MAX_LETTERS or len(runs) > _MOST_RUNS or sum(map(len, runs)) > MAX_LETTERS:
        return False
    if _SERIES.search(text):
        return False
    if " " in text and (runs[0].islower() or max(map(len, runs)) > MAX_WORD):
        return False
    return any(run in LATIN or not run.islower() for run in runs) or (len(runs) > 1 and min(map(len, runs)) == 1)


def _with_hyphens(runs: list[str]) -> Iterator[str]:
    """Yield the runs of a symbol with no hyphen, with one, and with all."""
    yield "".join(runs)
    yield from ("".join(runs[:place]) + "-" + "".join(runs[place:]) for place in range(1, len(runs)))
    if len(runs) > 2:
        yield "-".join(runs)
