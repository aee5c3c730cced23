"""Train a `Ranker` on annotated mentions: more trees for the one in the package, with cross-fitted candidates."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import Errors, TrainingDataError, Warnings, requiring
from ..files.output import ScratchFolder
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mentions import mention_names
from ..linking.concept_facts import ConceptFacts
from ..linking.linker import Linker
from ..linking.prior import count_concepts
from ..linking.ranker import FEATURES, Parts, Ranker, Text, compared, features, ranker_for, shares, texts_of
from ..linking.storage import with_mentions
from ..linking.trees import Trees
from ..linking.variants import MentionQuery, MentionVariants, with_likely_long_forms
from ..metrics.linking_accuracy import gold_concepts, standard_error
from ..text.abbreviations import appositions, expand, find_definitions, find_occurrences
from ..text.composites import composite_splits
from ..text.languages import LanguageRules
from ..types import Document, Mention
from .settings import RerankerTraining

if TYPE_CHECKING:
    from ..linking.candidates import CandidateGenerator

MARGIN = 0.5  # chosen by leaving out one corpus at a time
TAKEN_OUT = 0.03  # the weight of a text whose concept is taken out of its candidates; chosen likewise
FEWEST_DECISIONS = 50  # texts with right and wrong candidates
LEAST_KNOWN = 0.9  # of the mentions that were added as names; the other ones are composites in another order
DOCUMENTS_PER_BATCH = 64
_LEAST, _LEAST_CURVE, _MOST_SHIFT = 1e-12, 1e-3, 20.0
# Of two candidates that differ in nothing else, the one that adds fewer words is never rated lower.
_DIRECTIONS = {
    "score_lead": 1, "popularity_lead": 1, "same": 1, "added": -1, "lacking": -1, "case": 1, "letters": 1,
    "annotated_lead": 1, "annotated_so_lead": 1, "elsewhere_lead": 1,
}  # fmt: skip


class GoldMention(NamedTuple):
    """The linked parts of a mention, and all ids of its gold concepts."""

    parts: Parts
    gold: frozenset[str]


class RankingData(NamedTuple):
    """The compared candidates of the texts of gold mentions. Texts without any are left out.

    Attributes:
        rows (float64, shape (candidates, features)): The features.
        right (bool, shape (candidates,)): Whether each candidate is right.
        sizes (int64, shape (texts,)): The number of candidates of each text.
        documents (int64, shape (texts,)): The number of the document of each text.
        texts (str, shape (texts,)): The texts.
        made (float64, shape (texts,)): The weight of a text that was made from a mention, such as one whose right
            candidates were taken out, as if the vocabulary lacked them. 0 for a text of a document.
    """

    rows: np.ndarray
    right: np.ndarray
    sizes: np.ndarray
    documents: np.ndarray
    texts: np.ndarray
    made: np.ndarray

    def select(self, texts: np.ndarray) -> RankingData:
        """Return the data of some texts: bool, shape (texts,)."""
        rows = texts.repeat(self.sizes)
        of_texts = (column[texts] for column in self[2:])
        return RankingData(self.rows[rows], self.right[rows], *of_texts)

    @property
    def starts(self) -> np.ndarray:
        """The first candidate of each text: int64, shape (texts,)."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @property
    def weights(self) -> np.ndarray:
        """The weight of each text: 1 / √n if it occurs n times, so that frequent texts do not decide alone."""
        _, which = np.unique(self.texts, return_inverse=True)
        counts = np.maximum(np.bincount(which, self.made == 0), 1)
        return np.asarray(counts[which] ** -0.5 * np.where(self.made == 0, 1.0, self.made))

    def per_text(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of values of candidates over each text."""
        return np.asarray(np.add.reduceat(values, self.starts)) if len(self.sizes) else np.zeros(0)


class FittedRanker(NamedTuple):
    """A ranker, and what cross-validation says about it.

    Attributes:
        ranker: The ranker, trained on all documents. None if that did not help.
        of_folds: One ranker per fold, trained on the other folds; the one before the training if that did not help.
        right_before: The number of texts whose first candidate is right without the training.
        right_after: The same with the rankers of the other folds.
        texts: The number of texts.
    """

    ranker: Ranker | None
    of_folds: tuple[Ranker | None, ...]
    right_before: int
    right_after: int
    texts: int

    def warn(self) -> None:
        """Warn if the training did not help."""
        if self.ranker is None:
            warnings.warn(Warnings.W415.format(texts=self.texts, right=self.right_before), stacklevel=2)


class TrainedRanking(NamedTuple):
    """What puts the right candidate first: a prior weight μ, and the trained ranker, or None."""

    prior_weight: float
    ranker: Ranker | None


def train_ranking(
    linker: Linker,
    documents: Sequence[Document],
    settings: RerankerTraining,
    *,
    add_mentions: bool,
    prior_weight: float = 0.0,
) -> TrainedRanking:
    """Train a ranker for a linker, or keep its prior if fewer texts are wrong with that. The linker does not change.

    The texts are those of cross-validation over documents. A prior turns off the ranker.

    Args:
        add_mentions: Whether the mentions of the documents will be names of the vocabulary.
        prior_weight: The prior weight to compare with.

    Returns:
        The weight and the ranker. The latter is None with the warning W415 if it does not help.
    """
    folds = folds_of([document.doc_id for document in documents], settings)
    data, right_by_prior = list[RankingData](), 0
    for numbers, fold_linker in fold_linkers(linker, documents, folds, add_mentions=add_mentions):
        inside, facts = [documents[number] for number in numbers], ConceptFacts(fold_linker.kb)
        annotated = fold_linker.stored_parameters.annotated or {}
        with fold_linker.weighing(annotated, 0.0):
            mentions = link_documents(fold_linker, inside)
        data.append(ranking_data(mentions, numbers, fold_linker.kb, facts, linker.rules))
        if prior_weight:
            with fold_linker.weighing(annotated, prior_weight):
                right_by_prior += _n_right_first(link_documents(fold_linker, inside), fold_linker.kb)
    fitted = fit_ranker(data, folds, linker.generator, settings)
    if right_by_prior > max(fitted.right_after, fitted.right_before):
        return TrainedRanking(prior_weight, None)
    fitted.warn()
    return TrainedRanking(0.0, fitted.ranker)


def _n_right_first(documents: Sequence[Sequence[GoldMention]], kb: KnowledgeBase) -> int:
    parts = [(part, mention.gold) for mentions in documents for mention in mentions for part in mention.parts]
    firsts = [part.candidates[0].concept_id if part.candidates else "" for part, _ in parts]
    ids = kb.ids_of(list({*firsts}))
    return sum(not gold.isdisjoint(ids.get(first, ())) for first, (_, gold) in zip(firsts, parts, strict=True))


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


def link_documents(linker: Linker, documents: Sequence[Document]) -> list[list[GoldMention]]:
    """Return the gold mentions of each document, linked without a ranker."""
    linked: list[list[GoldMention]] = []
    with linker.by_scores():
        for start in range(0, len(documents), DOCUMENTS_PER_BATCH):
            batch = documents[start : start + DOCUMENTS_PER_BATCH]
            found = linker.link([mention_queries(document) for document in batch])
            linked += [gold_mentions(d.mentions, mentions, linker.kb) for d, mentions in zip(batch, found, strict=True)]
    return linked


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


def gold_mentions(mentions: Sequence[Mention], linked: Sequence[Parts], kb: KnowledgeBase) -> list[GoldMention]:
    """Return linked gold mentions with all ids of their gold concepts."""
    golds = (frozenset[str]().union(*gold_concepts(mention.ids, kb.find_id)) for mention in mentions)
    return list(map(GoldMention, linked, golds))


def ranking_data(
    documents: Sequence[Sequence[GoldMention]],
    numbers: Sequence[int],
    kb: KnowledgeBase,
    facts: ConceptFacts,
    rules: LanguageRules,
) -> RankingData:
    """Compute the training data of documents, linked without a ranker. Each text is there twice.

    The second time, its right candidates are taken out: so it is learned what a missing concept looks like. Texts of
    concepts that the vocabulary lacks are left out: whether it does depends on the corpus.

    Args:
        numbers: The number of each document.
    """
    pairs = zip(documents, numbers, strict=True)
    shown = [
        entry for mentions, number in pairs for entry in _shown(mentions, number, kb) if compared(entry[0].candidates)
    ]
    texts = [text for text, *_ in shown]
    places = [compared(text.candidates) for text in texts]
    is_right = [
        text.candidates[place].concept_id in right
        for (text, right, *_), at in zip(shown, places, strict=True)
        for place in at
    ]
    return RankingData(
        features(texts, places, facts, rules),
        np.array(is_right, dtype=bool),
        np.array(list(map(len, places)), dtype=np.int64),
        np.array([number for _, _, number, _ in shown], dtype=np.int64),
        np.array([text.text for text in texts], dtype=str),
        np.array([TAKEN_OUT * taken_out for *_, taken_out in shown], dtype=np.float64),
    )


def _shown(
    mentions: Sequence[GoldMention], number: int, kb: KnowledgeBase
) -> Iterator[tuple[Text, Collection[str], int, bool]]:
    """Yield each text of a document with its right concepts, the number, and whether they are taken out."""
    of_mentions = texts_of([mention.parts for mention in mentions])
    for (_, gold), texts in zip(mentions, of_mentions, strict=True):
        if any(map(kb.find_id, gold)):
            ids = kb.ids_of([candidate.concept_id for text in texts for candidate in text.candidates])
            right = {id for id, all_ids in ids.items() if not gold.isdisjoint(all_ids)}
            for text in texts:
                yield text, right, number, False
                if right:
                    yield _without(text, right), right, number, True


def _without(text: Text, concept_ids: Collection[str]) -> Text:
    """Return a text without candidates of some concepts."""
    kept = [number for number, candidate in enumerate(text.candidates) if candidate.concept_id not in concept_ids]
    candidates, elsewhere = text.candidates, text.elsewhere
    return Text(text.text, tuple([candidates[n] for n in kept]), tuple([elsewhere[n] for n in kept]))


# --- fitting


def fit_ranker(
    data: Sequence[RankingData], folds: np.ndarray, generator: CandidateGenerator, settings: RerankerTraining
) -> FittedRanker:
    """Train more trees for the ranker in the package, or the first ones if it has none for the scores of a generator.

    Args:
        data: The training data, in any number of pieces.
        folds: The fold of each document.

    Returns:
        The ranker. It is None if its probabilities are not better by more than a standard error, by cross-validation
        over documents. The new trees only choose candidates if more texts are right then, by two standard errors.
    """
    joined = joined_data(data)
    text_folds, real = folds[joined.documents], joined.made == 0
    measured = joined.select(real)
    n_choices = int((measured.per_text(measured.right) % measured.sizes > 0).sum())
    fewest = min(np.bincount(text_folds, minlength=settings.folds)) if len(text_folds) else 0
    if n_choices < FEWEST_DECISIONS or not fewest:
        raise TrainingDataError(Errors.E352.format(found=f"{n_choices} texts with right and wrong candidates"))
    before, encoder = ranker_for(generator), generator.encoder
    start = before or Ranker(Trees.none(), 0, MARGIN, generator.sparse_share, encoder.fingerprint if encoder else "")
    rankers = [more_trees(start, joined.select(text_folds != fold), settings) for fold in range(settings.folds)]
    earlier, ratings = start.trees.predict(measured.rows), np.empty(len(measured.rows))
    for fold, ranker in enumerate(rankers):
        inside = (text_folds[real] == fold).repeat(measured.sizes)
        ratings[inside] = ranker.trees.predict(measured.rows[inside])
    right, right_after = _right(measured, start, earlier), _right(measured, start, ratings)
    n_right, n_texts = int(right.sum()), len(measured.sizes)
    if not _gains(_losses(measured, earlier) - _losses(measured, ratings), measured, errors=1):
        return FittedRanker(None, (before,) * settings.folds, n_right, n_right, n_texts)
    ranker, *of_folds = more_trees(start, joined, settings), *rankers
    if not _gains(right_after.astype(int) - right, measured, errors=2):
        right_after = right
        ranker, *of_folds = (ranker._replace(choosing=start.choosing) for ranker in (ranker, *of_folds))
    return FittedRanker(ranker, tuple(of_folds), n_right, int(right_after.sum()), n_texts)


def _gains(gains: np.ndarray, data: RankingData, *, errors: int) -> bool:
    """Return whether the mean gain of texts is more than so many of its standard errors over documents."""
    error = standard_error(gains.tolist(), list(map(str, data.documents)))
    return error is not None and 100 * float(gains.mean()) > errors * error


def joined_data(data: Sequence[RankingData]) -> RankingData:
    return RankingData(*map(np.concatenate, zip(*data, strict=True)))


def _right(data: RankingData, ranker: Ranker, ratings: np.ndarray) -> np.ndarray:
    """Return for which texts the candidate is right that a ranker chooses by ratings: bool, shape (texts,)."""
    chosen = ranker.choose(data.rows, ratings, data.sizes.tolist())
    return np.asarray(data.right[data.starts + np.array(chosen, dtype=np.int64)])


def _losses(data: RankingData, ratings: np.ndarray) -> np.ndarray:
    """Return -log of the probability of what is right for each text: a candidate, or that the concept is missing."""
    right = data.per_text(shares(ratings, data.sizes.tolist()) * data.right)
    odds = data.per_text(np.exp(ratings))
    return np.asarray(-np.log(np.where(data.per_text(data.right) > 0, right, 1 / (1 + odds))))


def more_trees(ranker: Ranker, data: RankingData, settings: RerankerTraining) -> Ranker:
    """Return a ranker with more trees, fitted to what its own trees leave.

    The loss of a text is -log(Σ of the probabilities of its right candidates), or -log(the probability that the concept
    is missing). Afterwards, all ratings are shifted: the probabilities of texts with all of their candidates get the
    right mean.
    """
    lightgbm = check_lightgbm()
    before = ranker.trees.predict(data.rows)
    parameters = {
        "objective": partial(_gradient, data, data.weights),
        "num_leaves": settings.leaves,
        "max_depth": settings.depth,
        "min_data_in_leaf": settings.least_in_leaf,
        "learning_rate": settings.learning_rate,
        "lambda_l2": 1.0,
        "monotone_constraints": [_DIRECTIONS.get(feature, 0) for feature in FEATURES],
        "monotone_constraints_method": "advanced",
        "seed": settings.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    labelled = lightgbm.Dataset(data.rows, data.right.astype(int), init_score=before)
    booster = lightgbm.train(parameters, labelled, num_boost_round=settings.trees)
    trees, real = Trees.from_lightgbm(booster.dump_model()), data.made == 0
    ratings = before + trees.predict(data.rows)
    shift = _shift(data.select(real), ratings[real.repeat(data.sizes)])
    joined = ranker.trees.joined(trees.raised(shift))
    return ranker._replace(trees=joined, choosing=len(joined.values))


def _gradient(data: RankingData, weights: np.ndarray, ratings: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient of the loss and the diagonal of its Hessian, as LightGBM wants them."""
    probabilities = shares(ratings, data.sizes.tolist())
    right = probabilities * data.right
    wanted = right / np.maximum(data.per_text(right), _LEAST).repeat(data.sizes)
    of_rows = weights.repeat(data.sizes)
    return (probabilities - wanted) * of_rows, np.maximum(probabilities * (1 - probabilities), _LEAST_CURVE) * of_rows


def _shift(data: RankingData, ratings: np.ndarray) -> float:
    """Return what to add to ratings, so that as many texts have a right candidate as their probabilities say."""
    from scipy.optimize import brentq

    weights, sizes, has_right = data.weights, data.sizes.tolist(), data.per_text(data.right) > 0

    def excess(shift: float) -> float:
        return float(weights @ (data.per_text(shares(ratings + shift, sizes)) - has_right))

    return float(brentq(excess, -_MOST_SHIFT, _MOST_SHIFT)) if has_right.any() and not has_right.all() else 0.0


def check_lightgbm() -> Any:
    """Return the module LightGBM."""
    with requiring("train", "Training a ranker"):
        import lightgbm
    return lightgbm
