"""`MentionModel`: how likely a phrase is a mention, by its words and the words next to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.lang.en.stop_words import STOP_WORDS

from .phrases import Phrase, WordIndex, words_of
from .training_counts import ADDED, NOTHING, DocumentCounts, TrainingCounts, WordCounts, log_odds

FEATURES = (
    "highest", "mean", "lowest", "last inside", "last", "first", "words", "has a new word", "ends with a new word",
    "last seen", "before", "after", "after a sign", "before a sign", "after a stop word", "before a stop word",
    "often", "marked", "known",
)  # fmt: skip
"""The names of the features. The first six, "before" and "after" are log odds that annotators mark a word."""
MOST_ODDS = 30.0  # log odds: more would not change a probability
STRENGTH = 1.0  # inverse regularization strength: scikit-learn's C


class MentionModel(NamedTuple):
    """A logistic regression on the words of phrases.

    Attributes:
        weights: The weight of each of `FEATURES`.
        bias: The log odds of a phrase whose features are all 0.
    """

    weights: tuple[float, ...]
    bias: float

    @classmethod
    def fit(cls, features: np.ndarray, is_mention: np.ndarray) -> MentionModel | None:
        """Fit the weights.

        Args:
            features (float64, shape (phrases, features)): The features of phrases, see `phrase_features`.
            is_mention (bool, shape (phrases,)): Whether annotators mark them.

        Returns:
            The model. None if all phrases are mentions, or none is.
        """
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        if is_mention.all() or not is_mention.any():
            return None
        scaler = StandardScaler().fit(features)
        fitted = LogisticRegression(C=STRENGTH, max_iter=1000).fit(scaler.transform(features), is_mention)
        weights = fitted.coef_[0] / scaler.scale_
        return cls(tuple(weights.tolist()), float(fitted.intercept_[0] - weights @ scaler.mean_))

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Return the probability that each phrase is a mention: float64, shape (phrases,)."""
        odds = (features @ np.array(self.weights) + self.bias).clip(-MOST_ODDS, MOST_ODDS)
        return np.asarray(1 / (1 + np.exp(-odds)))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MentionModel:
        """Make a model from the JSON data of `_asdict`.

        Raises:
            ValueError: The weights are those of other features.
        """
        if len(data["weights"]) != len(FEATURES):
            raise ValueError("it is of another version of spacy-sapbert; train it again")
        return cls(tuple(data["weights"]), data["bias"])


def phrase_features(
    text: str, phrases: Sequence[Phrase], counts: TrainingCounts, own: DocumentCounts = NOTHING
) -> np.ndarray:
    """Return the features of the phrases of a document: float64, shape (phrases, features).

    Args:
        text: The text of the document.
        phrases: Its phrases.
        counts: The counts of the training documents.
        own: Those of this document, if it is one of them. They do not count.
    """
    reader = _PhraseReader(text, counts, own)
    rows = list(map(reader.features, phrases))
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))


class _PhraseReader:
    """Computes the features of the phrases of one text."""

    def __init__(self, text: str, counts: TrainingCounts, own: DocumentCounts) -> None:
        self._counts, self._own = counts, own
        self._odds = _WordOdds(counts, own.words)
        self._index = WordIndex(text)
        self._of_words = [self._odds.of(word.text) for word in self._index.words]

    def features(self, phrase: Phrase) -> tuple[float, ...]:
        start, end = phrase.spans[0]
        is_run = len(phrase.text) == end - start  # otherwise it is a part of a composite
        inside = self._index.inside(start, end)
        words = self._of_words[inside] if is_run else [self._odds.of(word.text) for word in words_of(phrase.text)]
        before, after = self._index.before(start), self._index.after(end)
        return (
            *_features_of_words(words),
            self._odds.of(before).inside if before else 0.0,
            self._odds.of(after).inside if after else 0.0,
            not before,
            not after,
            before in STOP_WORDS,
            after in STOP_WORDS,
            math.log1p(len(phrase.spans)),
            *self._counts.known(phrase.text, self._own),
        )


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


class _WordOdds:
    """The `_Odds` of words, by other documents than one."""

    def __init__(self, counts: TrainingCounts, own: WordCounts) -> None:
        self._counts, self._own, self._shares = counts.words, own, counts.word_shares
        self._known: dict[str, _Odds] = {}

    def of(self, word: str) -> _Odds:
        """Return the odds of a word."""
        if word not in self._known:
            seen, inside, first, last = (
                max(0, here[word] - there[word]) for here, there in zip(self._counts, self._own, strict=True)
            )
            of_inside, of_first, of_last = (
                log_odds((n + ADDED * share) / (seen + ADDED)) - log_odds(share)
                for n, share in zip((inside, first, last), self._shares, strict=True)
            )
            self._known[word] = _Odds(of_inside, of_first, of_last, seen) if seen else _UNKNOWN
        return self._known[word]
