"""Write `spacy_sapbert/text/synonyms/*_words.txt`: words that vocabularies equate, and endings of such words.

    python scripts/word_classes.py LANGUAGE doid.kb ncit.kb … > spacy_sapbert/text/synonyms/LANGUAGE_words.txt
    python scripts/word_classes.py LANGUAGE > spacy_sapbert/text/common_words/LANGUAGE_keys.txt

See `spacy_sapbert.text.word_classes` for what is counted. The contexts of all vocabularies are added up. A pair needs a
strength of `STRONG`, and two vocabularies or `MANY` contexts. Pairs of `LANGUAGE_different.txt` are left out: they were
read by hand, and name different things. Two endings are equal if this holds for the words that have them. The strongest
come first in each line: the strength in percent, and the two words or endings.

Without vocabularies, the keys of the words of general language are written, since folding them takes long.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.text.common_words import common_nouns, common_words
from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.text.word_classes import (
    LONGEST_ENDING,
    SHORTEST_STEM,
    STRONG,
    Contexts,
    Evidence,
    Pair,
    may_be_equal,
)
from spacy_sapbert.text.words import read_words

MANY, FEWEST_WORDS, WEAKEST = 6, 4, 0.7
# exchanged in many names, but another disease or quantity
WRONG_ENDINGS = {("iti", "opathy"), ("emia", "uria"), ("as", "os"), ("", "e"), ("", "is"), ("e", "l")}


def derived(contexts: Contexts) -> Iterator[tuple[Pair, Pair]]:
    """Yield pairs of words with the same stem, each with their endings."""
    of_stem: defaultdict[str, list[str]] = defaultdict(list)
    for word in filter(str.isalpha, sorted(contexts.of_word)):
        for end in range(max(SHORTEST_STEM, len(word) - LONGEST_ENDING), len(word) + 1):
            of_stem[word[:end]].append(word)
    for stem, words in of_stem.items():
        for first, second in combinations(words, 2):
            endings = first[len(stem) :], second[len(stem) :]
            if endings[0][:1] != endings[1][:1]:
                yield (first, second), endings


def everyday_keys(language: str) -> str:
    """Return the lines of `LANGUAGE_keys.txt`: the keys of the words of general language, if they have one."""
    words = (*common_words(language), *common_nouns(language))
    keys = (read_words(word, rules_of(language)).content for word in words)
    return "".join(f"{key}\n" for key in sorted({found[0] for found in keys if len(found) == 1}))


def main(language: str, paths: list[Path]) -> None:
    rules = rules_of(language)
    same, different, vocabularies = Counter[Pair](), Counter[Pair](), Counter[Pair]()
    endings: defaultdict[Pair, dict[Pair, list[int]]] = defaultdict(dict)
    for path in paths:
        contexts = Contexts(KnowledgeBase(path).synonyms(), rules)
        for pair in contexts.same:
            evidence = contexts.evidence(pair)
            same[pair] += evidence.same
            different[pair] += evidence.different
            vocabularies[pair] += 1
        for pair, of_pair in derived(contexts):
            evidence = contexts.evidence(pair)
            if any(evidence):
                counts = endings[of_pair].setdefault(pair, [0, 0])
                counts[0] += evidence.same
                counts[1] += evidence.different
    for pair, n in same.most_common():
        strength = Evidence(n, different[pair]).strength
        if strength >= STRONG and (vocabularies[pair] > 1 or n >= MANY) and may_be_equal(pair, rules):
            print(int(100 * strength), *pair)  # noqa: T201
    for pair, words in sorted(endings.items()):
        right = sum(n > wrong for n, wrong in words.values())
        wrong = sum(n < wrong for n, wrong in words.values())
        strength = Evidence(right, wrong).strength
        if right >= FEWEST_WORDS and strength >= WEAKEST and pair not in WRONG_ENDINGS:
            print(int(100 * strength), *(f"-{ending}" for ending in pair))  # noqa: T201


if __name__ == "__main__":
    if paths := sys.argv[2:]:
        main(sys.argv[1], [Path(path) for path in paths])
    else:
        sys.stdout.write(everyday_keys(sys.argv[1]))
