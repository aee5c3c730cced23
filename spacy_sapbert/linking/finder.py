"""`NameFinder`: find the names of a vocabulary in a text, as it writes them, in other words, and as short forms."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ..kb.knowledge_base import KnowledgeBase
from ..text.abbreviations import AbbreviationOccurrence, is_long_form, longer_phrases
from ..text.composites import composite_splits
from ..text.languages import ENGLISH, LanguageRules
from ..text.short_forms import is_sense
from ..text.words import word_keys
from ..types import Grade
from .name_matcher import NameMatcher
from .other_words import LooseMatch, OtherWords, worded_types

Place = tuple[int, int]
"""The first character of a mention, and the position after its last one."""
Said = tuple[str, float, str]
"""A name that a text says in other words, how sure that is, from 0 to 1, and what differs."""


class FoundName(NamedTuple):
    """A mention: characters `start:end` of a text mean the name at `row` of the knowledge base.

    Attributes:
        row: The row of the name; of a composite mention, that of its first part.
        score: How sure it is, from 0 to 1. 1 is the name itself, or a short form of it.
        reason: What differs from the name; empty if the text has it as it is.
        parts: What the parts of a composite mention say in other words, by their texts. None if it is one name.
    """

    start: int
    end: int
    row: int
    score: float = 1.0
    reason: str = ""
    parts: Mapping[str, Said] | None = None

    @property
    def grade(self) -> Grade:
        """How well the name fits the text."""
        return Grade.REWRITTEN if self.reason or self.parts else Grade.SAME


_Found = dict[Place, FoundName]
_NUMBER = re.compile(r"(?:\d{1,2}[A-Za-z]?|[IVX]+)(?!\w)")
_AROUND = 80  # characters before and after a series of numbers that may belong to a name


class NameFinder:
    """Finds the names of a knowledge base in a text.

    Two indexes are asked: one has a key for each whole name, the other one the words of the names. The words alone
    would do, but then a vocabulary of symbols would take more time, and names such as "TNF-α1" would be missed, whose
    words depend on how they are written.

    Args:
        exact: Finds names as they are written.
        other: Finds names in other words. None opens it when it is needed.

    Attributes:
        worded: The types of the concepts that are also found in other words; "CONCEPT" is that of concepts without one.
    """

    def __init__(self, exact: NameMatcher, other: OtherWords | None = None) -> None:
        self.exact, self.kb, self.rules = exact, exact.kb, exact.rules
        self._other = other
        self._types: dict[int, frozenset[str]] = {}  # of the concepts of a name

    @classmethod
    def build(cls, kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> NameFinder:
        """Index the names of a knowledge base in memory."""
        return cls(NameMatcher.build(kb, rules), OtherWords.build(kb, rules))

    @cached_property
    def worded(self) -> frozenset[str]:
        return worded_types(self.kb, self.rules)

    @property
    def other_words(self) -> OtherWords | None:
        """What finds names in other words; None if no type has them. It comes from the cache, or is made there."""
        if self._other is None and self.worded:
            self._other = OtherWords.cached(self.kb, self.rules)
        return self._other if self.worded else None

    def find(
        self,
        text: str,
        short_forms: Iterable[AbbreviationOccurrence] = (),
        unclear: Iterable[AbbreviationOccurrence] = (),
        *,
        is_wanted: Callable[[str], bool] = bool,
        composites: bool = True,
        nested: bool = False,
    ) -> list[FoundName]:
        """Return the mentions of names. They may overlap, but are not inside a longer one unless `nested`.

        Args:
            short_forms: The short forms in the text. A definition takes precedence over other concepts with this name.
            unclear: Those with several senses.
            is_wanted: Whether a text that is a name is a mention. It is not asked for short forms.
            composites: Whether "breast and ovarian cancer" is a mention, too, if all its single mentions are names.
        """
        matches = self.exact.find(text, nested=nested)
        found: _Found = {match[:2]: FoundName(*match) for match in matches if is_wanted(text[match.start : match.end])}
        for occurrence in short_forms:
            self._define(found, text, occurrence)
            found |= self._longer_name(text, occurrence)
        for occurrence in unclear:
            name = found.get(occurrence[:2])
            if name and not is_sense(self.exact.name(name.row), occurrence.names, self.rules):
                del found[occurrence[:2]]
            found |= self._longer_name(text, occurrence)
        loose = dict(self._in_other_words(text, found, nested))
        found |= loose
        if composites:
            places = sorted({*(match[:2] for match in matches), *loose})
            for whole in (*self._composites(text, places), *self._series(text)):
                found.setdefault(whole[:2], whole)
        return list(found.values())

    # --- short forms

    def _define(self, found: _Found, text: str, occurrence: AbbreviationOccurrence) -> None:
        """Let a short form be the name that it stands for. It is no mention if its own name stands for another one."""
        place, names = occurrence[:2], occurrence.names or (occurrence.long,)
        row = next((row for name in names if (row := self.exact.match(name)) is not None), None)
        first = self._first_of_composite(occurrence.long) if row is None and occurrence.names else None
        if row is not None:
            found[place] = FoundName(*place, row)
        elif first is not None:
            found[place] = FoundName(*place, first, parts={})
        elif place in found and self._is_another(text[slice(*place)], occurrence.long, found[place].row):
            del found[place]

    def _first_of_composite(self, long_form: str) -> int | None:
        """Return the row of the first single mention of a long form, if all are names: "N/V/D"."""
        for parts in composite_splits(long_form, rules=self.rules):
            rows = [row for part in parts if (row := self.exact.match(part)) is not None]
            if len(rows) == len(parts):
                return rows[0]
        return None

    def _longer_name(self, text: str, occurrence: AbbreviationOccurrence) -> _Found:
        """Return the longest name around a short form of clinical notes: "breast CA", "acute MI". One at most."""
        if occurrence.names:
            for start, end, phrases in longer_phrases(text, occurrence, self.rules):
                rows = [self.exact.match(phrase) for phrase in phrases]
                known = [row for row in rows if row is not None]
                if known:
                    # of several senses, the most frequent one comes first
                    is_clear = bool(occurrence.long) or known == rows[:1]
                    return {(start, end): FoundName(start, end, known[0])} if is_clear else {}
        return {}

    def _is_another(self, short: str, long_form: str, row: int) -> bool:
        """Return whether a short form of a text, whose long form is not a name, is not the name in a row either.

        "VHL" is still von Hippel-Lindau disease if the text has "von Hippel-Lindau (VHL) disease". A symbol with a
        number such as "COX-2" is seldom another one, unless a name of its concept is its long form.
        """
        wanted = set(word_keys(long_form, self.rules))
        _, owners = self.kb.name_concepts.of(np.array([row]))
        concepts = np.unique(self.kb.name_concepts.concepts[owners]).tolist()
        names = dict.fromkeys(text for of_concept in self.kb.names_of_concepts(concepts) for text in of_concept)
        if wanted and any(wanted.issubset(word_keys(name, self.rules)) for name in names):
            return False
        is_symbol = any(map(str.isdigit, short)) and not self._has_other_words(row)
        return not is_symbol or any(is_long_form(short, name, self.rules) for name in names)

    # --- other words

    def _in_other_words(self, text: str, found: Collection[Place], nested: bool) -> Iterator[tuple[Place, FoundName]]:
        """Yield the names in other words, by place, that are not inside a name, or not one if `nested`."""
        finder = self.other_words
        if finder is None:
            return
        places = sorted(found)
        reach = [*accumulate((end for _, end in places), max)]
        for match in finder.find(text):
            first, last = bisect_left(places, (match.start,)), bisect_left(places, (match.end,))
            before = bisect_right(places, (match.start, len(text)))
            inside = before > 0 and reach[before - 1] >= match.end
            # a name inside is surer than one with a word between, and always if it has this word
            at, names = match.skipped, places[first:last]
            outside = at is not None and any(
                end <= match.end and (not nested or start <= at < end) for start, end in names
            )
            is_free = not outside and (nested or not inside)
            if match[:2] not in found and is_free and self._has_other_words(match.row):
                yield match[:2], FoundName(*match[:3], *match.evidence)

    def _has_other_words(self, row: int) -> bool:
        """Return whether a concept with the name in a row has one of the types that are found in other words."""
        if row not in self._types:
            _, owners = self.kb.name_concepts.of(np.array([row]))
            of_concepts = self.kb.types_at(self.kb.name_concepts.concepts[owners].tolist())
            self._types[row] = frozenset(type for own in of_concepts for type in own or ("CONCEPT",))
        return not self.worded.isdisjoint(self._types[row])

    # --- composites

    def _match_part(self, part: str) -> LooseMatch | None:
        """Return the name that a whole text says in other words, or None. It is not asked for names themselves."""
        match = self.other_words.match(part) if self.other_words is not None else None
        return match if match is not None and self._has_other_words(match.row) else None

    def _composites(self, text: str, places: Sequence[Place]) -> Iterator[FoundName]:
        """Yield the composite mentions around names at some places, see `NameMatcher.find_composites`."""

        def row_of(part: str) -> int | None:
            row = self.exact.match(part)
            other = self._match_part(part) if row is None else None
            return row if other is None else other.row

        for whole in self.exact.find_composites(text, places, row_of if self.other_words is not None else None):
            splits = composite_splits(text[whole.start : whole.end], max_splits=1, rules=self.rules)
            parts = [part for split in splits for part in split if self.exact.match(part) is None]
            matches = {part: match for part in parts if (match := self._match_part(part)) is not None}
            said = {part: (self.exact.name(match.row), *match.evidence) for part, match in matches.items()}
            yield FoundName(*whole, parts=said)

    def _series(self, text: str) -> Iterator[FoundName]:
        """Yield the mentions in which several numbers share a name: "type 1/2 diabetes", "HSV-1 and -2 infection"."""
        for series in _series_pattern(self.rules).finditer(text):
            first, last = series.span()
            numbers = [number[0] for number in _NUMBER.finditer(text, first, last)]
            before, after = text[max(0, first - _AROUND) : first], text[last : last + _AROUND]
            end = len(before) + len(numbers[0])
            for match in self.exact.find(f"{before}{numbers[0]}{after}"):
                if match.start <= len(before) and end <= match.end:
                    ahead, behind = before[match.start :], after[: match.end - end]
                    rows = [self.exact.match(f"{ahead}{number}{behind}") for number in numbers]
                    if None not in rows and len({*rows}) == len(numbers):
                        yield FoundName(first - len(ahead), last + len(behind), match.row, parts={})


@cache
def _series_pattern(rules: LanguageRules) -> re.Pattern[str]:
    """Return the pattern of several numbers that a slash, commas or words join."""
    words = "|".join(map(re.escape, (*rules.abbreviations.joining, "&")))
    joint = rf"(?:/|,\s(?:(?:{words})\s)?|\s(?:{words})\s)[-–]?"
    return re.compile(rf"(?<![\w.,]){_NUMBER.pattern}(?:{joint}{_NUMBER.pattern})+(?![\w%])")
