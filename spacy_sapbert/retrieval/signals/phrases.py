"""`PhrasesSignal`: compare the phrases of a document with names. It needs no mentions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType

import numpy as np
from spacy.lang.en.stop_words import STOP_WORDS
from spacy.tokens import Doc

from ...text.normalize import lower
from ..mention_model import MentionModel, phrase_features
from ..phrases import SEPARATORS, Characters, Phrase, phrases
from ..training_counts import NOTHING, DocumentCounts, TrainingCounts
from .near_names import LikelyNames, Near, NearNames
from .signal import View

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


def _is_plain(text: str) -> bool:
    """Return whether a phrase is short, and has only separators inside that names often have."""
    words = text.split()
    inner = STOP_WORDS.intersection(words[1:-1])
    return len(words) <= LONGEST_LIKELY and inner <= _INNER_WORDS and SEPARATORS.isdisjoint(text)


class PhrasesSignal:
    """The concepts with names that are similar to phrases of a document.

    A phrase supports the concepts of its nearest name. It supports the concepts of other near names half as much.

    In a large vocabulary (`LikelyNames`), a phrase is not searched for if it is long, if stop words or punctuation
    separate it, or if annotators never mark it. It still supports the concepts of a name that equals it.

    Args:
        near_names: The search for the nearest names.
        counts: How often texts are annotated in the training data.
        mention_model: Estimates how likely a phrase is a mention; None without training.
    """

    name = "phrases"
    features: tuple[str, ...] = (
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

    def read(self, docs: Sequence[Doc], own: Sequence[DocumentCounts] | None = None) -> list[View]:
        left_out = self._left_out(own) if own else [frozenset()] * len(docs)
        known = own or [NOTHING] * len(docs)
        found = [phrases(doc) for doc in docs]
        likely = [self._mentions(*one) for one in zip(docs, found, known, strict=True)]
        near = self._near(found, likely, known)
        return [
            PhraseView(
                [phrase for phrase, _ in of_doc],
                self.near_names.matching_entries([pair for _, pair in of_doc], without),
                self.counts,
                counts,
                mentions,
            )
            for of_doc, without, counts, mentions in zip(near, left_out, known, likely, strict=True)
        ]

    def _mentions(self, doc: Doc, found: Sequence[Phrase], own: DocumentCounts) -> dict[str, float]:
        """Return how likely each phrase is a mention, by its text. Without training, that is unknown."""
        if self.mention_model is None or self.counts is None:
            return {}
        probabilities = self.mention_model.probabilities(phrase_features(doc.text, found, self.counts, own))
        return dict(zip((one.text for one in found), probabilities.tolist(), strict=True))

    def _near(
        self,
        found: Sequence[Sequence[Phrase]],
        likely: Sequence[Mapping[str, float]],
        own: Sequence[DocumentCounts],
    ) -> list[list[tuple[Phrase, Near]]]:
        """Return for each document the phrases that have near names, with these."""
        if isinstance(self.near_names, LikelyNames):
            return self._near_likely(self.near_names, found, likely, own)
        near = self.near_names(one.text for of_doc in found for one in of_doc)
        return [[(one, near[one.text]) for one in of_doc] for of_doc in found]

    def _near_likely(
        self,
        names: LikelyNames,
        found: Sequence[Sequence[Phrase]],
        likely: Sequence[Mapping[str, float]],
        own: Sequence[DocumentCounts],
    ) -> list[list[tuple[Phrase, Near]]]:
        """Return the phrases with near names. Likely mentions are compared with all names, others with names alike."""
        mentions = [{text for text, p in of_doc.items() if p > LIKELY} for of_doc in likely]
        others = [[one for one in of_doc if one.text not in some] for of_doc, some in zip(found, mentions, strict=True)]
        searched = [
            {one.text for one in of_doc if _is_plain(one.text) and not self._is_refuted(one.text, counts)}
            for of_doc, counts in zip(others, own, strict=True)
        ]
        # in the order of the text, since vectors differ in the last digits if texts are encoded in another order
        pairs = zip(found, mentions, strict=True)
        near_mentions = names(one.text for of_doc, some in pairs for one in of_doc if one.text in some)
        near = names.find((one.text for of_doc in others for one in of_doc), frozenset().union(*searched))
        return [
            [
                (one, pair)
                for one in of_doc
                if (pair := near_mentions[one.text] if one.text in some else near.get(one.text))
                and (one.text in some or one.text in of_names or pair[1][0] > IS_NAME)
            ]
            for of_doc, of_names, some in zip(found, searched, mentions, strict=True)
        ]

    def _is_refuted(self, text: str, own: DocumentCounts) -> bool:
        """Return whether a text occurs often in other training documents, but is never annotated there."""
        if self.counts is None or self.counts.marked.get(text, 0) > own.marked[text]:
            return False
        return self.counts.occurrences(text, own) >= REFUTED

    def _left_out(self, own: Sequence[DocumentCounts]) -> list[frozenset[int]]:
        """Return for each document the rows of the names that the vocabulary has from this document only."""
        names: Mapping[str, int] = self.counts.names if self.counts else {}
        alone = ([name for name in one.names if names.get(name, 0) <= 1] for one in own)
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
        mentions: How likely phrases are mentions, by their text. Phrases that are not known have 0.
    """

    def __init__(
        self,
        found: list[Phrase],
        pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
        counts: TrainingCounts | None,
        own: DocumentCounts,
        mentions: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self._phrases = found
        self._counts = counts
        self._own = own
        self._mentions = np.array([mentions.get(one.text, 0.0) for one in found])
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
                marked[i], known[i] = self._counts.known(one.text, self._own)
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
    by_place: list[Characters] = []
    for start, end in spans:
        place = bisect_left(by_place, (start, end))
        if all(last <= start or end <= first for first, last in by_place[max(0, place - 1) : place + 1]):
            by_place.insert(place, (start, end))
            apart.append((start, end))
    return apart
