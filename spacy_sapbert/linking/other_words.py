"""`OtherWords`: find names of a vocabulary in other words: "renal anomalies" for Kidney abnormality."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..files.values import hash64
from ..kb.knowledge_base import KnowledgeBase
from ..text.characters import slices
from ..text.critical_parts import contradictions
from ..text.languages import ENGLISH, LanguageRules
from ..text.notes.assertion import matcher_of
from ..text.word_classes import MOST_WORDS, Contexts, derived_words, is_equal_to_none, word_table
from ..text.words import Words, is_acronym, read_words, word_hashes
from .name_index import NameIndex, chunks_of

LEAST_SCORE = 0.8
"""The least score of a match. Chosen on clinical notes with phenotypes and on abstracts with diseases."""
_MOST_LEARNED = 1 << 17  # names that words are learned from
_DIGITS = 3  # of a score
_SAMPLED, _LONGEST, _LEAST_WORDED = 4096, 256, 0.35  # names that are read, their characters, the share with such words
_BLOCK = 128  # words of a text that are looked up together
_CACHED = 1 << 15
# costs
_DERIVED, _SKIPPED, _RELATING, _NOT_LITERAL = 0.05, 0.18, 0.25, 0.1
_MOST_SKIPPED = 1
_FEWEST_WORDS, _FEWEST_WITH_GAP = 2, 3
_MOST_BETWEEN = 4  # words of a window that are no words of the name
_PAIR = np.dtype([("word", "<u8"), ("other", "<i4"), ("cost", "<f4")])

Equal = tuple[int, float]
"""The number of a word of names that a word of a text may stand for, and what that costs, from 0."""
Place = tuple[int, float]
"""A word of a text, by its number, and what it costs to take it for a word of a name."""


class LooseMatch(NamedTuple):
    """A match: characters `start:end` of a text say the name at `row` of the knowledge base in other words.

    Attributes:
        score: How sure it is, from `LEAST_SCORE` to 1.
        equal: Each word of the text that the name has in another form, with that form.
        skipped: Where a word begins that stands between and that the name has not; None if there is no such word.
    """

    start: int
    end: int
    row: int
    score: float
    equal: tuple[tuple[str, str], ...]
    skipped: int | None = None

    @property
    def evidence(self) -> tuple[float, str]:
        """The score, and what differs from the name."""
        reason = ", ".join(f"“{word}” is “{other}”" for word, other in self.equal)
        return self.score, reason or "the words of the name, in another order or with others between"


class _Index(NamedTuple):
    """The words of the names. Names are ordered by their rarest word.

    Attributes:
        words: The sorted hashes of all words, uint64, shape (words,).
        names: For each word, the first name of which it is the rarest word, int32, shape (words + 1,).
        rows: The row of each name, int32, shape (names,).
        firsts: The first entry of each name in `entries`, int32, shape (names + 1,).
        entries: The numbers of the words of each name, int32.
        pairs: Equal words: the hash of a word, the number of the other word, and the cost, sorted.
    """

    words: np.ndarray
    names: np.ndarray
    rows: np.ndarray
    firsts: np.ndarray
    entries: np.ndarray
    pairs: np.ndarray


class _Name(NamedTuple):
    """A name.

    Attributes:
        text: The name.
        written: Its words.
        order: The place of each word in it, by hash.
        between: Its function words.
        head: The number of its most general word.
        has_symbol: Whether a word is a single letter or digit.
    """

    text: str
    written: Sequence[str]
    order: dict[int, int]
    between: set[str]
    head: int
    has_symbol: bool


class OtherWords(NameIndex):
    """Finds names of which a text has all words, or equal words, close together.

    Which words are equal is learned from the synonyms of the vocabulary, and read from a table of the package, see
    `spacy_sapbert.text.word_classes`. A name is looked up by its rarest word.

    Args:
        arrays: The words of its names, see `_Index`.
    """

    ROLE, VERSION = "finder", 5  # the version also changes whenever a table of the package does
    ARRAYS = _Index._fields

    def __init__(self, kb: KnowledgeBase, arrays: Sequence[np.ndarray], rules: LanguageRules = ENGLISH) -> None:
        super().__init__(kb, arrays, rules)
        self._index = _Index(*self.arrays)
        self._equal: dict[str, tuple[Equal, ...]] = {}  # by the key of a word of a text
        self._name = lru_cache(maxsize=_CACHED)(self._read)

    @classmethod
    def build(cls, kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> OtherWords:
        """Learn equal words from the synonyms of a knowledge base, and index the words of its names."""
        rows, hashes = _words_of_names(kb, rules)
        words, numbers, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        numbers = numbers.astype(np.int32)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        by_rarity = np.lexsort((np.arange(len(words)), counts)).argsort().astype(np.int32)
        rarest = np.minimum.reduceat(by_rarity[numbers], starts) if len(starts) else by_rarity[:0]
        rarest = by_rarity.argsort()[rarest]
        order = np.argsort(rarest, kind="stable")
        sizes = np.diff(starts, append=len(rows))[order]
        entries = numbers[slices(starts[order], sizes)]
        names = np.searchsorted(rarest[order], np.arange(len(words) + 1)).astype(np.int32)
        firsts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        of_names = rows[starts[order]].astype(np.int32)
        return cls(kb, _Index(words, names, of_names, firsts, entries, _pairs(kb, words, rules)), rules)

    # --- finding

    def find(self, text: str) -> list[LooseMatch]:
        """Return the matches with the highest score at each place, by position. They may overlap."""
        columns = read_words(text, self.rules)
        best: dict[tuple[int, int], LooseMatch] = {}
        for first, end in _blocks(columns):
            for match in self._in_block(text, columns, first, end):
                other = best.get(match[:2])
                if other is None or (-match.score, match.row) < (-other.score, other.row):
                    best[match[:2]] = match
        return sorted(best.values())

    def match(self, text: str) -> LooseMatch | None:
        """Return the match of a whole text without words between, with the highest score, or None."""
        wholes = [match for match in self.find(text) if match.end - match.start == len(text) and match.skipped is None]
        return min(wholes, key=lambda match: (-match.score, match.row), default=None)

    def _in_block(self, text: str, columns: Words, first: int, end: int) -> Iterator[LooseMatch]:
        places: defaultdict[int, list[Place]] = defaultdict(list)
        stop_words = self.rules.abbreviations.stop_words
        words = [i for i in range(first, end) if columns.keys[i] and columns.written[i].lower() not in stop_words]
        equal = self._equal_words({columns.keys[i]: columns.hashes[i] for i in words})
        for i in words:
            for number, cost in equal[columns.keys[i]]:
                places[number].append((i, cost))
        for name in self._names_with(places):
            numbers = self._index.entries[self._index.firsts[name] : self._index.firsts[name + 1]].tolist()
            row = int(self._index.rows[name])
            for chosen in _choices([places[number] for number in numbers]):
                if match := self._match(text, columns, row, numbers, chosen):
                    yield match

    def _names_with(self, places: Collection[int]) -> list[int]:
        """Return the names of which a block has all words."""
        index = self._index
        present = np.zeros(len(index.words), dtype=bool)
        numbers = np.fromiter(places, dtype=np.int64, count=len(places))
        present[numbers] = True
        lefts, rights = index.names[numbers], index.names[numbers + 1]
        names = slices(lefts, rights - lefts)
        if not len(names):
            return []
        firsts = index.firsts[names]
        sizes = index.firsts[names + 1] - firsts
        known = present[index.entries[slices(firsts, sizes)]]
        n_known = np.add.reduceat(known, np.cumsum(sizes) - sizes)
        return names[n_known == sizes].tolist()

    def _match(
        self, text: str, columns: Words, row: int, numbers: Sequence[int], chosen: Sequence[Place]
    ) -> LooseMatch | None:
        """Return the match of a name whose words were found at some places, or None."""
        positions = [place for place, _ in chosen]
        first, last = min(positions), max(positions)
        if len(set(positions)) < len(positions) or last - first >= len(positions) + _MOST_BETWEEN:
            return None
        costs = [cost for _, cost in chosen]
        score = round(1 - sum(costs) - (_NOT_LITERAL if all(costs) else 0), _DIGITS)
        inside = slice(first + 1, last + 1)
        if score < LEAST_SCORE or any(columns.broken[inside]) or any(columns.commas[inside]):
            return None
        if columns.hyphens[first] or columns.hyphens[last + 1 : last + 2] == [True]:
            return None  # "tumor-derived", "non-dystrophic"
        name = self._name(row)
        words = [name.order[int(self._index.words[number])] for number in numbers]
        said = sorted(zip(words, chosen, strict=True))  # in the order of the name
        ordered = [place for _, (place, _) in said]
        between, skipped = self._cost_between(columns, ordered, name)
        score = round(score - between, _DIGITS)
        start, end = columns.starts[first], columns.ends[last]
        if score < LEAST_SCORE or not self._is_phrase(columns, said, name) or self._differ(text[start:end], name.text):
            return None
        equal = [(columns.written[place], name.written[word]) for word, (place, cost) in said if cost]
        return LooseMatch(start, end, row, score, tuple(equal), skipped)

    def _differ(self, text: str, name: str) -> bool:
        """Return whether a text contradicts a name, or has a bracket inside."""
        parts = read_words(text, self.rules).critical, read_words(name, self.rules).critical
        return "(" in text or ")" in text or next(contradictions(*parts), None) is not None

    def _is_phrase(self, columns: Words, said: Sequence[tuple[int, Place]], name: _Name) -> bool:
        """Return whether the words of a name have their roles in the text.

        An acronym is no word: HAD is not "had". The head of the name is the head of the text, unless it has become an
        adjective: "genetic susceptibility" is not a susceptibility gene. If the last word has become an adjective, no
        noun follows: "abnormal cerebellar development" is not an abnormality of the cerebellum.

        Args:
            columns: The words of the text.
            said: The words of the name, by their number in it, each with its place in the text.
        """
        places = [place for _, (place, _) in said]
        last = max(places)
        if any(is_acronym(name.written[word]) and not is_acronym(columns.written[place]) for word, (place, _) in said):
            return False
        if not self._has_head(columns, min(places), last, next(of for word, of in said if word == name.head)):
            return False
        turned = [cost or word < len(name.written) - 1 for word, (place, cost) in said if place == last]
        return not (any(turned) and self._is_adjective(columns, last) and not self._ends(columns, last + 1))

    def _has_head(self, columns: Words, first: int, last: int, said: Place) -> bool:
        """Return whether what says the head of a name is the head of the words `first` to `last`, or an adjective."""
        place, cost = said
        relation = next((i for i in range(first + 1, last + 1) if not columns.keys[i]), last + 1)
        head = first if self.rules.composites.head_first else relation - 1
        if (cost or place != head) and self._is_adjective(columns, head):
            return False
        return place == head or self._is_adjective(columns, place)

    def _cost_between(self, columns: Words, positions: Sequence[int], name: _Name) -> tuple[float, int | None]:
        """Return what the words between those of a name cost, and where one begins that is skipped.

        The cost is 1 if they may not stand there.
        """
        is_ordered, may_have_gap = list(positions) == sorted(positions), len(positions) >= _FEWEST_WITH_GAP
        others = [i for i in range(min(positions), max(positions) + 1) if i not in positions]
        if name.has_symbol and (others or not is_ordered or not may_have_gap):
            return 1.0, None
        costs = [self._cost_of(columns, i, name) for i in others]
        skipped = [i for i, cost in zip(others, costs, strict=True) if cost == _SKIPPED]
        if not skipped:
            return sum(costs), None
        if len(skipped) > _MOST_SKIPPED or not may_have_gap or not is_ordered or _has_cue(name.text, self.rules):
            return 1.0, None
        return sum(costs), columns.starts[skipped[0]]

    def _cost_of(self, columns: Words, i: int, name: _Name) -> float:
        """Return what a word between those of a name costs: 1 if it may not stand there."""
        rules, word = self.rules, columns.written[i].lower()
        is_letter = len(word) == 1 and columns.keys[i - 1]  # "immunoglobulin A"
        if word in rules.words.open_words or (word in rules.composites.determiners and not is_letter):
            return 0.0
        if not columns.keys[i]:
            return 0.0 if word in name.between else _RELATING
        is_barred = word in rules.abbreviations.stop_words or word in rules.opposites.negations
        return 1.0 if is_barred or is_equal_to_none(columns.keys[i], rules) else _SKIPPED

    def _is_adjective(self, columns: Words, place: int) -> bool:
        rules, written = self.rules.composites, columns.written[place]
        word, is_german = written.lower(), rules.head is not None
        if rules.head_first or word in rules.nouns_like_adjectives or (is_german and written[0].isupper()):
            return False
        is_listed = word in rules.qualifiers or word in rules.positions or word.endswith(rules.qualifier_endings)
        return is_listed or rules.adjectives.fullmatch(word) is not None

    def _ends(self, columns: Words, place: int) -> bool:
        """Return whether a phrase ends before a word: it is a function word, or behind a comma or the like."""
        if place == len(columns.keys) or columns.broken[place] or columns.commas[place] or not columns.keys[place]:
            return True
        return columns.written[place].lower() in self.rules.abbreviations.stop_words

    # --- words

    def _equal_words(self, hashes: Mapping[str, int]) -> Mapping[str, tuple[Equal, ...]]:
        """Return what words may stand for, by their keys."""
        equal = self._equal
        missing = {key: hash for key, hash in hashes.items() if key not in equal}
        if missing:
            if len(equal) > _CACHED:
                equal = self._equal = {key: equal[key] for key in hashes if key in equal}
            equal.update(self._find_equal(missing))
        return equal

    def _find_equal(self, hashes: Mapping[str, int]) -> Iterator[tuple[str, tuple[Equal, ...]]]:
        forms = [(key, hash, 0.0) for key, hash in hashes.items()]
        forms += [
            (key, hash64(form), _DERIVED + (1 - strength) / 2)
            for key in hashes
            for form, strength in derived_words(key, self.rules)
        ]
        words, pairs = self._index.words, self._index.pairs
        wanted = np.array([hash for _, hash, _ in forms], dtype=np.uint64)
        numbers = np.searchsorted(words, wanted)
        known = words[np.minimum(numbers, len(words) - 1)] == wanted if len(words) else np.zeros(len(wanted), bool)
        costs: dict[str, dict[int, float]] = {key: {} for key in hashes}
        for which in np.flatnonzero(known).tolist():
            key, _, cost = forms[which]
            costs[key].setdefault(int(numbers[which]), cost)
        own = wanted[: len(hashes)]
        edges = (np.searchsorted(pairs["word"], own, side).tolist() for side in ("left", "right"))
        for key, left, right in zip(hashes, *edges, strict=True):
            for _, other, cost in pairs[left:right].tolist():
                costs[key][other] = min(cost, costs[key].get(other, 1.0))
        return ((key, tuple(of_key.items())) for key, of_key in costs.items())

    def _read(self, row: int) -> _Name:
        text = self.kb.name(row)
        columns = read_words(text, self.rules)
        order = {hash: place for place, hash in enumerate(columns.hashes) if hash}
        between = {word.lower() for word, key in zip(columns.written, columns.keys, strict=True) if not key}
        has_symbol = any(len(key) == 1 or key.isdecimal() for key in columns.keys)
        return _Name(text, columns.written, order, between, self._head_of(columns), has_symbol)

    def _head_of(self, columns: Words) -> int:
        """Return the number of the most general word of a name: the last one before a comma or a preposition."""
        n = len(columns.keys)
        if self.rules.composites.head_first:
            return 0
        return (
            next((i for i in range(1, n) if columns.commas[i] or (not columns.keys[i] and columns.keys[i - 1])), n) - 1
        )


def worded_types(kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> frozenset[str]:
    """Return the types of concepts whose names have ordinary words; "CONCEPT" is the type of those without one.

    Names of diseases and findings have words that other names have in another form, and those of chemicals, genes and
    species seldom do. Some names are read. A language without a table of equal words has all types.
    """
    table, name_concepts = word_table(rules), kb.name_concepts
    known = frozenset(word for pair in table.strengths for word in pair)
    sample = np.arange(0, len(name_concepts.names), max(1, len(name_concepts.names) // _SAMPLED))
    names = kb.names_at(name_concepts.names[sample].tolist())
    types = kb.types_at(name_concepts.concepts[sample].tolist())
    n_names, n_worded = Counter[str](), Counter[str]()
    for name, of_concept in zip(names, types, strict=True):
        of_concept = of_concept or ("CONCEPT",)
        n_names.update(of_concept)
        if len(name) <= _LONGEST and not known.isdisjoint(read_words(name, rules).content):
            n_worded.update(of_concept)
    return frozenset(type for type, n in n_names.items() if not table.is_learned or n_worded[type] >= _LEAST_WORDED * n)


# --- building


def _words_of_names(kb: KnowledgeBase, rules: LanguageRules) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of a name and the hash of each of its words, sorted by name.

    Stop names, names with one word or more than `MOST_WORDS`, and those that repeat a word are left out.
    """
    rows, hashes = [], []
    stop_names = kb.stop_name_rows()
    for first, chunk in chunks_of(kb.names()):
        of_word, of_name = word_hashes(chunk, rules)
        order = np.lexsort((of_name, of_word))
        of_word, of_name = of_word[order], of_name[order]
        repeated = of_word[1:][(of_word[1:] == of_word[:-1]) & (of_name[1:] == of_name[:-1]) & (of_name[1:] > 0)]
        of_word, of_name = of_word[of_name > 0], of_name[of_name > 0]
        n_words = np.bincount(of_word, minlength=len(chunk))
        n_words[repeated] = 0
        fits = (n_words >= _FEWEST_WORDS) & (n_words <= MOST_WORDS)
        fits[stop_names[(stop_names >= first) & (stop_names < first + len(chunk))] - first] = False
        rows.append(first + of_word[fits[of_word]])
        hashes.append(of_name[fits[of_word]])
    return np.concatenate([np.zeros(0, np.int64), *rows]), np.concatenate([np.zeros(0, np.uint64), *hashes])


def _pairs(kb: KnowledgeBase, words: np.ndarray, rules: LanguageRules) -> np.ndarray:
    """Return the equal words of `_Index`. Where the vocabulary contradicts the table of the package, it decides."""
    step = 1 + kb.n_names // _MOST_LEARNED
    contexts = Contexts(kb.synonyms(step), rules)
    strengths = {
        pair: strength
        for pair, strength in word_table(rules).strengths.items()
        if (evidence := contexts.evidence(pair)).different <= evidence.same
    }
    for pair, strength in contexts.strong_pairs():
        strengths[pair] = max(strength, strengths.get(pair, 0.0))
    both = [(word, other, 1 - s) for pair, s in strengths.items() for word, other in (pair, pair[::-1])]
    others = np.array([hash64(other) for _, other, _ in both], dtype=np.uint64)
    numbers = np.searchsorted(words, others)
    known = words[np.minimum(numbers, len(words) - 1)] == others if len(words) else np.zeros(len(both), bool)
    entries = [(hash64(both[i][0]), numbers[i], both[i][2]) for i in np.flatnonzero(known).tolist()]
    return np.sort(np.array(entries, dtype=_PAIR), order=["word", "other"])


# --- finding


@lru_cache(maxsize=_CACHED)
def _has_cue(name: str, rules: LanguageRules) -> bool:
    """Return whether a name has a cue of an assertion: "family history of cancer"."""
    words = name.split()
    ends = [(0, len(words[0])), (len(name) - len(words[-1]), len(name))]
    cues = matcher_of(rules.code)
    return any(any(cues.flags_of(name, (0, len(name)), [end])) for end in ends)


def _blocks(columns: Words) -> Iterator[tuple[int, int]]:
    """Yield the first word and the end of parts of a text. They begin where no name crosses, unless that is far."""
    first, n = 0, len(columns.keys)
    while first < n:
        end = min(first + _BLOCK, n)
        while end < min(first + 2 * _BLOCK, n) and not columns.broken[end]:
            end += 1
        yield first, end
        first = end


def _choices(places: Sequence[Sequence[Place]]) -> Iterator[list[Place]]:
    """Yield the places of the words of a name that are nearest to each place of one of them, if they are near."""
    fewest = min(places, key=len)
    furthest = len(places) + _MOST_BETWEEN
    for anchor in fewest:
        at, chosen = anchor[0], []
        for of_word in places:
            nearest = anchor
            if of_word is not fewest:
                nearest = min(of_word, key=lambda place: (place[0] == at, abs(place[0] - at), place[1]))
            if abs(nearest[0] - at) >= furthest:
                break
            chosen.append(nearest)
        else:
            yield chosen
