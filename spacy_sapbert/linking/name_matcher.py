"""`NameMatcher`: find the names of a vocabulary as a text writes them, by hashes of bags of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import compress, pairwise, takewhile
from typing import NamedTuple

import numpy as np

from ..files.values import hash64
from ..kb.knowledge_base import KnowledgeBase
from ..store.cache import drop_oldest
from ..text.common_words import common_words
from ..text.composites import composite_splits
from ..text.critical_parts import ARABIC
from ..text.languages import ENGLISH, LanguageRules
from ..text.languages.rules import connector_ends
from ..text.normalize import latin_symbol, plain
from ..text.words import (
    MAX_ACRONYM,
    Words,
    acronym_hash,
    acronym_of,
    has_other_sign,
    is_general,
    is_joined,
    joined_letters,
    read_each,
    read_words,
    word_hashes,
)
from .name_index import NameIndex, chunks_of

MAX_WORDS = 12
MAX_ADDED = 3
LONGEST_MODIFIER = 32  # characters; it bounds the work before a name
CACHED_NAMES = 1 << 14
CONTEXT = 80  # characters that are read around a word in capitals
WORDS_PER_BLOCK = 1 << 12  # they bound the memory for a long text
FEWEST_BITS, BITS_PER_BLOCK = 10, 20  # powers of two

_LONGEST_SHORTENED = 5  # characters, as in "subsp."
_ROMAN = {number: roman for roman, number in ARABIC.items()}
_NUMERALS = frozenset({*_ROMAN, *ARABIC})
_LETTERS_FOR_NUMBERS = frozenset(number for number, roman in _ROMAN.items() if len(roman) == 1)

_SENTENCE_END = re.compile(r"[.;!?]\s|\n")
_LETTERS = re.compile(r"[^\W\d_]+")
_ANY_WORD = re.compile(r"[^\s,;/()]+")
_WORDS = rf"((?:[^\s,;/().]+ ){{0,{MAX_ADDED - 1}}}[^\s,;/().]+)"


class NameMatch(NamedTuple):
    """A match: characters `start:end` of a text are the name at `row` of the knowledge base."""

    start: int
    end: int
    row: int


@cache
def _connectors(rules: LanguageRules) -> tuple[re.Pattern[str], re.Pattern[str], tuple[str, ...]]:
    """Return the patterns of words and a connector before and after a match, and how a text before one ends."""
    joining = rules.abbreviations.joining
    connector = rf"(?:\s+(?:{'|'.join(joining)})\s+|/)"
    before = re.compile(rf"(?<![^\s(,;]){_WORDS}{connector}$")
    return before, re.compile(rf"{connector}{_WORDS}"), connector_ends(joining)


class NameMatcher(NameIndex):
    """Finds the longest names of a knowledge base in a text. Case, plural, spelling and word order may differ.

    The key of a name is the sum of the hashes of its words. One running sum gives the keys of all windows of n words of
    a text. A bitmap shows which of them may be keys of names. One binary search looks up the others.

    Args:
        arrays: The sorted keys of names, uint64, shape (n,); and the row of each name, int32, shape (n,). Equal keys
            are ordered by tie rank.
    """

    ROLE, VERSION, VERSION_KEY = "matcher", 5, "keys"
    ARRAYS = "name_hashes", "name_rows"

    def __init__(self, kb: KnowledgeBase, arrays: Sequence[np.ndarray], rules: LanguageRules = ENGLISH) -> None:
        super().__init__(kb, arrays, rules)
        self.hashes, self.rows = self.arrays
        self._names: dict[int, Words] = {}  # names that were found, since most of them occur again

    def __repr__(self) -> str:
        return f"NameMatcher({len(self.rows):,} names of {self.kb!r})"

    @classmethod
    def build(cls, kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> NameMatcher:
        keys = np.zeros(kb.n_names, dtype=np.uint64)
        for first, names in chunks_of(kb.names()):
            keys[first : first + len(names)] = name_hashes(names, rules)
        keys[kb.stop_name_rows()] = 0
        rows = np.flatnonzero(keys).astype(np.int32)  # a name of function words and punctuation has no key
        rows = rows[np.argsort(keys[rows], kind="stable")]
        hashes = keys[rows]
        del keys
        shared = _shared(hashes)
        order = np.lexsort((_tie_ranks(kb, rows[shared]), hashes[shared]))
        rows[shared] = rows[shared][order]
        return cls(kb, [hashes, rows], rules)

    def find(self, text: str, *, nested: bool = False) -> list[NameMatch]:
        """Return all matches, by position. They may overlap, but are not inside a longer one unless `nested`."""
        columns = read_words(_bracketed_types(self.rules).sub(r" \1 ", text), self.rules)
        pending = self._windows(columns)
        reach = [0] * len(columns.keys)  # for each word, the end of the match that contains it, in words
        matches: list[NameMatch] = []
        while pending:
            outer, inner = _outermost(pending)
            names = self._read({row for window in outer for row in window.rows})
            for start, end, rows in outer:
                candidates = [(row, names[row]) for row in rows if _has_breaks(columns, start, end, names[row])]
                row = _verify(text, columns, start, end, candidates)
                place = columns.starts[start], columns.ends[end - 1]
                if row is not None and not self._is_another_word(row, text, *place):
                    matches.append(NameMatch(*_with_bracket(text, *place), row))
                    reach[start:end] = [max(end, other) for other in reach[start:end]]
            # most names inside a longer one are never read
            pending = [window for window in inner if nested or reach[window.start] < window.end]
        return sorted(matches)

    def name(self, row: int) -> str:
        """Return the name in a row of the knowledge base."""
        return self._read({row})[row].text

    def find_composites(
        self, text: str, matches: Iterable[tuple[int, int]], match: Callable[[str], int | None] | None = None
    ) -> list[NameMatch]:
        """Find composite mentions: a match, a connector, and words that need a part of the match to be a name.

        In "breast and ovarian cancer", only "ovarian cancer" is written out. The whole is found since both single
        mentions are names.

        Args:
            matches: The first character and the end of each match.
            match: Also returns the row of a name that a whole text says in other words. None finds no such names.

        Returns:
            One match per composite, with the row of its first single mention.
        """
        composites, matches = [], list(matches)
        cut = {position for start, end in matches for position in range(start + 1, end)}  # within other names
        for place in matches:
            for start, end in _extensions(text, *place, self.rules):
                if (start in cut and start != place[0]) or (end in cut and end != place[1]):
                    continue
                keys = read_words(text[start:end], self.rules).keys
                part = match if end == place[1] or self._ends_phrase(text, end) else None
                rows = self.composite_rows(text[start:end], part) if keys[0] and keys[-1] else []
                if rows:
                    composites.append(NameMatch(start, end, rows[0]))
                    break
        return composites

    def _ends_phrase(self, text: str, end: int) -> bool:
        """Return whether no noun follows: "motor" in "speech and motor development" is no end."""
        following = _ANY_WORD.match(text, end + 1) if text[end : end + 1] == " " else None
        return following is None or following[0].lower() in self.rules.abbreviations.stop_words

    def composite_rows(self, text: str, match: Callable[[str], int | None] | None = None) -> list[int]:
        """Find the most plausible composite split into names, if not all parts are written out.

        Args:
            match: See `find_composites`. It is only asked for the most plausible split of all.

        Returns:
            The rows of these names, or an empty list.
        """
        text = " ".join(plain(text).split())
        splits = composite_splits(text, rules=self.rules)
        tried = [(self.match, parts) for parts in splits] + [(match, parts) for parts in splits[:1] if match]
        for match_part, parts in tried:
            if not all(part in text for part in parts):
                rows = [*takewhile(lambda row: row is not None, map(match_part, parts))]
                if len(set(rows)) == len(parts):
                    return [row for row in rows if row is not None]
        return []

    @staticmethod
    def start_with_modifiers(text: str, start: int, modifiers: Collection[str], barred: Collection[int]) -> int:
        """Return where a name starts with the modifiers before it.

        A modifier is a whole word, with one blank after it.

        Args:
            start: The first character of the name.
            modifiers: Lower-case modifiers of at most `LONGEST_MODIFIER` characters.
            barred: The ends of other names, as positions after their last characters. No modifier ends there.
        """
        while start > 1 and text[start - 1] == " " and start - 1 not in barred:
            before = text[max(0, start - LONGEST_MODIFIER - 2) : start - 1]
            words = before.split()
            word = words[-1].lstrip("([\"'") if words and not before[-1].isspace() else ""
            if word.lower() not in modifiers:
                break
            start -= len(word) + 1
        return start

    def match(self, text: str) -> int | None:
        """Return the row of the name that equals a whole text, or None."""
        columns = read_words(text, self.rules)
        if not columns.keys or not columns.keys[0] or not columns.keys[-1]:
            return None
        written = plain(text[columns.starts[0] : columns.ends[-1]])
        keys = [acronym_hash(written), *(sum(hashes) % 2**64 for hashes in _spellings(columns))]
        rows = [row for key in keys for row in self._rows(key)]
        if not rows:
            return None
        names = self._read(set(rows))
        return _verify(text, columns, 0, len(columns.keys), [(row, names[row]) for row in rows])

    def _windows(self, columns: Words) -> list[_Window]:
        """Return the windows with the key of a name, by position. Of those with one start, the longest is first."""
        sums = [_running(hashes) for hashes in _spellings(columns)]
        breaks, solid = np.cumsum(_barriers(columns)), np.array([*map(bool, columns.keys)], dtype=bool)
        windows: dict[tuple[int, int], list[int]] = {}
        for first in range(0, len(solid), WORDS_PER_BLOCK):
            starts, ends = _bounded_windows(breaks, solid, first)
            for which in sums:
                keys = which[ends] - which[starts]
                known = np.flatnonzero(self._may_know(keys))
                if which is not sums[0]:
                    known = known[keys[known] != sums[0][ends[known]] - sums[0][starts[known]]]
                for at, rows in zip(known.tolist(), self._look_up(keys[known]), strict=True):
                    if rows:
                        windows.setdefault((int(starts[at]), int(ends[at])), []).extend(rows)
        joined = self._joined(columns)
        places = sorted({*windows, *joined}, key=lambda place: (place[0], -place[1]))
        return [_Window(*place, joined.get(place, []) + windows.get(place, [])) for place in places]

    def _joined(self, columns: Words) -> dict[tuple[int, int], list[int]]:
        """Return the rows of acronyms and of two words with a hyphen between that are written as one word in a name."""
        keys = {(i, i + 1): word.acronym for i, word in enumerate(columns.words) if word.acronym and word.key}
        for i in compress(range(len(columns.keys)), columns.hyphens):  # "VEGF-C", "pre-eclampsia"
            if columns.keys[i - 1] and columns.keys[i]:
                word = "".join(columns.written[i - 1 : i + 1])
                alone = not (
                    columns.hyphens[i - 1] or columns.hyphens[i + 1 : i + 2] == [True]
                )  # not "N-nitro-L-arginine"
                acronym = acronym_hash(latin_symbol(word))
                keys[i - 1, i + 1] = acronym or (read_each([word], self.rules)[0].hash if alone else 0)
        rows = self._look_up(np.array([*keys.values()], dtype=np.uint64))
        return {place: of_place for place, of_place in zip(keys, rows, strict=True) if of_place}

    def _is_another_word(self, row: int, text: str, start: int, end: int) -> bool:
        """Return whether a match is a word of general English, and the name in a row a symbol, such as "IMPACT".

        The concept of a symbol has other symbols. Names in capitals that only say it louder are no symbols.
        """
        name = self.name(row)
        if not name.isupper() or " " in name or not is_general(name):
            return False
        if name == text[start:end] and not _is_in_capitals(text, start, end):
            return False
        _, owners = self.kb.name_concepts.of(np.array([row]))
        concepts = self.kb.name_concepts.concepts[owners].tolist()
        names = (other for of_concept in self.kb.names_of_concepts(concepts) for other in of_concept)
        return any(other.isupper() and " " not in other for other in names if other != name)

    @cached_property
    def _bitmap(self) -> tuple[int, np.ndarray]:
        """How far to shift a key, and which of the shifted keys occur, one bit each: 8 to 16 bits per name."""
        n_bits = max(FEWEST_BITS, len(self.hashes).bit_length() + 3)
        shift, size = 64 - n_bits, 1 << min(n_bits, BITS_PER_BLOCK)
        bits = np.zeros(1 << n_bits - 3, dtype=np.uint8)
        limits = np.arange(0, 1 << n_bits, size, dtype=np.uint64) << np.uint64(shift)
        edges = [*np.searchsorted(self.hashes, limits).tolist(), len(self.hashes)]
        for block, (left, right) in enumerate(pairwise(edges)):
            occurs = np.zeros(size, dtype=bool)
            occurs[(self.hashes[left:right] >> np.uint64(shift)) - np.uint64(block * size)] = True
            bits[block * size // 8 : (block + 1) * size // 8] = np.packbits(occurs, bitorder="little")
        return shift, bits

    def _may_know(self, keys: np.ndarray) -> np.ndarray:
        """Return whether keys may be those of names, bool, shape (keys,). It is certain that the others are not."""
        shift, bits = self._bitmap
        prefixes = keys >> np.uint64(shift)
        return (bits[prefixes >> np.uint64(3)] >> (prefixes & np.uint64(7)).astype(np.uint8) & 1).astype(bool)

    def _look_up(self, keys: np.ndarray) -> list[list[int]]:
        """Return the rows of the names with each key."""
        lefts, rights = np.searchsorted(self.hashes, keys), np.searchsorted(self.hashes, keys, "right")
        edges = zip(lefts.tolist(), rights.tolist(), strict=True)
        return [self.rows[left:right].tolist() if left < right else [] for left, right in edges]

    def _rows(self, key: int) -> list[int]:
        shift, bits = self._bitmap
        prefix = key >> shift
        if not key or not int(bits[prefix >> 3]) >> (prefix & 7) & 1:
            return []
        return self._look_up(np.array([key], dtype=np.uint64))[0]

    def _read(self, rows: set[int]) -> dict[int, Words]:
        """Return the names in some rows."""
        names = {row: name for row in rows if (name := self._names.get(row)) is not None}
        missing = sorted(rows.difference(names))
        if missing:
            read = dict(zip(missing, [read_words(name, self.rules) for name in self.kb.names_at(missing)], strict=True))
            names |= read
            self._names |= read
            drop_oldest(self._names, CACHED_NAMES)
        return names


class _Window(NamedTuple):
    """The words `start:end` of a text, and the rows of the names with their key."""

    start: int
    end: int
    rows: list[int]


def _outermost(windows: Sequence[_Window]) -> tuple[list[_Window], list[_Window]]:
    """Return the windows that are not inside another one, and the others. See `_windows` for their order."""
    outer: list[_Window] = []
    inner: list[_Window] = []
    furthest = 0
    for window in windows:
        (outer if window.end > furthest else inner).append(window)
        furthest = max(furthest, window.end)
    return outer, inner


def _running(hashes: Sequence[int]) -> np.ndarray:
    return np.cumsum(np.array([0, *hashes], dtype=np.uint64), dtype=np.uint64)


def _barriers(columns: Words) -> list[bool]:
    """Return whether no name crosses what comes before each word. "E. coli" and "pain; chest" may be names."""
    barriers = list(columns.broken)
    for place in compress(range(len(barriers)), barriers):
        gap = columns.gaps[place].strip()
        barriers[place] = not (
            gap in (";", ":") or (gap == "." and len(columns.written[place - 1]) <= _LONGEST_SHORTENED)
        )
    return barriers


def _bounded_windows(breaks: np.ndarray, solid: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first word and the end of each window that can be a name, twice int64, shape (windows,).

    There is no break inside, and no function word at either end: `breaks` counts the breaks up to each word, `solid`
    says which words are no function words. The windows start at the `WORDS_PER_BLOCK` words from `first` on.
    """
    starts = first + np.flatnonzero(solid[first : first + WORDS_PER_BLOCK])
    lasts = starts[:, None] + np.arange(MAX_WORDS)
    inside = lasts < len(solid)
    lasts = np.where(inside, lasts, 0)
    start_rows, lengths = np.nonzero(inside & solid[lasts] & (breaks[lasts] == breaks[starts][:, None]))
    return starts[start_rows], starts[start_rows] + lengths + 1


def _spellings(columns: Words) -> list[list[int]]:
    """Return the hashes of the words, and those with all numerals in digits or as Roman ones where that differs.

    A numeral of one letter is only one after a word such as "type", and only there are digits made Roman: "factor II"
    is factor 2, but "factor 2" is seldom a factor II.
    """
    spelled, is_type = [columns.hashes], columns.rules.composites.classifier.fullmatch
    in_digits, as_roman = dict[int, str](), dict[int, str]()
    for place in [place for place, key in enumerate(columns.keys) if key in _NUMERALS]:
        number = ARABIC.get(columns.keys[place], columns.keys[place])
        if place and is_type(columns.written[place - 1]):
            as_roman[place] = _ROMAN[number]
        elif number in _LETTERS_FOR_NUMBERS or columns.written[place][0].islower():
            continue
        in_digits[place] = number
    for forms in filter(None, (in_digits, as_roman)):
        hashes = list(columns.hashes)
        for place, form in forms.items():
            hashes[place] = hash64(form)
        spelled += [hashes] if hashes not in spelled else []
    return spelled


def _has_breaks(columns: Words, start: int, end: int, name: Words) -> bool:
    """Return whether a name has all breaks of a window, such as the point in "St. Louis encephalitis"."""
    if not any(columns.broken[start + 1 : end]):
        return True
    gaps, of_name = ([gap.strip() for gap in some] for some in (columns.gaps[start + 1 : end], name.gaps[1:-1]))
    return gaps == of_name


def _shared(hashes: np.ndarray) -> np.ndarray:
    """Return the positions of the sorted keys that occur more than once, int64."""
    same = hashes[1:] == hashes[:-1]
    return np.flatnonzero(np.concatenate([same, [False]]) | np.concatenate([[False], same]))


def _tie_ranks(kb: KnowledgeBase, rows: np.ndarray) -> np.ndarray:
    """Return the tie rank of each name by its best concept, int64, shape (rows,); see `NameConceptMap.ranks`."""
    which, entries = kb.name_concepts.of(rows)
    order = np.lexsort((rows[which], kb.name_concepts.ranks[entries]))
    best, firsts = np.unique(which[order], return_index=True)
    ranks = np.zeros(len(rows), dtype=np.int64)
    ranks[best] = firsts
    return ranks


def _extensions(text: str, start: int, end: int, rules: LanguageRules) -> Iterator[tuple[int, int]]:
    """Yield a match with a connector and 1 to `MAX_ADDED` words on either side, fewest words first."""
    pattern, pattern_after, ends_of_text = _connectors(rules)
    earliest = max(0, start - 80)
    ends_in_connector = text[earliest:start].rstrip().endswith(ends_of_text)  # much faster than the search
    before = pattern.search(text, earliest, start) if ends_in_connector else None
    if before:
        starts = [word.start() for word in _ANY_WORD.finditer(text, before.start(1), before.end(1))]
        yield from ((earlier, end) for earlier in reversed(starts))
    after = pattern_after.match(text, end)
    if after:
        ends = [word.end() for word in _ANY_WORD.finditer(text, after.start(1), after.end(1))]
        yield from ((start, later) for later in ends)


def _verify(text: str, columns: Words, start: int, end: int, candidates: Sequence[tuple[int, Words]]) -> int | None:
    """Return the row of the name that a window equals, or None.

    A word of general English is not another form of a name, such as a plural: "into" is not Intoe. Two bags of words
    may share a hash, and not all words may change places. A comma may only be inside a name that stands alone:
    "knee pain, back pain" is not Pain, Back. Words joined by "to", "with" and similar words only match a name with such
    a word: "lip with cleft …" is not cleft lip. If a word is a single letter or digit, the words must be the same in
    the same order: "hepatitis in a …" and "B hepatitis" are not names. Only "type 2" and the like may change places.
    """
    place = columns.starts[start], columns.ends[end - 1]
    written = " ".join(plain(text[slice(*place)]).split())
    lower = written.lower()
    if not _may_cross_comma(columns, start, end):
        return None
    keys = tuple(columns.keys[start:end])
    same, acronym = None, acronym_of(latin_symbol(written.replace("-", "")))
    if acronym and is_general(written) and _is_in_capitals(text, *place):
        acronym = ""
    for row, name in candidates:
        if (
            name.acronym == acronym
            if name.acronym
            else (_same_name(columns, start, end, keys, name) or _same_symbol(written, name.text))
        ):
            if has_other_sign(written, name.text, columns.rules):
                continue
            # prefer the name as written; otherwise the rows are ordered by tie rank
            if name.text.lower() == lower:
                return row
            same = row if same is None else same
    return None if lower in common_words(columns.rules.code) else same


@cache
def _bracketed_types(rules: LanguageRules) -> re.Pattern[str]:
    """Return the pattern of a type in brackets, which may be a part of a name: "diabetes mellitus (type 2)"."""
    return re.compile(rf"\(({rules.composites.classifier.pattern} \w{{1,4}})\)", re.IGNORECASE)


def _with_bracket(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of a match with the bracket behind it that closes one inside."""
    return start, end + (text[end : end + 1] == ")" and text.rfind("(", start, end) > text.rfind(")", start, end))


def _may_cross_comma(columns: Words, start: int, end: int) -> bool:
    """Return whether there is no comma, one before a type, or no word before and after that belongs to the window.

    Before "failure, acute" there may be any word.
    """
    commas = [place for place in range(start + 1, end) if columns.commas[place]]
    if not commas or columns.rules.composites.classifier.fullmatch(columns.written[commas[0]]):
        return True
    qualifiers = columns.rules.composites.qualifiers.issuperset(map(str.lower, columns.written[commas[0] : end]))
    starts = qualifiers or start == 0 or columns.broken[start] or not columns.keys[start - 1]
    return starts and (end == len(columns.keys) or columns.broken[end] or columns.commas[end])


def _is_in_capitals(text: str, start: int, end: int) -> bool:
    """Return whether a word in capitals is in a sentence or heading of capitals, where case says nothing."""
    before = _SENTENCE_END.split(text[max(0, start - CONTEXT) : start])[-1]
    after = _SENTENCE_END.split(text[end : end + CONTEXT])[0]
    if not before.strip() and after.startswith(":"):
        return True
    around = f"{before} {after}"
    return around.upper() == around and any(map(is_general, _LETTERS.findall(around)))


def _same_name(columns: Words, start: int, end: int, keys: tuple[str, ...], name: Words) -> bool:
    if keys == name.keys:
        return True
    written, rules = columns.written[start:end], columns.rules
    if not name.joined and is_joined(written, keys, rules):
        return False
    # "II" means 2; words of one meaning such as "low" and "decreased" have other hashes
    said, of_name = ([word.meaning for word in words] for words in (columns.words[start:end], name.words))
    content, others = _units(written, said, rules), _units(name.written, of_name, rules)
    if said == of_name or any(len(key) == 1 for key in (*content, *others)):
        return said == of_name
    return content == others or (sorted(content) == sorted(others) and _may_change_places(columns, start, end))


def _may_change_places(columns: Words, start: int, end: int) -> bool:
    """Return whether there is no comma, or only words that say which one behind it: "failure, acute"."""
    rules = columns.rules.composites
    after = next((place for place in range(start + 1, end) if columns.commas[place]), end)
    said = (rules.classifier, rules.numerals, rules.adjectives)
    words = columns.written[after:end]
    return all(word.lower() in rules.qualifiers or any(kind.fullmatch(word) for kind in said) for word in words)


def _same_symbol(written: str, name: str) -> bool:
    """Return whether two texts are equal without hyphens and blanks. "p 53" is not p53, but a page."""
    letters = joined_letters(written)
    return letters == joined_letters(name) and (" " not in written or len(letters) > MAX_ACRONYM)


def _units(written: Sequence[str], keys: Sequence[str], rules: LanguageRules) -> list[str]:
    """Return the keys of the words that are no function words; "type" with the key behind it is one."""
    units: list[str] = []
    classifier = False
    for word, key in zip(written, keys, strict=True):
        if classifier and len(key) == 1:
            units[-1] += " " + key
        elif key:
            units.append(key)
        classifier = bool(rules.composites.classifier.fullmatch(word))
    return units


def name_hashes(names: list[str], rules: LanguageRules = ENGLISH) -> np.ndarray:
    """Return the keys of names, uint64, shape (names,): as an acronym, or else as a bag of words. 0 for no words."""
    of_word, hashes = word_hashes(names, rules)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    edges = np.searchsorted(of_word, np.arange(len(names) + 1))
    keys: np.ndarray = sums[edges[1:]] - sums[edges[:-1]]
    for i, name in enumerate(names):
        if key := acronym_hash(plain(name)):
            keys[i] = key
    return keys
