"""`PhrasesSignal`: compare the phrases of a document with names. It needs no mentions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from spacy.lang.en.stop_words import STOP_WORDS
from spacy.tokens import Doc

from ..text.normalize import lower
from .concepts import ConceptMatches, LikelyNames, Near, NearNames
from .phrases import SEPARATORS, Characters, Phrase, phrases
from .signals import Signal, TableView, View
from .training_counts import NOTHING, DocumentCounts, MentionModel, TrainingCounts, phrase_features

OCCURRENCE = 0.85  # above this cosine, a phrase counts as an occurrence of the name
NAME = 0.95  # above this cosine, a phrase counts as a name, and shorter phrases inside it count less
EQUAL = 1e-6  # cosines with a smaller difference are equal
INSIDE = 0.1  # subtracted from the similarity of a phrase that is always inside longer names
IS_NAME = 1 - EQUAL * 100  # above this cosine, a phrase equals the name
# What is searched for in a large vocabulary. The limits were set on training documents, see docs/results/documents.md.
LONGEST_LIKELY = 5  # words
LIKELY = 0.02  # a phrase that is a mention with at least this probability is always searched for
REFUTED = 3  # occurrences in training documents without annotation
_INNER_WORDS = frozenset({"of", "the"})  # other stop words inside a phrase separate two phrases


class _Search(Enum):
    """What the names of a phrase are searched among."""

    ALL_NAMES = 0
    NAMES_ALIKE = 1
    EQUAL_NAMES = 2


class PhrasesSignal(Signal):
    """The concepts with names that are similar to phrases of a document.

    A phrase supports the concepts of its nearest name. It supports the concepts of other near names half as much.

    In a large vocabulary (`LikelyNames`), a phrase is not searched for if it is long, if stop words or punctuation
    separate it, or if annotators never mark it. It still supports the concepts of a name that equals it.
    """

    name = "phrases"
    features = (
        "likeness", "near", "nearer", "a name", "often", "in the beginning",
        "marked", "known", "a name but unknown", "often and marked", "words", "length", "inside another",
        "a mention", "a near mention", "near mentions",
    )  # fmt: skip
    threshold = 0.93

    def __init__(
        self, near_names: NearNames, counts: TrainingCounts | None = None, mention_model: MentionModel | None = None
    ) -> None:
        self.near_names = near_names
        self.counts = counts
        self.mention_model = mention_model

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> Sequence[View]:
        counts_of_docs = own or [NOTHING] * len(docs)
        documents = [self._document(doc, counts) for doc, counts in zip(docs, counts_of_docs, strict=True)]
        views = []
        for document, near in zip(documents, self._near(documents), strict=True):
            without = self._own_names(document.own) if own else frozenset[int]()
            matches = self.near_names.concepts_with(list(near.values()), without)
            views.append(PhraseView(document, near, matches, self.counts))
        return views

    def _document(self, doc: Doc, own: DocumentCounts) -> _Document:
        found = phrases(doc)
        probabilities: dict[str, float] = {}
        if self.mention_model is not None and self.counts is not None:
            features = phrase_features(doc.text, found, self.counts, own)
            each = self.mention_model.probabilities(features).tolist()
            probabilities = dict(zip((phrase.text for phrase in found), each, strict=True))
        return _Document({phrase.text: phrase for phrase in found}, own, probabilities)

    def _near(self, documents: Sequence[_Document]) -> list[dict[str, Near]]:
        """Return the near names of the phrases of each document, by their text. Phrases without any are left out."""
        names = self.near_names
        if isinstance(names, LikelyNames):
            return self._near_likely(names, documents)
        near = names(text for document in documents for text in document.phrases)
        return [{text: near[text] for text in document.phrases} for document in documents]

    def _near_likely(self, names: LikelyNames, documents: Sequence[_Document]) -> list[dict[str, Near]]:
        searches = [{text: self._search(text, document) for text in document.phrases} for document in documents]
        # in the order of the text, since vectors differ in the last digits if texts are encoded in another order
        every = [(text, search) for by_text in searches for text, search in by_text.items()]
        near_mentions = names(text for text, search in every if search is _Search.ALL_NAMES)
        near_others = names.find(
            (text for text, search in every if search is not _Search.ALL_NAMES),
            {text for text, search in every if search is _Search.NAMES_ALIKE},
        )

        def near_of(text: str, search: _Search) -> Near | None:
            if search is _Search.ALL_NAMES:
                return near_mentions[text]
            near = near_others.get(text)  # another document may have searched among names alike
            return None if near and search is _Search.EQUAL_NAMES and near.cosines[0] <= IS_NAME else near

        return [
            {text: near for text, search in by_text.items() if (near := near_of(text, search))} for by_text in searches
        ]

    def _search(self, text: str, document: _Document) -> _Search:
        if document.probabilities.get(text, 0.0) > LIKELY:
            return _Search.ALL_NAMES
        words = text.split()
        inner = STOP_WORDS.intersection(words[1:-1])
        # whether it is short, and has only separators inside that names often have
        is_plain = len(words) <= LONGEST_LIKELY and inner <= _INNER_WORDS and SEPARATORS.isdisjoint(text)
        is_worthwhile = is_plain and not self._is_refuted(text, document.own)
        return _Search.NAMES_ALIKE if is_worthwhile else _Search.EQUAL_NAMES

    def _is_refuted(self, text: str, own: DocumentCounts) -> bool:
        """Return whether a text occurs often in other training documents, but is never annotated there."""
        if self.counts is None or self.counts.marked.get(text, 0) > own.marked[text]:
            return False
        return self.counts.occurrences(text, own) >= REFUTED

    def _own_names(self, own: DocumentCounts) -> frozenset[int]:
        """Return the rows of the names that the vocabulary has from this document only."""
        documents: Mapping[str, int] = self.counts.names if self.counts else {}
        only_here = (name for name in own.names if documents.get(name, 0) <= 1)
        return frozenset(row for name in only_here for row in self._annotated.get(name, ()))

    @cached_property
    def _annotated(self) -> dict[str, list[int]]:
        """The rows of the names that come only from the mentions of a corpus, by the lower-case name."""
        kb = self.near_names.concepts.kb
        rows: dict[str, list[int]] = {}
        for row in kb.annotated_only():
            rows.setdefault(lower(kb.name(row)), []).append(row)
        return rows


class _Document(NamedTuple):
    """The phrases of a document by their text, its own counts, and how likely each phrase is a mention."""

    phrases: Mapping[str, Phrase]
    own: DocumentCounts
    probabilities: Mapping[str, float]


class PhraseView(TableView):
    """The names near to the phrases of one document, and their concepts."""

    def __init__(
        self, document: _Document, near: Mapping[str, Near], matches: ConceptMatches, counts: TrainingCounts | None
    ) -> None:
        self._phrases = [document.phrases[text] for text in near]
        self._counts = counts
        self._own = document.own
        self._mentions = np.array([document.probabilities.get(text, 0.0) for text in near])
        phrase, position, cosine = matches
        highest = np.zeros(len(near), dtype=np.float32)
        np.maximum.at(highest, phrase, cosine)
        votes = cosine >= highest[phrase] - EQUAL
        # for each concept, the phrases with it as their nearest concept come first
        order = np.lexsort((phrase, -cosine, ~votes, position))
        _, firsts = np.unique((position * len(near) + phrase)[order], return_index=True)
        order = order[np.sort(firsts)]  # one entry per concept and phrase: that of the nearest name
        self._phrase, self._cosine, self._votes = phrase[order], cosine[order].astype(np.float64), votes[order]
        self._positions, self._starts = np.unique(position[order], return_index=True)
        self._occurs = self._votes & (self._cosine > OCCURRENCE)
        self._used = self._occurs.copy()
        self._used[self._starts] = True  # for want of an occurrence, the best phrase
        names = (span for i in np.flatnonzero(highest > NAME) for span in self._phrases[i].spans)
        super().__init__(self._positions, self._compute(_NameSpans(names)))

    def evidence(self, position: int) -> list[Characters]:
        row = int(np.searchsorted(self._positions, position))
        if position not in self._positions[row : row + 1]:
            return []
        part = slice(*[*self._starts.tolist(), len(self._phrase)][row : row + 2])
        using = self._phrase[part][self._used[part]].tolist()
        return _without_overlaps(span for phrase in using for span in self._phrases[phrase].spans)

    def _compute(self, names: _NameSpans) -> np.ndarray:
        """Return the features of all concepts with a near name, float64, shape (concepts, features)."""
        starts, used, phrase = self._starts, self._used, self._phrase
        if not len(starts):
            return np.zeros((0, len(PhrasesSignal.features)))
        spans = np.array([len(phrase.spans) for phrase in self._phrases])
        inside, early, marked, known = (np.zeros(len(spans)) for _ in range(4))
        for i in np.unique(phrase[used]).tolist():
            candidate = self._phrases[i]
            inside[i] = sum(map(names.contain_longer, candidate.spans))
            early[i] = candidate.in_beginning
            if self._counts is not None:
                marked[i], known[i] = self._counts.known(candidate.text, self._own)
        share = np.add.reduceat(used * inside[phrase], starts) / np.add.reduceat(used * spans[phrase], starts)
        occurs, votes = self._occurs[starts], self._votes[starts]
        often = np.where(occurs, np.log1p(np.add.reduceat(used * spans[phrase], starts)), 0.0)
        best = np.maximum.reduceat(self._cosine, starts)
        is_name = votes & (self._cosine[starts] > IS_NAME)
        likeness = np.where(votes, np.maximum(self._cosine[starts] - INSIDE * share, best / 2), best / 2)
        marked = np.maximum.reduceat(np.where(used, marked[phrase], -np.inf), starts)
        known = np.maximum.reduceat(used * known[phrase], starts)
        first = [self._phrases[i].text for i in phrase[starts].tolist()]
        mention = self._mentions[phrase] * self._votes
        near_mention = mention * np.clip(2 * self._cosine - 1, 0, 1)
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
                np.maximum.reduceat(mention, starts),
                np.maximum.reduceat(near_mention, starts),
                np.log1p(np.add.reduceat(near_mention * spans[phrase], starts)),
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
    by_position: list[Characters] = []
    for start, end in spans:
        position = bisect_left(by_position, (start, end))
        if all(last <= start or end <= first for first, last in by_position[max(0, position - 1) : position + 1]):
            by_position.insert(position, (start, end))
            apart.append((start, end))
    return apart
