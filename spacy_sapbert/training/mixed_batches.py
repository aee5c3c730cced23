"""Batches in which documents annotated by people and by rule have a fixed share."""

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from typing import TYPE_CHECKING

from ..corpora.docs import is_augmented
from .checks import check_counts

if TYPE_CHECKING:
    from spacy.training import Example

ExampleBatcher = Callable[[Iterable["Example"]], Iterator[list["Example"]]]


def mixed_batches(manual: int = 16, augmented: int = 16) -> ExampleBatcher:
    """So many documents annotated by people, and so many annotated by rule, in each batch.

    An epoch goes once through the former; of the latter it takes those that come first, of which there are others each
    time, since `spacy train` shuffles. Where all documents are of one kind, batches are of that kind.

    Args:
        manual: documents annotated by people in a batch.
        augmented: documents annotated by rule in a batch.

    Raises:
        SapbertError: E335 a number is not above 0.
    """
    check_counts(manual=manual, augmented=augmented)

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
