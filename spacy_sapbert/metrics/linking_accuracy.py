"""Measure how often mentions are linked to the right concepts: Acc@1, Acc@5 and candidate recall.

There are two measures. *Lenient* is BioSyn's (Sung et al. 2020, section 4.2): every part that the linker looked up must
match any of the gold ids. *Strict* requires one part per gold concept, each with the right concept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..types import NIL, Document, Mention
from .counts import SetCounts, compare_sets, mean, percent

CUTOFFS = (1, 5)
RECALL_CUTOFF = 20
SLICES = ("seen", "unseen", "abbreviation", "composite")

Ids = AbstractSet[str]


# --- one mention


def lenient_at(k: int, gold: Collection[Ids], parts: Sequence[Sequence[Ids]]) -> bool:
    """Return whether there are parts, and each has a candidate that matches any gold id, among its first k candidates.

    Args:
        k: The number of candidates to look at.
        gold: The gold concepts, each as the set of the gold ids for it.
        parts: The candidates of each part, best first, each as the set of all its ids.
    """
    ids = frozenset().union(*gold)
    return bool(parts) and all(any(ids & candidate for candidate in part[:k]) for part in parts)


def strict_at(k: int, gold: Collection[Ids], parts: Sequence[Sequence[Ids]]) -> bool:
    """Return whether parts and gold concepts match one to one, each part by one of its first k candidates.

    The arguments are those of `lenient_at`. For k = 1, the first candidates of the parts must be the gold concepts, one
    to one. Two parts with the same first candidate are therefore always wrong.
    """
    from scipy.optimize import linear_sum_assignment

    if not parts or len(parts) != len(gold):
        return False
    met = np.array([[any(ids & candidate for candidate in part[:k]) for ids in gold] for part in parts])
    rows, columns = linear_sum_assignment(met, maximize=True)
    return bool(met[rows, columns].all())


def belb_at(k: int, gold: AbstractSet[str], parts: Sequence[Sequence[str]]) -> bool:
    """Return whether one of the first k ranks has a single concept, and that is any gold one: BELB's strict recall.

    It follows `multi_label_recall` of BELB's evaluation (Garda et al. 2023), where a rank with several ids is wrong.

    Args:
        k: The number of ranks to look at.
        gold: The primary ids of the gold concepts.
        parts: The primary ids of the candidates of each part, best first. A rank has those of all parts.
    """
    ranks = ({part[rank] for part in parts if rank < len(part)} for rank in range(k))
    return any(len(predicted) == 1 and predicted <= gold for predicted in ranks)


def gold_concepts(ids: Iterable[str], find_id: Callable[[str], Iterable[str]]) -> list[frozenset[str]]:
    """Group the gold ids of one concept, because one part can match all of them. An unknown id forms its own set.

    Args:
        ids: The gold ids of a mention.
        find_id: Returns the primary ids of the concepts with an id, such as `KnowledgeBase.find_id`.
    """
    groups: list[tuple[frozenset[str], frozenset[str]]] = []
    for concept_id in ids:
        group, concepts = frozenset([concept_id]), frozenset([concept_id, *find_id(concept_id)])
        for other in [other for other in groups if other[1] & concepts]:
            groups.remove(other)
            group, concepts = other[0] | group, other[1] | concepts
        groups.append((group, concepts))
    return [group for group, _ in groups]


# --- many mentions


class MentionScore(NamedTuple):
    """The scores of a linked mention. Accuracy is by cutoff.

    Attributes:
        covered: Every gold id is in the vocabulary. BioSyn's protocol keeps only such mentions.
        exact_match: The mention or its long form is a name of a gold concept.
        slices: The elements of `SLICES` that the mention belongs to.
    """

    covered: bool
    lenient: dict[int, bool]
    strict: dict[int, bool]
    exact_match: bool
    slices: tuple[str, ...]


def accuracies(scores: Sequence[MentionScore]) -> dict[str, dict[str, float | None]]:
    """Return "lenient" and "strict", each with the percentages "acc@1" and "acc@5"; None if there is no mention."""
    return {
        "lenient": {f"acc@{k}": percent(mean([score.lenient[k] for score in scores])) for k in CUTOFFS},
        "strict": {f"acc@{k}": percent(mean([score.strict[k] for score in scores])) for k in CUTOFFS},
    }


def standard_error(values: Sequence[float], doc_ids: Sequence[str]) -> float | None:
    """Return the standard error of the mean of values in percent; None for under two documents.

    The mentions of a document are not independent, so documents are the sample: the mean is a ratio of two sums over
    documents (Cochran 1977, section 2.11).

    Args:
        values: The value of each mention.
        doc_ids: The document of each mention.
    """
    _, numbers, n = np.unique(np.array(doc_ids, dtype=object).astype(str), return_inverse=True, return_counts=True)
    if len(n) < 2:
        return None
    sums = np.bincount(numbers, weights=values)
    deviations = sums - sums.sum() / n.sum() * n
    return percent(float(np.sqrt(len(n) / (len(n) - 1) * (deviations**2).sum()) / n.sum()))


def summarize(scores: Sequence[MentionScore], doc_ids: Sequence[str]) -> dict[str, Any]:
    """Return the measures of a corpus, as `evaluate_linking` reports them, from each mention's score and document."""
    covered = [score for score in scores if score.covered]
    documents = [doc_id for score, doc_id in zip(scores, doc_ids, strict=True) if score.covered]
    slices = {name: [score for score in covered if name in score.slices] for name in SLICES}
    over_all = accuracies(scores)
    return {
        "mentions": len(scores),
        "covered": len(covered),
        **accuracies(covered),
        "lenient_all": over_all["lenient"],
        "strict_all": over_all["strict"],
        "exact_match_floor": percent(mean([score.exact_match for score in covered])),
        f"candidate_recall@{RECALL_CUTOFF}": percent(mean([score.lenient[RECALL_CUTOFF] for score in covered])),
        "slices": {name: {"n": len(members), **accuracies(members)} for name, members in slices.items()},
        "se": {
            kind: standard_error([getattr(score, kind)[1] for score in covered], documents)
            for kind in ("lenient", "strict")
        },
    }


# --- the mentions of documents
#
# Mentions are character spans. A gold mention that cuts a token therefore counts, but a pipeline can only miss it.
# Blanks at the ends of a mention do not count.

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
