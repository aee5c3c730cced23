"""Counts from annotated documents: how often annotators mark concepts, texts and words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from spacy.tokens import Doc

from ..kb.mentions import mention_names
from ..text.normalize import lower
from ..types import Document
from .phrases import WordIndex, phrases

FEWEST = 2  # occurrences of a text that is never annotated: those with fewer are very many
ADDED = 3.0  # pseudo-occurrences of each text or word, annotated at the average rate


class WordCounts(NamedTuple):
    """How often words occur, and how often annotators mark them.

    Attributes:
        seen: All occurrences.
        inside: Occurrences inside a mention.
        first: Occurrences at the beginning of a mention.
        last: Occurrences at the end of a mention.
    """

    seen: Counter[str]
    inside: Counter[str]
    first: Counter[str]
    last: Counter[str]

    @classmethod
    def of(cls, text: str, mentions: Iterable[tuple[int, int]]) -> WordCounts:
        """Count the words of a document.

        Args:
            text: The document.
            mentions: The character offsets of its mentions. Those that cut a word do not count.
        """
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

    def add(self, other: WordCounts) -> None:
        """Add the counts of another document."""
        for mine, more in zip(self, other, strict=True):
            mine.update(more)

    @classmethod
    def none(cls) -> WordCounts:
        """Return new counts of no document."""
        return cls(Counter(), Counter(), Counter(), Counter())


NO_WORDS = WordCounts.none()


class DocumentCounts(NamedTuple):
    """The counts of one annotated document.

    Attributes:
        concepts: The ids annotated in it.
        texts: How often each text occurs that may be a mention.
        marked: How often each of these texts is annotated.
        words: The counts of its words.
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


class TrainingCounts:
    """The sums over all annotated documents.

    Args:
        concepts: The number of documents in which each id is annotated.
        texts: See `DocumentCounts`.
        marked: See `DocumentCounts`.
        share: The share of possible mentions that are annotated.
        words: See `DocumentCounts`.
    """

    def __init__(
        self,
        concepts: Mapping[str, int],
        texts: Mapping[str, int],
        marked: Mapping[str, int],
        share: float,
        words: Sequence[Mapping[str, int]] = (),
    ) -> None:
        self.concepts = concepts
        self.texts = texts
        self.marked = marked
        self.share = share
        self.words = WordCounts(*map(Counter, words)) if words else WordCounts.none()
        self.names: Counter[str] = Counter()  # the documents with each name, known during training only

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
        words = WordCounts.none()
        for document in documents:
            concepts.update(document.concepts)
            texts.update(document.texts)
            marked.update(document.marked)
            names.update(document.names)
            words.add(document.words)
        share = (marked.total() + 1) / (texts.total() + 2)
        often = {text: n for text, n in texts.items() if n >= FEWEST or marked[text]}
        summed = cls(concepts, often, +marked, share, words)
        summed.names = names
        return summed

    def occurrences(self, text: str, own: DocumentCounts = NOTHING) -> int:
        """Return how often a text occurs in other documents."""
        return max(0, self.texts.get(text, 0) - own.texts[text])

    def log_odds(self, text: str, own: DocumentCounts = NOTHING) -> float:
        """Return how much more often than average the occurrences of a text are annotated, in other documents.

        Returns:
            The difference of log odds; 0 for an unknown text.
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
        return cls(data["concepts"], data["texts"], data["marked"], data["share"], data.get("words", ()))

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON has them."""
        maps = {name: dict(getattr(self, name)) for name in ("concepts", "texts", "marked")}
        return {**maps, "share": self.share, "words": list(map(dict, self.words))}


def log_odds(share: float) -> float:
    """Return the log odds of a share, within bounds."""
    share = min(max(share, 1e-4), 1 - 1e-3)
    return math.log(share / (1 - share))
