"""Link documents as if they were new, with what was learned from the others: concept counts and rankers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from spacy.language import Language

from ..files.output import ScratchFolder
from ..linking.concept_facts import ConceptFacts
from ..linking.prior import count_concepts
from ..linking.storage import with_mentions
from ..training.ranker_trainer import (
    FittedRanker,
    RankingData,
    are_names,
    fit_ranker,
    folds_of,
    gold_mentions,
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


def rank_by_others(
    unseen: UnseenDocuments, documents: Documents, seed: int
) -> tuple[FittedRanker, list[LinkedMention]]:
    """Train a ranker on documents, by folds, and return it with their mentions. The linker does not change.

    Each mention was ranked by a ranker of other documents. Documents with the same id count as one.
    """
    linker, settings = unseen.linker, RerankerTraining(seed=seed)
    folds = folds_of([document.doc_id for document in documents], settings)
    numbers = {document.doc_id: number for number, document in enumerate(documents)}  # equal ids share a fold
    data: list[RankingData] = []
    linked: list[tuple[int, ConceptFacts, list[LinkedMention]]] = []
    for part in unseen.parts(documents):
        facts = ConceptFacts(linker.kb)
        with linker.by_scores():
            found = [unseen.link_one(document) for document in unseen.follow(part, "documents linked for the ranker")]
        of_part = [numbers[document.doc_id] for document in part]
        gold = [
            gold_mentions([one.mention for one in links], [one.parts for one in links], linker.kb) for links in found
        ]
        data.append(ranking_data(gold, of_part, linker.kb, facts, linker.rules))
        linked += [(folds[number], facts, links) for number, links in zip(of_part, found, strict=True)]
    fitted = fit_ranker(data, folds, linker.generator, settings)
    ranked: list[LinkedMention] = []
    for fold, facts, links in linked:
        if ranker := fitted.of_folds[fold]:
            (parts,) = ranker([[link.parts for link in links]], facts, linker.rules)
            links = [link._replace(parts=of_mention) for link, of_mention in zip(links, parts, strict=True)]
        ranked += links
    return fitted, ranked
