"""Other words for the same: "renal" is of the kidney, "hypertensive" has hypertension.

Each rule proposes texts. They count only if they are names of the vocabulary, see `spacy_sapbert.linking.rewrites`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice

from .findings import FOLDER, word_key
from .languages import ENGLISH, LanguageRules
from .lists import pairs, read_lines, read_lists
from .normalize import lower

MOST_WORDS = 8  # of a text
_LONGEST = 3  # words of an entry
_MOST_SINGLE = 12  # texts in which one part is replaced
_SHORTEST_STEM, _SHORTEST_DERIVED = 3, 4  # letters

# what ends like this is a noun already; it saves time
_NOUNS = (
    "sis", "itis", "ia", "oma", "omas", "ism", "tion", "sion", "ment", "ness", "ity", "disease", "diseases", "disorder",
    "disorders", "syndrome", "pathy", "tumor", "tumors", "cancer", "deficiency", "ure", "age",
)  # fmt: skip
_GENERAL = ("disease", "disorder", "syndrome", "disorders", "compounds", "agents")
_SINGULAR = ("ss", "us", "is")
_BEGINNING = re.compile(
    r"(?P<head>[^\W\d_]+) (?:of|in) (?:the )?(?P<of>\S+(?: \S+)?)|impaired (?P<impaired>.+?)(?: function)?",
    re.IGNORECASE,
)
_STRESSED = str.maketrans("áéíóú", "aeiou")


def other_words(text: str, rules: LanguageRules = ENGLISH) -> Iterator[tuple[str, str]]:
    """Yield a text with other words for one or two of its parts, each with the reason."""
    if (spelled := rules.words.spell(text)) != lower(text):
        yield spelled, f"“{text}” is spelled “{spelled}”, too"
    forms = list(_other_orders(text)) if rules is ENGLISH else []
    yield from ((form, f"“{text}” is “{form}”") for form in forms)
    replaced = (_replaced(form, rules, 0) for form in (text, *forms))
    single = list(islice(chain.from_iterable(replaced), _MOST_SINGLE))
    for other, _, reason in single:
        yield other, reason
        if other.endswith("s") and not other.endswith(_SINGULAR):
            yield other[:-1], reason
    yield from _derived(text, rules)
    is_word = len(text) >= _SHORTEST_DERIVED and text.isalpha() and not text.isupper()
    # what has other words is more often a part of a body: "ovarian" is no disease
    if rules is ENGLISH and is_word and (word_key(text, rules),) not in _synonyms(rules):
        yield from ((f"{text} {noun}", f"“{text}” is a {noun}") for noun in _GENERAL)
    for other, end, reason in single:
        again = islice(_replaced(other, rules, end), _MOST_SINGLE)
        yield from ((both, f"{reason}, {more}") for both, _, more in again)


def _other_orders(text: str) -> Iterator[str]:
    """Yield a text in other forms and orders: "neurologic", "learning impairment" for "impairment of learning"."""
    if "ological" in text:
        yield text.replace("ological", "ologic")
    if match := _BEGINNING.fullmatch(text):
        yield f"{match['of']} {match['head']}" if match["of"] else f"{match['impaired']} dysfunction"


def _replaced(text: str, rules: LanguageRules, start: int) -> Iterator[tuple[str, int, str]]:
    """Yield a text with other words for one part from a position on, the position after them, and the reason."""
    table = _synonyms(rules)
    words = [word for word in rules.words.pattern.finditer(text) if word.start() >= start]
    if len(words) > MOST_WORDS:
        return
    keys = [word_key(word[0], rules) for word in words]
    for first in range(len(words)):
        for last in range(min(first + _LONGEST, len(words)), first, -1):
            for other, mark in table.get(tuple(keys[first:last]), ()):
                begin, end = words[first].start(), words[last - 1].end()
                is_whole = begin == 0 and end == len(text)
                if mark == "*" or (mark == "=") == is_whole:
                    reason = f"“{text[begin:end]}” is “{other}”"
                    yield text[:begin] + other + text[end:], begin + len(other), reason


def _derived(text: str, rules: LanguageRules) -> Iterator[tuple[str, str]]:
    """Yield a text with a noun for the adjective or verb at its end."""
    word = text.lower()
    last = word.split(" ")[-1]
    if len(last) < _SHORTEST_DERIVED or not last.isalpha() or last.endswith(_NOUNS):
        return
    for ending, nouns in endings_of(rules.code):
        stem = word.removesuffix(ending)
        if (not ending or stem != word) and len(last) - len(ending) >= _SHORTEST_STEM:
            stem = stem.translate(_STRESSED) if rules.code == "es" else stem  # isquémico, isquemia
            yield from ((stem + noun, f"“{text}” comes from “{stem + noun}”") for noun in nouns)


@lru_cache(maxsize=8)
def endings_of(code: str) -> list[tuple[str, list[str]]]:
    """Return the endings of adjectives and verbs of a language, each with those of nouns with the same stem."""
    rules = pairs(read_lists(__file__).get(code, ""))
    return sorted(((ending, nouns.split(",")) for ending, nouns in rules.items()), key=lambda rule: -len(rule[0]))


@lru_cache(maxsize=8)
def _synonyms(rules: LanguageRules) -> Mapping[tuple[str, ...], list[tuple[str, str]]]:
    """Return the entries of a language: for the keys of some words, other words, and where they are exchanged.

    "=" marks a whole text, "*" a whole text or a part, and nothing a part. What is before ">" is not proposed.
    """
    table: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for line in read_lines(FOLDER / f"{rules.code}_own.txt") + read_lines(FOLDER / f"{rules.code}.txt"):
        before, _, behind = line.lstrip("=*").rpartition(">")
        phrases = behind.split("|")
        mark = line[0] if line[0] in "=*" else ""
        for phrase in before.split("|") if before else phrases:
            keys = tuple(word_key(word, rules) for word in rules.words.pattern.findall(phrase))
            table.setdefault(keys, []).extend((other, mark) for other in phrases if other != phrase)
    return table
