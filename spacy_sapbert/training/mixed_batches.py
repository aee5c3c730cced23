"""Batches with a fixed share of manually annotated documents and of documents annotated by rules."""

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from typing import TYPE_CHECKING

from ..documents.docs import is_augmented
from .setting_checks import check_counts

if TYPE_CHECKING:
    from spacy.training import Example

ExampleBatcher = Callable[[Iterable["Example"]], Iterator[list["Example"]]]


def mixed_batches(manual: int = 16, augmented: int = 16) -> ExampleBatcher:
    """Put fixed numbers of manually annotated documents and of documents annotated by rules into each batch.

    An epoch uses each manual document once, and the first documents annotated by rules. These differ in each epoch,
    since `spacy train` shuffles. If all documents are of one kind, so are the batches.

    Args:
        manual: Manually annotated documents per batch.
        augmented: Documents annotated by rules per batch.

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
