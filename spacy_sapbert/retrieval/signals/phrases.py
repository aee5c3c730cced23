"""`PhrasesSignal`: compare the phrases of a document with names. It needs no mentions."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from spacy.lang.en.stop_words import STOP_WORDS
from spacy.tokens import Doc

from ...text.composites import composite_splits
from ...text.normalize import lower
from ..training_counts import NOTHING, DocumentCounts, TrainingCounts
from .near_names import LikelyNames, Near, NearNames
from .signal import Characters, View

LONGEST = 6  # words
LONGEST_COMPOSITE = 10
ENDS = frozenset(".;:!?")
OCCURRENCE = 0.85  # above this cosine, a phrase counts as an occurrence of the name
NAME = 0.95  # above this cosine, a phrase counts as a name, and shorter phrases inside it count less
EQUAL = 1e-6  # cosines with a smaller difference are equal
INSIDE = 0.1  # subtracted from the similarity of a phrase that is always inside longer names
_CONNECTOR = re.compile(r"\b(?:and|or|nor)\b|/")
BEGINNING = 25  # words: the most in the beginning of a document, such as its title
IS_NAME = 1 - EQUAL * 100  # above this cosine, a phrase equals the name
# What is searched for in a large vocabulary. The limits were set on training documents, see docs/results.md.
LONGEST_LIKELY = 5  # words
REFUTED = 3  # occurrences in training documents without annotation
_INNER_WORDS = frozenset({"of", "the"})  # other stop words inside a phrase separate two phrases
_SEPARATORS = frozenset(',()%=<>"')
# A composite has no other stop words than these inside, and no separator but the comma.
_IN_COMPOSITES = frozenset(
    ("of", "the", "and", "or", "nor", "as", "well", "but", "not", "also", "both", "either", "neither")
)
_BARRIERS = (STOP_WORDS - _IN_COMPOSITES) | (_SEPARATORS - {","})


class Phrase(NamedTuple):
    """A text and its occurrences in a document.

    Attributes:
        text: The lower-case text.
        spans: The character offsets `start, end` of the occurrences.
        in_beginning: Whether the first occurrence is in the title or the first sentence.
    """

    text: str
    spans: list[Characters]
    in_beginning: bool


def phrases(doc: Doc) -> list[Phrase]:
    """Return all phrases of a document: runs of one to `LONGEST` words within a clause, in lower case.

    The first and the last word are not stop words. The parts of composites are phrases, too.
    """
    text = doc.text
    found: dict[str, list[Characters]] = {}
    joined = []
    form_of = _forms(text)
    for start, end, is_phrase, is_joined in _runs(doc):
        if is_joined:
            joined.append((start, end))
        if is_phrase:
            form = form_of(start, end)
            if len(form) > 1 and not form.isdigit():
                found.setdefault(form, []).append((start, end))
    for form, span in _composite_parts(text, joined).items():
        found.setdefault(form, [span])
    limit = end_of_beginning(doc)
    return [Phrase(form, spans, spans[0][0] < limit) for form, spans in found.items()]


def _forms(text: str) -> Callable[[int, int], str]:
    """Return a function that gives the lower-case form of a part of a text."""
    lowered = text.lower()
    if len(lowered) == len(text) and " ".join(lowered.split()) == lowered:
        return lambda start, end: lowered[start:end]  # much faster, since the text as a whole has this form
    return lambda start, end: lower(text[start:end])


def _runs(doc: Doc) -> Iterator[tuple[int, int, bool, bool]]:
    """Yield each run of words that can be a phrase or a composite: its characters, and which of both it can be."""
    tokens = [(token.text, token.idx) for token in doc]
    texts = [one for one, _ in tokens]
    starts = [start for _, start in tokens]
    stops = [start + len(one) for one, start in tokens]
    outer = [any(map(str.isalnum, one)) and one.lower() not in STOP_WORDS for one in texts]
    clauses = list(accumulate(one in ENDS or one.isspace() for one in texts))
    # the number of connectors before each token, the last one for the end of the document
    joints = [0, *accumulate(_CONNECTOR.search(one) is not None for one in texts)]
    barriers = list(accumulate(one.lower() in _BARRIERS for one in texts))
    words = [place for place, is_outer in enumerate(outer) if is_outer]
    for number, first in enumerate(words):
        for last in words[number : number + LONGEST_COMPOSITE]:
            length = last - first + 1
            if length > LONGEST_COMPOSITE or clauses[last] != clauses[first]:
                break
            is_joined = joints[last + 1] > joints[first] and barriers[last] == barriers[first]
            yield starts[first], stops[last], length <= LONGEST, is_joined


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


def _is_plain(text: str) -> bool:
    """Return whether a phrase is short, and has only separators inside that names often have."""
    words = text.split()
    inner = STOP_WORDS.intersection(words[1:-1])
    return len(words) <= LONGEST_LIKELY and inner <= _INNER_WORDS and _SEPARATORS.isdisjoint(text)


class PhrasesSignal:
    """The concepts with names that are similar to phrases of a document.

    A phrase supports the concepts of its nearest name. It supports the concepts of other near names half as much.

    In a large vocabulary (`LikelyNames`), a phrase is not searched for if it is long, if stop words or punctuation
    separate it, or if annotators never mark it. It still supports the concepts of a name that equals it.

    Args:
        near_names: The search for the nearest names.
        counts: How often texts are annotated in the training data.
    """

    name = "phrases"
    features: tuple[str, ...] = (
        "likeness", "near", "nearer", "a name", "often", "in the beginning",
        "marked", "known", "a name but unknown", "often and marked", "words", "length", "inside another",
    )  # fmt: skip
    threshold = 0.93

    def __init__(self, near_names: NearNames, counts: TrainingCounts | None = None) -> None:
        self.near_names = near_names
        self.counts = counts

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> list[View]:
        left_out = self._left_out(own) if own else [frozenset()] * len(docs)
        known = own or [NOTHING] * len(docs)
        near = self._near([phrases(doc) for doc in docs], known)
        return [
            PhraseView(
                [phrase for phrase, _ in of_doc],
                self.near_names.matching_entries([pair for _, pair in of_doc], without),
                self.counts,
                counts,
            )
            for of_doc, without, counts in zip(near, left_out, known, strict=True)
        ]

    def _near(
        self, found: Sequence[Sequence[Phrase]], own: Sequence[DocumentCounts]
    ) -> list[list[tuple[Phrase, Near]]]:
        """Return for each document the phrases that have near names, with these."""
        texts = [one.text for of_doc in found for one in of_doc]
        if not isinstance(self.near_names, LikelyNames):
            near = self.near_names(texts)
            return [[(one, near[one.text]) for one in of_doc] for of_doc in found]
        plain = set(filter(_is_plain, dict.fromkeys(texts)))
        likely = [
            {one.text for one in of_doc if one.text in plain and not self._is_refuted(one.text, counts)}
            for of_doc, counts in zip(found, own, strict=True)
        ]
        near = self.near_names.find(texts, frozenset().union(*likely))
        return [
            [
                (one, pair)
                for one in of_doc
                if (pair := near.get(one.text)) and (one.text in searched or pair[1][0] > IS_NAME)
            ]
            for of_doc, searched in zip(found, likely, strict=True)
        ]

    def _is_refuted(self, text: str, own: DocumentCounts) -> bool:
        """Return whether a text occurs often in other training documents, but is never annotated there."""
        if self.counts is None or self.counts.marked.get(text, 0) > own.marked[text]:
            return False
        return self.counts.occurrences(text, own) >= REFUTED

    def _left_out(self, own: Sequence[DocumentCounts]) -> list[frozenset[int]]:
        """Return for each document the rows of the names that the vocabulary has from this document only."""
        marked = self.counts.marked if self.counts else {}
        alone = ([text for text, n in one.marked.items() if marked.get(text, 0) <= n] for one in own)
        return [frozenset(row for text in texts for row in self._annotated.get(text, ())) for texts in alone]

    @cached_property
    def _annotated(self) -> dict[str, list[int]]:
        """The rows of the names that come only from the mentions of a corpus, by the lower-case name."""
        kb = self.near_names.concepts.kb
        rows: dict[str, list[int]] = {}
        for row in kb.annotated_only():
            rows.setdefault(lower(kb.name(row)), []).append(row)
        return rows


class PhraseView:
    """The near names of the phrases of one document.

    Args:
        found: The phrases of the document.
        pairs: For each near name of each phrase: the index of the phrase (int64), the position of a concept (int64),
            and the cosine (float32).
        counts: How often texts are annotated in the training data.
        own: The counts of this document, if it belongs to the training data.
    """

    def __init__(
        self,
        found: list[Phrase],
        pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
        counts: TrainingCounts | None,
        own: DocumentCounts,
    ) -> None:
        self._phrases = found
        self._counts = counts
        self._own = own
        phrase, place, cosine = pairs
        highest = np.zeros(len(found), dtype=np.float32)
        np.maximum.at(highest, phrase, cosine)
        votes = cosine >= highest[phrase] - EQUAL
        # for each concept, the phrases with it as their nearest concept come first
        order = np.lexsort((phrase, -cosine, ~votes, place))
        _, firsts = np.unique((place * len(found) + phrase)[order], return_index=True)
        order = order[np.sort(firsts)]  # one entry per concept and phrase: that of the nearest name
        self._phrase, self._cosine, self._votes = phrase[order], cosine[order].astype(np.float64), votes[order]
        self._places, self._starts = np.unique(place[order], return_index=True)
        self._occurs = self._votes & (self._cosine > OCCURRENCE)
        self._used = self._occurs.copy()
        self._used[self._starts] = True  # for want of an occurrence, the best phrase
        names = (span for i in np.flatnonzero(highest > NAME) for span in found[i].spans)
        self._features = self._compute(_NameSpans(names))

    def nearest(self, n: int) -> np.ndarray:
        return self._places[np.argsort(-self._features[:, 0], kind="stable")[:n]]

    def features(self, places: np.ndarray) -> np.ndarray:
        features = np.zeros((len(places), len(PhrasesSignal.features)), dtype=np.float32)
        rows = np.searchsorted(self._places, places)
        found = np.flatnonzero(np.isin(places, self._places))
        features[found] = self._features[rows[found]]
        return features

    def evidence(self, place: int) -> list[Characters]:
        row = int(np.searchsorted(self._places, place))
        if row == len(self._places) or self._places[row] != place:
            return []
        part = slice(*[*self._starts.tolist(), len(self._phrase)][row : row + 2])
        using = self._phrase[part][self._used[part]].tolist()
        return _without_overlaps(span for phrase in using for span in self._phrases[phrase].spans)

    def _compute(self, names: _NameSpans) -> np.ndarray:
        """Return the features of all concepts with a near name, float64, shape (concepts, features)."""
        starts, used, phrase = self._starts, self._used, self._phrase
        if not len(starts):
            return np.zeros((0, len(PhrasesSignal.features)))
        spans = np.array([len(one.spans) for one in self._phrases])
        inside, early, marked, known = (np.zeros(len(spans)) for _ in range(4))
        for i in np.unique(phrase[used]).tolist():
            one = self._phrases[i]
            inside[i] = sum(map(names.contain_longer, one.spans))
            early[i] = one.in_beginning
            if self._counts is not None:
                marked[i] = self._counts.log_odds(one.text, self._own)
                known[i] = self._counts.occurrences(one.text, self._own) > 0
        share = np.add.reduceat(used * inside[phrase], starts) / np.add.reduceat(used * spans[phrase], starts)
        occurs, votes = self._occurs[starts], self._votes[starts]
        often = np.where(occurs, np.log1p(np.add.reduceat(used * spans[phrase], starts)), 0.0)
        best = np.maximum.reduceat(self._cosine, starts)
        is_name = votes & (self._cosine[starts] > IS_NAME)
        likeness = np.where(votes, np.maximum(self._cosine[starts] - INSIDE * share, best / 2), best / 2)
        marked = np.maximum.reduceat(np.where(used, marked[phrase], -np.inf), starts)
        known = np.maximum.reduceat(used * known[phrase], starts)
        first = [self._phrases[i].text for i in phrase[starts].tolist()]
        return np.stack(
            [
                likeness,
                np.maximum(0.0, best - 0.5),
                10 * np.maximum(0.0, best - 0.9),
                is_name,
                often,
                np.maximum.reduceat(used * early[phrase], starts),
                marked,
                known,
                is_name & (self._counts is not None) & (known == 0),
                often * (marked > 3),
                [len(text.split()) for text in first],
                np.log([len(text) for text in first]),
                np.where(occurs, share, 0.0),
            ],
            axis=1,
        )


class _NameSpans:
    """The character offsets of names. The lookup is fast, since a long document has very many names."""

    def __init__(self, spans: Iterable[Characters]) -> None:
        self._longest: dict[int, int] = {}
        for start, end in spans:
            self._longest[start] = max(end, self._longest.get(start, end))
        self._starts = sorted(self._longest)
        self._reach = list(accumulate((self._longest[start] for start in self._starts), max))

    def contain_longer(self, span: Characters) -> bool:
        """Return whether a span is inside a longer name."""
        start, end = span
        before = bisect_left(self._starts, start)
        return (before > 0 and self._reach[before - 1] >= end) or self._longest.get(start, end) > end


def _without_overlaps(spans: Iterable[Characters]) -> list[Characters]:
    """Return the spans that do not overlap an earlier span of the list."""
    apart: list[Characters] = []
    by_place: list[Characters] = []
    for start, end in spans:
        place = bisect_left(by_place, (start, end))
        if all(last <= start or end <= first for first, last in by_place[max(0, place - 1) : place + 1]):
            by_place.insert(place, (start, end))
            apart.append((start, end))
    return apart


def count_document(doc: Doc, mentions: Sequence[str], concepts: Sequence[str]) -> DocumentCounts:
    """Count one annotated document.

    Args:
        doc: The document.
        mentions: The annotated texts.
        concepts: The annotated ids.
    """
    texts = Counter({phrase.text: len(phrase.spans) for phrase in phrases(doc)})
    marked = Counter(map(lower, mentions))
    texts |= marked  # a mention may be longer than a phrase, or end with a stop word
    return DocumentCounts(frozenset(concepts), texts, marked)
