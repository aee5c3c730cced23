"""Symbols, such as those of genes, and names with accents: "GSK3β" is written "GSK3B" and "GSK-3beta", too."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .common_words import everyday_nouns
from .critical_parts import ARABIC
from .languages import ENGLISH, LanguageRules
from .normalize import LATIN, SHORTEST_STEM, n_common, plain, spell_out_greek, symbol_runs
from .words import Word, joined_letters, read_words

MAX_LETTERS = 16  # of a symbol, with digits
MAX_WORD = 5  # letters of a symbol before a blank
_MOST_RUNS = 5

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe"})
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SPECIES = re.compile(r"^(?:hsa-|[Hh]um(?=[A-Z])|[hmr](?=[A-Z]))")
_VARIANT = re.compile(r"(?<=[A-Z\d])v\d+$")  # "FLNBv4"
_SERIES = re.compile(r"\d[-/. ]\d")  # "IL-1/2" is not "IL-12"
_LETTERS_BEHIND = re.compile(r"\d[A-Z][a-z]")  # a formula such as "NH4Ac", which may be written in another order
_NO_SYMBOL = re.compile("[a-z]{5}|/")
_SMALL_LETTERS, _LETTERS = re.compile("[a-z]{5}"), re.compile(r"[^\W\d_]+")
_ONE_WORD, _PART = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*"), re.compile(r"[^\W_]+")
_SHARED, _STEM = 4, 5  # letters of a part that two words share; more of a word that may be misspelled
# Sounds that languages write in several ways, and endings of INNs, which are those of Latin or of none.
_SOUNDS = {
    "ph": "f", "th": "t", "rh": "r", "ch": "c", "ae": "e", "oe": "e", "ck": "c", "qu": "cu",
    "y": "i", "j": "i", "k": "c", "z": "s", "x": "cs", "w": "v",
}  # fmt: skip
_INN_ENDING, _DOUBLE = re.compile(r"(?<=.{4})(?:ium|um|us|is|os|as|ae|e|a|o|i|s)$"), re.compile(r"(.)\1+")
# Endings of English words for findings, which may be written with another one: "cataractous".
_FINDING = re.compile(
    "(?:ed|ic(?:al)?|als?|ous|ness|ata|oid|ives?|ity|ings?|ions?|ism|ia|[aeo]sis|[ao]ses|emia|uria|itis|oma|ory|y|ies"
    "|iform|ent|ants?|ence|ency|lysis|lytic|eurs?|ages?|en|es)$"
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
    """Return why a text cannot mean a name that is only similar; None if it may.

    A symbol or code has the numbers and letters of the name. A word shares more than a stem, a beginning or an ending
    with a word of the name: "procalcitonin" is not calcitonin, and "burosumab" no other antibody. A substance has no
    group that the name lacks. A misspelled word and an INN in another language may be meant, and so may a finding by an
    English word of the same family ("cataractous").
    """
    if " " in text or _SMALL_LETTERS.search(text):
        return _why_other_words(text, name) if language is ENGLISH else None
    is_symbol = any(map(str.isdigit, text)) or sum(map(str.isupper, text)) > 1
    if not is_symbol or _LETTERS_BEHIND.search(text) or _NO_SYMBOL.search(f"{text} {name}"):
        return None
    return "it is another symbol" if _are_other_symbols(text, name) else None


def _why_other_words(text: str, name: str) -> str | None:
    if " " in text:
        word = next(_unexplained(text, name), None)
        return f"no name explains “{word}”" if word else None
    differs = _shares_a_part if _ONE_WORD.fullmatch(text) else _adds_a_group
    return "it is another word" if not _FINDING.search(text) and differs(text, name) else None


def _unexplained(text: str, name: str) -> Iterator[str]:
    """Yield the nouns of everyday life that a name would have if it was meant: "kidney failure recipe"."""
    for word in [word for word in read_words(text).words if word.written.lower() in everyday_nouns()]:
        named = read_words(name).words
        if word.meaning not in [other.meaning for other in named] and not _has_like(word.written, named):
            yield word.written


def _has_like(word: str, others: Iterable[Word]) -> bool:
    """Return whether one of several words begins alike."""
    return any(n_common(word.lower(), other.written.lower()) >= _SHARED for other in others)


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
    word = max(text.split("-"), key=len).lower()
    others = [other for other in _LETTERS.findall(plain(name).lower()) if len(other) >= _SHARED]
    if any(_is_misspelled(_inn(word), _inn(other)) for other in others):
        return False
    return any(_n_shared(word, other) >= _SHARED for other in others)


def _n_shared(word: str, other: str) -> int:
    """Return how many letters at the beginning or the end two words share, or the length of one in the other."""
    first, second = _inn(word)[::-1], _inn(other)[::-1]
    within = len(other) - 2 if other[:-2] in word or word[:-2] in other else 0
    return max(n_common(word, other), n_common(word[::-1], other[::-1]), n_common(first, second) - 1, within)


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
    """Return whether two words are equal, or long and differ by one letter, or by two that changed places."""
    shortest, longest = sorted((len(word), len(other)))
    beginning, ending = n_common(word, other), n_common(word[::-1], other[::-1])
    if shortest <= _STEM or longest - shortest > 1:
        return word == other
    is_swapped = shortest == longest and word[beginning : beginning + 2] == other[beginning : beginning + 2][::-1]
    return beginning + ending >= longest - (2 if is_swapped else 1)


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
