"""Link documents as if they were new, with what was learned from the others: concept counts and rerankers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from spacy.language import Language

from ..files.output import ScratchFolder
from ..linking.prior import count_concepts
from ..linking.rerank_features import CandidateFeatures, WordRarity
from ..linking.reranker import Reranker
from ..linking.storage import with_mentions
from ..training.reranker_trainer import (
    FittedReranker,
    RankedDocument,
    RankingData,
    are_names,
    fit_reranker,
    folds_of,
    gold_parts,
    ranking_data,
)
from ..training.settings import RerankerTraining
from ..types import Document
from .running import LinkedMention, find_linker, link_gold_mentions

if TYPE_CHECKING:
    from ..linking.candidates import CandidateGenerator
    from ..linking.linker import Linker

Documents = Sequence[Document]
Follow = Callable[[Documents, str], Iterable[Document]]


def no_progress(documents: Documents, what: str) -> Iterable[Document]:
    """Return the documents of a pass, without reporting progress."""
    return documents


class UnseenDocuments:
    """Links documents as if the vocabulary had never seen them.

    If their mentions were added to the vocabulary as names, each fifth of the documents is linked without its own.

    Args:
        nlp: The pipeline. Its linker does not change.
        documents: All annotated documents.
        follow: Reports progress, see `calibrate`.
    """

    def __init__(self, nlp: Language, documents: Documents, follow: Follow = no_progress) -> None:
        self.linker: Linker = find_linker(nlp).linker
        self.follow = follow
        self._nlp = nlp
        self._folds: dict[str, int] = {}
        self._opened: list[tuple[ScratchFolder, CandidateGenerator]] = []
        if are_names(documents, self.linker.kb):
            ids = [document.doc_id for document in documents]
            self._folds = dict(zip(ids, folds_of(ids, RerankerTraining()).tolist(), strict=True))
            for fold in range(max(self._folds.values()) + 1):
                inside = [document for document in documents if self._folds[document.doc_id] == fold]
                folder = ScratchFolder()
                self._opened.append((folder, with_mentions(self.linker.generator, [], folder.path, without=inside)))

    def parts(self, documents: Documents) -> Iterator[Documents]:
        """Yield the documents in parts. Until the next one, the linker links to the vocabulary without the part."""
        if not self._opened:
            yield documents
        for fold, (_, generator) in enumerate(self._opened):
            if inside := [document for document in documents if self._folds[document.doc_id] == fold]:
                with self.linker.using(generator):
                    yield inside

    def link(self, documents: Documents, what: str) -> Iterator[LinkedMention]:
        """Yield the linked mentions of documents, part by part."""
        for part in self.parts(documents):
            yield from link_gold_mentions(self._nlp, self.follow(part, what))

    def link_one(self, document: Document) -> list[LinkedMention]:
        """Return the linked mentions of a document of the present part."""
        return list(link_gold_mentions(self._nlp, [document]))


def link_by_others(unseen: UnseenDocuments, documents: Documents, weight: float) -> Iterator[LinkedMention]:
    """Yield the linked mentions of documents, each linked with the concept counts of all other documents.

    Documents with the same id count as one. `weight` is the prior weight μ.
    """
    counts = count_concepts(documents)
    own: dict[str, list[Document]] = {}
    for document in documents:
        own.setdefault(document.doc_id, []).append(document)
    for part in unseen.parts(documents):
        for document in unseen.follow(part, f"documents linked with μ = {weight:g}"):
            with unseen.linker.weighing(counts - count_concepts(own[document.doc_id]), weight):
                linked = unseen.link_one(document)
            yield from linked


def rerank_by_others(
    unseen: UnseenDocuments, documents: Documents, prior_weight: float | None, seed: int
) -> tuple[FittedReranker, list[LinkedMention]]:
    """Train a reranker on documents, by folds, and return it with their mentions. The linker does not change.

    Each mention was reranked by a reranker of other documents.

    Documents with the same id count as one. With a prior weight μ, the annotation counts leave out the documents of a
    fold. Without one, they are those of the linker.
    """
    linker, settings = unseen.linker, RerankerTraining(seed=seed)
    folds = folds_of([document.doc_id for document in documents], settings)
    numbers = {document.doc_id: number for number, document in enumerate(documents)}  # equal ids share a fold
    rarity = WordRarity.in_names(linker.kb.names())
    pieces: list[tuple[CandidateFeatures, Documents, list[list[LinkedMention]]]] = []
    for part in unseen.parts(documents):
        of_part = folds[[numbers[document.doc_id] for document in part]]
        counted = _counted(linker, documents, folds, prior_weight)
        mentions = _link_folds(unseen, part, of_part, counted)
        pieces.append((CandidateFeatures(linker.kb, rarity), part, mentions))
    data = [_ranking_data(part, mentions, numbers, features) for features, part, mentions in pieces]
    fitted = fit_reranker(data, folds, rarity, settings)
    rerankers = fitted.of_folds if fitted.reranker else [Reranker.undecided()] * settings.folds
    reranked: list[LinkedMention] = []
    for features, part, mentions in pieces:
        for document, linked in zip(part, mentions, strict=True):
            reranked += _reranked(linked, document.text, rerankers[folds[numbers[document.doc_id]]], features)
    return fitted, reranked


_Counted = Callable[[int], AbstractContextManager[None]]
"""Links inside the block with the annotation counts of the documents outside a fold."""


def _counted(linker: Linker, documents: Documents, folds: np.ndarray, prior_weight: float | None) -> _Counted:
    def counted(fold: int) -> AbstractContextManager[None]:
        if prior_weight is None:
            return nullcontext()
        others = (document for document, number in zip(documents, folds, strict=True) if number != fold)
        return linker.weighing(count_concepts(others), prior_weight)

    return counted


def _link_folds(
    unseen: UnseenDocuments, documents: Documents, folds: np.ndarray, counted: _Counted
) -> list[list[LinkedMention]]:
    """Return the linked mentions of each document, not reranked."""
    mentions: list[list[LinkedMention]] = [[] for _ in documents]
    n_folds = int(folds.max(initial=-1)) + 1
    with unseen.linker.reranking(Reranker.undecided()):
        for fold in range(n_folds):
            numbers = np.flatnonzero(folds == fold).tolist()
            what = f"documents linked for the reranker, part {fold + 1} of {n_folds}"
            inside = unseen.follow([documents[number] for number in numbers], what)
            with counted(fold):
                for number, document in zip(numbers, inside, strict=True):
                    mentions[number] = unseen.link_one(document)
    return mentions


def _ranking_data(
    documents: Documents,
    mentions: Sequence[Sequence[LinkedMention]],
    numbers: Mapping[str, int],
    features: CandidateFeatures,
) -> RankingData:
    ranked = []
    for document, linked in zip(documents, mentions, strict=True):
        parts = gold_parts([link.mention for link in linked], [link.parts for link in linked], features.kb)
        ranked.append(RankedDocument(document.doc_id, document.text, parts))
    return ranking_data(ranked, [numbers[document.doc_id] for document in documents], features)


def _reranked(
    linked: Sequence[LinkedMention], text: str, reranker: Reranker, features: CandidateFeatures
) -> Iterator[LinkedMention]:
    parts = iter(reranker.rerank([part for mention in linked for part in mention.parts], text, features))
    for mention in linked:
        yield mention._replace(parts=tuple(islice(parts, len(mention.parts))))
