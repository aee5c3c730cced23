"""The phrases of a document: runs of words that may be mentions of concepts."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from spacy.lang.en.stop_words import STOP_WORDS
from spacy.tokens import Doc

from ..text.composites import composite_splits
from ..text.normalize import lower

Characters = tuple[int, int]

LONGEST = 6  # words
LONGEST_COMPOSITE = 10
ENDS = frozenset(".;:!?")
BEGINNING = 25  # words: the most in the beginning of a document, such as its title
SEPARATORS = frozenset(',()%=<>"')
_WORD = re.compile(r"[^\W_]+")
_CONNECTOR = re.compile(r"\b(?:and|or|nor)\b|/")
# A composite has no other stop words than these inside, and no separator but the comma.
_IN_COMPOSITES = frozenset(
    ["of", "the", "and", "or", "nor", "as", "well", "but", "not", "also", "both", "either", "neither"]
)
_BARRIERS = (STOP_WORDS - _IN_COMPOSITES) | (SEPARATORS - {","})


class Word(NamedTuple):
    """A word of a text: its lower-case form and its character offsets."""

    text: str
    start: int
    end: int


class Phrase(NamedTuple):
    """A lower-case text and the character offsets of its occurrences; whether the first is in the title or first
    sentence.
    """

    text: str
    spans: list[Characters]
    in_beginning: bool


def phrases(doc: Doc) -> list[Phrase]:
    """Return all phrases of a document: runs of one to `LONGEST` words within a clause, in lower case.

    The first and the last word are not stop words. The parts of composites are phrases, too.
    """
    text = doc.text
    spans_by_form: dict[str, list[Characters]] = {}
    joined = []
    form_of = _forms(text)
    for start, end, is_phrase, is_joined in _runs(doc):
        if is_joined:
            joined.append((start, end))
        if is_phrase:
            form = form_of(start, end)
            if len(form) > 1 and not form.isdigit():
                spans_by_form.setdefault(form, []).append((start, end))
    for form, span in _composite_parts(text, joined).items():
        spans_by_form.setdefault(form, [span])
    limit = end_of_beginning(doc)
    return [Phrase(form, spans, spans[0][0] < limit) for form, spans in spans_by_form.items()]


def words_of(text: str) -> list[Word]:
    """Return the words of a text: runs of letters and digits, so that no tokenizer matters."""
    return [Word(match[0].lower(), match.start(), match.end()) for match in _WORD.finditer(text)]


class WordIndex:
    """The words of a text, found by their offsets.

    Attributes:
        words: The words, in the order of the text.
    """

    def __init__(self, text: str) -> None:
        self.words = words_of(text)
        self._text = text
        self._starts = [word.start for word in self.words]
        self._ends = [word.end for word in self.words]

    def inside(self, start: int, end: int) -> slice:
        """Return the positions of the words that are wholly inside a part of the text."""
        first = bisect_left(self._starts, start)
        return slice(first, max(first, bisect_right(self._ends, end)))

    def are_cut(self, start: int, end: int) -> bool:
        """Return whether an end of a part of the text is inside a word."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end) - 1
        return first <= last and (self._starts[first] < start or self._ends[last] > end)

    def before(self, start: int) -> str:
        """Return the word before a position, or "" if anything but blanks is between."""
        position = bisect_right(self._ends, start) - 1
        return self.words[position].text if position >= 0 and self._text[self._ends[position] : start].isspace() else ""

    def after(self, end: int) -> str:
        """Return the word after a position, or "" if anything but blanks is between."""
        position = bisect_left(self._starts, end)
        is_near = position < len(self.words) and self._text[end : self._starts[position]].isspace()
        return self.words[position].text if is_near else ""


def _forms(text: str) -> Callable[[int, int], str]:
    """Return a function that gives the lower-case form of a part of a text."""
    lowered = text.lower()
    if len(lowered) == len(text) and " ".join(lowered.split()) == lowered:
        return lambda start, end: lowered[start:end]  # much faster, since the text as a whole has this form
    return lambda start, end: lower(text[start:end])


def _runs(doc: Doc) -> Iterator[tuple[int, int, bool, bool]]:
    """Yield each run of words that can be a phrase or a composite: its characters, and which of both it can be."""
    texts, starts = [token.text for token in doc], [token.idx for token in doc]
    words = [i for i, text in enumerate(texts) if any(map(str.isalnum, text)) and text.lower() not in STOP_WORDS]
    clauses = list(accumulate(text in ENDS or text.isspace() for text in texts))
    # the number of connectors before each token, the last one for the end of the document
    joints = [0, *accumulate(_CONNECTOR.search(text) is not None for text in texts)]
    barriers = list(accumulate(text.lower() in _BARRIERS for text in texts))
    for number, first in enumerate(words):
        for last in words[number : number + LONGEST_COMPOSITE]:
            length = last - first + 1
            if length > LONGEST_COMPOSITE or clauses[last] != clauses[first]:
                break
            is_joined = joints[last + 1] > joints[first] and barriers[last] == barriers[first]
            yield starts[first], starts[last] + len(texts[last]), length <= LONGEST, is_joined


def _composite_parts(text: str, runs: Iterable[Characters]) -> dict[str, Characters]:
    """Return the parts of possible composites, such as "brain and lung cancer", with the shortest run of each part."""
    parts: dict[str, Characters] = {}
    for start, end in sorted(runs, key=lambda run: (run[1] - run[0], run)):
        for split in composite_splits(text[start:end], max_splits=1):
            for part in map(lower, split):
                if part.count(" ") < LONGEST:
                    parts.setdefault(part, (start, end))
    return parts


def end_of_beginning(doc: Doc) -> int:
    """Return the character offset of the end of the title or the first sentence."""
    for token in doc:
        if (token.text in ENDS and token.i > 2) or token.i == BEGINNING:
            return token.idx
    return len(doc.text)
