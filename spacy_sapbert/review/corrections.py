"""What a person decided about mentions, and what these corrections decide about the mentions of a document."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from ..kb.semantic_types import DRUG, kind_of
from ..settings_block import check_rules
from ..text.inflections import SAME_START, inflection_key, inflections, same_start
from ..text.languages import ENGLISH, LanguageRules
from ..text.notes.assertion import FLAGS
from ..text.words import Words, is_acronym, is_general, read_words

ACCEPT, REPLACE, REJECT, NO_MENTION, ADD, FLAG = "accept", "replace", "reject", "no_mention", "add", "flag"
ACTIONS = (ACCEPT, REPLACE, REJECT, NO_MENTION, ADD, FLAG)
OCCURRENCE, CORPUS, EVERYWHERE = SCOPES = ("occurrence", "corpus", "everywhere")
"""Where a correction holds, the narrowest first: this place, this text in the documents of the corpus, or this text."""
NO_FLAGS = "none"
_DECIDING = frozenset({ACCEPT, REPLACE, ADD})
_KEY_LENGTH = 32  # hexadecimal digits
_SAME, _INFLECTED, _DERIVED = range(3)  # how a text is like that of a correction
_LONG = 10  # letters of an adjective that is marked although it is a word of general language
_BETWEEN = " \t\n-"  # the signs between the words of an inflection

Corpora = Mapping[str, Collection[str]]


class Correction(NamedTuple):
    """A decision about a mention.

    Attributes:
        action: "accept" the concepts, "replace" them by others, "reject" them, "no_mention": the text is not a mention,
            "add" a mention that was missed, or "flag": other flags are right, at this place.
        scope: "occurrence", "corpus" or "everywhere".
        document: The `document_key` of the document in which it was decided.
        end: The position after the last character of the mention.
        concept_ids: The concepts that were accepted, chosen or rejected; several for a composite. Empty for
            "no_mention", and for an added mention without a concept.
        label: The label of the mention. A correction with a label holds for mentions with this label only. "flag" has
            the right flags here, joined by blanks, or "none".
        date: When, in UTC, such as "2026-11-23T18:00:00Z".
    """

    action: str
    scope: str
    document: str
    start: int
    end: int
    text: str
    concept_ids: tuple[str, ...] = ()
    label: str = ""
    author: str = ""
    date: str = ""
    comment: str = ""

    @property
    def decides(self) -> bool:
        """Whether it says which concepts are right."""
        return self.action in _DECIDING

    @property
    def flags(self) -> tuple[str, ...] | None:
        """The right flags; None if it is not about flags."""
        return tuple(flag for flag in FLAGS if flag in self.label.split()) if self.action == FLAG else None

    def with_flags(self, flags: Collection[str]) -> Correction:
        """Return the correction that says which flags are right at this place."""
        label = " ".join(flag for flag in FLAGS if flag in flags) or NO_FLAGS
        return self._replace(action=FLAG, scope=OCCURRENCE, concept_ids=(), label=label)

    def check(self) -> None:
        """Check the values."""
        some_ids = bool(self.concept_ids) and all(self.concept_ids)
        has_ids = not self.concept_ids if self.action in (NO_MENTION, FLAG) else self.action == ADD or some_ids
        check_rules(
            self,
            ("action", self.action in ACTIONS, f"one of {', '.join(ACTIONS)}"),
            ("scope", self.scope in SCOPES, f"one of {', '.join(SCOPES)}"),
            ("label", self.flags is None or self == self.with_flags(self.flags), "flags, or none"),
            ("text", bool(self.text.strip()), "a text"),
            ("end", 0 <= self.start < self.end, "a position after the start"),
            ("concept_ids", has_ids, "some ids, but none for no_mention and flag"),
        )


class ProposedLink(NamedTuple):
    """What a pipeline made of a mention, before anyone corrected it.

    Attributes:
        document: The `document_key` of the document.
        concept_ids: The linked concepts; several for a composite, none if the mention is not linked.
        probability: The lowest probability of its parts; None if the linker is not calibrated. Without a link, it is
            that of the best candidate.
        score: The lowest score of its parts; None if there is no candidate.
    """

    document: str
    start: int
    end: int
    text: str
    label: str = ""
    concept_ids: tuple[str, ...] = ()
    probability: float | None = None
    score: float | None = None


def document_key(text: str) -> str:
    """Return the key of a document: it changes with the text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_LENGTH]


def text_key(text: str) -> str:
    """Return the form in which texts of mentions count as the same. Short forms keep their case."""
    folded = " ".join(text.split())
    return folded if is_acronym(folded) else folded.casefold()


def forms_of(text: str, rules: LanguageRules, *, itself: bool = False) -> Iterator[tuple[int, str]]:
    """Yield how the text of a correction is written, and unless it holds for `itself`, how its inflections are."""
    yield _SAME, text_key(text)
    if not itself:
        key, _, derived = inflections(text, rules)
        yield from ((_INFLECTED, key), *((_DERIVED, form) for form in derived))


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
        """Whether the text is not a mention."""
        return self.correction is not None and self.correction.action == NO_MENTION


class Added(NamedTuple):
    """A mention that was missed. The label is empty if nobody gave one.

    An inflection of an added text gives way to mentions that it overlaps: "allergic rhinitis", where "allergy" was
    added.
    """

    start: int
    end: int
    label: str
    is_inflected: bool = False

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether it overlaps another mention. One at the same place is no other."""
        return self.start < end and start < self.end and (self.start, self.end) != (start, end)


class _Phrase(NamedTuple):
    """An added text, see `text_key`, with the number of characters before and after its words."""

    key: str
    before: int
    after: int
    label: str


class Decisions:
    """Finds what holds for a mention.

    A narrower scope takes precedence over a wider one, and a later correction over an earlier one. Several rejections
    add up, until the same concept is accepted or chosen in the same scope. A correction also holds for inflections of
    its text (see `text.inflections`), unless another one is about their own text.

    Args:
        corrections: The corrections, in the order in which they were made.
        corpora: The corpora that each document is in, by its key. A correction for a corpus holds in all documents that
            share a corpus with its own.
        rules: The rules of the language, for inflections.
    """

    def __init__(self, corrections: Iterable[Correction], corpora: Corpora, rules: LanguageRules = ENGLISH) -> None:
        self._corpora, self._rules = corpora, rules
        self._by_place: dict[tuple[object, ...], list[Correction]] = {}
        self._added: dict[str, list[Correction]] = {}
        self._flags: dict[tuple[str, int, int], tuple[str, ...]] = {}
        self._phrases: dict[str, dict[_Phrase, bool]] = {}  # and whether the key is that of a derived word
        self._starts: set[str] = set()
        self._longest = 0
        for correction in corrections:
            if correction.flags is not None:
                self._flags[correction[2:5]] = correction.flags
                continue
            for place in self._places_of(correction):
                for form in forms_of(correction.text, self._rules, itself=correction.scope == OCCURRENCE):
                    self._by_place.setdefault((correction.scope, place, *form), []).append(correction)
            if correction.action == ADD:
                self._added.setdefault(correction.document, []).append(correction)
                self._add_phrase(correction)

    def of(self, document: str, start: int, end: int, text: str, label: str = "") -> Decision:
        """Return what holds for a mention of the document with this key."""
        rejected: frozenset[str] = frozenset()
        for corrections in self.corrections_of(document, start, end, text, label):
            decision = _latest(corrections)
            if decision.correction and rejected.isdisjoint(decision.correction.concept_ids):
                return Decision(decision.correction, rejected | decision.rejected)
            rejected |= decision.rejected
        return Decision(None, rejected)

    def corrections_of(
        self, document: str, start: int, end: int, text: str, label: str = ""
    ) -> Iterator[list[Correction]]:
        """Yield the corrections of each scope that apply to a mention, the narrowest scope first. See `of`.

        Those about the text itself come before those about inflections of it.
        """
        places_by_scope: tuple[Iterable[Any], ...] = ([(document, start, end)], self._corpora.get(document, ()), [None])
        key = inflections(text, self._rules).key
        # "diuretic" is not "diuresis"
        derived = [] if label and kind_of([label]) == DRUG else [(_DERIVED, key)]
        for form in ((_SAME, text_key(text)), (_INFLECTED, key), *derived):
            for scope, places in zip(SCOPES, places_by_scope, strict=True):
                applying = chain.from_iterable(self._by_place.get((scope, place, *form), ()) for place in places)
                yield [one for one in applying if not one.label or not label or one.label == label]

    def flags_of(self, document: str, start: int, end: int) -> tuple[str, ...] | None:
        """Return the flags that were decided for a mention; None if nobody has mended them."""
        return self._flags.get((document, start, end))

    def added(self, document: str, text: str) -> list[Added]:
        """Return the mentions of a document that were missed: those added to it, and other places with an added text.

        The scope of the correction says in which documents its text is a mention.
        """
        here = (
            Added(correction.start, correction.end, correction.label)
            for correction in self._added.get(document, ())
            if text[correction.start : correction.end] == correction.text
        )
        # an inflection comes first, so that an added text at the same place replaces it
        found = sorted(chain(here, self._repeated(text)), key=attrgetter("is_inflected"), reverse=True)
        added = {one[:3]: one for one in found}
        return sorted(mention for mention in added.values() if self._is_mention(document, text, mention))

    def _is_mention(self, document: str, text: str, added: Added) -> bool:
        """Return whether an added text is still a mention: it is, also if its concept was rejected since."""
        scopes = self.corrections_of(document, added.start, added.end, text[added.start : added.end], added.label)
        actions = (
            [correction.action for correction in corrections if correction.action != REJECT] for corrections in scopes
        )
        return next((latest != NO_MENTION for *_, latest in filter(None, actions)), False)

    def _add_phrase(self, correction: Correction) -> None:
        columns = read_words(correction.text, self._rules)
        if correction.scope != OCCURRENCE and columns.written:
            after = len(correction.text) - columns.ends[-1]
            phrase = _Phrase(text_key(correction.text), columns.starts[0], after, correction.label)
            key, adjectives, _ = inflections(correction.text, self._rules)
            for form in (key, *adjectives):
                self._phrases.setdefault(form, {})[phrase] = form != key
            self._starts.add(same_start(correction.text, self._rules))
            self._longest = max(self._longest, len(columns.written) + 1)  # a hyphen makes two words of one

    def _repeated(self, text: str) -> Iterator[Added]:
        """Yield the places where an added text or an inflection of it stands, in linear time."""
        if not self._phrases:
            return
        columns = read_words(text, self._rules)
        for first, word in enumerate(columns.written):
            if word.casefold()[:SAME_START] in self._starts:
                for last in range(first + 1, min(first + self._longest, len(columns.written)) + 1):
                    yield from self._at(columns, first, last)

    def _at(self, columns: Words, first: int, last: int) -> Iterator[Added]:
        """Yield the words from the first to before the last one, if they are an added text or an inflection of it."""
        words = columns.written[first:last]
        for phrase, is_derived in self._phrases.get(inflection_key(words, self._rules), {}).items():
            start, end = columns.starts[first] - phrase.before, columns.ends[last - 1] + phrase.after
            if text_key(columns.text[max(start, 0) : end]) == phrase.key:
                yield Added(start, end, phrase.label)
            elif (
                not (phrase.before or phrase.after or "".join(columns.gaps[first + 1 : last]).strip(_BETWEEN))
                and not (is_derived and end - start < _LONG and is_general(" ".join(words)))  # "infected" alone
            ):
                yield Added(start, end, phrase.label, is_inflected=True)

    def _places_of(self, correction: Correction) -> list[object]:
        """Return the places of the scope of a correction."""
        if correction.scope == OCCURRENCE:
            return [(correction.document, correction.start, correction.end)]
        return list(self._corpora.get(correction.document, ())) if correction.scope == CORPUS else [None]


def _latest(corrections: Iterable[Correction]) -> Decision:
    """Return what corrections of one scope decide together."""
    correction: Correction | None = None
    rejected: set[str] = set()
    for later in corrections:
        if later.action == REJECT:
            rejected.update(later.concept_ids)
            if correction and not rejected.isdisjoint(correction.concept_ids):
                correction = None
        else:
            correction = later
            rejected.difference_update(later.concept_ids)
    return Decision(correction, frozenset(rejected))
