"""`Decisions`: what corrections decide about the mentions of a document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from ..text.words import word_columns
from .correction import ADD, CORPUS, NO_MENTION, OCCURRENCE, REJECT, SCOPES, Correction, text_key


class Decision(NamedTuple):
    """What holds for a mention.

    Attributes:
        correction: The correction that decides; None if only concepts were rejected.
        rejected: The concepts that were rejected, unless the correction has chosen them since.
    """

    correction: Correction | None
    rejected: frozenset[str]

    @property
    def concept_ids(self) -> tuple[str, ...] | None:
        """The concepts that were decided; None if they are open."""
        return self.correction.concept_ids if self.correction and self.correction.decides else None

    @property
    def is_no_mention(self) -> bool:
        """Whether the text is no mention."""
        return self.correction is not None and self.correction.action == NO_MENTION


NOTHING = Decision(None, frozenset())


class Added(NamedTuple):
    """A mention that was missed.

    Attributes:
        start: The first character of the mention.
        end: The position after its last character.
        label: Its label; empty if nobody gave one.
    """

    start: int
    end: int
    label: str


class _Phrase(NamedTuple):
    """An added text, as words in lower case, with the number of characters before and after them."""

    words: tuple[str, ...]
    before: int
    after: int
    label: str


class Decisions:
    """Finds what holds for a mention.

    A narrower scope takes precedence over a wider one, and a later correction over an earlier one. Several rejections
    add up, until the same concept is accepted or chosen in the same scope.

    Args:
        corrections: The corrections, in the order in which they were made.
        corpora: The corpora that each document is in, by its key. A correction for a corpus holds in all documents that
            share a corpus with its own.
    """

    def __init__(self, corrections: Iterable[Correction], corpora: Mapping[str, Collection[str]]) -> None:
        self._corpora = corpora
        self._found: dict[tuple[object, ...], list[Correction]] = {}
        self._added: dict[str, list[Correction]] = {}
        self._phrases: dict[str, dict[_Phrase, None]] = {}
        for one in corrections:
            for place in self._places_of(one):
                self._found.setdefault((one.scope, place, text_key(one.text)), []).append(one)
            if one.action == ADD:
                self._added.setdefault(one.document, []).append(one)
                self._add_phrase(one)

    def __len__(self) -> int:
        return len({id(one) for found in self._found.values() for one in found})

    def of(self, document: str, start: int, end: int, text: str, label: str = "") -> Decision:
        """Return what holds for a mention.

        Args:
            document: The key of its document.
            start: Its first character.
            end: The position after its last character.
            text: Its text.
            label: Its label.
        """
        rejected: frozenset[str] = frozenset()
        for found in self.corrections_of(document, start, end, text, label):
            decision = _latest(found)
            one = decision.correction
            if one is not None and rejected.isdisjoint(one.concept_ids):
                return Decision(one, rejected | decision.rejected)
            rejected |= decision.rejected
        return Decision(None, rejected)

    def corrections_of(
        self, document: str, start: int, end: int, text: str, label: str = ""
    ) -> Iterator[list[Correction]]:
        """Yield the corrections of each scope that apply to a mention, the narrowest scope first. See `of`."""
        key = text_key(text)
        for scope, places in zip(SCOPES, self._scopes_of(document, start, end), strict=True):
            yield [one for place in places for one in self._found.get((scope, place, key), ()) if _fits(one, label)]

    def added(self, document: str, text: str) -> list[Added]:
        """Return the mentions of a document that were missed: those added to it, and other places with an added text.

        The scope of the correction says in which documents its text is a mention.

        Args:
            document: The key of the document.
            text: Its text.
        """
        here = (Added(one.start, one.end, one.label) for one in self._added.get(document, ()) if _fits_text(one, text))
        found = dict.fromkeys(chain(here, self._repeated(text)))
        return sorted(place for place in found if self._is_mention(document, text, place))

    def _is_mention(self, document: str, text: str, place: Added) -> bool:
        """Return whether an added text is still a mention: it is, also if its concept was rejected since."""
        scopes = self.corrections_of(document, place.start, place.end, text[place.start : place.end], place.label)
        said = ([one.action for one in found if one.action != REJECT] for found in scopes)
        return next((actions[-1] != NO_MENTION for actions in said if actions), False)

    def _add_phrase(self, one: Correction) -> None:
        columns = word_columns(one.text)
        if one.scope != OCCURRENCE and columns.written:
            words = tuple(map(str.casefold, columns.written))
            phrase = _Phrase(words, columns.starts[0], len(one.text) - columns.ends[-1], one.label)
            self._phrases.setdefault(words[0], {})[phrase] = None

    def _repeated(self, text: str) -> Iterator[Added]:
        """Yield the places where the words of an added text stand, in linear time."""
        if not self._phrases:
            return
        columns = word_columns(text)
        folded = list(map(str.casefold, columns.written))
        for first, word in enumerate(folded):
            for phrase in self._phrases.get(word, ()):
                last = first + len(phrase.words)
                if tuple(folded[first:last]) == phrase.words:
                    start, end = columns.starts[first] - phrase.before, columns.ends[last - 1] + phrase.after
                    if start >= 0 and end <= len(text):
                        yield Added(start, end, phrase.label)

    def _places_of(self, one: Correction) -> list[object]:
        """Return the places of the scope of a correction."""
        if one.scope == OCCURRENCE:
            return [(one.document, one.start, one.end)]
        return list(self._corpora.get(one.document, ())) if one.scope == CORPUS else [None]

    def _scopes_of(self, document: str, start: int, end: int) -> tuple[Collection[object], ...]:
        """Return the places of each scope that a mention is in."""
        return [(document, start, end)], self._corpora.get(document, ()), [None]


def _fits_text(one: Correction, text: str) -> bool:
    return text[one.start : one.end] == one.text


def _fits(one: Correction, label: str) -> bool:
    return not one.label or not label or one.label == label


def _latest(found: Iterable[Correction]) -> Decision:
    """Return what corrections of one scope decide together."""
    correction: Correction | None = None
    rejected: set[str] = set()
    for one in found:
        if one.action == REJECT:
            rejected.update(one.concept_ids)
            if correction and not rejected.isdisjoint(correction.concept_ids):
                correction = None
        else:
            correction = one
            rejected.difference_update(one.concept_ids)
    return Decision(correction, frozenset(rejected))
