"""Abbreviations in a text: where they are defined, where they are used, and how a mention reads with them expanded.

Everything goes by the characters of the text, so no result depends on a tokenizer.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from .long_forms import find_long_form

# Limits of Sohn et al. 2008
MAX_LETTERS = 10
MAX_SHORT_WORDS = 2
MAX_LONG_WORDS = 10
# Characters of a short form, and of a long form or what a bracket holds: they bound the work that a bracket makes
MAX_SHORT_CHARS = 30
MAX_CHARS = 250
# Up to so many short forms are looked for one by one, which is quicker than word by word
FEW = 30

_BRACKET = re.compile(r"[()\[\]]")
_CLOSING = {"(": ")", "[": "]"}
_SEPARATOR = re.compile(r"[,;]\s+")
_EDGES = string.whitespace + '\xa0\u2009\u202f,;:"“”'
_WORD = re.compile(r"[^\W\d_]{4}")
# No short forms: statistics ("n=5", "p<0.05"), and numbers and labels ("12", "2c")
_STATISTIC_OR_LABEL = re.compile(r".*[=<>]|\d+[a-z]?$")
# Not after an initial ("E. coli", "e.g. The") or "vs."
_SENTENCE_END = re.compile(r"[.!?](?<!\b\w.)(?<!\bvs.)[\"')\]]*\s+(?=[\"'(\[]*(?:[A-Z0-9]|$))|\n\s*\n")
_SERIES = (
    ("a", "b", "c", "d", "e", "f"),
    ("A", "B", "C", "D", "E", "F"),
    ("i", "ii", "iii", "iv", "v", "vi"),
    ("I", "II", "III", "IV", "V", "VI"),
)
_WORD_OR_SIGN = re.compile(r"[^\W_]+|\S")
_OPENING = re.compile(r"\s*(?:(?P<bracket>[(\[])|[,;])\s*")
_REST_OF_BRACKET = re.compile(r"[^()\[\]]*[)\]]?")

Offsets = tuple[int, int]
Edit = tuple[int, int, str]
"""Start and end in the text, and what to write there."""


class Definition(NamedTuple):
    """A short form and its long form, as a text defines them.

    short_start, short_end, long_start, long_end (int): characters of the text.
    precision (float): the estimated precision of the strategy, 0 to 1.
    strategy (str): which of Ab3P's strategies found the long form.
    """

    short: str
    long: str
    short_start: int
    short_end: int
    long_start: int
    long_end: int
    precision: float
    strategy: str


class Use(NamedTuple):
    """A place where a short form is used; that of its definition is one too.

    start, end (int): characters of the short form, with the "s" of a plural.
    long (str): the long form as it was defined.
    long_start, long_end (int | None): where the text defines it; None where the text does not.
    """

    start: int
    end: int
    long: str
    long_start: int | None
    long_end: int | None


# --- definitions


def find_definitions(text: str, *, min_precision: float = 0.9) -> list[Definition]:
    """Find the definitions of abbreviations: `long form (SF)`, `SF (long form)`, `(long form, SF)`, also with `[]`.

    text (str): a text of any length.
    min_precision (float): the least estimated precision of the strategies used, 0 to 1.
    RETURNS (list[Definition]): by position of the short form.
    """
    found = []
    for bracket in _without_list_markers(text, _find_brackets(text)):
        definitions = [_define(text, *pair, min_precision) for pair in _propose(text, bracket)]
        best = max(filter(None, definitions), key=lambda definition: definition.precision, default=None)
        if best is not None:
            found.append(best)
    return sorted(found, key=lambda definition: definition.short_start)


class _Bracket(NamedTuple):
    """A pair of brackets.

    start, end (int): the opening and the closing one.
    outer (int): where the contents of the bracket around it start, or 0.
    parts (list[Offsets]): its contents between commas and semicolons, without quotes; at least one.
    """

    start: int
    end: int
    outer: int
    parts: list[Offsets]


def _find_brackets(text: str) -> list[_Bracket]:
    brackets = []
    stacks: dict[str, list[int]] = {")": [], "]": []}
    for match in _BRACKET.finditer(text):
        char, pos = match.group(), match.start()
        if char in _CLOSING:
            stacks[_CLOSING[char]].append(pos)
        elif stacks[char]:
            start = stacks[char].pop()
            if pos - start <= MAX_CHARS:
                outer = max((stack[-1] + 1 for stack in stacks.values() if stack and stack[-1] < start), default=0)
                brackets.append(_Bracket(start, pos, outer, _split(text, start + 1, pos)))
    return sorted(brackets)


def _split(text: str, start: int, end: int) -> list[Offsets]:
    parts = []
    for separator in _SEPARATOR.finditer(text, start, end):
        parts.append(_strip(text, start, separator.start()))
        start = separator.end()
    return [*parts, _strip(text, start, end)]


def _strip(text: str, start: int, end: int) -> Offsets:
    piece = text[start:end].rstrip(_EDGES)
    return start + len(piece) - len(piece.lstrip(_EDGES)), start + len(piece)


def _without_list_markers(text: str, brackets: Sequence[_Bracket]) -> list[_Bracket]:
    """Leave out the brackets that count something up: "(a) … (b)", "(i) … (ii)"."""
    heads = [text[slice(*bracket.parts[0])] for bracket in brackets]
    markers: set[int] = set()
    for series in _SERIES:
        hits = [index for index, head in enumerate(heads) if head in series]
        for first in range(len(hits)):
            pairs = zip(hits[first : first + len(series)], series, strict=False)
            run = [hit for hit, _ in takewhile(lambda pair: heads[pair[0]] == pair[1], pairs)]
            markers.update(run if len(run) > 1 else ())
    return [bracket for index, bracket in enumerate(brackets) if index not in markers]


def _propose(text: str, bracket: _Bracket) -> Iterator[tuple[Offsets, Offsets]]:
    """Yield the offsets of a short form, and of words at whose end its long form may stand."""
    head, *more = bracket.parts
    if _is_short_form(text[slice(*head)]) and _stands_alone(text, bracket):
        yield head, _words_before(text, bracket.outer, bracket.start)
    if _WORD.search(text, *head):
        short = _word_before(text, bracket.start)
        if _is_reversed(text[slice(*short)], text[slice(*head)]):
            yield short, head
        if more and _is_short_form(text[slice(*more[0])]):
            yield more[0], head


def _is_short_form(text: str) -> bool:
    if not 0 < len(text) <= MAX_SHORT_CHARS or not text[0].isalnum() or _STATISTIC_OR_LABEL.match(text):
        return False
    return len(text.split()) <= MAX_SHORT_WORDS and 1 <= sum(map(str.isalpha, text)) <= MAX_LETTERS


def _stands_alone(text: str, bracket: _Bracket) -> bool:
    """Whether a bracket is no part of a word, as those of "(h)alpha", "gene(s)" and "Arg(Mts)" are.

    After a word in lower case the blank may just have been forgotten: "ubiquitin(Ub)".
    """
    before, after = text[max(0, bracket.start - 4) : bracket.start], text[bracket.end + 1 : bracket.end + 2]
    if after.isalnum():
        return False
    if not before or before[-1].isspace() or before[-1] in _CLOSING:
        return True
    return len(before) == 4 and before.isalpha() and before.islower() and bracket.end - bracket.start > 2


def _is_reversed(short: str, long: str) -> bool:
    """Whether "short (long)" can define a short form, rather than say more of it as "XI (factor XIa)" does."""
    if len(short) < 2 or short.endswith("-") or not any(map(str.isupper, short)):
        return False
    return short not in long and _is_short_form(short)


def _words_before(text: str, start: int, end: int) -> Offsets:
    """RETURNS (Offsets): the last words before a bracket that are in the same sentence and outer bracket."""
    if end - start > MAX_CHARS:
        # not from within a word
        words = text[end - MAX_CHARS : end].split(maxsplit=1)
        start = end - len(words[1]) if len(words) > 1 else end
    for match in _SENTENCE_END.finditer(text, start, end):
        start = match.end()
    words = text[start:end].rsplit(maxsplit=MAX_LONG_WORDS)
    if len(words) > MAX_LONG_WORDS:
        start += len(words[0])
    return _strip(text, start, end)


def _word_before(text: str, end: int) -> Offsets:
    start = max(0, end - MAX_CHARS)
    words = text[start:end].rsplit(maxsplit=1)
    return _strip(text, start + len(words[0]) if len(words) > 1 else start, end)


def _define(text: str, short: Offsets, words: Offsets, min_precision: float) -> Definition | None:
    match = find_long_form(text[slice(*short)], text[slice(*words)], min_precision)
    if match is None:
        return None
    start, end = words[0] + match.start, words[1]
    return Definition(text[slice(*short)], text[start:end], *short, start, end, match.precision, match.strategy)


# --- uses


def find_uses(
    text: str, definitions: Iterable[Definition], known: Mapping[str, str] = MappingProxyType({})
) -> list[Use]:
    """Find every use of a short form as a word of its own, with its case.

    "PPIs" is a use of PPI, and "PPI" of PPIs; the long form stays as it was defined, since vocabularies have that more
    often than the other number. A short form that is defined again has the definition before the use that is nearest,
    or else the first. Uses do not overlap: the longest go first.

    text (str): the text.
    definitions (Iterable[Definition]): its definitions.
    known (Mapping[str, str]): long forms of short forms that the text does not define itself.
    RETURNS (list[Use]): by position.
    """
    defined: dict[str, list[Definition]] = {}
    for definition in sorted(definitions, key=lambda definition: definition.short_start):
        defined.setdefault(_singular(definition.short), []).append(definition)
    uses = [_use(*found, defined[short]) for found, short in _find_words(text, defined)]
    for (start, end), short in _find_words(text, known):
        if short not in defined:
            uses.append(Use(start, end, known[short], None, None))
    return _without_overlaps(uses, len(text))


def _singular(short: str) -> str:
    return short[:-1] if short.endswith("s") and short[-2:-1].isupper() else short


def _use(start: int, end: int, definitions: Sequence[Definition]) -> Use:
    nearest = bisect_right(definitions, start, key=lambda definition: definition.short_start) - 1
    definition = definitions[max(nearest, 0)]
    return Use(start, end, definition.long, definition.long_start, definition.long_end)


def _find_words(text: str, words: Collection[str]) -> Iterator[tuple[Offsets, str]]:
    for start, word in _find_strings(text, words):
        end = start + len(word)
        if text[end : end + 1] == "s" and not word[-1].islower():
            end += 1
        # a letter in a compound is rarely an abbreviation: T-cell, vitamin-E
        joint = "-" if len(word) == 1 else ""
        if not any(char.isalnum() or char in joint for char in text[max(0, start - 1) : start] + text[end : end + 1]):
            yield (start, end), word


def _find_strings(text: str, strings: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield where the strings stand. With many of them it is looked at each word whether one starts there."""
    if len(strings) <= FEW:
        for wanted in strings:
            start = text.find(wanted)
            while start >= 0:
                yield start, wanted
                start = text.find(wanted, start + 1)
    else:
        lengths = sorted({len(wanted) for wanted in strings})
        for match in _WORD_OR_SIGN.finditer(text):
            for length in lengths:
                piece = text[match.start() : match.start() + length]
                if len(piece) == length and piece in strings:
                    yield match.start(), piece


def _without_overlaps(uses: Sequence[Use], length: int) -> list[Use]:
    kept, taken = [], bytearray(length)
    for use in sorted(uses, key=lambda use: (use.start - use.end, use.start)):
        if not taken[use.start] and not taken[use.end - 1]:
            taken[use.start : use.end] = b"\1" * (use.end - use.start)
            kept.append(use)
    return sorted(kept)


# --- expansion


def expand(text: str, start: int, end: int, uses: Sequence[Use]) -> str:
    """Write a mention with the long forms of its short forms: "CF patients" → "cystic fibrosis patients".

    A definition in the mention gives its long form once: "cystic fibrosis (CF)" → "cystic fibrosis". A short form in a
    long form is expanded as well, but none in the long form of that. A use that the mention cuts stays as it is.

    start, end (int): characters of the mention.
    uses (Sequence[Use]): the uses in the text by position, as `find_uses` gives them.
    """
    return _edited(text, start, end, [_edit(text, start, end, use, uses) for use in _within(uses, start, end)])


def _within(uses: Sequence[Use], start: int, end: int) -> Iterator[Use]:
    for index in range(bisect_left(uses, start, key=lambda use: use.start), len(uses)):
        if uses[index].start >= end:
            return
        if uses[index].end <= end:
            yield uses[index]


def _edit(text: str, start: int, end: int, use: Use, uses: Sequence[Use]) -> Edit:
    """RETURNS (Edit): what becomes of a use in the mention `text[start:end]`."""
    if use.long_start is None or use.long_end is None:
        return use.start, use.end, use.long
    inner = [(other.start, other.end, other.long) for other in _within(uses, use.long_start, use.long_end)]
    long = _edited(text, use.long_start, use.long_end, inner)
    first_end, second_start = min(use.end, use.long_end), max(use.start, use.long_start)
    opening = _OPENING.fullmatch(text, first_end, second_start)
    if opening is None or first_end <= start or end <= second_start:
        return use.start, use.end, long
    # the mention holds both forms of the definition: one goes, with all else that its bracket holds
    last = min(max(use.end, use.long_end), end)
    rest = _REST_OF_BRACKET.match(text, last, end) if opening["bracket"] else None
    return max(start, min(use.start, use.long_start)), rest.end() if rest else last, long


def _edited(text: str, start: int, end: int, edits: Iterable[Edit]) -> str:
    """RETURNS (str): `text[start:end]` after the edits; of overlapping ones, the first and longest."""
    pieces = []
    for edit_start, edit_end, new in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if edit_start >= start:
            pieces += [text[start:edit_start], new]
            start = edit_end
    return "".join([*pieces, text[start:end]])
