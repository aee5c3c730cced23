"""Link documents as if they were new, with what was learned from the others: concept counts and rerankers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice

import numpy as np
from spacy.language import Language

from ..linking.prior import count_concepts
from ..linking.rerank_features import CandidateFeatures, WordRarity
from ..linking.reranker import Reranker
from ..training.reranker_trainer import FittedReranker, RankedDocument, fit_reranker, folds_of, gold_parts, ranking_data
from ..training.settings import RerankerTraining
from ..types import Document
from .running import LinkedMention, find_linker, link_gold_mentions

Documents = Sequence[Document]
Follow = Callable[[Documents, str], Iterable[Document]]


def no_progress(documents: Documents, what: str) -> Iterable[Document]:
    """Return the documents of a pass, without reporting progress."""
    return documents


def link_by_others(
    nlp: Language, documents: Documents, weight: float, follow: Follow = no_progress
) -> Iterator[LinkedMention]:
    """Yield the linked mentions of documents, in their order, each linked with the concept counts of all other
    documents.

    Documents with the same id count as one. `weight` is the prior weight μ. For `follow`, see `calibrate`.
    """
    linker, counts = find_linker(nlp).linker, count_concepts(documents)
    own: dict[str, Counter[str]] = {}
    for document in documents:
        own.setdefault(document.doc_id, Counter()).update(count_concepts([document]))
    for document in follow(documents, f"documents linked with μ = {weight:g}"):
        with linker.weighing(counts - own[document.doc_id], weight):
            linked = list(link_gold_mentions(nlp, [document]))
        yield from linked


def rerank_by_others(
    nlp: Language, documents: Documents, prior_weight: float | None, seed: int, follow: Follow
) -> tuple[FittedReranker, list[LinkedMention]]:
    """Train a reranker on documents, by folds, and return it with their mentions. The linker does not change.

    Each mention was reranked by a reranker of other documents.

    Documents with the same id count as one. With a prior weight μ, the annotation counts leave out the documents of a
    fold. Without one, they are those of the linker.
    """
    kb, settings = find_linker(nlp).linker.kb, RerankerTraining(seed=seed)
    folds = folds_of([document.doc_id for document in documents], settings)
    mentions = _link_folds(nlp, documents, folds, prior_weight, follow)
    ranked = []
    for document, linked in zip(documents, mentions, strict=True):
        parts = gold_parts([link.mention for link in linked], [link.parts for link in linked], kb)
        ranked.append(RankedDocument(document.doc_id, document.text, parts))
    rarity = WordRarity.in_names(kb.names())
    features = CandidateFeatures(kb, rarity)
    fitted = fit_reranker([ranking_data(ranked, range(len(ranked)), features)], folds, rarity, settings)
    rerankers = fitted.of_folds if fitted.reranker else [Reranker.undecided()] * settings.folds
    reranked: list[LinkedMention] = []
    for document, linked, fold in zip(documents, mentions, folds.tolist(), strict=True):
        reranked += _reranked(linked, document.text, rerankers[fold], features)
    return fitted, reranked


def _link_folds(
    nlp: Language, documents: Documents, folds: np.ndarray, prior_weight: float | None, follow: Follow
) -> list[list[LinkedMention]]:
    """Return the linked mentions of each document, not reranked."""
    linker = find_linker(nlp).linker
    mentions: list[list[LinkedMention]] = [[] for _ in documents]
    n_folds = int(folds.max(initial=-1)) + 1
    with linker.reranking(Reranker.undecided()):
        for fold in range(n_folds):
            numbers = np.flatnonzero(folds == fold).tolist()
            others = [document for document, number in zip(documents, folds, strict=True) if number != fold]
            what = f"documents linked for the reranker, part {fold + 1} of {n_folds}"
            inside = follow([documents[number] for number in numbers], what)
            counted = nullcontext() if prior_weight is None else linker.weighing(count_concepts(others), prior_weight)
            with counted:
                for number, document in zip(numbers, inside, strict=True):
                    mentions[number] = list(link_gold_mentions(nlp, [document]))
    return mentions


def _reranked(
    linked: Sequence[LinkedMention], text: str, reranker: Reranker, features: CandidateFeatures
) -> Iterator[LinkedMention]:
    parts = iter(reranker.rerank([part for mention in linked for part in mention.parts], text, features))
    for mention in linked:
        yield mention._replace(parts=tuple(islice(parts, len(mention.parts))))
