"""`ConceptPrior`: prefer concepts that annotators mean more often."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from ..kb.knowledge_base import KnowledgeBase
from ..types import SCORE_DIGITS, Candidate, Document

CACHED_PRIORS = 1 << 16


def count_concepts(documents: Iterable[Document]) -> Counter[str]:
    """Count the documents that mention each concept id."""
    ids = (dict.fromkeys(id for mention in document.mentions for id in mention.ids) for document in documents)
    return Counter(id for of_document in ids for id in of_document)


def best_weight(n_right: Mapping[float, int], present: float | None = None) -> float:
    """Return the weight with most right; among equal ones the present weight, then the smallest."""
    return max(n_right, key=lambda weight: (n_right[weight], weight == present, -weight))


class ConceptPrior:
    """Raises the scores of concepts that annotators mean more often.

    A candidate's score S becomes (S + μ · prior) / (1 + μ), which is at most 1, as S is. The prior of a concept is
    log(n) / log(N), and at most 1. Here n is the number of documents that mention the concept, by any of its ids. N is
    the number for the most frequent id. A concept of a single document has the prior 0, as one that was never
    annotated: it may be the subject of that document alone, however often that mentions it.

    If several concepts share a name, corpora may annotate this very name with one of them most often. No other concept
    of the name can then have a higher prior: these counts say more than the counts of all names.

    Args:
        counts: The number of documents for each id, for at least one id.
        weight: μ, 0 or more.
        kb: The vocabulary of the candidates.
    """

    def __init__(self, counts: Mapping[str, int], weight: float, kb: KnowledgeBase) -> None:
        self._counts = counts
        self._weight = weight
        self._kb = kb
        self._highest = math.log(max(counts.values(), default=1)) or 1.0
        self._cache: dict[str, float] = {}  # a cache, since many texts have the same candidates

    def is_of(self, counts: Mapping[str, int], weight: float, kb: KnowledgeBase) -> bool:
        """Return whether the prior was made from these objects."""
        return self._counts is counts and self._weight == weight and self._kb is kb

    def __call__(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with new scores and their `prior`, best first. Equal scores keep their order."""
        priors = self._priors({candidate.concept_id for candidate in candidates})
        groups = [list(tied) for _, tied in groupby(candidates, key=lambda candidate: candidate.score)]
        contested = (tied for tied in groups if len(tied) > 1 and any(priors[tie.concept_id] for tie in tied))
        pairs = [(candidate.concept_id, candidate.name) for tied in contested for candidate in tied]
        annotated = dict(zip(pairs, self._kb.annotations_of(pairs), strict=True)) if pairs else {}
        scored = [candidate for tied in groups for candidate in self._scored(tied, priors, annotated)]
        return sorted(scored, key=lambda candidate: -candidate.score)

    def of(self, concept_id: str) -> float:
        """Return the prior of a concept, from 0 to 1."""
        return self._priors({concept_id})[concept_id]

    def _priors(self, concept_ids: set[str]) -> dict[str, float]:
        """Return the prior of each concept. The vocabulary is read once for all that are not known yet."""
        cache = self._cache
        priors = {concept_id: cache[concept_id] for concept_id in concept_ids if concept_id in cache}
        missing = sorted(concept_ids.difference(priors))
        if missing:
            for concept_id, ids in self._kb.ids_of(missing).items():
                n = sum(self._counts.get(id, 0) for id in ids)
                priors[concept_id] = min(1.0, math.log(max(n, 1)) / self._highest)
            if len(cache) > CACHED_PRIORS:
                self._cache = cache = {}  # a new object, since another thread may read the old one
            cache.update(priors)
        return priors

    def _scored(
        self, tied: Sequence[Candidate], prior_of: Mapping[str, float], annotated: Mapping[tuple[str, str], int]
    ) -> list[Candidate]:
        """Score candidates that share one score."""
        priors = [prior_of[candidate.concept_id] for candidate in tied]
        if len(tied) > 1 and any(priors):
            counts = [annotated[candidate.concept_id, candidate.name] for candidate in tied]
            most = max(counts)
            highest = max(prior for prior, n in zip(priors, counts, strict=True) if n == most)
            priors = [min(prior, highest) for prior in priors]
        scores = [(tied[0].score + self._weight * prior) / (1 + self._weight) for prior in priors]
        return [
            candidate._replace(score=round(score, SCORE_DIGITS), prior=prior)
            for candidate, score, prior in zip(tied, scores, priors, strict=True)
        ]
