"""`PhrasesSignal`: compare the phrases of a document with names. It needs no mentions."""

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
OCCURRENCE = 0.85  # above this cosine, a phrase counts as an occurrence of the name
NAME = 0.95  # above this cosine, a phrase counts as a name, and shorter phrases inside it count less
EQUAL = 1e-6  # cosines with a smaller difference are equal
INSIDE = 0.1  # subtracted from the similarity of a phrase that is always inside longer names
_CONNECTOR = re.compile(r"\b(?:and|or|nor)\b|/")
BEGINNING = 25  # words: the most in the beginning of a document, such as its title


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
    found: dict[str, list[Characters]] = {}
    text = doc.text
    runs = [(doc[first].idx, doc[last].idx + len(doc[last]), last - first < LONGEST) for first, last in _runs(doc)]
    for start, end, _ in filter(itemgetter(2), runs):
        form = lower(text[start:end])
        if len(form) > 1 and not form.isdigit():
            found.setdefault(form, []).append((start, end))
    for form, span in _composite_parts(text, [run[:2] for run in runs]).items():
        found.setdefault(form, [span])
    limit = end_of_beginning(doc)
    return [Phrase(form, spans, spans[0][0] < limit) for form, spans in found.items()]


def _runs(doc: Doc) -> Iterator[tuple[int, int]]:
    """Yield the first and the last token of each run that can be a phrase or a composite."""
    ends = [token.text in ENDS or token.is_space for token in doc]
    outer = [token.lower_ not in STOP_WORDS and any(map(str.isalnum, token.text)) for token in doc]
    for first, is_outer in enumerate(outer):
        if is_outer:
            for last in range(first, min(first + LONGEST_COMPOSITE, len(doc))):
                if ends[last]:
                    break
                if outer[last]:
                    yield first, last


def _composite_parts(text: str, runs: Iterable[Characters]) -> dict[str, Characters]:
    """Return the parts of possible composites, such as "brain and lung cancer", with the shortest run of each part."""
    parts: dict[str, Characters] = {}
    for start, end in sorted(runs, key=lambda run: (run[1] - run[0], run)):
        if _CONNECTOR.search(text, start, end):
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


class PhrasesSignal:
    """The concepts with names that are similar to phrases of a document.

    A phrase supports the concepts of its nearest name. It supports the concepts of other near names half as much.

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
        order = np.lexsort((phrase, -cosine, ~votes))  # first the phrases with it as the nearest concept
        self._of_place: dict[int, list[tuple[int, float, bool]]] = {}
        for i in order:
            self._of_place.setdefault(int(place[i]), []).append((int(phrase[i]), float(cosine[i]), bool(votes[i])))
        names = (span for i in np.flatnonzero(highest > NAME) for span in found[i].spans)
        self._names = _NameSpans(names)

    def nearest(self, n: int) -> np.ndarray:
        scored = [(-self._similarity(seen), place) for place, seen in self._of_place.items()]
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
        occurring = self._occurring(seen) or [phrase for phrase, _, _ in seen[:1]]
        return _without_overlaps(span for phrase in occurring for span in self._phrases[phrase].spans)

    def _similarity(self, seen: list[tuple[int, float, bool]]) -> float:
        first, cosine, votes = seen[0]
        best = max(cosine for _, cosine, _ in seen)
        if not votes:
            return best / 2
        using = [self._phrases[phrase] for phrase in self._occurring(seen) or [first]]
        return max(cosine - INSIDE * self._share_inside(using), best / 2)

    @staticmethod
    def _occurring(seen: list[tuple[int, float, bool]]) -> list[int]:
        """Return the indices of the phrases that count as occurrences of a name."""
        return list(dict.fromkeys(phrase for phrase, cosine, votes in seen if votes and cosine > OCCURRENCE))

    def _features(self, seen: list[tuple[int, float, bool]]) -> list[float]:
        first, cosine, votes = seen[0]
        best = max(cosine for _, cosine, _ in seen)
        using = [self._phrases[phrase] for phrase in self._occurring(seen) or [first]]
        often = np.log1p(sum(len(phrase.spans) for phrase in using)) if self._occurring(seen) else 0.0
        is_name = votes and cosine > 1 - EQUAL * 100
        marked, known = self._marked(using)
        return [
            self._similarity(seen),
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
        """Return the share of the occurrences of phrases that are inside a longer name."""
        spans = [span for phrase in using for span in phrase.spans]
        return sum(map(self._names.contain_longer, spans)) / len(spans)

    def _marked(self, using: list[Phrase]) -> tuple[float, bool]:
        if self._counts is None:
            return 0.0, False
        marked = max(self._counts.log_odds(phrase.text, self._own) for phrase in using)
        return marked, any(self._counts.occurrences(phrase.text, self._own) for phrase in using)


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
