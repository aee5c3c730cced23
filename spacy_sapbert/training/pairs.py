"""Draw pairs of synonyms for self-alignment, which trains an encoder (SapBERT: Liu et al. 2021)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from math import comb, isqrt
from operator import itemgetter
from random import Random
from typing import NamedTuple, TypeVar

from ..errors import CannotWriteError, EmptyError, SettingError
from ..kb.knowledge_base import KnowledgeBase
from ..text.normalize import lower
from ..types import Document, has_type
from .pair_files import Pair, SharedName, is_writable
from .settings import PairSelection

T = TypeVar("T")

SYNONYM_COUNTS = (
    "concepts",
    "concepts_with_one_name",
    "concepts_with_enough_names",
    "names",
    "duplicate_names",
    "long_names",
    "unwritable_names",
    "unwritable_ids",
    "pairs",
)
MENTION_COUNTS = (
    "mentions",
    "mentions_of_other_types",
    "mentions_without_id",
    "composite_mentions",
    "mentions_not_in_vocabulary",
    "unwritable_mentions",
    "repeated_mentions",
    "mentions_without_another_name",
    "pairs",
)

_CONCEPTS_AT_ONCE = 1000
_NAMES_OF_CONCEPTS = (
    "SELECT c.id, n.text FROM concepts c JOIN synonyms s ON s.concept = c.row JOIN names n ON n.row = s.name "
    "WHERE c.row >= ? AND c.row < ? GROUP BY c.row, s.name ORDER BY c.row, s.name"
)


class Synonyms(NamedTuple):
    """A concept with its unique names, in normal form and in the order of the knowledge base."""

    concept_id: str
    names: list[str]


class GoldMention(NamedTuple):
    """A mention in normal form, and the primary id of its annotated concept."""

    concept_id: str
    text: str


# --- pairs of a vocabulary


def synonym_pairs(
    kb: KnowledgeBase, selection: PairSelection, counts: Counter[str], *, seed: int = 0
) -> Iterator[tuple[str, Pair]]:
    """Draw pairs of names from a vocabulary. The pairs of a concept depend on its names, its id and the seed.

    Memory does not grow with the number of concepts. It grows with the concepts and pairs that `selection` draws or
    holds out. Held-out pairs are drawn from all pairs, so the same concept may have others in training, as in the data
    of kg-aligned-entity-linker.

    Args:
        selection: Which pairs are drawn.
        counts: Updated with `SYNONYM_COUNTS`.

    Yields:
        "train", "eval" or "plot", and the pair. Training pairs come first.
    """
    concepts = synonyms(kb, counts, selection.max_length, selection.min_names)
    if selection.concepts is not None:
        concepts = iter(_draw_concepts(concepts, selection, Random(f"{seed} concepts")))
    pairs = (pair for concept in concepts for pair in draw_pairs(concept, selection, seed))
    aside: list[Pair] = []
    rng = Random(f"{seed} evaluation")
    for pair in set_aside(_counted(pairs, counts), selection.eval_pairs, rng, aside):
        yield "train", pair
    if counts["pairs"] == len(aside):
        limit = f"below {len(aside)}, the number of pairs, so that some are left for training"
        raise SettingError(setting="eval_pairs", component="pairs", value=selection.eval_pairs, wanted=limit)
    yield from (("eval", pair) for pair in aside)
    yield from (("plot", pair) for pair in rng.sample(aside, selection.plot_pairs))


def synonyms(
    kb: KnowledgeBase, counts: Counter[str], max_length: int | None = None, min_names: int = 0
) -> Iterator[Synonyms]:
    """Read the concepts of a knowledge base with their names in normal form, in the order of the knowledge base.

    Names and ids that a file of pairs cannot hold are left out. These contain `||`, or end in a bar that would run into
    the next two. Line breaks cannot occur, since they are blanks in normal form.

    Args:
        counts: Updated with the counts of concepts and names.
        max_length: Names with more characters are left out.
        min_names: Concepts with fewer names are left out.
    """
    for first in range(0, len(kb), _CONCEPTS_AT_ONCE):
        rows = kb.query(_NAMES_OF_CONCEPTS, first, first + _CONCEPTS_AT_ONCE)
        for concept_id, group in groupby(rows, key=itemgetter(0)):
            counts["concepts"] += 1
            if not is_writable(concept_id):
                counts["unwritable_ids"] += 1
                continue
            texts = [text for _, text in group]
            unique = dict.fromkeys(map(lower, texts))
            writable = [name for name in unique if is_writable(name)]
            names = [name for name in writable if max_length is None or len(name) <= max_length]
            counts["names"] += len(names)
            counts["long_names"] += len(writable) - len(names)
            counts["duplicate_names"] += len(texts) - len(unique)
            counts["unwritable_names"] += len(unique) - len(writable)
            counts["concepts_with_one_name"] += len(names) == 1
            if len(names) >= min_names:
                counts["concepts_with_enough_names"] += 1
                yield Synonyms(concept_id, names)


def draw_pairs(concept: Synonyms, selection: PairSelection, seed: int = 0) -> Iterator[Pair]:
    """Draw pairs of a concept uniformly and without replacement. The order of the two names is also random.

    The pairs are drawn by number, since a concept with thousands of names has too many pairs to list.
    """
    rng = Random(f"{seed} {concept.concept_id}")
    at_most = (
        selection.max_pairs if selection.min_pairs is None else rng.randint(selection.min_pairs, selection.max_pairs)
    )
    numbers = range(comb(len(concept.names), 2))
    for number in numbers if len(numbers) <= at_most else sorted(rng.sample(numbers, at_most)):
        names = [concept.names[index] for index in nth_combination(number)]
        if rng.random() < 0.5:
            names.reverse()
        yield Pair(concept.concept_id, *names)


def nth_combination(number: int) -> tuple[int, int]:
    """Return the pair at a position of the order (0, 1), (0, 2), (1, 2), (0, 3), … of all pairs of different numbers.

    With b > a, the pair (a, b) has the position b(b - 1)/2 + a. This is the combinatorial number system (Knuth, The Art
    of Computer Programming 4A, section 7.2.1.3). From b(b - 1)/2 <= number < (b + 1)b/2 follows (2b - 1)² <= 8 number +
    1 < (2b + 1)². The integer root in the code solves this without rounding.
    """
    b = (isqrt(8 * number + 1) + 1) // 2
    return number - comb(b, 2), b


def set_aside(items: Iterable[T], n: int, rng: Random, aside: list[T]) -> Iterator[T]:
    """Draw `n` items uniformly and without replacement from a stream of unknown length (Vitter 1985, algorithm R).

    Args:
        aside: Receives the drawn items. It is complete at the end of the stream, and shorter if the stream is.

    Yields:
        All other items.
    """
    for seen, item in enumerate(items, start=1):
        if len(aside) < n:
            aside.append(item)
            continue
        index = rng.randrange(seen)
        if index < n:
            aside[index], item = item, aside[index]
        yield item


def _draw_concepts(concepts: Iterable[Synonyms], selection: PairSelection, rng: Random) -> list[Synonyms]:
    n = selection.concepts or 0
    drawn: list[Synonyms] = []
    for _ in set_aside(concepts, n, rng, drawn):
        pass
    if len(drawn) < n:
        at_most = f"at most {len(drawn)}, the number of concepts with {selection.min_names} names or more"
        raise SettingError(setting="concepts", component="pairs", value=n, wanted=at_most)
    return drawn


# --- pairs of a corpus


def gold_mentions(
    kb: KnowledgeBase, documents: Iterable[Document], counts: Counter[str], types: Collection[str] = ()
) -> list[GoldMention]:
    """Return the annotated mentions of a corpus with exactly one id, if the vocabulary has it.

    Args:
        counts: Updated with `MENTION_COUNTS`. A mention that is left out counts once, by the first reason.
        types: Only mentions of these types; empty for all.

    Returns:
        Unique pairs of mention and concept, in the order of the corpus. An alternative id of several concepts stands
        for all of them.
    """
    mentions: dict[GoldMention, None] = {}
    for mention in (mention for document in documents for mention in document.mentions):
        counts["mentions"] += 1
        concept_ids = kb.find_id(mention.ids[0]) if mention.ids else ()
        gold = dict.fromkeys(GoldMention(concept_id, lower(mention.text)) for concept_id in concept_ids)
        reasons = {
            "mentions_of_other_types": bool(types) and not has_type(mention.label, types),
            "mentions_without_id": not mention.ids,
            "composite_mentions": len(mention.ids) > 1,
            "mentions_not_in_vocabulary": not gold,
            "unwritable_mentions": not all(is_writable(field) for pair in gold for field in pair),
            "repeated_mentions": gold.keys() <= mentions.keys(),
        }
        reason = next((reason for reason, holds in reasons.items() if holds), None)
        if reason:
            counts[reason] += 1
        else:
            mentions.update(gold)
    return list(mentions)


def mention_pairs(
    kb: KnowledgeBase, mentions: Iterable[GoldMention], counts: Counter[str], *, max_pairs: int = 50, seed: int = 0
) -> Iterator[tuple[str, Pair]]:
    """Pair each mention with the names of its concept, except a name equal to the mention.

    Args:
        counts: Updated with the counts of pairs, and of mentions without any.
        max_pairs: The most pairs of a mention. If its concept has more names, they are drawn uniformly.

    Yields:
        "train" and the pair, with the mention first.
    """
    pairs = (pair for mention in mentions for pair in _pairs_of_mention(kb, mention, counts, max_pairs, seed))
    yield from (("train", pair) for pair in _counted(pairs, counts))


def _pairs_of_mention(
    kb: KnowledgeBase, mention: GoldMention, counts: Counter[str], max_pairs: int, seed: int
) -> list[Pair]:
    unique = dict.fromkeys(lower(name.text) for name in kb.names_of(mention.concept_id))
    names = [name for name in unique if name != mention.text and is_writable(name)]
    if len(names) > max_pairs:
        names = Random(f"{seed} {mention.concept_id} {mention.text}").sample(names, max_pairs)
    counts["mentions_without_another_name"] += not names
    return [Pair(mention.concept_id, mention.text, name) for name in names]


# --- names of several concepts


def shared_names(kb: KnowledgeBase, mentions: Iterable[GoldMention] = ()) -> Iterator[SharedName]:
    """Find the names, in normal form, that several concepts of a vocabulary share.

    They are sorted in a temporary database on disk, so that millions of names take no memory.

    Args:
        mentions: Mentions that count as names as well.

    Yields:
        The names in order, each with its concepts ordered by id.
    """
    connection = sqlite3.connect("", isolation_level=None)  # "" is a temporary database on disk
    try:
        connection.execute("CREATE TABLE owners (name TEXT, concept TEXT)")
        connection.execute("BEGIN")
        for concept_id, names in synonyms(kb, Counter()):
            connection.executemany("INSERT INTO owners VALUES (?, ?)", ((name, concept_id) for name in names))
        connection.executemany(
            "INSERT INTO owners VALUES (?, ?)", ((text, concept_id) for concept_id, text in mentions)
        )
        rows = connection.execute("SELECT name, concept FROM owners ORDER BY name, concept")
        for name, group in groupby(rows, key=itemgetter(0)):
            concept_ids = tuple(dict.fromkeys(concept_id for _, concept_id in group))
            if len(concept_ids) > 1:
                yield SharedName(name, concept_ids)
    except sqlite3.OperationalError as error:
        remedy = "Make room in the folder for temporary files, or set SQLITE_TMPDIR to another folder."
        raise CannotWriteError(remedy, path="the sorted names", reason=error) from error
    finally:
        connection.close()


def _counted(pairs: Iterable[Pair], counts: Counter[str]) -> Iterator[Pair]:
    """Count the pairs, and raise an error if there was none."""
    for pair in pairs:
        counts["pairs"] += 1
        yield pair
    if not counts["pairs"]:
        counted = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items() if count)
        remedy = "A pair needs a concept with two names, or a mention and another name of its concept."
        raise EmptyError(remedy, what=f"pair ({counted or 'nothing read'})", consequence="nothing was written")
