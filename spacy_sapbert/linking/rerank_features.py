"""Features of candidates for a reranker: how well each concept fits a text, among the others and in its document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from ..kb.knowledge_base import KnowledgeBase
from ..text.critical_parts import ARABIC
from ..text.normalize import n_common
from ..text.words import is_acronym, read_words
from ..types import SCORE_DIGITS, Candidate, LinkedPart
from .agreement import SAME
from .concept_facts import ConceptFacts

# Chosen by cross-validation on the training parts of NCBI Disease and BC5CDR: half of this depth loses accuracy, and
# a larger gap adds none.
DEPTH = 20
GAP = 0.3

FEATURES: Mapping[str, tuple[str, ...]] = {
    "similarity": (
        "score", "score_lead", "dense", "dense_lead", "sparse", "sparse_lead", "support", "support_lead", "place",
        "candidates",
    ),
    "words": (
        "equal", "same_words", "share_of_text", "share_of_name", "only_in_text", "only_in_name", "same_head",
        "numbers_only_in_text", "numbers_only_in_name", "other_beginnings", "other_endings", "longer", "same_beginning",
        "same_case", "words_of_text", "acronym", "rarity_only_in_text", "rarity_only_in_name",
        "rarest_only_in_text", "rarest_only_in_name", "rare_share_of_text", "rare_share_of_name",
    ),
    "vocabulary": ("preferred", "names", "supplementary", "same_name"),
    "annotations": ("prior", "annotations", "annotations_by_name"),
    "document": ("elsewhere", "words_elsewhere", "long_form"),
    "difference": ("probability", "probability_lead"),
}  # fmt: skip
"""The names of the features, by group, in the order of the columns."""
COLUMNS = {name: number for number, name in enumerate(name for names in FEATURES.values() for name in names)}
N_FEATURES = len(COLUMNS)

NOT_COMPARED = -1.0
"""The feature `probability` of a candidate without a probability."""
_LEAST_COMMON = 4  # letters that two words share at their end or beginning, if they are to be compared
_FREQUENT_WORDS = 20_000
_LEAST_RARITY = 1e-3
_CACHED_TEXTS = 1 << 15


class _Text(NamedTuple):
    """What is compared of a text or a name.

    Attributes:
        form: The text without case and punctuation.
        words: Its words without plural, function words left out, Roman numbers as Arabic ones.
        numbers: Numbers, and letters that stand alone.
    """

    form: str
    words: tuple[str, ...]
    numbers: frozenset[str]


class DocumentEvidence(NamedTuple):
    """What a document says about its mentions.

    Attributes:
        linked: The texts whose most similar concept is each of these, by their `same_form`.
        words: The words of the document as it writes them, by the form in which they are compared.
    """

    linked: Mapping[str, Mapping[str, str]]
    words: Mapping[str, str]

    @classmethod
    def of(cls, parts: Sequence[LinkedPart], text: str) -> DocumentEvidence:
        """Read a document with the parts of its mentions, best score first."""
        linked: dict[str, dict[str, str]] = {}
        for part in parts:
            for first in part.candidates[:1]:
                linked.setdefault(first.concept_id, {}).setdefault(same_form(part.text), part.text)
        return cls(linked, words_in(text))


def shortlist(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the candidates that a reranker compares: at most `DEPTH`, with scores up to `GAP` below the first.

    If names are the text itself, or another way to write it, it chooses between these.
    """
    if not candidates:
        return candidates
    if candidates[0].rewrite:
        return list(takewhile(lambda candidate: candidate.rewrite is not None, candidates[:DEPTH]))
    first = candidates[0].score
    least = SAME if first >= SAME else first - GAP
    return list(takewhile(lambda candidate: candidate.score >= least, candidates[:DEPTH]))


class WordRarity(NamedTuple):
    """How rare words are in the names of a vocabulary.

    Attributes:
        frequent: The rarity of the most frequent words: log((N + 1) / (n + 1)), if n of N names have the word.
        other: The rarity of all other words.
    """

    frequent: Mapping[str, float]
    other: float

    def of(self, words: Iterable[str]) -> list[float]:
        """Return the rarity of some words."""
        return [self.frequent.get(word, self.other) for word in words]

    @classmethod
    def in_names(cls, names: Iterable[str]) -> WordRarity:
        """Count the words of names."""
        counts: Counter[str] = Counter()
        n = 0
        for name in names:
            counts.update(list(words_in(name)))  # in their order: that of a set depends on the process
            n += 1
        frequent = counts.most_common(_FREQUENT_WORDS)
        return cls({word: math.log((n + 1) / (count + 1)) for word, count in frequent}, math.log((n + 1) / 2))


class CandidateFeatures:
    """Computes the features of the shortlisted candidates of a document's mentions.

    Args:
        kb: The vocabulary of the candidates.
        rarity: The rarity of words, with which the reranker was trained.
    """

    def __init__(self, kb: KnowledgeBase, rarity: WordRarity) -> None:
        self.kb = kb
        self.rarity = rarity
        self._compare = lru_cache(maxsize=_CACHED_TEXTS)(partial(compare, rarity=rarity))
        self._facts = ConceptFacts(kb)
        self._has_annotations = bool(kb.meta.get("mentions"))

    def __call__(self, parts: Sequence[LinkedPart], document: DocumentEvidence) -> np.ndarray:
        """Return the features.

        Args:
            parts: The parts of all mentions of a document, with their candidates, best score first.
            document: What the document says.

        Returns:
            A float64 array of shape (candidates, `N_FEATURES`). The shortlist of the first part comes first.
        """
        lists = [shortlist(part.candidates) for part in parts]
        flat = [candidate for candidates in lists for candidate in candidates]
        if not flat:
            return np.zeros((0, N_FEATURES))
        sizes = np.array(list(map(len, lists)))
        columns = (
            *self._similarity(flat, sizes[sizes > 0]),
            *_columns(self._words(parts, lists)),
            *_columns(self._vocabulary(flat, lists)),
            *self._annotations(flat),
            *_columns(self._document(parts, lists, document)),
            *self._difference(flat, sizes[sizes > 0]),
        )
        # rounded, since the last digits of similarities depend on the processor
        return np.column_stack(columns).astype(np.float64).round(SCORE_DIGITS)

    @staticmethod
    def _similarity(flat: Sequence[Candidate], sizes: np.ndarray) -> Iterator[np.ndarray]:
        starts = np.cumsum(sizes) - sizes
        for field in ("score", "dense", "sparse", "support"):
            values = np.array([getattr(candidate, field) or 0.0 for candidate in flat], dtype=np.float64)
            yield values
            yield leads(values, starts, sizes)
        yield np.arange(len(flat)) - np.repeat(starts, sizes)
        yield np.repeat(sizes, sizes)

    def _words(self, parts: Sequence[LinkedPart], lists: Sequence[Sequence[Candidate]]) -> Iterator[tuple[float, ...]]:
        for part, candidates in zip(parts, lists, strict=True):
            for candidate in candidates:
                yield self._compare(part.text, candidate.name)

    def _vocabulary(
        self, flat: Sequence[Candidate], lists: Sequence[Sequence[Candidate]]
    ) -> Iterator[tuple[float, ...]]:
        facts = self._facts({candidate.concept_id for candidate in flat})
        for candidates in lists:
            owners = Counter(candidate.name for candidate in candidates)
            for candidate in candidates:
                fact = facts[candidate.concept_id]
                yield fact.preferred == candidate.name, fact.names, fact.supplementary, owners[candidate.name]

    def _annotations(self, flat: Sequence[Candidate]) -> Iterator[np.ndarray]:
        facts = self._facts({candidate.concept_id for candidate in flat})
        yield np.array([candidate.prior or 0.0 for candidate in flat])
        yield np.array([facts[candidate.concept_id].annotations for candidate in flat])
        pairs = [(candidate.concept_id, candidate.name) for candidate in flat]
        yield np.log1p(self.kb.annotations_of(pairs)) if self._has_annotations else np.zeros(len(flat))

    def _document(
        self, parts: Sequence[LinkedPart], lists: Sequence[Sequence[Candidate]], document: DocumentEvidence
    ) -> Iterator[tuple[float, ...]]:
        for part, candidates in zip(parts, lists, strict=True):
            read, is_long = _read(part.text), part.long_form is not None
            for candidate in candidates:
                texts = document.linked.get(candidate.concept_id, {})
                added = sorted(set(_read(candidate.name).words).difference(read.words))
                elsewhere = sum(self.rarity.of(word for word in added if word in document.words))
                share = elsewhere / max(sum(self.rarity.of(added)), _LEAST_RARITY)
                yield len(texts) - (read.form in texts), share, is_long

    @staticmethod
    def _difference(flat: Sequence[Candidate], sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what `linking.difference` says. Adding its own features adds nothing by cross-validation."""
        values = np.array([NOT_COMPARED if c.probability is None else c.probability for c in flat])
        return values, leads(values, np.cumsum(sizes) - sizes, sizes)


# --- the candidates among each other


def leads(values: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return by how much each value is above the best other one of its group: at most 1, and 1 if there is no other.

    Several columns of values are compared one by one.
    """
    highest = np.maximum.reduceat(values, starts).repeat(sizes, axis=0)
    is_highest = values == highest
    alone = np.add.reduceat(is_highest, starts).repeat(sizes, axis=0) == 1
    second = np.maximum.reduceat(np.where(is_highest, -np.inf, values), starts).repeat(sizes, axis=0)
    return np.minimum(values - np.where(is_highest & alone, second, highest), 1.0)


# --- text and name


def compare(text: str, name: str, rarity: WordRarity) -> tuple[float, ...]:
    """Return the features of the group "words" for a text and a name."""
    mention, known = _read(text), _read(name)
    words, name_words = set(mention.words), set(known.words)
    shared = len(words & name_words)
    only_in_text, only_in_name = words - name_words, name_words - words
    in_text, in_name = rarity.of(sorted(only_in_text)), rarity.of(sorted(only_in_name))
    in_both = sum(rarity.of(sorted(words & name_words)))
    longest = max(len(mention.form), len(known.form), 1)
    return (
        mention.form == known.form,
        words == name_words,
        shared / max(len(words), 1),
        shared / max(len(name_words), 1),
        len(only_in_text),
        len(only_in_name),
        mention.words[-1:] == known.words[-1:],
        len(mention.numbers - known.numbers),
        len(known.numbers - mention.numbers),
        _n_similar(only_in_text, only_in_name, at_end=True),
        _n_similar(only_in_text, only_in_name, at_end=False),
        (len(known.form) - len(mention.form)) / longest,
        n_common(mention.form, known.form) / longest,
        text == name,
        len(mention.words),
        is_acronym(text),
        sum(in_text),
        sum(in_name),
        max(in_text, default=0.0),
        max(in_name, default=0.0),
        in_both / max(in_both + sum(in_text), _LEAST_RARITY),
        in_both / max(in_both + sum(in_name), _LEAST_RARITY),
    )


def _n_similar(some: set[str], others: set[str], *, at_end: bool) -> int:
    """Count the words that share their end (or beginning) with another word: hypotension and hypertension."""
    if at_end:
        some, others = {word[::-1] for word in some}, {word[::-1] for word in others}
    return sum(any(_share_beginning(word, other) for other in others) for word in some)


def _share_beginning(word: str, other: str) -> bool:
    return n_common(word, other) >= max(_LEAST_COMMON, min(len(word), len(other)) / 2)


@lru_cache(maxsize=_CACHED_TEXTS)
def _read(text: str) -> _Text:
    key = read_words(text)
    numbers = {ARABIC.get(word.lower(), word.lower()) for word in key.written if _is_number(word)}
    return _Text(key.form, tuple(ARABIC.get(word, word) for word in key.content), frozenset(numbers))


def _is_number(word: str) -> bool:
    """Return whether a word is a number or a letter that stands alone. "a" is an article."""
    return word.isdecimal() or word.lower() in ARABIC or (len(word) == 1 and word != "a")


# --- the document


def same_form(text: str) -> str:
    """Return the form in which texts of a document count as the same: without case and punctuation."""
    return _read(text).form


def words_in(text: str) -> dict[str, str]:
    """Return the words of a text: as it writes them, by the form in which they are compared."""
    return {ARABIC.get(word.key, word.key): word.written for word in read_words(text).words if word.key}


def _columns(rows: Iterator[tuple[float, ...]]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(list(rows), dtype=np.float64).T)
