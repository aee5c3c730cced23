"""PhrasesSignal: every few words of a document, and the names that they are like. No mention need have been found."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from spacy.lang.en.stop_words import STOP_WORDS
from spacy.tokens import Doc

from ...text.composites import composite_splits
from ...text.normalize import lower
from ..training_counts import NOTHING, DocumentCounts, TrainingCounts
from .near_names import NearNames
from .signal import Characters, View

LONGEST = 6  # words
LONGEST_COMPOSITE = 10
ENDS = frozenset(".;:!?")
SURE = 0.85  # a cosine from which on a phrase is taken for a use of the name
SURE_NAME = 0.95  # … and hides what is inside it
EQUAL = 1e-6
INSIDE = 0.1  # taken from the likeness of what is only found inside longer names
_CONNECTOR = re.compile(r"\b(?:and|or|nor)\b|/")
BEGINNING = 25  # words, where a document has no sentences: a title


class Phrase(NamedTuple):
    """A text with the places where a document has it.

    Attributes:
        spans: characters `start:end`.
        in_beginning: whether one of them is in the title, or else the first sentence.
    """

    text: str
    spans: list[Characters]
    in_beginning: bool


def phrases(doc: Doc) -> list[Phrase]:
    """Return all runs of one to `LONGEST` words, lower-cased, that begin and end with a word that is no stop word, and
    do not go beyond a clause.
    """
    found: dict[str, list[Characters]] = {}
    text = doc.text
    runs = [(doc[first].idx, doc[last].idx + len(doc[last]), last - first < LONGEST) for first, last in _runs(doc)]
    for start, end, _ in filter(itemgetter(2), runs):
        form = lower(text[start:end])
        if len(form) > 1 and not form.isdigit():
            found.setdefault(form, []).append((start, end))
    for form, span in _parts(text, [run[:2] for run in runs]).items():
        found.setdefault(form, [span])
    limit = end_of_beginning(doc)
    return [Phrase(form, spans, spans[0][0] < limit) for form, spans in found.items()]


def _runs(doc: Doc) -> Iterator[tuple[int, int]]:
    """Yield the first and the last token of each run that can be a phrase, or a composite."""
    ends = [token.text in ENDS or token.is_space for token in doc]
    outer = [token.lower_ not in STOP_WORDS and any(map(str.isalnum, token.text)) for token in doc]
    for first, is_outer in enumerate(outer):
        if is_outer:
            for last in range(first, min(first + LONGEST_COMPOSITE, len(doc))):
                if ends[last]:
                    break
                if outer[last]:
                    yield first, last


def _parts(text: str, runs: Iterable[Characters]) -> dict[str, Characters]:
    """Return the parts of what may be composites ("brain and lung cancer"), each with the shortest run that it is a
    part of.
    """
    parts: dict[str, Characters] = {}
    for start, end in sorted(runs, key=lambda run: (run[1] - run[0], run)):
        if _CONNECTOR.search(text, start, end):
            for reading in composite_splits(text[start:end], max_splits=1):
                for part in map(lower, reading):
                    if part.count(" ") < LONGEST:
                        parts.setdefault(part, (start, end))
    return parts


def end_of_beginning(doc: Doc) -> int:
    """Return the character where the title or the first sentence ends."""
    for token in doc:
        if (token.text in ENDS and token.i > 2) or token.i == BEGINNING:
            return token.idx
    return len(doc.text)


class PhrasesSignal:
    """Which concepts have names that phrases of a document are like.

    A phrase speaks for the concepts whose name is most like it; for others, whose names are only near, half as much.

    Args:
        near_names: finds the names.
        counts: how often which texts are annotated.
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
        found = [phrases(doc) for doc in docs]
        near = self.near_names(phrase.text for of_doc in found for phrase in of_doc)
        left_out = self._left_out(own) if own else [frozenset()] * len(docs)
        known = own or [NOTHING] * len(docs)
        return [
            PhraseView(
                of_doc,
                self.near_names.matching_entries([near[one.text] for one in of_doc], without),
                self.counts,
                counts,
            )
            for of_doc, without, counts in zip(found, left_out, known, strict=True)
        ]

    def _left_out(self, own: Sequence[DocumentCounts]) -> list[frozenset[int]]:
        """Return the rows of names that the vocabulary has from this document only."""
        marked = self.counts.marked if self.counts else {}
        alone = ([text for text, n in one.marked.items() if marked.get(text, 0) <= n] for one in own)
        return [frozenset(row for text in texts for row in self._annotated.get(text, ())) for texts in alone]

    @cached_property
    def _annotated(self) -> dict[str, list[int]]:
        """The rows of the names that are mentions of a corpus and nothing else."""
        kb = self.near_names.concepts.kb
        rows: dict[str, list[int]] = {}
        for row in kb.annotated_only():
            rows.setdefault(lower(kb.name(row)), []).append(row)
        return rows


class PhraseView:
    """What the phrases of one document are like.

    Args:
        pairs: phrases (int64), places of concepts (int64) and cosines (float32), for each near name of each phrase.
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
        order = np.lexsort((phrase, -cosine, ~votes))  # a concept's phrases: first those that speak for it, best first
        self._of_place: dict[int, list[tuple[int, float, bool]]] = {}
        for i in order:
            self._of_place.setdefault(int(place[i]), []).append((int(phrase[i]), float(cosine[i]), bool(votes[i])))
        names = (span for i in np.flatnonzero(highest > SURE_NAME) for span in found[i].spans)
        self._names = _Covered(names)

    def nearest(self, n: int) -> np.ndarray:
        scored = [(-self._likeness(seen), place) for place, seen in self._of_place.items()]
        return np.array([place for _, place in sorted(scored)[:n]], dtype=np.int64)

    def features(self, places: np.ndarray) -> np.ndarray:
        features = np.zeros((len(places), len(PhrasesSignal.features)), dtype=np.float32)
        for row, place in enumerate(places):
            seen = self._of_place.get(int(place))
            if seen:
                features[row] = self._features(seen)
        return features

    def evidence(self, place: int) -> list[Characters]:
        seen = self._of_place.get(place, [])
        sure = self._sure(seen) or [phrase for phrase, _, _ in seen[:1]]
        return _apart(span for phrase in sure for span in self._phrases[phrase].spans)

    def _likeness(self, seen: list[tuple[int, float, bool]]) -> float:
        first, cosine, votes = seen[0]
        best = max(cosine for _, cosine, _ in seen)
        if not votes:
            return best / 2
        using = [self._phrases[phrase] for phrase in self._sure(seen) or [first]]
        return max(cosine - INSIDE * self._share_inside(using), best / 2)

    @staticmethod
    def _sure(seen: list[tuple[int, float, bool]]) -> list[int]:
        """Return the phrases that are taken for uses of a name."""
        return list(dict.fromkeys(phrase for phrase, cosine, votes in seen if votes and cosine > SURE))

    def _features(self, seen: list[tuple[int, float, bool]]) -> list[float]:
        first, cosine, votes = seen[0]
        best = max(cosine for _, cosine, _ in seen)
        using = [self._phrases[phrase] for phrase in self._sure(seen) or [first]]
        often = np.log1p(sum(len(phrase.spans) for phrase in using)) if self._sure(seen) else 0.0
        is_name = votes and cosine > 1 - EQUAL * 100
        marked, known = self._marked(using)
        return [
            self._likeness(seen),
            max(0.0, best - 0.5),
            10 * max(0.0, best - 0.9),
            is_name,
            often,
            any(phrase.in_beginning for phrase in using),
            marked,
            known,
            is_name and self._counts is not None and not known,
            often * (marked > 3),
            len(using[0].text.split()),
            float(np.log(len(using[0].text))),
            self._share_inside(using) if often else 0.0,
        ]

    def _share_inside(self, using: list[Phrase]) -> float:
        """Return `float`: of the places of phrases, how many are a part of a longer phrase that is a name."""
        spans = [span for phrase in using for span in phrase.spans]
        return sum(map(self._names.hide, spans)) / len(spans)

    def _marked(self, using: list[Phrase]) -> tuple[float, bool]:
        if self._counts is None:
            return 0.0, False
        marked = max(self._counts.log_odds(phrase.text, self._own) for phrase in using)
        return marked, any(self._counts.occurrences(phrase.text, self._own) for phrase in using)


class _Covered:
    """Places of names; told fast, since a long document has very many."""

    def __init__(self, spans: Iterable[Characters]) -> None:
        self._longest: dict[int, int] = {}
        for start, end in spans:
            self._longest[start] = max(end, self._longest.get(start, end))
        self._starts = sorted(self._longest)
        self._reach = list(accumulate((self._longest[start] for start in self._starts), max))

    def hide(self, span: Characters) -> bool:
        """Whether the characters are a part of a longer name."""
        start, end = span
        before = bisect_left(self._starts, start)
        return (before > 0 and self._reach[before - 1] >= end) or self._longest.get(start, end) > end


def _apart(spans: Iterable[Characters]) -> list[Characters]:
    """Return `list[tuple[int, int]]`: those that overlap none before them."""
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
        mentions: the annotated texts; concepts (Sequence[str]): the ids.
    """
    texts = Counter({phrase.text: len(phrase.spans) for phrase in phrases(doc)})
    marked = Counter(map(lower, mentions))
    texts |= marked  # a mention may be longer than a phrase, or end with a stop word
    return DocumentCounts(frozenset(concepts), texts, marked)
