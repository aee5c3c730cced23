"""Words that name the same in names: "renal" and "kidney", "elevated" and "increased". They are learned from synonyms.

Two words are equal if exchanging one for the other seldom changes the concept. Opposites never are: exchanging "left"
for "right" gives another concept. So nothing but a vocabulary is needed. No text is read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, product, takewhile
from operator import attrgetter
from typing import NamedTuple

from ..files.values import read_lines, read_lists
from .common_words import common_keys
from .critical_parts import contradictions
from .languages import ENGLISH, LanguageRules
from .phrases import FOLDER, endings_of
from .words import Word, Words, read_words

HAND_STRENGTH = 0.95
"""The strength of a pair that was written by hand."""
STRONG = 0.8
"""The least strength of a pair that is used: four contexts, if there is no counterexample."""
MOST_WORDS, MOST_NAMES = 8, 30  # of a name, and of a concept
SHORTEST_WORD, SHORTEST_STEM, LONG_STEM = 3, 3, 6  # letters
LONGEST_ENDING = 6
_ROMAN = re.compile("[ivx]+")

# The first words for what is abnormal are those of names, which seldom exchange them.
_N_ABNORMAL = 3

Pair = tuple[str, str]
Context = tuple[str, ...]


class Evidence(NamedTuple):
    """How many concepts two words name in the same context, and in how many contexts they name two concepts.

    A context is what else a name has.
    """

    same: int
    different: int

    @property
    def strength(self) -> float:
        """How sure it is that the words are equal, from 0 to less than 1."""
        return self.same / (self.same + self.different + 1)


class Contexts:
    """The contexts of the words of one vocabulary.

    Args:
        concepts: The names of each concept.

    Attributes:
        same: The contexts in which two names of a concept exchange two words, each with its last concept, by the pair
            of keys in alphabetic order.
        of_word: The contexts of each word, each with its concepts.
    """

    def __init__(self, concepts: Iterable[Sequence[str]], rules: LanguageRules = ENGLISH) -> None:
        self._rules = rules
        self.of_word: defaultdict[str, dict[Context, set[int]]] = defaultdict(dict)
        self.same: defaultdict[Pair, dict[Context, int]] = defaultdict(dict)
        for number, names in enumerate(concepts):
            words = {tuple(sorted(set(read_words(name, rules).content))) for name in names[:MOST_NAMES]}
            self._add(number, sorted(bag for bag in words if len(bag) <= MOST_WORDS))

    def _add(self, number: int, bags: Sequence[Context]) -> None:
        for bag in bags:
            for place, word in enumerate(bag):
                self.of_word[word].setdefault(bag[:place] + bag[place + 1 :], set()).add(number)
        for bag, other in combinations(bags, 2):
            if len(bag) == len(other):
                only, others = set(bag).difference(other), set(other).difference(bag)
                if len(only) == 1:
                    word, another = sorted((*only, *others))
                    self.same[word, another][tuple(key for key in bag if key not in only)] = number

    def strong_pairs(self) -> Iterator[tuple[Pair, float]]:
        """Yield the pairs of words that are equal, with their strengths."""
        fewest = int(STRONG / (1 - STRONG))
        for pair, contexts in self.same.items():
            if len(contexts) >= fewest and may_be_equal(pair, self._rules):
                strength = self.evidence(pair).strength
                if strength >= STRONG:
                    yield pair, strength

    def evidence(self, pair: Pair) -> Evidence:
        """Count the contexts of two words."""
        fewer, more = sorted((self.of_word.get(word, {}) for word in pair), key=len)
        different = sum(1 for context in fewer.keys() & more if fewer[context].isdisjoint(more[context]))
        return Evidence(len(set(self.same.get(pair, {}).values())), different)


def may_be_equal(pair: Pair, rules: LanguageRules = ENGLISH) -> bool:
    """Return whether two keys are words that may be equal: no numbers, no symbols, no general words, no opposites.

    Words for what is normal are equal to none: "low" and "normal" share contexts, since both exclude "high".
    """
    if pair[0].endswith(pair[1]) or pair[1].endswith(pair[0]):
        return False  # "keratosis" and "hyperkeratosis" are different, whatever a vocabulary says
    if not all(len(word) >= SHORTEST_WORD and word.isalpha() for word in pair):
        return False
    if not (different := _different(rules)).alone.isdisjoint(pair) or frozenset(pair) in different.pairs:
        return False
    general = _general(rules).difference(_abnormal(rules))
    classifier = rules.composites.classifier
    if any(word in general or _ROMAN.fullmatch(word) or classifier.fullmatch(word) for word in pair):
        return False
    first, second = (read_words(word, rules).critical for word in pair)
    return next(contradictions(first, second), None) is None and first.negated == second.negated


class _Different(NamedTuple):
    """Words that a vocabulary may exchange, but that are not equal.

    Attributes:
        alone: The keys of words that are equal to no other.
        pairs: Pairs of keys: a part and the whole, other degrees, organs, times or causes.
    """

    alone: frozenset[str]
    pairs: frozenset[frozenset[str]]


@lru_cache(maxsize=8)
def _different(rules: LanguageRules) -> _Different:
    words = [line.split(" ") for line in read_lines(FOLDER / f"{rules.code}_different.txt")]
    alone = (key for line in words if len(line) == 1 for key in read_words(line[0], rules).content)
    pairs = (frozenset((line[0], other)) for line in words for other in line[1:])
    return _Different(frozenset(alone), frozenset(pairs))


def is_equal_to_none(key: str, rules: LanguageRules = ENGLISH) -> bool:
    """Return whether no other word is equal to a word, such as "normal", so that a name must have it, too."""
    return key in _different(rules).alone


@lru_cache(maxsize=8)
def _abnormal(rules: LanguageRules) -> tuple[str, ...]:
    return tuple(
        key for word in read_lists(__file__).get(rules.code, "").split() for key in read_words(word, rules).content
    )


@lru_cache(maxsize=8)
def _general(rules: LanguageRules) -> frozenset[str]:
    return frozenset(key for name in rules.words.general_names for key in read_words(name, rules).content)


@lru_cache(maxsize=8)
def _kinds(rules: LanguageRules = ENGLISH) -> frozenset[str]:
    """Return the keys of words that tell what something is: a receptor is not its ligand."""
    words = read_lists(__file__).get(f"kinds of {rules.code}", "").split()
    return frozenset(key for word in words for key in read_words(word, rules).content)


def kind_of(text: Words) -> Word | None:
    """Return the word that tells what a text is: its last one, or the last one before a preposition. It may be none."""
    prepositions = text.rules.composites.prepositions
    phrase = takewhile(lambda word: word.written.lower() not in prepositions, text.words)
    *_, last = None, *filter(attrgetter("key"), phrase)
    return last if last and last.key in _kinds(text.rules) else None


class WordTable(NamedTuple):
    """The equal words of a language that the package has.

    Attributes:
        strengths: The strength of each pair of keys, in alphabetic order.
        endings: For the ending of a word, those that words with the same stem have instead, each with its strength.
        is_learned: Whether vocabularies of this language were read.
    """

    strengths: Mapping[Pair, float]
    endings: Mapping[str, Sequence[tuple[str, float]]]
    is_learned: bool


@lru_cache(maxsize=8)
def word_table(rules: LanguageRules = ENGLISH) -> WordTable:
    """Read the equal words of a language: those that `scripts/word_classes.py` found, and those written by hand.

    A language for which nothing was found has the endings of `spacy_sapbert.text.phrases`.
    """
    strengths, endings = dict(_by_hand(rules)), defaultdict[str, list[tuple[str, float]]](list)
    path = FOLDER / f"{rules.code}_words.txt"
    for line in read_lines(path):
        percent, first, second = line.split(" ")
        strength = int(percent) / 100
        if first.startswith("-"):
            endings[first[1:]].append((second[1:], strength))
            endings[second[1:]].append((first[1:], strength))
        else:
            strengths[first, second] = strength
    if not path.is_file():
        for ending, nouns in endings_of(rules.code).items():
            endings[rules.words.spell(ending)] += [(rules.words.spell(noun), HAND_STRENGTH) for noun in nouns]
    return WordTable(strengths, dict(endings), path.is_file())


def _by_hand(rules: LanguageRules) -> Iterator[tuple[Pair, float]]:
    """Yield the pairs of words that were written by hand."""
    abnormal = _abnormal(rules)
    groups: list[Iterable[Pair]] = [product(abnormal[:_N_ABNORMAL], abnormal)]
    for line in read_lines(FOLDER / f"{rules.code}_own.txt"):
        phrases = (read_words(phrase, rules).content for phrase in line.lstrip("=*").split("|") if ">" not in line)
        groups.append(combinations([keys[0] for keys in phrases if len(keys) == 1], 2))
    for first, second in chain.from_iterable(groups):
        yield (min(first, second), max(first, second)), HAND_STRENGTH


def derived_words(key: str, rules: LanguageRules = ENGLISH) -> Iterator[tuple[str, float]]:
    """Yield the keys of words with the same stem and an equal ending, each with the strength; they may be no words.

    A word of general language has such forms only if the stem is long: "manic" is not "many", nor "ear" "early".
    """
    if not key.isalpha() or is_equal_to_none(key, rules):
        return
    endings, everyday = word_table(rules).endings, common_keys(rules.code)
    for length in range(max(SHORTEST_STEM, len(key) - LONGEST_ENDING), len(key) + 1):
        for ending, strength in endings.get(key[length:], ()):
            form = key[:length] + ending
            if length >= LONG_STEM or (key not in everyday and form not in everyday):
                yield form, strength
