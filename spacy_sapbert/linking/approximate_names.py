"""`ApproximateNames`: find names that a text writes in another way, by the character n-grams of all names.

Only places without an exact match are searched. A similar text is often another name: "type 1 diabetes" is not "type 2
diabetes". So words are compared too. Each word of the name must be in the text, perhaps with other letters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ..files.caching import drop_oldest
from ..kb.filters import FilterMask
from ..text.common_words import common_nouns, common_words
from ..text.languages import LanguageRules
from ..text.spelling import LONG, MIN_LETTERS, are_opposites, edit_distance
from ..text.words import WordColumns, is_acronym, word_columns, word_keys, written_and_keys
from ..vectors.ngram_index import NgramIndex
from .name_matcher import NameMatch, NameMatcher

LONGEST = 6  # words of a span
MOST_CHARACTERS = 80  # of a span
FEWEST_CHARACTERS = 6  # of a span and of a name; shorter ones are like too many words
NEAREST = 5  # names that are compared with a span, word by word
MOST_MODIFIERS = 2  # words of a span that its name does not have
MOST_PARTICLE = 3  # letters of a word such as "von"
WORDS_PER_BLOCK = 1 << 12  # they bound the memory for a long text
STEM = 5  # letters that two forms of a word have in common, at least
MOST_ENDING = 4  # letters of the ending of such a form
SAME_END = 1  # letter; endings such as "-itis" have a meaning, so a misspelling there is not accepted

CACHED_SCORES = 1 << 15
SPANS_AT_ONCE = 1 << 12
MOST_AROUND = 3  # words before or after a short form
MOST_LONG_FORMS = 4  # of a short form
JOINING_SIGNS = "/&+"

_NEGATIONS = frozenset(("no", "non", "not", "without"))


class ApproximateNames:
    """Finds names that a text writes with other letters, other endings, or with modifiers inside.

    Args:
        matcher: The matcher of exact names.
        ngrams: The character n-grams of the same names.
    """

    def __init__(self, matcher: NameMatcher, ngrams: NgramIndex) -> None:
        self.kb = matcher.kb
        self.rules = matcher.rules
        self.ngrams = ngrams
        self._stopped = self.kb.stop_name_rows()
        self._matcher = matcher
        self._scores: dict[tuple[str, str], float] = {}
        self._rows: dict[str, int | None] = {}

    def __repr__(self) -> str:
        return f"ApproximateNames({self.kb.n_names:,} names of {self.kb!r})"

    def find(
        self, text: str, exact: Iterable[tuple[int, int]], least: float, mask: FilterMask | None = None
    ) -> list[NameMatch]:
        """Return the best approximate matches that do not overlap each other, by position.

        An exact match takes precedence, unless it is inside an approximate match whose name has all its words and
        more, such as "kidney disease" in "chronic severe kidney disease".

        Args:
            text: The text.
            exact: The character offsets of the exact matches.
            least: The least similarity of a span and a name, see `similarity`.
            mask: Only find names of this filter mask; None for all names.
        """
        found = word_columns(text, self.rules)
        if not found.keys:
            return []
        covered = _Covered.of(found, exact)
        places = self._places(text, found, covered)
        scored = []
        every = list(places)
        for first in range(0, len(every), SPANS_AT_ONCE):
            spans = every[first : first + SPANS_AT_ONCE]
            _, rows = self.ngrams.search(spans, NEAREST, mask)
            for span, (score, row, name) in self._best(spans, rows, least).items():
                for start, end in places[span]:
                    if self._has_all(name, covered.keys(found, start, end)):
                        scored.append((-score, start - end, start, end, row))
        taken: set[int] = set()
        matches = []
        for _, _, start, end, row in sorted(scored):
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                matches.append(NameMatch(found.starts[start], found.ends[end - 1], row))
        return sorted(matches)

    def _places(self, text: str, found: WordColumns, covered: _Covered) -> dict[str, list[tuple[int, int]]]:
        """Return the spans that may be names, with the words `start:end` of their places."""
        places: dict[str, list[tuple[int, int]]] = {}
        lowered = [word.lower() for word in found.written]
        barred = self._barred(lowered)
        solid = np.array([*map(bool, found.keys)], dtype=bool) & ~barred
        bars, free = _running(barred), _running(~covered.any)
        specials = _running(np.array([*map(self._is_special, lowered)], dtype=bool))
        breaks = self._breaks(text, found)
        starts, ends = np.array(found.starts), np.array(found.ends)
        for first in range(0, len(solid), WORDS_PER_BLOCK):
            may_begin = solid[first : first + WORDS_PER_BLOCK] & ~covered.later[first : first + WORDS_PER_BLOCK]
            begin = first + np.flatnonzero(may_begin)[:, None]
            last = begin + np.arange(LONGEST)
            inside = last < len(solid)
            last = np.where(inside, last, 0)
            length = ends[last] - starts[begin]
            kept = inside & solid[last] & ~covered.earlier[last]
            kept &= (breaks[last] == breaks[begin]) & (bars[last + 1] == bars[begin])
            kept &= (specials[last + 1] > specials[begin]) & (free[last + 1] > free[begin])
            kept &= (length >= FEWEST_CHARACTERS) & (length <= MOST_CHARACTERS)
            of_start, of_length = np.nonzero(kept)
            for start, words in zip(begin[of_start, 0].tolist(), of_length.tolist(), strict=True):
                end = start + words + 1
                places.setdefault(text[found.starts[start] : found.ends[end - 1]], []).append((start, end))
        return places

    def _barred(self, lowered: Sequence[str]) -> np.ndarray:
        """Return which lower-case words no match contains, such as "and" and "without", bool."""
        stop_words = (self.rules.abbreviations.stop_words | _NEGATIONS) - self.rules.words.function_words
        return np.array([word in stop_words for word in lowered], dtype=bool)

    def _breaks(self, text: str, found: WordColumns) -> np.ndarray:
        """Return the number of signs up to each word that no match crosses, int64. A comma and a slash are such signs.

        The space between two words is the usual case.
        """
        gaps = (text[end:start] for end, start in zip([0, *found.ends[:-1]], found.starts, strict=True))
        joined = np.array([gap != " " and any(sign in gap for sign in JOINING_SIGNS) for gap in gaps], dtype=bool)
        breaks: np.ndarray = np.cumsum(np.array(found.broken, dtype=bool) | np.array(found.commas, dtype=bool) | joined)
        return breaks

    def _has_all(self, name: str, keys: Iterable[str]) -> bool:
        """Return whether a name has all words of the exact matches in a span."""
        return not _without(keys, _content(name, self.rules))

    def _is_special(self, word: str) -> bool:
        """Return whether a lower-case word may belong to the names of a vocabulary only."""
        return len(word) >= MIN_LETTERS - 1 and word not in common_words(self.rules.code)

    def _best(self, spans: Sequence[str], rows: np.ndarray, least: float) -> dict[str, tuple[float, int, str]]:
        """Return the most similar name of each span, if there is one: its similarity, row and text."""
        wanted = np.unique(rows[rows >= 0])
        wanted = wanted[~np.isin(wanted, self._stopped)].tolist()
        names = dict(zip(wanted, self.kb.names_at(wanted), strict=True))
        best: dict[str, tuple[float, int, str]] = {}
        for span, near in zip(spans, rows.tolist(), strict=True):
            scored = [(self._compare(span, names[row]), -row) for row in near if row in names]
            score, row = max(scored, default=(0.0, 0))
            if score >= least:
                best[span] = score, -row, names[-row]
        return best

    def _compare(self, span: str, name: str) -> float:
        score = self._scores.get((span, name))
        if score is None:
            score = self._scores[span, name] = similarity(span, name, self.rules)
            drop_oldest(self._scores, CACHED_SCORES)
        return score

    def find_written_out(self, text: str, defined: Collection[tuple[int, int]] = ()) -> list[NameMatch]:
        """Return names in which the text has a short form for some words: "type 2 DM" for type 2 diabetes mellitus.

        The vocabulary must have the short form, and its concept a name with these initials. With that name in place of
        the short form, all must be a name. So a stop name, such as one of two letters, may be the short form.

        Args:
            text: The text.
            defined: The character offsets of short forms that the text defines, which are left out.
        """
        found = word_columns(text, self.rules)
        free = [i for i, key in enumerate(found.acronyms) if key and (found.starts[i], found.ends[i]) not in defined]
        forms = {word: self._long_forms(word) for word in {found.written[i] for i in free}}
        places = [i for i in free if forms[found.written[i]]]
        if not places:
            return []
        breaks = self._breaks(text, found)
        barred = self._barred([word.lower() for word in found.written])
        matches = [self._write_out(text, found, place, forms[found.written[place]], breaks, barred) for place in places]
        return [match for match in matches if match is not None]

    @cached_property
    def _stopped_short(self) -> dict[str, int]:
        """The rows of the stop names that are short forms."""
        rows = self._stopped.tolist()
        return {name: row for name, row in zip(self.kb.names_at(rows), rows, strict=True) if is_acronym(name)}

    def _write_out(
        self, text: str, found: WordColumns, word: int, forms: Sequence[str], breaks: np.ndarray, barred: np.ndarray
    ) -> NameMatch | None:
        """Return the longest name around a short form, which is the word at a place of the text."""
        low, high = word, word + 1
        while low > 0 and word - low < MOST_AROUND and breaks[low - 1] == breaks[word] and not barred[low - 1]:
            low -= 1
        while high < len(breaks) and high - word <= MOST_AROUND and breaks[high] == breaks[word] and not barred[high]:
            high += 1
        around = [(start, end) for start in range(low, word + 1) for end in range(word + 1, high + 1)]
        for start, end in sorted(around, key=lambda span: (span[0] - span[1], span)):
            before = text[found.starts[start] : found.starts[word]]
            after = text[found.ends[word] : found.ends[end - 1]]
            for form in forms if before or after else ():
                whole = self._match(f"{before}{form}{after}")
                if whole is not None:
                    return NameMatch(found.starts[start], found.ends[end - 1], whole)
        return None

    def _match(self, text: str) -> int | None:
        """Return the row of an exact name. Most texts occur again, since they are short."""
        if text not in self._rows:
            self._rows[text] = self._matcher.match(text) if len(text) <= MOST_CHARACTERS else None
            drop_oldest(self._rows, CACHED_SCORES)
        return self._rows.get(text)

    def _long_forms(self, short: str) -> list[str]:
        """Return the names of the concepts of a short form that have its letters as initials."""
        row = self._stopped_short.get(short)
        row = self._match(short) if row is None else row
        if row is None:
            return []
        _, owners = self.kb.name_concepts.of(np.array([row]))
        concepts = np.unique(self.kb.name_concepts.concepts[owners]).tolist()
        names = dict.fromkeys(name for names in self.kb.names_of_concepts(concepts) for name in names)
        return [name for name in names if _initials(name, self.rules) == short.lower()][:MOST_LONG_FORMS]


class _Covered(NamedTuple):
    """Which words of a text belong to exact matches: bool arrays of shape (words,).

    Attributes:
        any: Words of exact matches.
        later: Those that are not the first of their match, so that no other match begins there.
        earlier: Those that are not the last of their match, so that no other match ends there.
    """

    any: np.ndarray
    later: np.ndarray
    earlier: np.ndarray

    @classmethod
    def of(cls, found: WordColumns, exact: Iterable[tuple[int, int]]) -> _Covered:
        covered = cls(*(np.zeros(len(found.keys), dtype=bool) for _ in range(3)))
        spans = list(exact)
        firsts = np.searchsorted(found.ends, [start for start, _ in spans], side="right").tolist()
        ends = np.searchsorted(found.starts, [end for _, end in spans], side="left").tolist()
        for first, end in zip(firsts, ends, strict=True):
            covered.any[first:end] = True
            covered.later[first + 1 : end] = True
            covered.earlier[first : end - 1] = True
        return covered

    def keys(self, found: WordColumns, start: int, end: int) -> list[str]:
        """Return the keys of the words in a range that belong to exact matches, without function words."""
        return [found.keys[i] for i in range(start, end) if self.any[i] and found.keys[i]]


def similarity(span: str, name: str, rules: LanguageRules) -> float:
    """Compare a span of a text with a name, word by word.

    Each word of the name must be in the span, in any order. One of them may have other letters. If all other words are
    the same, one may have another ending. A word such as "disease" may be missing after proper names: "Tay-Sachs".
    The span may have a few modifiers inside. Function words do not count.

    Args:
        span: The span as the text writes it.
        name: The name as the vocabulary writes it.
        rules: The rules of the language.

    Returns:
        The Jaccard similarity of the character 3-grams of the words, from 0 to 1. 0 if the words do not fit.
    """
    if len(name) < FEWEST_CHARACTERS or is_acronym(name) or name.lower() in common_words(rules.code):
        return 0.0
    words, of_name = _content(span, rules), _content(name, rules)
    extra, missing = _without(words, of_name), _without(of_name, words)
    general = _general_keys(rules)
    if any(word in general for word in missing) and _is_proper(span):
        missing = [word for word in missing if word not in general]
    if len(missing) > 1 or (_is_joined(span, rules) and not _is_joined(name, rules)):
        return 0.0
    if missing:
        other = next((word for word in extra if is_other_form(word, missing[0], len(of_name) == 1, rules)), None)
        if other is None:
            return 0.0
        extra.remove(other)
        same = [missing[0] if word == other else word for word in words]
    else:
        same = words
    # "hepatitis in B": a single letter or digit belongs to the word before it
    if not _are_modifiers(extra, words) or (same != of_name and any(len(word) == 1 for word in words)):
        return 0.0
    ours, theirs = _trigrams(words), _trigrams(of_name)
    return len(ours & theirs) / len(ours | theirs)


def _initials(name: str, rules: LanguageRules) -> str:
    words = rules.words.pattern.findall(name.lower())
    return "".join(word[0] for word in words if word not in rules.words.function_words) if len(words) > 1 else ""


def _content(text: str, rules: LanguageRules) -> list[str]:
    return list(filter(None, written_and_keys(text, rules)[1]))


def _is_joined(text: str, rules: LanguageRules) -> bool:
    """Return whether a word such as "to" relates two words of a text. "of" and articles do not count."""
    joining = rules.words.function_words - rules.words.open_words
    return any(word.lower() in joining for word in rules.words.pattern.findall(text))


def _without(words: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the words that are left when each of the others is taken away once."""
    left = list(words)
    for word in others:
        if word in left:
            left.remove(word)
    return left


@lru_cache(maxsize=16)
def _general_keys(rules: LanguageRules) -> Collection[str]:
    return frozenset(key for name in rules.words.general_names for key in word_keys(name, rules))


def _is_proper(span: str) -> bool:
    """Return whether a span is a name of two or more persons or places: "Tay-Sachs", "von Willebrand"."""
    words = span.replace("-", " ").split()
    names = [word for word in words if word[0].isupper() and word[1:].islower()]
    return len(words) > 1 and all(len(word) <= MOST_PARTICLE for word in words if word not in names) and bool(names)


def _are_modifiers(extra: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether words of a span may be modifiers: few, inside, and neither a number nor a letter."""
    if not extra:
        return True
    if len(extra) > MOST_MODIFIERS or words[0] in extra or words[-1] in extra:
        return False
    return all(word.isalpha() and len(word) > 2 for word in extra)


def is_other_form(word: str, of_name: str, is_alone: bool, rules: LanguageRules) -> bool:
    """Return whether a word is a misspelling, or perhaps another form, of a word of a name.

    Args:
        word: The key of the word.
        of_name: The key of the word of the name.
        is_alone: Whether the name has no other word. Then another ending has another meaning: "hepatic", hepatitis.
        rules: The rules of the language.
    """
    if min(len(word), len(of_name)) < MIN_LETTERS or not (word.isalpha() and of_name.isalpha()):
        return False
    if word[0] != of_name[0] or are_opposites(word, of_name):
        return False
    common = _common_start(word, of_name)
    if not is_alone and common >= STEM and max(len(word), len(of_name)) - common <= MOST_ENDING:
        return True
    if word[-SAME_END:] != of_name[-SAME_END:] or word in _common_keys(rules):
        return False
    limit = 2 if len(word) >= LONG and not is_alone else 1
    return edit_distance(word, of_name, limit) <= limit


@lru_cache(maxsize=16)
def _common_keys(rules: LanguageRules) -> Collection[str]:
    """Return the keys of all words of general English. None of them is a misspelling."""
    words = [*common_words(rules.code), *common_nouns(rules.code)]
    return frozenset(written_and_keys(" ".join(words), rules)[1])


def _common_start(one: str, other: str) -> int:
    return next(
        (i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def _trigrams(words: Iterable[str]) -> set[str]:
    padded = [f" {word} " for word in words]
    return {word[i : i + 3] for word in padded for i in range(len(word) - 2)}


def _running(flags: np.ndarray) -> np.ndarray:
    """Return how many flags are set before each place, and in the end, int64."""
    return np.concatenate([[0], np.cumsum(flags)])
