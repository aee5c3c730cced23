"""The words of a text as keys for matching names: case, plural, spelling and word order are ignored."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..files.values import hash64
from .common_words import common_nouns, common_words
from .languages import ENGLISH, LanguageRules
from .normalize import biosyn, latin_symbol, plain, plain_with_offsets, spell_out_greek, symbol_runs

MAX_ACRONYM = 5  # characters
SHORTEST_PLURAL = 4
# all of ASCII, since a character that is missing takes long
_WITHOUT_SIGNS = {code: code for code in range(128)} | dict.fromkeys(
    map(ord, f"{string.punctuation}{string.whitespace}—")
)
_MAY_NUMBER = re.compile(r"[\dIVX]")
_BETWEEN_NUMBERS = re.compile(r"(?<=[\dIVX])\s?[/,]\s?(?=[\dIVX])|(?<=\d)[-. ](?=\d)")
_MOST_SIGNS = 8  # by which texts with the same letters differ in length
MAX_GAP = 4  # characters between two words of a name
MAX_CACHED = 64  # characters of a text in a cache, which bounds its memory
CACHED_NAMES = 1 << 15

# No name crosses these: the end of a sentence or clause, or a bracket outside a word.
_SPACE = (False, False, False)
_BLANKS = re.compile(r"\s+")
_BREAK = re.compile(r"[.;:!?][\s\"'”’)]|[\s][([{]|[)\]}][\s]|[\"“”<>=]|\n\s*\n")


class WordColumns(NamedTuple):
    """The words of a text as parallel lists, one entry per word: a run of letters and digits.

    Attributes:
        written: The word as the text has it, in `plain` characters, with a possessive "s".
        starts: First character.
        ends: Position after the last character.
        keys: The word in one spelling (in English the American one), without case and plural, with Greek letters
            spelled out. Empty for a function word.
        hashes: The sum of the hashes of its runs of letters and digits, 0 for a function word.
        acronyms: The key of the word as an acronym, 0 if it is none. See `acronym_hash`.
        broken: Whether something that no name crosses comes between the previous word and this one.
        commas: Whether a comma and a blank come between them.
        hyphens: Whether only a hyphen comes between them.
        rules: The rules by which the keys were made.
    """

    written: list[str]
    starts: list[int]
    ends: list[int]
    keys: list[str]
    hashes: list[int]
    acronyms: list[int]
    broken: list[bool]
    commas: list[bool]
    hyphens: list[bool]
    rules: LanguageRules


def word_columns(text: str, rules: LanguageRules = ENGLISH) -> WordColumns:
    """Split a text into words, as parallel lists."""
    text, first, last = plain_with_offsets(text)
    pieces = rules.words.pattern.split(text)  # by turns what stands between words, and a word
    edges = list(accumulate(map(len, pieces)))
    written = pieces[1::2]
    short = max(map(len, pieces)) <= MAX_CACHED
    keys, hashes, acronyms = _columns(map(_hash_short(rules) if short else partial(_hashed, rules), written), 3)
    broken, commas, hyphens = _columns(map(_gap, pieces[:-1:2]), 3)
    starts, ends = [first[edge] for edge in edges[:-1:2]], [last[edge - 1] for edge in edges[1::2]]
    return WordColumns(written, starts, ends, keys, hashes, acronyms, broken, commas, hyphens, rules)


def _columns(rows: Iterable[tuple[Any, ...]], n: int) -> list[list[Any]]:
    return list(map(list, zip(*rows, strict=True))) or [[] for _ in range(n)]


def written_and_keys(text: str, rules: LanguageRules = ENGLISH) -> tuple[list[str], list[str]]:
    """Return the words of a text as written, and their keys."""
    written = rules.words.pattern.findall(plain(text))
    short = _key_short(rules)
    return written, [short(word) if len(word) <= MAX_CACHED else _key_of(rules, word) for word in written]


def word_hashes(texts: Iterable[str], rules: LanguageRules = ENGLISH) -> tuple[np.ndarray, np.ndarray]:
    """Split many texts into words at once.

    Returns:
        The number of the text of each word, int64, and the hash of its key (0 for a function word), uint64. Both have
        the shape (words,).
    """
    joined = list(map(plain, texts))
    pieces = rules.words.pattern.split("\n".join(joined))  # a line break is not a part of a word
    starts = np.fromiter(accumulate(map(len, pieces)), dtype=np.int64, count=len(pieces))[:-1:2]
    ends = np.cumsum(np.fromiter(map(len, joined), dtype=np.int64, count=len(joined)) + 1)
    words = pieces[1::2]
    of_word = {word: _key_and_hash(rules, word)[1] for word in dict.fromkeys(words)}
    hashes = np.fromiter(map(of_word.__getitem__, words), dtype=np.uint64, count=len(words))
    return np.searchsorted(ends, starts, side="right"), hashes


def may_be_acronym(text: str) -> bool:
    """Return quickly whether a text may be an acronym. Spelling out only shortens Greek letters with accents."""
    return len(text) <= MAX_ACRONYM + 1 or not text.isascii()


def acronym_of(text: str) -> str:
    """Return an acronym as it is compared: in its case, without the plural of "UTIs". Empty if the text is none."""
    if not may_be_acronym(text):
        return ""
    single = text[:-1] if len(text) >= SHORTEST_PLURAL and text.endswith("s") and text[:-1].isupper() else text
    return single if is_acronym(single) else ""


def acronym_hash(text: str) -> int:
    """Return the hash of `acronym_of` a text, 0 if it is empty."""
    # the prefix keeps it apart from the hash of a word with the same letters
    return hash64(f"={acronym}") if (acronym := acronym_of(text)) else 0


_Hashed = tuple[str, int, int]
"""The key of a word, the hash of the key, and its hash as an acronym."""


def _hashed(rules: LanguageRules, written: str) -> _Hashed:
    return _hash_short(rules)(written) if len(written) <= MAX_CACHED else _hash_word(rules, written)


def _hash_word(rules: LanguageRules, written: str) -> _Hashed:
    return *_key_and_hash(rules, written), acronym_hash(latin_symbol(written))


def _key_and_hash(rules: LanguageRules, written: str) -> tuple[str, int]:
    word = _without_possessive(rules, written)
    key = _key(word, rules)
    # the words of "TNF-alpha-1" and "TNFα1" have the same sum
    runs = symbol_runs(word) if key else []
    if runs == [word]:
        return key, hash64(key)
    run_hash = _hash_short_run(rules) if len(word) <= MAX_CACHED else partial(_hash_run, rules)
    return key, sum(map(run_hash, runs)) % 2**64


def _hash_run(rules: LanguageRules, run: str) -> int:
    return hash64(_key(run, rules) or run.lower())


@cache
def _hash_short_run(rules: LanguageRules) -> Callable[[str], int]:
    return lru_cache(maxsize=1 << 15)(partial(_hash_run, rules))


def _key_of(rules: LanguageRules, written: str) -> str:
    """Return the key of a word alone, which is faster than with its hashes."""
    return _key(_without_possessive(rules, written), rules)


def _without_possessive(rules: LanguageRules, written: str) -> str:
    possessives = rules.words.possessives
    return written[:-2] if possessives and written.endswith(possessives) else written


@cache
def _key_short(rules: LanguageRules) -> Callable[[str], str]:
    """Return `_key_of` of a language with a cache of its own."""
    return lru_cache(maxsize=1 << 15)(partial(_key_of, rules))


@cache
def _hash_short(rules: LanguageRules) -> Callable[[str], _Hashed]:
    """Return `_hash_word` of a language with a cache of its own, which is faster than one cache for all."""
    return lru_cache(maxsize=1 << 15)(partial(_hash_word, rules))


def _gap(between: str) -> tuple[bool, bool, bool]:
    """Return what `WordColumns` has of what stands between two words: `broken`, `commas` and `hyphens`."""
    if between == " ":
        return _SPACE
    single = _BLANKS.sub(" ", between)
    return len(single) > MAX_GAP or bool(_BREAK.search(between)), ", " in single, between == "-"


def content_keys(text: str, rules: LanguageRules = ENGLISH) -> tuple[str, ...]:
    """Return the keys of the words of a text, without function words, in their order."""
    return _cached_content(text, rules) if len(text) <= MAX_CACHED else _content(text, rules)


def _content(text: str, rules: LanguageRules) -> tuple[str, ...]:
    return tuple(filter(None, written_and_keys(text, rules)[1]))


_cached_content = lru_cache(maxsize=CACHED_NAMES)(_content)


class NameKey(NamedTuple):
    """What is compared of a name or a mention. Texts that agree in a field are the same name, strictest first.

    Attributes:
        text: The text as it is written.
        form: Without case and punctuation.
        keys: The keys of its words, see `WordColumns`.
        content: The same without function words.
        ordered: `content`, sorted: the order of the words does not count.
        written: The words as they are written.
        joined: Whether a function word relates two words. "of" and articles do not count.
        acronym: What is compared instead if the case counts, see `acronym_of`; otherwise empty.
    """

    text: str
    form: str
    keys: tuple[str, ...]
    content: tuple[str, ...]
    ordered: tuple[str, ...]
    written: tuple[str, ...]
    joined: bool
    acronym: str


@lru_cache(maxsize=CACHED_NAMES)
def name_key(text: str, rules: LanguageRules = ENGLISH) -> NameKey:
    """Return what is compared of a name or a mention."""
    written, keys = written_and_keys(text, rules)
    content = tuple(filter(None, keys))
    joined = is_joined(written, keys, rules)
    ordered = tuple(sorted(content))
    return NameKey(
        text, biosyn(plain(text)), tuple(keys), content, ordered, tuple(written), joined, acronym_of(plain(text))
    )


@lru_cache(maxsize=CACHED_NAMES)
def joined_letters(text: str) -> str:
    """Return the letters and digits of a text, without a plural "s", as in "ribs" and "UTIs".

    Numbers that a sign or a blank separates stay apart: "CD4/8" is not "CD48", and "IL 1 7" not "IL17".
    """
    letters = plain(text)
    if _MAY_NUMBER.search(letters):  # it saves time
        letters = _BETWEEN_NUMBERS.sub("·", letters)
    letters = spell_out_greek(letters).translate(_WITHOUT_SIGNS)
    return (letters[:-1] if letters.endswith("s") and len(letters) >= SHORTEST_PLURAL else letters).casefold()


def has_same_letters(text: str, name: str) -> bool:
    """Return whether two texts are equal but for case, a plural "s", hyphens, blanks and other signs."""
    return bool(with_same_letters(text, [name]))


def with_same_letters(text: str, names: Sequence[str]) -> list[str]:
    """Return those of several names that have the same letters as a text, see `has_same_letters`."""
    shortest, longest = len(text) - _MOST_SIGNS, len(text) + _MOST_SIGNS
    near = [name for name in names if shortest <= len(name) <= longest]
    first = text[:1]
    if text.isascii() and first.isalnum():  # the first letters tell most texts apart, without a look at the others
        firsts = {first.lower(), first.upper()}
        near = [name for name in near if name[:1] in firsts or not (name.isascii() and name[:1].isalnum())]
    letters = joined_letters(text)
    return [name for name in near if joined_letters(name) == letters]


def is_joined(written: Sequence[str], keys: Sequence[str], rules: LanguageRules) -> bool:
    """Return whether a function word relates two words. "of" and articles do not count."""
    if all(keys):
        return False
    open_words = rules.words.open_words
    return any(not key and word.lower() not in open_words for word, key in zip(written, keys, strict=True))


def word_keys(text: str, rules: LanguageRules = ENGLISH) -> tuple[str, ...]:
    """Return the sorted keys of the words that distinguish names, without function words."""
    return name_key(text, rules).ordered


def _key(word: str, rules: LanguageRules) -> str:
    # before letters lose their accents: "à" is a function word, "A" is not
    if word.lower() in rules.words.function_words:
        return ""
    form = rules.words.spell(spell_out_greek(acronym_of(word) or word))
    return form if len(word) == SHORTEST_PLURAL and not word[1:].islower() else rules.words.singular(form)  # "BimS"


def is_acronym(text: str) -> bool:
    """Return whether a name is matched with its case: one short word, mostly capitals, e.g. "ALL", "AIDS" or "SAMe".

    A word with a Greek letter does not count, since the letter may be spelled out: "TNFα" is "TNF-alpha".
    """
    text = spell_out_greek(text)
    if not 2 <= len(text) <= MAX_ACRONYM or text[0].islower() or not text.isalnum():
        return False
    return sum(map(str.isupper, text)) > sum(map(str.islower, text))


def case_counts(text: str) -> bool:
    """Return whether the case of a text says which of two short names it is: "dC", "Er", "ACCs", not "Mice", "p53"."""
    n_letters = sum(map(str.isalpha, text))
    is_word = text.islower() or (n_letters > 2 and text.istitle())
    return len(text) <= MAX_ACRONYM and n_letters > 1 and not is_word


def is_general(text: str) -> bool:
    """Return whether a text is a frequent word of general English, in any case."""
    word = text.lower()
    return word in common_words() or word in common_nouns()
