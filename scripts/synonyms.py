"""Write `spacy_sapbert/text/synonyms/en.txt`: words and phrases that synonyms of several vocabularies exchange.

    python scripts/synonyms.py doid.kb ncit.kb … > spacy_sapbert/text/synonyms/en.txt

Two names of a concept that share their beginning and end give a pair, such as "renal" and "kidney". It is kept if
three vocabularies have it, or many names, and if nearly all names in which it can be exchanged have the same concept.
Whole names that differ in everything are kept, too, in lines with "=", if two vocabularies have both as whole names,
and neither is short. They are exchanged as a whole only. Other pairs are exchanged as a whole only if many concepts
have these words, or if they are whole names, in lines with "*". The most frequent pairs come first.
"""

import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.text.languages import ENGLISH
from spacy_sapbert.text.phrases import word_key

MOST_WORDS, LONGEST, MOST_IN_PAIR, MOST_NAMES = 6, 3, 4, 30
FEWEST_CONCEPTS, FEWEST_VOCABULARIES, MOST_WRONG = 3, 2, 0.05
MANY_VOCABULARIES, MANY_NAMES, MANY_CONCEPTS = 3, 8, 12
GENERAL = set(map(ENGLISH.words.spell, ENGLISH.words.general_names))
SHORTEST = 3  # letters of a word
SHORTEST_NAME = 6  # characters: shorter names are short forms of much else
LEFT_OUT = ENGLISH.words.function_words | {"a", "and", "or", "nos", "type", "unspecified"}

Words = tuple[str, ...]
Pair = tuple[Words, Words]


def words_of(name: str) -> Words:
    return tuple(ENGLISH.words.spell(word) for word in ENGLISH.words.pattern.findall(name))


def keys_of(words: Words) -> Words:
    return tuple(word_key(word, ENGLISH) for word in words)


def middles(first: Words, second: Words) -> tuple[slice, slice]:
    """RETURNS (slice, slice): what two names do not share at the beginning and at the end."""
    shortest = min(len(first), len(second))
    start = next((n for n in range(shortest) if first[n] != second[n]), shortest)
    end = next((n for n in range(shortest - start) if first[-1 - n] != second[-1 - n]), shortest - start)
    return slice(start, len(first) - end), slice(start, len(second) - end)


def main(paths: list[Path]) -> None:
    concepts, inside, surfaces = Counter[Pair](), Counter[Pair](), defaultdict(Counter)
    vocabularies, wholes = defaultdict(set), defaultdict(set)
    owners: list[dict[Words, set[int]]] = []
    for path in paths:
        kb, of_concept, of_name = KnowledgeBase(path), defaultdict(dict), defaultdict(set)
        sql = "SELECT n.text, s.concept, s.scope FROM names n JOIN synonyms s ON s.name = n.row"
        for name, concept, scope in kb.query(sql):
            words = words_of(name)
            if 0 < len(words) <= MOST_WORDS and not set(name) & set(",("):
                of_name[keys_of(words)].add(concept)
                if scope in ("preferred", "exact"):
                    of_concept[concept].setdefault(keys_of(words), words)
        owners.append(of_name)
        for names in of_concept.values():
            pairs: set[Pair] = set()
            for (first, written), (second, other) in combinations(list(names.items())[:MOST_NAMES], 2):
                here, there = middles(first, second)
                pair = tuple(sorted((first[here], second[there])))
                lengths = [len(words) for words in pair]
                if min(lengths) == 0 or max(lengths) > LONGEST or sum(lengths) > MOST_IN_PAIR:
                    continue
                pairs.add(pair)
                if here == slice(0, len(first)):
                    wholes[pair].add(path)
                else:
                    inside[pair] += 1
                surfaces[first[here]][" ".join(written[here])] += 1
                surfaces[second[there]][" ".join(other[there])] += 1
            concepts.update(pairs)
            for pair in pairs:
                vocabularies[pair].add(path)
    kept = [pair for pair, _ in concepts.most_common() if len(vocabularies[pair]) >= FEWEST_VOCABULARIES]
    right, wrong = exchanged(kept, owners)
    lines = []
    for pair in kept:
        names = [surfaces[words].most_common(1)[0][0] for words in pair]
        if not is_plain(names):
            continue
        if inside[pair] and concepts[pair] >= FEWEST_CONCEPTS:
            is_sure = concepts[pair] >= MANY_CONCEPTS and len(vocabularies[pair]) >= MANY_VOCABULARIES
            is_sure = (is_sure and max(map(len, pair)) == 1) or len(wholes[pair]) >= FEWEST_VOCABULARIES
            is_frequent = len(vocabularies[pair]) >= MANY_VOCABULARIES or right[pair] >= MANY_NAMES
            if is_frequent and wrong[pair] <= MOST_WRONG * right[pair]:
                lines.append("*" * is_sure + "|".join(names))
        elif not wrong[pair] and len(wholes[pair]) >= FEWEST_VOCABULARIES and min(map(len, names)) >= SHORTEST_NAME:
            lines.append("=" + "|".join(names))
    print("\n".join(lines))  # noqa: T201


def exchanged(pairs: list[Pair], owners: list[dict[Words, set[int]]]) -> tuple[Counter[Pair], Counter[Pair]]:
    """RETURNS (Counter, Counter): in how many names a pair is exchanged with the same and with another concept."""
    partners, right, wrong = defaultdict(list), Counter[Pair](), Counter[Pair]()
    for pair in pairs:
        partners[pair[0]].append((pair[1], pair))
    for of_name in owners:
        for keys, concepts in of_name.items():
            for start in range(len(keys)):
                for end in range(start + 1, min(start + LONGEST, len(keys)) + 1):
                    for other, pair in partners.get(keys[start:end], ()):
                        others = of_name.get(keys[:start] + other + keys[end:])
                        if others:
                            (right if concepts & others else wrong)[pair] += 1
    return right, wrong


def is_plain(names: list[str]) -> bool:
    words = [word for name in names for word in name.split()]
    plain = all(len(word) >= SHORTEST and not any(map(str.isdigit, word)) for word in words)
    # "keratosis" and "hyperkeratosis" are different, whatever a vocabulary says
    contained = len(words) == len(names) and (names[0].endswith(names[1]) or names[1].endswith(names[0]))
    # "angina disease" is angina, but angina is not disease
    one_is_general = len({name in GENERAL for name in names}) > 1
    return plain and not contained and not one_is_general and not set(words) & LEFT_OUT


if __name__ == "__main__":
    main([Path(path) for path in sys.argv[1:]])
