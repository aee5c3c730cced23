"""Train a reranker on annotated mentions: LambdaRank, with candidates cross-fitted over documents."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import Errors, TrainingDataError, Warnings, requiring
from ..files.output import ScratchFolder
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mentions import mention_names
from ..linking.linker import Linker
from ..linking.prior import best_weight, count_concepts
from ..linking.rerank_features import (
    COLUMNS,
    N_FEATURES,
    NOT_COMPARED,
    CandidateFeatures,
    DocumentEvidence,
    WordRarity,
    shortlist,
)
from ..linking.reranker import Reranker, choose
from ..linking.storage import with_mentions
from ..linking.trees import Trees
from ..linking.variants import MentionQuery, MentionVariants, with_likely_long_forms
from ..metrics.linking_accuracy import gold_concepts
from ..text.abbreviations import appositions, expand, find_definitions, find_occurrences
from ..text.composites import composite_splits
from ..types import Document, LinkedPart, Mention
from .settings import RerankerTraining

MARGINS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""With lower ones, some folds of BioRED and S800 lose."""
FEWEST_DECISIONS = 50  # texts with right and wrong candidates
LEAST_KNOWN = 0.9  # of the mentions that were added as names; the other ones are composites in another order
DOCUMENTS_PER_BATCH = 64


class GoldPart(NamedTuple):
    """A part of a mention, with its candidates before a reranker, and all ids of the gold concepts of the mention."""

    part: LinkedPart
    gold: frozenset[str]


class RankedDocument(NamedTuple):
    """A document whose gold mentions are linked without a reranker. Documents with the same id count as one."""

    doc_id: str
    text: str
    parts: tuple[GoldPart, ...]


class RankingData(NamedTuple):
    """The features of the candidates from which a choice is learned: those of texts with a right and a wrong one.

    Attributes:
        features (float64, shape (candidates, features)): The features.
        right (bool, shape (candidates,)): Whether each candidate is right.
        sizes (int64, shape (texts,)): The number of candidates of each text.
        documents (int64, shape (texts,)): The number of the document of each text.
        texts (str, shape (texts,)): The texts.
    """

    features: np.ndarray
    right: np.ndarray
    sizes: np.ndarray
    documents: np.ndarray
    texts: np.ndarray

    def select(self, texts: np.ndarray) -> RankingData:
        """Return the data of some texts: bool, shape (texts,)."""
        rows = texts.repeat(self.sizes)
        of_texts = self.sizes[texts], self.documents[texts], self.texts[texts]
        return RankingData(self.features[rows], self.right[rows], *of_texts)

    @property
    def weights(self) -> np.ndarray:
        """1 / √n for each candidate of a text that occurs n times, so that frequent texts do not decide alone."""
        _, which, counts = np.unique(self.texts, return_inverse=True, return_counts=True)
        return np.asarray((counts[which] ** -0.5).repeat(self.sizes))


class FittedReranker(NamedTuple):
    """A reranker, and what cross-validation says about it.

    Attributes:
        reranker: The reranker, trained on all documents. None if reranking did not help.
        of_folds: One reranker per fold, trained on the other folds.
        folds (int64, shape (documents,)): The fold of each document.
        right_before: The number of texts whose first candidate is right without the reranker.
        right_after: The same with the rerankers of the other folds.
        texts: The number of texts.
    """

    reranker: Reranker | None
    of_folds: tuple[Reranker, ...]
    folds: np.ndarray
    right_before: int
    right_after: int
    texts: int

    @property
    def gain(self) -> int:
        """The number of texts that are right with the reranker alone, less those that are right without it alone."""
        return self.right_after - self.right_before if self.reranker else 0

    def warn(self) -> None:
        """Warn if reranking did not help."""
        if self.reranker is None:
            warnings.warn(Warnings.W415.format(texts=self.texts, right=self.right_before), stacklevel=2)


class TrainedRanking(NamedTuple):
    """What puts the right candidate first: a prior weight μ, and the reranker that was trained with it, or None."""

    prior_weight: float
    reranker: Reranker | None


def train_ranking(
    linker: Linker,
    documents: Sequence[Document],
    settings: RerankerTraining,
    *,
    add_mentions: bool,
    prior_weights: Collection[float],
) -> TrainedRanking:
    """Train a reranker for a linker, with the prior weight of fewest wrong texts. The linker does not change.

    The texts are those of cross-validation over documents. Among equal weights, the smallest wins, since a prior turns
    off the ranking in the package.

    Args:
        add_mentions: Whether the mentions of the documents will be names of the vocabulary.
        prior_weights: The prior weights to try.

    Returns:
        The weight and the reranker. The latter is None with the warning W415 if reranking does not help.
    """
    folds = folds_of([document.doc_id for document in documents], settings)
    rarity = WordRarity.in_names(linker.kb.names())
    data: dict[float, list[RankingData]] = {weight: [] for weight in prior_weights}
    right = dict.fromkeys(prior_weights, 0)  # less the wrong ones: another weight may split other mentions
    for numbers, fold_linker in fold_linkers(linker, documents, folds, add_mentions=add_mentions):
        inside, features = [documents[number] for number in numbers], CandidateFeatures(fold_linker.kb, rarity)
        for weight in prior_weights:
            with fold_linker.weighing(fold_linker.stored_parameters.annotated or {}, weight):
                ranked = link_documents(fold_linker, inside)
            right[weight] -= _n_wrong(ranked, fold_linker.kb)
            data[weight].append(ranking_data(ranked, numbers, features))
    fitted = {weight: fit_reranker(data[weight], folds, rarity, settings) for weight in prior_weights}
    weight = best_weight({weight: right[weight] + reranked.gain for weight, reranked in fitted.items()})
    fitted[weight].warn()
    return TrainedRanking(weight, fitted[weight].reranker)


def _n_wrong(documents: Sequence[RankedDocument], kb: KnowledgeBase) -> int:
    parts = [gold_part for document in documents for gold_part in document.parts]
    firsts = [part.candidates[0].concept_id if part.candidates else "" for part, _ in parts]
    ids = kb.ids_of(list({*firsts}))
    return sum(gold.isdisjoint(ids.get(first, ())) for first, (_, gold) in zip(firsts, parts, strict=True))


# --- candidates of annotated mentions


def folds_of(doc_ids: Sequence[str], settings: RerankerTraining) -> np.ndarray:
    """Draw the fold of each document: int64, shape (documents,). Documents with the same id share a fold."""
    unique = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(doc_ids))}
    if len(unique) < settings.folds:
        raise TrainingDataError(Errors.E352.format(found=f"{len(unique)} documents for {settings.folds} folds"))
    drawn = np.random.default_rng(settings.seed).permutation(len(unique)) % settings.folds
    return drawn[[unique[doc_id] for doc_id in doc_ids]]


def are_names(documents: Sequence[Document], kb: KnowledgeBase) -> bool:
    """Return whether the mentions of documents were added to the vocabulary as names before."""
    if not kb.meta.get("mentions"):
        return False
    names = [pair for document in documents for pair in mention_names(document)]
    primary = [(first, text) for text, id in names for first in kb.find_id(id)[:1]]
    return sum(count > 0 for count in kb.annotations_of(primary)) > LEAST_KNOWN * len(primary)


def fold_linkers(
    linker: Linker, documents: Sequence[Document], folds: np.ndarray, *, add_mentions: bool
) -> Iterator[tuple[Sequence[int], Linker]]:
    """Yield the numbers of the documents of each fold, and a linker that learned from those of the other folds.

    It has the annotation counts of the other folds. If the mentions are names of the vocabulary already, those of the
    fold are left out.

    Args:
        linker: The linker. It does not change.
        add_mentions: Whether the mentions of the other folds are names.
    """
    known = are_names(documents, linker.kb)
    for fold in range(int(folds.max(initial=-1)) + 1):
        inside = np.flatnonzero(folds == fold).tolist()
        others = [documents[number] for number in np.flatnonzero(folds != fold).tolist()]
        with ScratchFolder() as folder:
            generator = linker.generator
            if add_mentions or known:
                left_out = [documents[number] for number in inside] if known else []
                generator = with_mentions(generator, others if add_mentions else [], folder, without=left_out)
            fold_linker = Linker(generator, linker.settings, linker.stored_parameters, linker.rules)
            if linker.stored_parameters.annotated:
                fold_linker.stored_parameters = linker.stored_parameters._replace(annotated=count_concepts(others))
            yield inside, fold_linker


def link_documents(linker: Linker, documents: Sequence[Document]) -> list[RankedDocument]:
    ranked = []
    with linker.reranking(Reranker.undecided()):
        for start in range(0, len(documents), DOCUMENTS_PER_BATCH):
            batch = documents[start : start + DOCUMENTS_PER_BATCH]
            linked = linker.link([mention_queries(document) for document in batch])
            for document, mentions in zip(batch, linked, strict=True):
                parts = gold_parts(document.mentions, mentions, linker.kb)
                ranked.append(RankedDocument(document.doc_id, document.text, parts))
    return ranked


def mention_queries(document: Document) -> list[MentionQuery]:
    """Return the gold mentions with their long forms and composite splits, by the rules for English."""
    occurrences = find_occurrences(document.text, find_definitions(document.text))
    places = [(mention.start, mention.end, mention.label) for mention in document.mentions]
    beside = appositions(document.text, places)
    queries = []
    for index, mention in enumerate(document.mentions):
        expanded = expand(document.text, mention.start, mention.end, occurrences)
        forms = dict.fromkeys((expanded, mention.text))
        splits = list(dict.fromkeys(split for form in forms for split in composite_splits(form)))
        long_form = expanded if expanded != mention.text else None
        variants = MentionVariants(mention.text, long_form, splits, apposition=beside.get(index))
        queries.append(MentionQuery(variants, mention.label))
    return with_likely_long_forms(queries)


def gold_parts(
    mentions: Sequence[Mention], linked: Sequence[Sequence[LinkedPart]], kb: KnowledgeBase
) -> tuple[GoldPart, ...]:
    """Return the linked parts of gold mentions with all ids of their gold concepts."""
    golds = (frozenset[str]().union(*gold_concepts(mention.ids, kb.find_id)) for mention in mentions)
    return tuple(GoldPart(part, gold) for gold, parts in zip(golds, linked, strict=True) for part in parts)


def ranking_data(
    documents: Sequence[RankedDocument], numbers: Sequence[int], features: CandidateFeatures
) -> RankingData:
    """Compute the training data of linked documents.

    Args:
        numbers: The number of each document.
        features: Computes the features, with the vocabulary that they were linked to.
    """
    rows, right, sizes, owners, texts = [np.zeros((0, N_FEATURES))], [np.zeros(0, bool)], [], [], []
    for document, number in zip(documents, numbers, strict=True):
        parts = [gold_part.part for gold_part in document.parts]
        lists = [shortlist(part.candidates) for part in parts]
        ids = features.kb.ids_of(list({candidate.concept_id for candidates in lists for candidate in candidates}))
        rows.append(features(parts, DocumentEvidence.of(parts, document.text)))
        right += [
            np.array([not gold.isdisjoint(ids[candidate.concept_id]) for candidate in candidates], dtype=bool)
            for (_, gold), candidates in zip(document.parts, lists, strict=True)
        ]
        sizes += list(map(len, lists))
        owners += [number] * len(lists)
        texts += [part.text for part in parts]
    counts, documents_of_texts = np.array(sizes, np.int64), np.array(owners, np.int64)
    written = np.array(texts, dtype=str)
    data = RankingData(np.concatenate(rows), np.concatenate(right), counts, documents_of_texts, written)
    return data.select(_has_choice(data))


def _has_choice(data: RankingData) -> np.ndarray:
    """Return which texts have a right and a wrong candidate: bool, shape (texts,)."""
    ends = np.cumsum(data.sizes)
    n_right = np.diff(np.concatenate([[0], np.cumsum(data.right)])[np.concatenate([[0], ends])])
    return np.asarray((n_right > 0) & (n_right < data.sizes))


# --- fitting


def fit_reranker(
    data: Sequence[RankingData], folds: np.ndarray, rarity: WordRarity, settings: RerankerTraining
) -> FittedReranker:
    """Train a reranker. The margin is the one of `MARGINS` with most right texts by cross-validation over documents.

    Args:
        data: The training data, in any number of pieces.
        rarity: The rarity of words in the features.

    Returns:
        The reranker. It is None if no margin gives more right texts than there are without it.
    """
    joined = RankingData(*map(np.concatenate, zip(*data, strict=True)))
    text_folds = folds[joined.documents]
    fewest = min(np.bincount(text_folds, minlength=settings.folds)) if len(text_folds) else 0
    if len(text_folds) < FEWEST_DECISIONS or not fewest:
        raise TrainingDataError(Errors.E352.format(found=f"{len(text_folds)} texts with right and wrong candidates"))
    trees = [_fit_trees(joined.select(text_folds != fold), settings) for fold in range(settings.folds)]
    ratings = np.empty(len(joined.features))
    row_folds = text_folds.repeat(joined.sizes)
    for fold, fitted in enumerate(trees):
        ratings[row_folds == fold] = fitted.predict(joined.features[row_folds == fold])
    right = {margin: _n_right(joined, choose(ratings, joined.sizes.tolist(), margin)) for margin in MARGINS}
    before = _n_right(joined, [0] * len(joined.sizes))
    margin = max(MARGINS, key=lambda margin: (right[margin], margin))
    helps = right[margin] > before
    after_ranking = bool((joined.features[:, COLUMNS["probability"]] > NOT_COMPARED).any())
    return FittedReranker(
        Reranker(_fit_trees(joined, settings), margin, rarity, after_ranking) if helps else None,
        tuple(Reranker(fitted, margin, rarity, after_ranking) for fitted in trees),
        folds,
        before,
        right[margin],
        len(joined.sizes),
    )


def _n_right(data: RankingData, chosen: Collection[int]) -> int:
    firsts = np.cumsum(data.sizes) - data.sizes
    return int(data.right[firsts + np.array(chosen, dtype=np.int64)].sum())


def _fit_trees(data: RankingData, settings: RerankerTraining) -> Trees:
    lightgbm = check_lightgbm()
    labelled = lightgbm.Dataset(data.features, data.right.astype(int), group=data.sizes, weight=data.weights)
    parameters = {
        "objective": "lambdarank",
        "num_leaves": settings.leaves,
        "max_depth": settings.depth,
        "min_data_in_leaf": settings.least_in_leaf,
        "learning_rate": settings.learning_rate,
        "seed": settings.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    return Trees.from_lightgbm(lightgbm.train(parameters, labelled, num_boost_round=settings.trees).dump_model())


def check_lightgbm() -> Any:
    """Return the module LightGBM."""
    with requiring("train", "Training a reranker"):
        import lightgbm
    return lightgbm
