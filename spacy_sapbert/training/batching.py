"""Group training pairs, or documents annotated by people and by rules, into batches."""

# no postponed annotations here: spaCy could not check the settings of a registered function

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from typing import TYPE_CHECKING

import numpy as np

from .pair_table import PairTable
from .settings import check_counts

if TYPE_CHECKING:
    from spacy.training import Example

# from a table and a random generator to the batches of one epoch, as numbers of pairs
Batcher = Callable[[PairTable, np.random.Generator], list[np.ndarray]]
ExampleBatcher = Callable[[Iterable["Example"]], Iterator[list["Example"]]]


def shuffled_batches(size: int = 256) -> Batcher:
    """Shuffle all pairs and cut them into batches. The last batch of an epoch is smaller.

    Args:
        size: Pairs per batch.
    """
    check_counts("ShuffledBatches", size=size)

    def batches(pairs: PairTable, rng: np.random.Generator) -> list[np.ndarray]:
        order = rng.permutation(len(pairs))
        return [order[start : start + size] for start in range(0, len(order), size)]

    return batches


def mixed_batches(manual: int = 16, augmented: int = 16) -> ExampleBatcher:
    """Put fixed numbers of manually annotated documents and of documents annotated by rules into each batch.

    An epoch uses each manual document once, and the first documents annotated by rules. These differ in each epoch,
    since `spacy train` shuffles. If all documents are of one kind, so are the batches.

    Args:
        manual: Manually annotated documents per batch.
        augmented: Documents annotated by rules per batch.
    """
    from ..documents.docs import is_augmented  # needs spaCy, which a machine that trains on pairs may lack

    check_counts("MixedBatches", manual=manual, augmented=augmented)

    def batches(examples: Iterable["Example"]) -> Iterator[list["Example"]]:
        by_people: list[Example] = []
        by_rule: list[Example] = []
        for example in examples:
            (by_rule if is_augmented(example.reference) else by_people).append(example)
        if not by_people:
            by_people, by_rule = by_rule, []
        added = cycle(by_rule)
        for start in range(0, len(by_people), manual):
            yield [*by_people[start : start + manual], *islice(added, augmented)]

    return batches
