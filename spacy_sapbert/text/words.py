"""`Words`: a text or name cut into words, read once for all that compare it."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache, partial
from itertools import accumulate
from operator import attrgetter

import numpy as np

from ..files.values import hash64
from .common_words import common_nouns, common_words
from .critical_parts import (
    CriticalParts,
    CriticalWord,
    contradictions,
    join_critical,
    meaning_of,
    numeral_spellings,
    read_critical,
)
from .languages import ENGLISH, LanguageRules
from .normalize import biosyn, latin_symbol, plain, plain_with_offsets, spaced_greek, spell_out_greek, symbol_runs

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
_BLANKS = re.compile(r"\s+")
_BREAK = re.compile(r"[.;:!?][\s\"'”’)]|[\s][([{]|[)\]}][\s]|[\"“”<>=]|\n\s*\n")


class Word:
    """A word, whatever text it is in: a run of letters and digits, with a possessive "s".

    Attributes:
        written: The word as the text has it, in `plain` characters.
        key: The word in one spelling (in English the American one), without case and plural, with Greek letters
            spelled out. Empty for a function word.
        meaning: What stands for the key: "low" and "decreased" have the same, and so have "II" and "2".
    """

    __slots__ = ("__dict__", "_bare", "_critical", "_rules", "key", "meaning", "written")

    def __init__(self, rules: LanguageRules, written: str) -> None:
        possessives = rules.words.possessives
        self._rules = rules
        self._bare = written[:-2] if possessives and written.endswith(possessives) else written
        self.written = written
        self.key = _key(self._bare, rules)
        self.meaning = meaning_of(self.key, rules)
        self._critical: CriticalWord | None = None

    @cached_property
    def hash(self) -> int:
        """The sum of the hashes of its runs of letters and digits, 0 for a function word."""
        # the words of "TNF-alpha-1" and "TNFα1" have the same sum
        runs = symbol_runs(self._bare) if self.key else []
        if runs == [self._bare]:
            return hash64(self.key)
        return sum([_run_hash(run, self._rules) for run in runs]) % 2**64

    @cached_property
    def acronym(self) -> int:
        """The hash of the word as an acronym, 0 if it is none. See `acronym_of`."""
        return acronym_hash(latin_symbol(self.written))

    @property
    def critical(self) -> CriticalWord:
        """What it adds to the critical parts of its text, unless it is a function word."""
        if self._critical is None:
            # a longer word is no acronym, whose key keeps another ending
            key = self.key if len(self._bare) > MAX_ACRONYM + 1 and self._bare.isascii() else ""
            self._critical = read_critical(self.written, self._bare, key, self._rules)
        return self._critical


class Words:
    """The words of a text, and all that is compared of them. What is seldom asked for is computed when it is.

    `read_words` makes it.

    Attributes:
        text: The text as it is written.
        plain: The text in `plain` characters.
        written: Each word as it is written.
        rules: The rules of the language.
    """

    # what is asked for most often has no cached property, which takes longer
    __slots__ = ("__dict__", "_critical", "_words", "plain", "rules", "text", "written")

    def __init__(self, text: str, rules: LanguageRules) -> None:
        self.text = text
        self.plain = text if text.isascii() else plain(text)
        self.rules = rules
        self.written = _cut(self.plain, rules)
        self._words: list[Word] | None = None
        self._critical: CriticalParts | None = None

    # --- the words one by one

    @property
    def words(self) -> list[Word]:
        """What each word is."""
        if self._words is None:
            self._words = read_each(self.written, self.rules)
        return self._words

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of each word."""
        return tuple([word.key for word in self.words])

    @cached_property
    def hashes(self) -> list[int]:
        """The hash of each word."""
        return list(map(attrgetter("hash"), self.words))

    # --- what is compared of a name

    @property
    def content(self) -> tuple[str, ...]:
        """The keys of the words that are no function words."""
        return tuple([word.key for word in self.words if word.key])

    @cached_property
    def ordered(self) -> tuple[str, ...]:
        """`content`, sorted: the order of the words does not count."""
        return tuple(sorted(self.content))

    @property
    def meanings(self) -> tuple[str, ...]:
        """The meanings of the words that are no function words."""
        return tuple([word.meaning for word in self.words if word.key])

    @cached_property
    def joined(self) -> bool:
        """Whether a function word relates two words. "of" and articles do not count."""
        return is_joined(self.written, self.keys, self.rules)

    @cached_property
    def form(self) -> str:
        """The text without case and punctuation."""
        return biosyn(self.plain)

    @cached_property
    def acronym(self) -> str:
        """What is compared instead if the case counts, see `acronym_of`; otherwise empty."""
        return acronym_of(self.plain)

    @property
    def critical(self) -> CriticalParts:
        """What must agree between two texts."""
        if self._critical is None:
            self._critical = self._read_critical()
        return self._critical

    def _read_critical(self) -> CriticalParts:
        words, spelled = self.words, self.plain if self.plain.isascii() else spaced_greek(self.plain)
        if spelled != self.plain:
            words = read_each(_cut(spelled, self.rules), self.rules)
        skipped = self.rules.words.function_words
        said = [word.critical for word in words if word.written not in skipped]
        return join_critical(said, self.plain, spelled, self.rules)

    @property
    def numeral_spellings(self) -> list[str]:
        """The text with its numerals in digits, and with Roman ones, if it is another text: "type II" is "type 2"."""
        for word in self.words:
            if word.critical.numbers or word.critical.after_type:
                return numeral_spellings(self.text, {word.written: word.critical for word in self.words}, self.rules)
        return []

    @property
    def hash(self) -> int:
        """The key of a name: its hash as an acronym, or else the sum of the hashes of its words."""
        return acronym_hash(self.plain) or sum(map(attrgetter("hash"), self.words)) % 2**64

    # --- where the words are, and what is between them

    @cached_property
    def places(self) -> tuple[list[int], list[int]]:
        """The first character of each word, and the position after its last one."""
        _, first, last = plain_with_offsets(self.text)
        edges = list(accumulate(map(len, self._pieces)))
        return [first[edge] for edge in edges[:-1:2]], [last[edge - 1] for edge in edges[1::2]]

    @property
    def starts(self) -> list[int]:
        """The first character of each word."""
        return self.places[0]

    @property
    def ends(self) -> list[int]:
        """The position after the last character of each word."""
        return self.places[1]

    @cached_property
    def broken(self) -> list[bool]:
        """Whether something that no name crosses comes between the word before and each word."""
        return [gap != " " and _breaks(gap) for gap in self.gaps[:-1]]

    @cached_property
    def commas(self) -> list[bool]:
        """Whether a comma and a blank come between the word before and each word."""
        return [gap != " " and ", " in _BLANKS.sub(" ", gap) for gap in self.gaps[:-1]]

    @cached_property
    def hyphens(self) -> list[bool]:
        """Whether only a hyphen comes between the word before and each word."""
        return [gap == "-" for gap in self.gaps[:-1]]

    @cached_property
    def gaps(self) -> list[str]:
        """What stands before each word, and after the last one."""
        return self._pieces[::2]

    @cached_property
    def _pieces(self) -> list[str]:
        """By turns what stands between words, and a word."""
        return self.rules.words.pattern.split(self.plain)


def read_words(text: str, rules: LanguageRules = ENGLISH) -> Words:
    """Return the words of a text. Those of short texts are kept."""
    return _cached_words(text, rules) if len(text) <= MAX_CACHED else Words(text, rules)


_cached_words = lru_cache(maxsize=CACHED_NAMES)(Words)


def read_each(written: Iterable[str], rules: LanguageRules) -> list[Word]:
    """Return what each of some words is. Short ones are kept."""
    read = _word_reader(rules)
    return [read(word) if len(word) <= MAX_CACHED else Word(rules, word) for word in written]


@cache
def _word_reader(rules: LanguageRules) -> Callable[[str], Word]:
    """Return what reads the words of a language. It has a cache of its own, which is faster than one for all."""
    return lru_cache(maxsize=CACHED_NAMES)(partial(Word, rules))


def _breaks(gap: str) -> bool:
    return len(_BLANKS.sub(" ", gap)) > MAX_GAP or _BREAK.search(gap) is not None


def _cut(text: str, rules: LanguageRules) -> list[str]:
    """Cut a text in plain characters into words."""
    words: list[str] = rules.words.pattern.findall(text)
    return words


def folded_words(text: str, rules: LanguageRules = ENGLISH) -> frozenset[str]:
    """Return the words of a text in lower case, without a plural "s". Nothing is kept of a name that is seen once."""
    return frozenset([word.rstrip("s") for word in _cut(plain(text).lower(), rules)])


def has_critical(name: str, rules: LanguageRules = ENGLISH) -> bool:
    """Return whether anything of a name is critical. Nothing is kept of one with plain words alone, as most have."""
    if not name.isascii() or "+" in name or "-" in name:
        return bool(read_words(name, rules).critical)
    return bool([word for word in read_each(_cut(name, rules), rules) if not word.critical.is_plain])


def word_hashes(texts: Iterable[str], rules: LanguageRules = ENGLISH) -> tuple[np.ndarray, np.ndarray]:
    """Split many texts into words at once.

    Returns:
        The number of the text of each word, int64, and its hash (0 for a function word), uint64. Both have the shape
        (words,).
    """
    joined = list(map(plain, texts))
    pieces = rules.words.pattern.split("\n".join(joined))  # a line break is not a part of a word
    starts = np.fromiter(accumulate(map(len, pieces)), dtype=np.int64, count=len(pieces))[:-1:2]
    ends = np.cumsum(np.fromiter(map(len, joined), dtype=np.int64, count=len(joined)) + 1)
    words = pieces[1::2]
    unique = list(dict.fromkeys(words))
    of_word = {word.written: word.hash for word in read_each(unique, rules)}
    hashes = np.fromiter(map(of_word.__getitem__, words), dtype=np.uint64, count=len(words))
    return np.searchsorted(ends, starts, side="right"), hashes


def acronym_of(text: str) -> str:
    """Return an acronym as it is compared: in its case, without the plural of "UTIs". Empty if the text is none."""
    if len(text) > MAX_ACRONYM + 1 and text.isascii():  # spelling out only shortens Greek
        return ""
    single = text[:-1] if len(text) >= SHORTEST_PLURAL and text.endswith("s") and text[:-1].isupper() else text
    return single if is_acronym(single) else ""


def acronym_hash(text: str) -> int:
    """Return the hash of `acronym_of` a text, 0 if it is empty."""
    # the prefix keeps it apart from the hash of a word with the same letters
    return hash64(f"={acronym}") if (acronym := acronym_of(text)) else 0


def word_keys(text: str, rules: LanguageRules = ENGLISH) -> tuple[str, ...]:
    """Return the sorted keys of the words that distinguish names, without function words."""
    return read_words(text, rules).ordered


@lru_cache(maxsize=CACHED_NAMES)
def joined_letters(text: str) -> str:
    """Return the letters and digits of a text, without a plural "s", as in "ribs" and "UTIs".

    Numbers that a sign or a blank separates stay apart: "CD4/8" is not "CD48", and "IL 1 7" not "IL17".
    """
    letters = text if text.isascii() else plain(text)
    if _MAY_NUMBER.search(letters):  # it saves time
        letters = _BETWEEN_NUMBERS.sub("·", letters)
    letters = (letters if letters.isascii() else spell_out_greek(letters)).translate(_WITHOUT_SIGNS)
    return (letters[:-1] if letters.endswith("s") and len(letters) >= SHORTEST_PLURAL else letters).casefold()


def has_same_letters(text: str, name: str) -> bool:
    """Return whether two texts are equal but for case, a plural "s", hyphens, blanks and other signs."""
    return bool(with_same_letters(text, [name]))


def with_same_letters(text: str, names: Iterable[str]) -> list[str]:
    """Return those of several names that have the same letters as a text, see `has_same_letters`."""
    shortest, longest = len(text) - _MOST_SIGNS, len(text) + _MOST_SIGNS
    first, letters, same = text[:1], joined_letters(text), list[str]()
    # the first letters tell most texts apart, without a look at the others
    firsts = {first.lower(), first.upper()} if text.isascii() and first.isalnum() else None
    for name in names:
        if shortest <= len(name) <= longest and (
            firsts is None or name[:1] in firsts or not (name.isascii() and name[:1].isalnum())
        ):
            same += [name] * (joined_letters(name) == letters)
    return same


def has_other_sign(text: str, name: str, rules: LanguageRules = ENGLISH) -> bool:
    """Return whether two texts with the same letters contradict each other by a sign, as "HER2+" and "HER2-" do."""
    if ("+" in text) == ("+" in name):
        return False
    return next(contradictions(read_words(text, rules).critical, read_words(name, rules).critical), None) is not None


def is_joined(written: Sequence[str], keys: Sequence[str], rules: LanguageRules) -> bool:
    """Return whether a function word relates two words. "of" and articles do not count."""
    if all(keys):
        return False
    open_words = rules.words.open_words
    return any(not key and word.lower() not in open_words for word, key in zip(written, keys, strict=True))


def _key(word: str, rules: LanguageRules) -> str:
    # before letters lose their accents: "à" is a function word, "A" is not
    if word.lower() in rules.words.function_words:
        return ""
    name = acronym_of(word) or word
    form = rules.words.spell(name if name.isascii() else spell_out_greek(name))
    return form if len(word) == SHORTEST_PLURAL and not word[1:].islower() else rules.words.singular(form)  # "BimS"


@lru_cache(maxsize=CACHED_NAMES)
def _run_hash(run: str, rules: LanguageRules) -> int:
    return hash64(_key(run, rules) or run.lower())


def is_acronym(text: str) -> bool:
    """Return whether a name is matched with its case: one short word, mostly capitals, e.g. "ALL", "AIDS" or "SAMe".

    A word with a Greek letter does not count, since the letter may be spelled out: "TNFα" is "TNF-alpha".
    """
    text = text if text.isascii() else spell_out_greek(text)
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
