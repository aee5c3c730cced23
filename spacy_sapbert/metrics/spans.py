"""Compute precision, recall and F1 of mentions, of linked mentions, and of the concepts of whole documents.

Mentions are character spans. A gold mention that cuts a token therefore counts, but a pipeline can only miss it. Blanks
at the ends of a mention do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from ..types import NIL, Document, Mention
from .counts import SetCounts, compare_sets
from .linking_accuracy import gold_concepts, strict_at

Place = tuple[int, int]


def place_in_text(mention: Mention) -> tuple[int, int, str]:
    """Return the characters and the label of a mention, without blanks at its ends."""
    text = mention.text
    return mention.end - len(text.lstrip()), mention.start + len(text.rstrip()), mention.label


def places(mentions: Iterable[Mention]) -> set[tuple[int, int, str]]:
    """Return the characters, without blanks at the ends, and the label of each mention; equal ones once."""
    return set(map(place_in_text, mentions))


def single_id(gold: Sequence[Mention], found: Sequence[Mention]) -> tuple[list[Mention], list[Mention]]:
    """Return gold and found mentions, without those at the characters of a gold mention with several ids."""
    left_out = {place_in_text(mention)[:2] for mention in gold if len(mention.ids) > 1}
    single_gold, single_found = (
        [mention for mention in mentions if place_in_text(mention)[:2] not in left_out] for mentions in (gold, found)
    )
    return single_gold, single_found


class Comparison:
    """Compares the found mentions of a document with its annotations, using the ids of a vocabulary.

    `find_id` returns the primary ids of the concepts with an id, the most likely first. `all_ids` returns all ids of
    the concept with a primary id.
    """

    def __init__(self, find_id: Callable[[str], Sequence[str]], all_ids: Callable[[str], Iterable[str]]) -> None:
        self._find_id = find_id
        self._ids = lru_cache(maxsize=100_000)(lambda concept_id: frozenset([concept_id, *all_ids(concept_id)]))
        self.primary = lru_cache(maxsize=100_000)(lambda concept_id: next(iter(find_id(concept_id)), concept_id))

    def __call__(self, gold: Document, found: Document) -> dict[str, SetCounts]:
        """Return the counts of each measure."""
        gold_places, found_places = places(gold.mentions), places(found.mentions)
        untyped, found_untyped = ({place[:2] for place in both} for both in (gold_places, found_places))
        return {
            "ner": compare_sets(gold_places, found_places),
            "ner_untyped": compare_sets(untyped, found_untyped),
            "span_id": self.linked(gold.mentions, found.mentions),
            "span_id_single": self.linked(*single_id(gold.mentions, found.mentions)),
            "document_id": compare_sets(self.concepts(gold), self.concepts(found)),
        }

    def concepts(self, document: Document) -> set[str]:
        """Return the primary ids of the concepts of a document."""
        ids = (concept_id for mention in document.mentions for concept_id in mention.ids)
        return {self.primary(concept_id) for concept_id in ids if concept_id != NIL}

    def linked(self, gold: Iterable[Mention], found: Iterable[Mention]) -> SetCounts:
        """Compare mentions with their concepts. Labels do not matter, and mentions without an id do not count.

        A found mention is right if it has the characters of a gold mention and exactly its concepts. This is the strict
        accuracy of `evaluate linking`.
        """
        missing: dict[Place, list[list[frozenset[str]]]] = defaultdict(list)
        golds, founds = self._with_ids(gold), self._with_ids(found)
        for (place, _), ids in golds.items():
            missing[place].append(gold_concepts(ids, self._find_id))
        hits = 0
        for place, concepts in founds:
            parts = [[self._ids(concept_id)] for concept_id in concepts]
            right = next((some for some in missing.get(place, ()) if strict_at(1, some, parts)), None)
            if right is not None:
                missing[place].remove(right)
                hits += 1
        return SetCounts(hits, len(founds), len(golds))

    def _with_ids(self, mentions: Iterable[Mention]) -> dict[tuple[Place, frozenset[str]], tuple[str, ...]]:
        """Return the ids of the mentions with any, by their characters and primary ids."""
        with_ids = (mention for mention in mentions if mention.ids)
        return {(place_in_text(item)[:2], frozenset(map(self.primary, item.ids))): item.ids for item in with_ids}
