"""What must agree between a text and a name: numbers, single letters, opposites and negations.

"MPS II" is not "MPS III", and "decreased heart rate" not "increased heart rate". Such names are more similar than most
synonyms, so no similarity tells them apart.

Only what both have can differ: "diabetes mellitus" does not contradict "diabetes mellitus type 2".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from .languages import ENGLISH, LanguageRules

_RUN = re.compile(r"\d+|[^\W\d_]+")
_ROMAN = re.compile(r"(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10}
_GREEK = {"alpha": "a", "beta": "b", "gamma": "g", "delta": "d", "epsilon": "e", "kappa": "k", "omega": "o"}
_ROMAN_WITH_LETTER = re.compile(r"([ivx]{2,5})([a-d])|([ivx])([a-z])")  # "IIa", and "Ic" after "type"
_NUMERAL = re.compile(r"(?<![\w,.'′+/-])(?:(\d{1,2})([a-d]?)|[^\W\d_]+)(?![\w'′+/-]|[.,]\d)")
_ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_ROMAN_NUMERALS = [tens + ones for tens in ("", "X", "XX", "XXX") for ones in _ONES]
_TYPES = frozenset(("type", "typ", "tipo"))  # words that a number may lack: "Noonan syndrome (type) 2"
# Beginnings that negate a word in each language. They count if the other text has that word: "afebrile" for "febrile".
_WITHOUT = ("a", "an", "un", "in", "im", "ir", "il", "dis", "dys", "des", "de", "ab")
_SHORTEST_WORD = 5  # letters behind such a beginning
_NOTHING: frozenset[str] = frozenset()
# of "HER2+", "HER2 (+)" and "Rh-", not of "TNF-alpha"
_SIGN = re.compile(r"(?:(?<=[A-Z\d])|(?<=\b[A-Z][a-z]))(?:\s?\(|\s(?=\+))?([+-])(?![\w+-])")
_LOCANTS = re.compile(r"\d[a-z]?['′]?-[a-z(\[]", re.IGNORECASE)
_MOST_ENDING = 3  # letters after what is negated: "sleepy" after "sleepless"
_ROMANS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
ARABIC = {roman: str(n) for n, roman in enumerate(_ROMANS, start=1)}


class Valued(NamedTuple):
    """A word that stands for the value of a property, such as "left" for a side, and its key."""

    value: tuple[int, int]
    key: str
    word: str


class CriticalParts(NamedTuple):
    """The parts of a text that must agree.

    Attributes:
        numbers: The numbers, without zeros in front, each as often as the text has it. Roman and written ones count.
        letters: The single letters. A Greek one counts as the Latin one that stands for it.
        values: The words that stand for a value of a property.
        negated: What is negated: "small" in "non-small".
        words: The keys of the other words, sorted.
        systematic: Whether the text has a locant, as names of chemicals have.
        counted: The numbers after each word: 2 after "type". Those in front are after an empty word. So are the letters
            after a word such as "type".
    """

    numbers: tuple[str, ...]
    letters: frozenset[str]
    values: tuple[Valued, ...]
    negated: frozenset[str]
    words: tuple[str, ...]
    systematic: bool
    counted: dict[str, frozenset[str]]

    def __bool__(self) -> bool:
        """Return whether the text has something that must agree."""
        return bool(self.numbers or self.letters or self.values or self.negated)

    def has_numbers_of(self, other: CriticalParts) -> bool:
        """Return whether a text has all numbers and letters of another one."""
        if not other.letters <= self.letters:
            return False
        if len(other.numbers) > 1:
            return not Counter(other.numbers) - Counter(self.numbers)
        return not other.numbers or other.numbers[0] in self.numbers  # without counters, which take time

    def include(self, other: CriticalParts) -> bool:
        """Return whether a text also has the same properties, and the other words unless only numbers must agree."""
        if other.values or not (other.numbers or other.letters):
            critical = other.negated.union(word.key for word in other.values)
            if not set(other.words) - critical <= set(self.words):
                return False
        if not all(any(_begins_alike(word, key) for key in self.negated) for word in other.negated):
            return False
        return self.has_numbers_of(other) and (self.values == other.values or _values(self) == _values(other))

    def is_same(self, other: CriticalParts) -> bool:
        """Return whether two texts with numbers differ in how these are written, in order or in the word "type"."""
        if not self.numbers or (self.numbers, self.letters) != (other.numbers, other.letters):
            return False
        return self.words == other.words or _without_types(self.words) == _without_types(other.words)


def may_negate(name: str, words: Sequence[tuple[str, bool]], rules: LanguageRules = ENGLISH) -> bool:
    """Return whether a name may negate what a text does not, or the other way round.

    This is quick, and may say so of other names.

    Args:
        words: The `negatable_words` of the text.
    """
    lower = name.lower()
    if rules.opposites.any_negation.search(lower) is not None:
        return True
    for word, is_bare in words:
        start = lower.find(word)
        if start >= 0 and lower[start - 1 : start].isalpha() != is_bare:
            return True
    return False


def negatable_words(text: str) -> list[tuple[str, bool]]:
    """Return the words that a name may negate, and what is left of those that may negate; the latter are marked."""
    words: list[tuple[str, bool]] = []
    for word in text.lower().split():
        bare = word.rstrip("s")
        if len(bare) >= _SHORTEST_WORD:
            words.append((bare, False))
            words += [(rest, True) for rest in _bare(bare)]
    return words


def _bare(word: str) -> list[str]:
    """Return what is left of a word without a beginning that may negate it."""
    rests = []
    for start in _WITHOUT if word.startswith(_WITHOUT) else ():
        if word.startswith(start) and len(word) - len(start) >= _SHORTEST_WORD:
            rests.append(word[len(start) :])
    return rests


def numeral_spellings(text: str, said: Mapping[str, CriticalWord], rules: LanguageRules = ENGLISH) -> list[str]:
    """Return a text with its numerals in digits, and with Roman ones, if it is another text: "type II" is "type 2".

    Args:
        said: What its words add to its critical parts.
    """

    def in_digits(numeral: re.Match[str]) -> str:
        word = said.get(numeral[0]) or read_critical(numeral[0], numeral[0], "", rules)
        word = (numeral[0][0].isupper() and word.after_type) or word
        return "".join([*(number for _, number in word.numbers), *word.letters]) if word.numbers else numeral[0]

    def in_roman(numeral: re.Match[str]) -> str:
        digits, letter = numeral[1], numeral[2]
        return _ROMAN_NUMERALS[int(digits)] + letter if digits and int(digits) < len(_ROMAN_NUMERALS) else numeral[0]

    digits = _NUMERAL.sub(in_digits, text)
    roman = _NUMERAL.sub(in_roman, digits) if any(map(str.isdecimal, digits)) else digits
    return [form for form in dict.fromkeys((digits, roman)) if form != text]


def contradictions(text: CriticalParts, name: CriticalParts) -> Iterator[str]:
    """Yield why a name cannot mean a text, such as "3 is not 2".

    Names of chemicals may number the same atoms in several ways. So their numbers differ only if they share none, or if
    all words are the same.
    """
    if differ := _other_numbers(text, name):
        yield differ
        return
    if not (text.letters <= name.letters or name.letters <= text.letters):
        yield _differ(sorted(text.letters - name.letters), sorted(name.letters - text.letters))
    if text.values and name.values and text.values != name.values:
        yield from _opposites(text, name)
    lacking = [key for key in text.words if key not in name.words]
    added = [key for key in name.words if key not in text.words]
    if text.negated or name.negated or len(lacking) == 1 or len(added) == 1:
        yield from (f"only the name negates “{word}”" for word in _negated_only_by(name, text, added, lacking))
        yield from (f"the name does not negate “{word}”" for word in _negated_only_by(text, name, lacking, added))


def _other_numbers(text: CriticalParts, name: CriticalParts) -> str | None:
    """Return how the numbers of two texts differ, or those after the same word; None if they do not."""
    if text.numbers and name.numbers and text.numbers != name.numbers:
        said, meant = Counter(text.numbers), Counter(name.numbers)
        other_names = name.systematic and said.keys() & meant.keys() and text.words != name.words
        if said - meant and meant - said and not other_names:
            return _differ(sorted(said - meant), sorted(meant - said))
    if text.counted and name.counted:
        for word in sorted(filter(None, text.counted.keys() & name.counted)):
            if text.counted[word].isdisjoint(name.counted[word]):
                return _differ(sorted(text.counted[word]), sorted(name.counted[word]))
    return None


def _opposites(text: CriticalParts, name: CriticalParts) -> Iterator[str]:
    if {word.value[0] for word in text.values}.isdisjoint([word.value[0] for word in name.values]):
        return  # these are other properties
    said, meant = _values(text), _values(name)
    text_only, name_only = said - meant, meant - said
    for kind in sorted({kind for kind, _ in text_only} & {kind for kind, _ in name_only}):
        words = [
            sorted({word for value, _, word in parts.values if value[0] == kind and value in only})
            for parts, only in ((text, text_only), (name, name_only))
        ]
        yield _differ(*words)


def _values(parts: CriticalParts) -> Counter[tuple[int, int]]:
    return Counter(word.value for word in parts.values)


def _negated_only_by(
    parts: CriticalParts, other: CriticalParts, own_words: Sequence[str], other_words: Sequence[str]
) -> Iterator[str]:
    """Yield what only the first of two texts negates. Each of them has some words that the other one lacks."""
    for word in sorted(parts.negated):
        is_said = any(key.startswith(word) and len(key) <= len(word) + _MOST_ENDING for key in other.words)
        if is_said and not any(_begins_alike(word, key) for key in other.negated):
            yield word
    if len(other_words) == 1:  # "impaired tolerance" is intolerance
        said = other_words[0]
        for rest in (rest for word in own_words for rest in _bare(word)):
            is_negated = any(_begins_alike(rest[:-2], key) for key in other.negated)  # "non-febrile" is afebrile
            if said.startswith(rest[:-2]) and abs(len(said) - len(rest)) <= _MOST_ENDING and not is_negated:
                yield rest


def _begins_alike(word: str, other: str) -> bool:
    return word.startswith(other) or other.startswith(word)


def _differ(said: Sequence[str], meant: Sequence[str]) -> str:
    return f"{' '.join(meant)} is not {' '.join(said)}"


class CriticalWord(NamedTuple):
    """What a word adds to the critical parts of its text.

    Attributes:
        key: Its key; empty if it is no plain word.
        keys: The key, or the runs of letters between numbers.
        negates: Whether it negates the next word.
        numbers: Its numbers, each with the letters before it in the word.
        letters, negated: See `CriticalParts`.
        value: The property and the value that it stands for.
        counted: What a number after it belongs to; empty if that is the word before.
        types: Whether it is a word such as "type" or "stage".
        is_plain: Whether it only adds its key.
        after_type: What it adds instead after such a word; None if that is the same. "Ic" is 1c after "type".
        written: The word in lower case.
    """

    key: str = ""
    keys: tuple[str, ...] = ()
    negates: bool = False
    numbers: tuple[tuple[str, str], ...] = ()
    letters: tuple[str, ...] = ()
    value: tuple[int, int] | None = None
    negated: str | None = None
    counted: str = ""
    types: bool = False
    is_plain: bool = False
    after_type: CriticalWord | None = None
    written: str = ""


def join_critical(words: Sequence[CriticalWord], text: str, spelled: str, rules: LanguageRules) -> CriticalParts:
    """Return the critical parts of a text.

    Args:
        words: What its words add, without function words.
        text: The text in plain characters.
        spelled: The same with the names of Greek letters.
    """
    if not [word for word in words if not word.is_plain]:  # as in most texts
        keys = tuple(sorted(map(attrgetter("key"), words)))
        return CriticalParts((), _NOTHING, _signs(spelled, rules), _NOTHING, keys, False, {})
    return _join_special(words, text, spelled, rules)


def _join_special(words: Sequence[CriticalWord], text: str, spelled: str, rules: LanguageRules) -> CriticalParts:
    numbers: list[str] = []
    letters: set[str] = set()
    values: list[Valued] = []
    negated: set[str] = set()
    keys: list[str] = []
    counted: defaultdict[str, set[str]] = defaultdict(set)
    before, negates, typed = "", False, False  # of the word before
    for word in words:
        word = (word.after_type if typed else None) or word
        keys += word.keys
        if negates and word.key:
            negated.add(word.key)
        if word.is_plain:
            before, negates, typed = word.key, False, False
            continue
        for beginning, number in word.numbers:
            numbers.append(number)
            counted[beginning or before].add(number)
        if typed and word.letters and not word.numbers:
            counted[before].update(word.letters)
        letters.update(word.letters)
        if word.value:
            values.append(Valued(word.value, word.key, word.written))
        if word.negated:
            negated.add(word.negated)
        before, negates, typed = word.counted or before, word.negates, word.types
    return CriticalParts(
        tuple(sorted(numbers)),
        frozenset(letters),
        (*values, *_signs(spelled, rules)),
        frozenset(negated),
        tuple(sorted(keys)),
        bool(numbers and _LOCANTS.search(text)),
        {word: frozenset(after) for word, after in counted.items()},
    )


def _signs(text: str, rules: LanguageRules) -> tuple[Valued, ...]:
    """Return the signs behind symbols as the words that they stand for: "positive" in "HER2+"."""
    if "+" not in text and "-" not in text:
        return ()
    signs = rules.opposites.signs
    return tuple([Valued(signs[sign[1]], "", sign[1]) for sign in _SIGN.finditer(text) if sign[1] in signs])


def read_critical(written: str, word: str, key: str, rules: LanguageRules) -> CriticalWord:
    """Return what a word adds to the critical parts of its text.

    Args:
        written: The word.
        word: The same without a possessive "s".
        key: Its key; empty if it is not known, or if it is that of an acronym.
    """
    word = word.lower()
    if not (word.isascii() and word.isalpha()):
        runs = _RUN.findall(word)
        if len(runs) != 1 or runs[0].isdecimal():
            return _read_runs(runs)
        word = runs[0]
    opposites = rules.opposites
    key = key or rules.words.singular(rules.words.spell(word))
    if number := opposites.numerals.get(key) or _roman(word):
        return CriticalWord(numbers=(("", number),))
    after_type = None
    if word[0] in _ROMAN_VALUES and _ROMAN_WITH_LETTER.fullmatch(word):
        if with_letter := _roman_with_letter(word):
            return with_letter
        after_type = _roman_with_letter(word, typed=True)
    if word in _GREEK or len(word) == 1:
        letter = _GREEK.get(word, word)
        return CriticalWord(letters=(letter,), counted=letter, after_type=after_type)
    value, negated = opposites.value_of(key), opposites.negated_in(key)
    types = rules.composites.classifier.fullmatch(written) is not None
    if key in opposites.negations:
        return CriticalWord(key, (), True, (), (), value, negated, key, types, False, after_type, written.lower())
    is_plain = not (value or negated or types or after_type)
    return CriticalWord(key, (key,), False, (), (), value, negated, key, types, is_plain, after_type, written.lower())


def _read_runs(runs: Sequence[str]) -> CriticalWord:
    """Return what a word of several runs of letters and of digits adds."""
    numbers = tuple(
        [
            ("".join(runs[max(place - 1, 0) : place]), run.lstrip("0") or "0")
            for place, run in enumerate(runs)
            if run.isdecimal()
        ]
    )
    letters = tuple([_GREEK.get(run, run) for run in runs if run in _GREEK or (len(run) == 1 and not run.isdecimal())])
    last = "" if not runs or runs[-1].isdecimal() else runs[-1]
    others = tuple([run for run in runs if len(run) > 1 and not run.isdecimal() and run not in _GREEK])
    return CriticalWord(keys=others, numbers=numbers, letters=letters, counted=last)


def meaning_of(key: str, rules: LanguageRules) -> str:
    """Return what stands for a word: "low" and "decreased" are the same, and so are "II" and "2"."""
    if key in rules.opposites.words:
        return "".join(chr(ord("a") + number) for number in rules.opposites.words[key])
    return rules.opposites.numerals.get(key) or ARABIC.get(key, key)


def _without_types(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _TYPES)


def _roman_with_letter(word: str, typed: bool = False) -> CriticalWord | None:
    """Return the number and the letter of "iia". A Roman numeral of one letter must be `typed`: "ic" after "type"."""
    found = _ROMAN_WITH_LETTER.fullmatch(word)
    numeral, letter = (found[1] or (typed and found[3]), found[2] or found[4]) if found else ("", "")
    number = _roman(numeral) if numeral and (typed or word != "via") else None
    return CriticalWord(numbers=(("", number),), letters=(letter,)) if number else None


def _roman(word: str) -> str | None:
    """Return a Roman numeral up to 39 in digits. Only whole words are numerals."""
    if word[:1] not in _ROMAN_VALUES or not _ROMAN.fullmatch(word):
        return None
    values = [_ROMAN_VALUES[letter] for letter in word]
    following = [*values[1:], 0]
    return str(sum(-value if value < after else value for value, after in zip(values, following, strict=True)))
