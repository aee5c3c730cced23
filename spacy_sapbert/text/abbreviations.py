"""Find abbreviations in a text: their definitions, their occurrences, mentions with long forms
filled in, and likely long forms of those without a definition.

All functions work on characters, so results do not depend on a tokenizer.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise, product
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple

from .formulas import formula_name
from .languages import ENGLISH, LanguageRules
from .long_forms import Definition, find_joint_forms, find_long_form
from .short_forms import ShortForm
from .words import read_words, word_keys

# Limits of Sohn et al. (2008).
MAX_LETTERS = 10
MAX_SHORT_WORDS = 2
MAX_LONG_WORDS = 10
# Characters of a short form, and of a long form or the content of a bracket. They bound the work per bracket.
MAX_SHORT_CHARS = 30
MAX_CHARS = 250
# Up to this number, searching each short form in the text is faster than looking up each word of the text.
FEW = 100
MIN_DASHED = 3  # characters of a short form without whose hyphen another one may be meant: "A-B"
# For a short form without a definition: of the strategies of Ab3P, those with at least this estimated precision, and of
# the texts that start with the same letter, so many. This bounds the work on a document with very many of them.
MIN_PRECISION = 0.9
MOST_TEXTS = 64

MAX_NEIGHBORS = 2  # words on each side of a short form that may belong to a longer name
MAX_WORDS_INSIDE = 6  # words in a bracket with several short forms, or with words before one

_CLOSING = {"(": ")", "[": "]"}
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
_SEPARATOR = re.compile(r"(?:[,;]|(?<=\w\w):)\s+")
_EDGES = string.whitespace + '\xa0\u2009\u202f,;:"“”‘’«»„'
_PLAIN_BRACKETS = str.maketrans("（）［］", "()[]")
# Words that stand before a short form in brackets: "(now MASH)", "(also called PCOS)", "(kurz KHK)".
_ANNOUNCING = frozenset({"abbreviated", "also", "called", "formerly", "here", "kurz", "now", "previously", "termed"})
_WORD = re.compile(r"[^\W\d_]{4}")
# Not short forms: statistics ("n=5", "p<0.05"), and numbers and labels ("12", "2c").
_STATISTIC_OR_LABEL = re.compile(r".*[=<>]|\d+[a-z]?$")
_SERIES = (
    ("a", "b", "c", "d", "e", "f"),
    ("A", "B", "C", "D", "E", "F"),
    ("i", "ii", "iii", "iv", "v", "vi"),
    ("I", "II", "III", "IV", "V", "VI"),
)
_WORD_OR_SIGN = re.compile(r"[^\W_]+|\S")
_NEXT_WORD = re.compile(r"[ \xa0]([^\W_]+)")
_FOLLOWING_WORD = re.compile(r"\s+([^\W_]+)")
_LAST_WORD = re.compile(r"(?<![^\W_])[^\W_]+$")
_LAST_WORD_BEFORE = re.compile(r"(?<![^\W_])([^\W_]+)[ \xa0]$")
_FIRST_WORD = re.compile(r"[^\W_]+")
_OPENING = re.compile(r"\s*(?:(?P<bracket>[(\[])|[,;])\s*")
_REST_OF_BRACKET = re.compile(r"[^()\[\]]*[)\]]?")
_WORD_OF_BRACKET = re.compile(r"[^\s=/()\[\]]+")
_ROMAN = frozenset("IVX")
# What belongs to the form before a bracket: "-6" in "Interleukin (IL)-6", and "3A4" in "cytochrome P450 (CYP)3A4".
_TAIL = re.compile(
    rf"[)\]](?P<tail>[{_DASHES}]?(?:\d\w{{,4}}|(?:[A-Zα-ω]|alpha|beta|gamma|delta|kappa)\d{{,2}}))(?!\w)"
)
_LETTERS_AND_NUMBER = re.compile(r"([^\W\d_]{2,})(\d\w*)")

Offsets = tuple[int, int]
Edit = tuple[int, int, str]
"""Start and end in the text, and the replacement."""
_Piece = tuple[int, str]
"""Start of a piece of the text, and the piece."""


_PRECISION = attrgetter("precision")
_SHORT_START = attrgetter("short_start")


class AbbreviationOccurrence(NamedTuple):
    """An occurrence of a short form in a text. The short form in its definition is an occurrence, too.

    Attributes:
        start: First character of the short form.
        end: Position after its last character, including the "s" of a plural.
        long: The long form as it was defined. Empty if the short form has several, and the text does not decide.
        long_start: First character of the long form in its definition. None if the text does not define it.
        long_end: Position after the last character of the long form. None if the text does not define it.
        names: For a short form of clinical notes, all names of its sense. If `long` is empty, that of each sense.
    """

    start: int
    end: int
    long: str
    long_start: int | None
    long_end: int | None
    names: tuple[str, ...] = ()


# --- definitions


def find_definitions(text: str, *, min_precision: float = 0.9, rules: LanguageRules = ENGLISH) -> list[Definition]:
    """Find definitions of abbreviations: `long form (SF)`, `SF (long form)`, `(long form, SF)`, also with `[]`.

    Several short forms in a bracket may share a coordination: "Duchenne or Becker muscular dystrophy (DMD/BMD)".

    Args:
        text: A text of any length.
        min_precision: Use only strategies with at least this estimated precision, 0 to 1.

    Returns:
        The definitions, sorted by position of the short form.
    """
    found: list[Definition] = []
    text = text if text.isascii() else text.translate(_PLAIN_BRACKETS)
    if "(" not in text and "[" not in text:
        return found
    ends: dict[int, int] = {}  # of the brackets with definitions
    for bracket in _without_list_markers(_find_brackets(text, rules)):
        before = max(ends, default=None)
        if before is not None and ends[before] < bracket.start and not text[ends[before] + 1 : bracket.start].strip():
            bracket = bracket._replace(behind=before)
        definitions = [
            definition
            for short, words in _propose(text, bracket, rules)
            if (definition := _define(short, words, min_precision, rules))
        ]
        if definitions:
            definitions = [max(definitions, key=_PRECISION)]
        elif _has_capitals(text[bracket.start : bracket.end]):
            definitions = [*_define_joint_forms(text, bracket, min_precision, rules)]
            definitions = definitions or [*_define_inside(text, bracket, min_precision, rules)]
        if definitions:
            ends[bracket.start] = bracket.end
            found += definitions
    return sorted(found, key=_SHORT_START)


class _Bracket(NamedTuple):
    """A pair of brackets.

    Attributes:
        start: Position of the opening bracket.
        end: Position of the closing bracket.
        outer: Start of the content of the enclosing bracket, or 0.
        parts: Its content, split at commas and semicolons, without quotes. There is at least one part.
        behind: Where the words before it end. That is before another bracket with a definition: "receptor (R1) [R-1]".
    """

    start: int
    end: int
    outer: int
    parts: list[_Piece]
    behind: int


def _find_brackets(text: str, rules: LanguageRules) -> list[_Bracket]:
    brackets = []
    edges = _EDGES + rules.abbreviations.quotes
    stacks: dict[str, list[int]] = {")": [], "]": []}
    for pos in sorted(pos for char in "()[]" for pos in _find_all(text, char)):
        char = text[pos]
        if char in _CLOSING:
            stacks[_CLOSING[char]].append(pos)
        elif stacks[char]:
            start = stacks[char].pop()
            if pos - start <= MAX_CHARS:
                outer = [stack[-1] + 1 for stack in stacks.values() if stack and stack[-1] < start]
                parts = _split(text, start + 1, pos, edges)
                brackets.append(_Bracket(start, pos, max(outer, default=0), parts, start))
    return sorted(brackets)


def _find_all(text: str, form: str) -> Iterator[int]:
    pos = text.find(form)
    while pos >= 0:
        yield pos
        pos = text.find(form, pos + 1)


def _split(text: str, start: int, end: int, edges: str) -> list[_Piece]:
    parts = []
    for separator in _SEPARATOR.finditer(text, start, end):
        parts.append(_strip(text, start, separator.start(), edges))
        start = separator.end()
    parts.append(_strip(text, start, end, edges))
    return parts


def _strip(text: str, start: int, end: int, edges: str) -> _Piece:
    piece = text[start:end].rstrip(edges)
    stripped = piece.lstrip(edges)
    first = start + len(piece) - len(stripped)
    is_quoted = len(stripped) > 3 and stripped[0] == stripped[-1] == "'"
    return (first + 1, stripped[1:-1]) if is_quoted else (first, stripped)


def _without_list_markers(brackets: Sequence[_Bracket]) -> Sequence[_Bracket]:
    """Drop the brackets of enumerations: "(a) … (b)", "(i) … (ii)"."""
    heads = {bracket.parts[0][1] for bracket in brackets}
    listed = {one for series in _SERIES if any(heads.issuperset(two) for two in pairwise(series)) for one in series}
    return [bracket for bracket in brackets if bracket.parts[0][1] not in listed]


def _propose(text: str, bracket: _Bracket, rules: LanguageRules) -> Iterator[tuple[_Piece, _Piece]]:
    """Yield pairs of a short form and words that may end in its long form."""
    head, *more = bracket.parts
    if _is_short_form(head[1]) and _stands_alone(text, bracket):
        yield head, _words_before(text, bracket.outer, bracket.behind, rules)
    if not _WORD.search(head[1]) and more:  # "(i.e., …)"
        head, *more = more
    if _WORD.search(head[1]):
        short = _word_before(text, bracket.start, rules)
        if _is_reversed(short[1], head[1]):
            yield short, head
        if more and _is_short_form(more[0][1]):
            yield more[0], head


def _define_inside(text: str, bracket: _Bracket, min_precision: float, rules: LanguageRules) -> Iterator[Definition]:
    """Yield the definitions in a bracket with several names, or with words before one: "(ALS or MND)", "(now MASH)"."""
    start, content = _strip(text, bracket.start + 1, bracket.end, _EDGES + rules.abbreviations.quotes)
    pieces = list(islice(_WORD_OF_BRACKET.finditer(content), MAX_WORDS_INSIDE + 1))
    if not 1 < len(pieces) <= MAX_WORDS_INSIDE or not _stands_alone(text, bracket):
        return
    shorts = [piece for piece in pieces if _is_short_form(piece[0]) and _has_capitals(piece[0])]
    if not shorts or not _belong_together(content, shorts, pieces, rules):
        parts = {part for _, part in bracket.parts}
        shorts = [piece for piece in shorts if piece[0] in parts]  # "(Krabbe disease; GLD)"
    before, joint = _words_before(text, bracket.outer, bracket.behind, rules), rules.abbreviations.joint
    for piece in shorts:
        short = start + piece.start(), piece[0]
        if (definition := _define(short, before, min_precision, rules)) and not joint.search(definition.long):
            yield definition


def _belong_together(
    content: str, shorts: Sequence[re.Match[str]], pieces: Sequence[re.Match[str]], rules: LanguageRules
) -> bool:
    """Return whether the words of a bracket only announce or join the short forms in it, which are several names."""
    known = _ANNOUNCING | rules.abbreviations.stop_words
    words = (piece[0].strip(_EDGES).lower() for piece in pieces if piece.start() < shorts[-1].start())
    if not known.union(piece[0].lower() for piece in shorts).issuperset(words):
        return False  # "(high-grade VAIN)"
    behind = content[shorts[-1].end() :].strip(" ()[]").split(maxsplit=1)
    if behind and behind[0] not in rules.abbreviations.joining:
        return False  # "CF mice"
    gaps = [content[first.end() : second.start()] for first, second in pairwise(shorts)]
    # "FasL ICD", "LC-MS/MS": the forms belong together
    return not any(map(str.isspace, gaps)) and not ("/" in gaps and min(len(one[0]) for one in shorts) < MIN_DASHED)


def _has_capitals(text: str) -> bool:
    return sum(map(str.isupper, text)) > 1


def _is_short_form(text: str) -> bool:
    if not 0 < len(text) <= MAX_SHORT_CHARS or not text[0].isalnum() or _STATISTIC_OR_LABEL.match(text):
        return False
    return len(text.split()) <= MAX_SHORT_WORDS and 1 <= sum(map(str.isalpha, text)) <= MAX_LETTERS


def _stands_alone(text: str, bracket: _Bracket) -> bool:
    """Return whether a bracket is not part of a word, as it is in "(h)alpha", "gene(s)" and "Arg(Mts)".

    The space before it may just be missing after a lower-case word: "ubiquitin(Ub)". If it holds capitals, other words
    or a citation mark may touch it: "(CKD)1", "type 2(T2D)", "(SLE)is".
    """
    before, after = text[max(0, bracket.start - 4) : bracket.start], text[bracket.end + 1 : bracket.end + 2]
    short = bracket.parts[0][1]
    is_numeral = _ROMAN.issuperset(short)
    capitals = _has_capitals(short) and not is_numeral
    if after.isalnum() and (after.isupper() or not capitals):
        return False
    if not before or before[-1].isspace() or before[-1] in _CLOSING:
        return True
    is_word = len(before) == 4 and before.isalpha() and before.islower() and bracket.end - bracket.start > 2
    return (is_word and not is_numeral) or (capitals and before[-1].isalnum() and not after.isalnum())


def _is_reversed(short: str, long: str) -> bool:
    """Return whether "short (long)" can define a short form, and not just explain it, as in "XI (factor XIa)"."""
    if len(short) < 2 or short.endswith("-") or not any(map(str.isupper, short)):
        return False
    return short not in long and _is_short_form(short)


def _words_before(text: str, start: int, end: int, rules: LanguageRules) -> _Piece:
    """Return the last words before a bracket within the same sentence and enclosing bracket."""
    if end - start > MAX_CHARS:
        # start at a word boundary
        words = text[end - MAX_CHARS : end].split(maxsplit=1)
        start = end - len(words[1]) if len(words) > 1 else end
    words = text[start:end].rsplit(maxsplit=MAX_LONG_WORDS)
    if len(words) > MAX_LONG_WORDS:
        start += len(words[0])
    for match in rules.abbreviations.sentence_end.finditer(text, start, end):
        start = match.end()
    return _strip(text, start, end, _EDGES + rules.abbreviations.quotes)


def _word_before(text: str, end: int, rules: LanguageRules) -> _Piece:
    start = max(0, end - MAX_CHARS)
    words = text[start:end].rsplit(maxsplit=1)
    first = start + len(words[0]) if len(words) > 1 else start
    return _strip(text, first, end, _EDGES + rules.abbreviations.quotes)


def _define(short: _Piece, words: _Piece, min_precision: float, rules: LanguageRules) -> Definition | None:
    short_start, short_form = short
    start, text = words
    match = find_long_form(short_form, text, min_precision, rules)
    if match is None:
        return None
    long = text[match.start :]
    offsets = short_start, short_start + len(short_form), start + match.start, start + len(text)
    return Definition(short_form, long, *offsets, match.precision, match.strategy)


def _define_joint_forms(
    text: str, bracket: _Bracket, min_precision: float, rules: LanguageRules
) -> Iterator[Definition]:
    offset, shorts = _strip(text, bracket.start + 1, bracket.end, _EDGES + rules.abbreviations.quotes)
    if not shorts[:1].isupper() or not _stands_alone(text, bracket):
        return
    start, words = _words_before(text, bracket.outer, bracket.behind, rules)
    for form in find_joint_forms(shorts, words, min_precision, rules):
        moved = form._replace(short_start=offset + form.short_start, short_end=offset + form.short_end)
        if form.long_start is not None and form.long_end is not None:
            moved = moved._replace(long_start=start + form.long_start, long_end=start + form.long_end)
        yield moved


# --- occurrences


def find_occurrences(
    text: str,
    definitions: Sequence[Definition],
    known: Mapping[str, str] = MappingProxyType({}),
    clinical: Sequence[ShortForm] = (),
) -> list[AbbreviationOccurrence]:
    """Find every occurrence of a short form as a separate word, in the same case, with any dash or none for a hyphen.

    "Interleukin (IL)-6" also defines IL-6.
    "PPIs" is an occurrence of PPI, and "PPI" of PPIs. The long form stays as it was defined, since vocabularies contain
    that number more often. If a short form is defined several times, the nearest definition before the occurrence
    counts. If there is none before, the first definition counts. Occurrences do not overlap: the longest takes
    precedence.

    Args:
        definitions: The definitions in the text.
        known: Long forms of short forms that the text does not define.
        clinical: The short forms of clinical notes in the text. Definitions and `known` take precedence.

    Returns:
        The occurrences, sorted by position.
    """
    defined: dict[str, list[Definition]] = {}
    if not (definitions or known or clinical):
        return []
    for definition in sorted(definitions, key=_SHORT_START):
        for form in (definition, *_with_tail(text, definition)):
            defined.setdefault(_singular(form.short), []).append(form)
    dashes = "-" if text.isascii() else "".join(filter(text.__contains__, _DASHES))
    for short in list(defined):
        for variant in _dash_variants(short, dashes):
            defined.setdefault(variant, defined[short])
    occurrences = [_occurrence(*found, defined[short]) for found, short in _find_words(text, defined)]
    for (start, end), short in _find_words(text, known):
        if short not in defined:
            occurrences.append(AbbreviationOccurrence(start, end, known[short], None, None))
    occurrences += [
        AbbreviationOccurrence(start, end, names[0] if is_clear else "", None, None, names)
        for start, end, names, is_clear in clinical
        if not {text[start:end], _singular(text[start:end])} & {*defined, *known}
    ]
    return _without_overlaps(occurrences, len(text))


def _with_tail(text: str, definition: Definition) -> Iterator[Definition]:
    """Yield the definition of a form that goes on behind the bracket."""
    if tail := _TAIL.match(text, definition.short_end):
        forms = definition.short + tail["tail"], definition.long + tail["tail"]
        yield definition._replace(short=forms[0], long=forms[1], long_start=None, long_end=None)


def _dash_variants(short: str, dashes: str) -> Iterator[str]:
    """Yield a short form with other dashes or none, or with a hyphen before its number."""
    dash = next(filter(_DASHES.__contains__, short), None)
    if dash is not None and len(short) > MIN_DASHED:
        yield from (short.replace(dash, other) for other in ("", *dashes))
    elif match := _LETTERS_AND_NUMBER.fullmatch(short):
        yield from (f"{match[1]}{dash}{match[2]}" for dash in dashes)


def _singular(short: str) -> str:
    return short[:-1] if short.endswith("s") and short[-2:-1].isupper() else short


def _occurrence(start: int, end: int, definitions: Sequence[Definition]) -> AbbreviationOccurrence:
    nearest = bisect_right(definitions, start, key=_SHORT_START) - 1
    definition = definitions[max(nearest, 0)]
    return AbbreviationOccurrence(start, end, definition.long, definition.long_start, definition.long_end)


def _find_words(text: str, words: Collection[str]) -> Iterator[tuple[Offsets, str]]:
    for start, word in _find_strings(text, words):
        end = start + len(word)
        if text[end : end + 1] == "s" and not word[-1].islower():
            end += 1
        before, after = text[max(0, start - 1) : start], text[end : end + 1]
        # a single letter in a compound is rarely an abbreviation: T-cell, vitamin-E
        in_compound = len(word) == 1 and "-" in (before, after)
        if not (before.isalnum() or after.isalnum() or in_compound):
            yield (start, end), word


def _find_strings(text: str, strings: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield the positions of the strings. If there are many, each word of the text is looked up instead."""
    if len(strings) <= FEW:
        for form in strings:
            for start in _find_all(text, form):
                yield start, form
    else:
        by_word = _by_first_word(tuple(strings))
        for match in _WORD_OR_SIGN.finditer(text):
            for form in by_word.get(match.group(), ()):
                if text.startswith(form, match.start()):
                    yield match.start(), form


@lru_cache(maxsize=4)  # many texts share one list of known short forms
def _by_first_word(strings: tuple[str, ...]) -> dict[str, list[str]]:
    """Group the strings by the word or sign of a text at which they can start."""
    by_word: dict[str, list[str]] = {}
    for form in strings:
        word = _WORD_OR_SIGN.findall(form)[0]
        # a single word may have a plural "s" in the text
        for start in (word, f"{form}s") if word == form else (word,):
            by_word.setdefault(start, []).append(form)
    return by_word


def _without_overlaps(occurrences: list[AbbreviationOccurrence], length: int) -> list[AbbreviationOccurrence]:
    occurrences.sort()
    if all(occurrence.end <= following.start for occurrence, following in pairwise(occurrences)):
        return occurrences
    kept, taken = [], bytearray(length)
    for occurrence in sorted(occurrences, key=lambda occurrence: (occurrence.start - occurrence.end, occurrence.start)):
        if not taken[occurrence.start] and not taken[occurrence.end - 1]:
            taken[occurrence.start : occurrence.end] = b"\1" * (occurrence.end - occurrence.start)
            kept.append(occurrence)
    return sorted(kept)


def longer_phrases(
    text: str, occurrence: AbbreviationOccurrence, rules: LanguageRules = ENGLISH
) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the phrases around a short form of clinical notes, the longest first, as in "breast CA" and "acute MI".

    Args:
        rules: The rules of the language. No phrase goes over a stop word.

    Yields:
        The start and the end of a phrase, and its texts, each with another name in place of the short form.
    """
    starts, ends = [occurrence.start], [occurrence.end]
    for _ in range(MAX_NEIGHBORS):
        before = _LAST_WORD_BEFORE.search(text, max(0, starts[-1] - MAX_SHORT_CHARS), starts[-1])
        if before and before[1].lower() not in rules.abbreviations.stop_words:
            starts.append(before.start())
        after = _NEXT_WORD.match(text, ends[-1])
        if after and after[1].lower() not in rules.abbreviations.stop_words:
            ends.append(after.end())
    for start, end in sorted(product(starts, ends), key=lambda phrase: phrase[0] - phrase[1])[:-1]:
        first, last = text[start : occurrence.start], text[occurrence.end : end]
        yield start, end, [f"{first}{name}{last}" for name in occurrence.names]


# --- expansion


def expand(
    text: str,
    start: int,
    end: int,
    occurrences: Sequence[AbbreviationOccurrence],
    rules: LanguageRules = ENGLISH,
) -> str:
    """Replace the short forms in a mention by their long forms: "CF patients" → "cystic fibrosis patients".

    A definition in the mention gives its long form once: "cystic fibrosis (CF)" → "cystic fibrosis". If the short form
    is followed by the last word of its long form, that word appears once: "LN syndrome" → "Lesch-Nyhan syndrome". A
    short form in a long form is expanded, but not the short forms in that one. An occurrence that the mention cuts
    stays as it is. In a language with the head first, the same goes for the first word: "virus VIH" → "virus de la
    inmunodeficiencia humana".

    Args:
        start: First character of the mention.
        end: Position after its last character.
        occurrences: The occurrences in the text, sorted by position, as `find_occurrences` returns them.
    """
    edits = [_edit(text, start, end, occurrence, occurrences) for occurrence in _within(occurrences, start, end)]
    if rules.abbreviations.head_first:
        edits = [_without_repeated_head(text, start, edit) for edit in edits]
    return _apply_edits(text, start, end, edits)


def _within(occurrences: Sequence[AbbreviationOccurrence], start: int, end: int) -> Iterator[AbbreviationOccurrence]:
    for index in range(bisect_left(occurrences, start, key=lambda occurrence: occurrence.start), len(occurrences)):
        if occurrences[index].start >= end:
            return
        if occurrences[index].end <= end:
            yield occurrences[index]


def _edit(
    text: str, start: int, end: int, occurrence: AbbreviationOccurrence, occurrences: Sequence[AbbreviationOccurrence]
) -> Edit:
    """Return the edit that expands an occurrence in the mention `text[start:end]`."""
    if occurrence.long_start is None or occurrence.long_end is None:
        return _replacement(text, occurrence.start, occurrence.end, occurrence.long, end)
    inner = [
        _replacement(text, other.start, other.end, other.long, occurrence.long_end)
        for other in _within(occurrences, occurrence.long_start, occurrence.long_end)
    ]
    long = _apply_edits(text, occurrence.long_start, occurrence.long_end, inner)
    first_end, second_start = min(occurrence.end, occurrence.long_end), max(occurrence.start, occurrence.long_start)
    opening = _OPENING.fullmatch(text, first_end, second_start)
    if opening is None or first_end <= start or end <= second_start:
        return _replacement(text, occurrence.start, occurrence.end, long, end)
    # the mention contains both forms of the definition: remove one, with the rest of its bracket
    last = min(max(occurrence.end, occurrence.long_end), end)
    rest = _REST_OF_BRACKET.match(text, last, end) if opening["bracket"] else None
    return _replacement(
        text, max(start, min(occurrence.start, occurrence.long_start)), rest.end() if rest else last, long, end
    )


def _replacement(text: str, start: int, end: int, long: str, limit: int) -> Edit:
    """Return the edit that replaces `text[start:end]`, and the next word if it equals the last word of the long form.

    The mention ends at `limit`.
    """
    following, last = _FOLLOWING_WORD.match(text, end, limit), _LAST_WORD.search(long)
    if following and last and _fold_number(following[1]) == _fold_number(last[0]):
        end = following.end()
    return start, end, long


def _without_repeated_head(text: str, start: int, edit: Edit) -> Edit:
    """Let an edit also replace the word before it, if that equals the first word of the long form.

    The mention begins at `start`.
    """
    edit_start, edit_end, long = edit
    last, first = (
        _LAST_WORD_BEFORE.search(text, max(start, edit_start - MAX_CHARS), edit_start),
        _FIRST_WORD.match(long),
    )
    if last and first and _fold_number(last[1]) == _fold_number(first[0]):
        return last.start(), edit_end, long
    return edit


def _fold_number(word: str) -> str:
    return word.casefold().removesuffix("s")


def _apply_edits(text: str, start: int, end: int, edits: Iterable[Edit]) -> str:
    """Return `text[start:end]` after the edits. Of overlapping edits, the first and longest is applied."""
    pieces = []
    for edit_start, edit_end, new in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if edit_start >= start:
            pieces += [text[start:edit_start], new]
            start = edit_end
    return "".join([*pieces, text[start:end]])


def likely_long_forms(
    short_forms: Iterable[str], texts: Iterable[str], rules: LanguageRules = ENGLISH
) -> dict[str, str]:
    """Return for each short form the text that fits it best: "acute liver failure" for "ALF".

    A text fits if it would be the long form in a definition, begins with the same letter, and has no other number. A
    symbol such as "FOXO3a" or "VEGFR2" is no long form, and a formula such as "NaF" has none. Among several, the one
    with the most precise strategy is taken. If there are several of these with other words, none is taken.

    Args:
        short_forms: Short forms without a definition.
        texts: Possible long forms, in the order of the document.

    Returns:
        The long forms, by short form. Short forms without a fitting text are left out.
    """
    starting: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        if len(text) > MAX_CHARS or _is_symbol(text):
            continue
        texts_of_letter = starting.setdefault(_first_letter(text), [])
        if len(texts_of_letter) < MOST_TEXTS:
            texts_of_letter.append(text)
    long_forms = {}
    for short in dict.fromkeys(short_forms):
        if not short.isupper() and formula_name(short):
            continue
        precisions = {text: _likeliness(short, text, rules) for text in starting.get(_first_letter(short), ())}
        highest = max(precisions.values(), default=0.0)
        best = [text for text, precision in precisions.items() if precision == highest > 0]
        if len(set(map(word_keys, best))) == 1:
            long_forms[short] = best[0]
    return long_forms


def appositions(text: str, mentions: Sequence[tuple[int, int, str]]) -> dict[int, str]:
    """Return the names that a bracket puts beside mentions: in "cyclosporine (Sandimmun)", each for the other.

    Both are mentions with the same label, and the bracket holds nothing else.

    Args:
        mentions: The start, the end and the label of each mention.

    Returns:
        The other names, by the index of the mention.
    """
    names: dict[int, str] = {}
    before = {(end, label): index for index, (_, end, label) in enumerate(mentions)}
    for index, (start, end, label) in enumerate(mentions):
        if text[start - 1 : start] == "(" and text[end : end + 1] == ")":
            outer = before.get((start - 2 if text[max(start - 2, 0)].isspace() else start - 1, label))
            if outer is not None:
                names |= {outer: text[start:end], index: text[slice(*mentions[outer][:2])]}
    return names


def _is_symbol(text: str) -> bool:
    return " " not in text and _has_capitals(text) and not text.isupper()


def _likeliness(short: str, text: str, rules: LanguageRules) -> float:
    numbers, others = set(read_words(short, rules).critical.numbers), set(read_words(text, rules).critical.numbers)
    differ = numbers and others and numbers != others
    return 0.0 if differ or text.startswith(short) else _fit(short, text, rules)


def _fit(short: str, text: str, rules: LanguageRules) -> float:
    """Return the estimated precision of a whole text as the long form, or 0 if it does not fit."""
    match = find_long_form(short, text, MIN_PRECISION, rules)
    return match.precision if match and match.start == 0 else 0.0


def is_long_form(short: str, text: str, rules: LanguageRules = ENGLISH) -> bool:
    """Return whether a text fits a short form as its long form, and does not just begin with it: "HNF1 homeobox"."""
    return len(text) > len(short) and not text.startswith(short[:3]) and _fit(short, text, rules) > 0


def _first_letter(text: str) -> str:
    return next(filter(str.isalnum, text.casefold()), "")
