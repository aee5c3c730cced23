"""How often annotators mark concepts, texts and words, and a model of how likely a phrase is a mention."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from spacy.lang.en.stop_words import STOP_WORDS
from spacy.tokens import Doc

from ..errors import requiring
from ..kb.mentions import mention_names
from ..text.normalize import lower
from ..types import Document
from .phrases import Phrase, WordIndex, phrases, words_of

FEWEST = 2  # occurrences of a text that is never annotated: those with fewer are very many
ADDED = 3.0  # pseudo-occurrences of each text or word, annotated at the average rate


class WordCounts(NamedTuple):
    """How often words occur, and how often annotators mark them: inside a mention, as its first and last word."""

    seen: Counter[str]
    inside: Counter[str]
    first: Counter[str]
    last: Counter[str]

    @classmethod
    def of(cls, text: str, mentions: Iterable[tuple[int, int]]) -> WordCounts:
        """Count the words of a document. Mentions that cut a word do not count."""
        index = WordIndex(text)
        words = index.words
        parts = {index.inside(*offsets).indices(len(words))[:2] for offsets in mentions if not index.are_cut(*offsets)}
        spans = [(start, end - 1) for start, end in sorted(parts) if start < end]
        changes = Counter(first for first, _ in spans)
        changes.subtract(last + 1 for _, last in spans)
        marked = accumulate(changes[number] for number in range(len(words)))
        return cls(
            Counter(word.text for word in words),
            Counter(word.text for word, n in zip(words, marked, strict=True) if n),
            Counter(words[first].text for first, _ in spans),
            Counter(words[last].text for _, last in spans),
        )


NO_WORDS = WordCounts(Counter(), Counter(), Counter(), Counter())


class DocumentCounts(NamedTuple):
    """The counts of one annotated document.

    Attributes:
        concepts: The ids annotated in it.
        texts: How often each text occurs that may be a mention.
        marked: How often each of these texts is annotated.
        names: The lower-case names that its mentions can become: expanded, and the parts of composites.
    """

    concepts: frozenset[str]
    texts: Counter[str]
    marked: Counter[str]
    words: WordCounts = NO_WORDS
    names: frozenset[str] = frozenset()


NOTHING = DocumentCounts(frozenset(), Counter(), Counter())


def count_document(doc: Doc, document: Document) -> DocumentCounts:
    """Count one annotated document. Mentions without an id do not count."""
    mentions = [mention for mention in document.mentions if mention.ids]
    texts = Counter({phrase.text: len(phrase.spans) for phrase in phrases(doc)})
    marked = Counter(lower(mention.text) for mention in mentions)
    texts |= marked  # a mention may be longer than a phrase, or end with a stop word
    words = WordCounts.of(doc.text, [(mention.start, mention.end) for mention in mentions])
    names = frozenset(lower(name) for name, _ in mention_names(document))
    return DocumentCounts(frozenset(id for mention in mentions for id in mention.ids), texts, marked, words, names)


@dataclass
class TrainingCounts:
    """The sums over all annotated documents, see `DocumentCounts`.

    Attributes:
        concepts: The number of documents in which each id is annotated.
        share: The share of possible mentions that are annotated.
        names: The number of documents with each name, known during training only.
    """

    concepts: Mapping[str, int]
    texts: Mapping[str, int]
    marked: Mapping[str, int]
    share: float
    words: WordCounts = NO_WORDS
    names: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def word_shares(self) -> tuple[float, float, float]:
        """The shares of words that are inside a mention, its first and its last word."""
        n = self.words.seen.total() + 2
        inside, first, last = ((marked.total() + 1) / n for marked in self.words[1:])
        return inside, first, last

    @classmethod
    def of(cls, documents: Iterable[DocumentCounts]) -> TrainingCounts:
        """Add up the counts of documents.

        Texts that occur once without annotation are left out, since there are very many.
        """
        concepts: Counter[str] = Counter()
        texts: Counter[str] = Counter()
        marked: Counter[str] = Counter()
        names: Counter[str] = Counter()
        words = WordCounts(Counter(), Counter(), Counter(), Counter())
        for document in documents:
            concepts.update(document.concepts)
            texts.update(document.texts)
            marked.update(document.marked)
            names.update(document.names)
            for summed, counted in zip(words, document.words, strict=True):
                summed.update(counted)
        share = (marked.total() + 1) / (texts.total() + 2)
        often = {text: n for text, n in texts.items() if n >= FEWEST or marked[text]}
        return cls(concepts, often, +marked, share, words, names)

    def occurrences(self, text: str, own: DocumentCounts = NOTHING) -> int:
        """Return how often a text occurs in other documents."""
        return max(0, self.texts.get(text, 0) - own.texts[text])

    def log_odds(self, text: str, own: DocumentCounts = NOTHING) -> float:
        """Return the log odds that a text is annotated in other documents, minus those of the average; 0 for an unknown
        text.
        """
        marked = max(0, self.marked.get(text, 0) - own.marked[text])
        share = (marked + ADDED * self.share) / (self.occurrences(text, own) + ADDED)
        return log_odds(share) - log_odds(self.share)

    def known(self, text: str, own: DocumentCounts = NOTHING) -> tuple[float, bool]:
        """Return `log_odds` of a text, and whether it is known from other documents.

        A text that occurs once and is not annotated is unknown, since not all of these are kept.
        """
        if text not in self.texts and text not in self.marked:
            return 0.0, False
        is_marked = self.marked.get(text, 0) > own.marked[text]
        n = self.occurrences(text, own)
        return (self.log_odds(text, own), n > 0) if is_marked or n >= FEWEST else (0.0, False)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrainingCounts:
        """Make counts from the JSON data of `as_json`."""
        words = WordCounts(*map(Counter, data["words"])) if data.get("words") else NO_WORDS
        return cls(data["concepts"], data["texts"], data["marked"], data["share"], words)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON has them."""
        maps = {name: dict(getattr(self, name)) for name in ("concepts", "texts", "marked")}
        return {**maps, "share": self.share, "words": list(map(dict, self.words))}


def log_odds(share: float) -> float:
    """Return the log odds of a share, within bounds."""
    share = min(max(share, 1e-4), 1 - 1e-3)
    return math.log(share / (1 - share))


FEATURES = (
    "highest", "mean", "lowest", "last inside", "last", "first", "words", "has a new word", "ends with a new word",
    "last seen", "before", "after", "after a sign", "before a sign", "after a stop word", "before a stop word",
    "often", "marked", "known",
)  # fmt: skip
"""The names of the features. The first six, "before" and "after" are log odds that annotators mark a word."""
MOST_ODDS = 30.0  # log odds: more would not change a probability
STRENGTH = 1.0  # inverse regularization strength: scikit-learn's C


class MentionModel(NamedTuple):
    """A logistic regression on the words of phrases: a weight for each of `FEATURES`, and the log odds without any."""

    weights: tuple[float, ...]
    bias: float

    @classmethod
    def fit(cls, features: np.ndarray, is_mention: np.ndarray) -> MentionModel | None:
        """Fit the weights to `phrase_features` of phrases; None if all phrases are mentions, or none is."""
        if (fitted := fit_logistic(features, is_mention, STRENGTH)) is None:
            return None
        weights, means, bias = fitted
        return cls(tuple(weights.tolist()), float(bias - weights @ means))

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Return the probability that each phrase is a mention: float64, shape (phrases,)."""
        odds = (features @ np.array(self.weights) + self.bias).clip(-MOST_ODDS, MOST_ODDS)
        return np.asarray(1 / (1 + np.exp(-odds)))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MentionModel:
        """Make a model from the JSON data of `_asdict`."""
        if len(data["weights"]) != len(FEATURES):
            raise ValueError("it is of another version of spacy-sapbert; train it again")
        return cls(tuple(data["weights"]), data["bias"])


def phrase_features(
    text: str, phrases: Sequence[Phrase], counts: TrainingCounts, own: DocumentCounts = NOTHING
) -> np.ndarray:
    """Return the features of the phrases of a document: float64, shape (phrases, features).

    If it is one of the training documents, its own counts do not count.
    """
    reader = _PhraseReader(text, counts, own)
    rows = list(map(reader.features, phrases))
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))


class _PhraseReader:
    """Computes the features of the phrases of one text."""

    def __init__(self, text: str, counts: TrainingCounts, own: DocumentCounts) -> None:
        self._counts, self._own = counts, own
        self._odds = cache(self._odds_of)
        self._index = WordIndex(text)
        self._words = [self._odds(word.text) for word in self._index.words]

    def features(self, phrase: Phrase) -> tuple[float, ...]:
        start, end = phrase.spans[0]
        is_run = len(phrase.text) == end - start  # otherwise it is a part of a composite
        inside = self._index.inside(start, end)
        words = self._words[inside] if is_run else [self._odds(word.text) for word in words_of(phrase.text)]
        before, after = self._index.before(start), self._index.after(end)
        return (
            *_features_of_words(words),
            self._odds(before).inside if before else 0.0,
            self._odds(after).inside if after else 0.0,
            not before,
            not after,
            before in STOP_WORDS,
            after in STOP_WORDS,
            math.log1p(len(phrase.spans)),
            *self._counts.known(phrase.text, self._own),
        )

    def _odds_of(self, word: str) -> _Odds:
        """Return the odds of a word, by the other documents."""
        counts = zip(self._counts.words, self._own.words, strict=True)
        seen, *marked = (max(0, here[word] - there[word]) for here, there in counts)
        inside, first, last = (
            log_odds((n + ADDED * share) / (seen + ADDED)) - log_odds(share)
            for n, share in zip(marked, self._counts.word_shares, strict=True)
        )
        return _Odds(inside, first, last, seen) if seen else _UNKNOWN


class _Odds(NamedTuple):
    """How much more often than average annotators mark a word: differences of log odds, and its occurrences."""

    inside: float
    first: float
    last: float
    seen: int


def _features_of_words(words: Sequence[_Odds]) -> tuple[float, ...]:
    inside = [word.inside for word in words] or [0.0]
    first, last = (words[0], words[-1]) if words else (_UNKNOWN, _UNKNOWN)
    return (
        max(inside),
        sum(inside) / len(inside),
        min(inside),
        last.inside,
        last.last,
        first.first,
        len(words),
        any(not word.seen for word in words),
        not last.seen,
        math.log1p(last.seen),
    )


_UNKNOWN = _Odds(0.0, 0.0, 0.0, 0)


def fit_logistic(
    features: np.ndarray, right: np.ndarray, strength: float
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Fit a logistic regression on standardized features; None if all rows are right, or none is.

    Args:
        strength: The inverse regularization strength: scikit-learn's C.

    Returns:
        The weights of the features, their means, and the log odds of a row of means.
    """
    with requiring("train", "Training a retriever"):
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

    if right.all() or not right.any():
        return None
    scaler = StandardScaler().fit(features)
    model = LogisticRegression(C=strength, max_iter=5000).fit(scaler.transform(features), right)
    return model.coef_[0] / scaler.scale_, scaler.mean_, float(model.intercept_[0])
