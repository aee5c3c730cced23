"""Calibrate a linker on annotated documents: λ, μ, ranker, threshold and link probabilities."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from spacy.language import Language

from ..errors import Errors, SapbertError, TrainingDataError, Warnings, requiring
from ..linking.prior import best_weight, count_concepts
from ..linking.settings import CandidateSettings, LinkerParameters
from ..metrics.calibration import brier_score, calibration_error, reliability, threshold_curve
from ..metrics.counts import f1_score, mean, percent
from ..metrics.linking_accuracy import gold_concepts, lenient_at, strict_at
from ..training.ranker_trainer import FittedRanker, check_lightgbm
from ..types import Document
from .cross_fitting import Documents, Follow, UnseenDocuments, link_by_others, no_progress, rank_by_others
from .running import GoldMentions, LinkedMention, find_linker, warn_of_unknown_ids, with_known_ids

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..linking.linker import Linker

SPARSE_WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 1.6)
PRIOR_WEIGHTS = (0.0, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3)
KEPT_TEXTS = 30_000  # candidates do not depend on μ, so they are cached; about 300 MB
# Precision is not reliable with fewer links. A high wanted precision needs more: enough to allow one wrong link.
LEAST_LINKS = 20
SIGMOID_POINTS = 201

Points = tuple[tuple[float, float], ...]


class Judged(NamedTuple):
    """Which linked mentions and concepts are right. A link is the first candidate of a part, whatever its score.

    Attributes:
        scores: The `Linker.confidence` in each link, float64.
        right: Whether each link matches any gold id of its mention that the vocabulary has.
        found: The highest score of a right link to each gold concept in the vocabulary, float64; -inf without such a
            link.
        lenient: Lenient accuracy of each mention with all gold ids in the vocabulary, bool.
        strict: Strict accuracy of each of these mentions, bool.
    """

    scores: np.ndarray
    right: np.ndarray
    found: np.ndarray
    lenient: np.ndarray
    strict: np.ndarray


Tried = dict[float, Judged]
"""The judged links for each weight."""


class _Fitted(NamedTuple):
    """The judged links for each weight, and of the chosen weights and the ranker, before the linker gets them."""

    weights: Tried
    priors: Tried
    sparse_weight: float
    prior_weight: float
    ranked: FittedRanker | None
    judged: Judged


def calibrate(
    nlp: Language,
    documents: Iterable[Document],
    *,
    type: str | None = None,
    prior: bool = False,
    precision: float | None = None,
    method: str = "isotonic",
    held_out: float = 0.3,
    seed: int = 0,
    follow: Follow = no_progress,
) -> dict[str, Any]:
    """Fit the sparse weight, the prior, the ranker, the threshold and the link probabilities of a pipeline's linker.

    Gold mentions are linked as in `evaluate_linking`. The sparse weight λ is the one of `SPARSE_WEIGHTS`, or the
    present one, with the highest mean of lenient and strict accuracy. Among equal weights, the present one wins, then
    the smallest. A linker with only one kind of score keeps its weight.

    The measures are those of the held-out documents, with what was fitted on the others. Then all is fitted again on
    all documents. If their mentions were added to the vocabulary as names, each document is linked without its own.

    The settings for λ, μ and the threshold in the linker's config become None. The fitted values therefore take effect,
    also after the pipeline is saved. If an error occurs, the linker is unchanged.

    With `prior`, the linker counts how often each concept is annotated in the documents. These counts replace
    its earlier ones. The prior weight μ is the one of `PRIOR_WEIGHTS` with the highest mean accuracy; among equal
    weights, the smallest wins. A prior turns off the ranker, so it is 0 unless it is better than the ranker. For μ, the
    threshold and the probabilities, the counts of a document leave out its own mentions.

    The ranker of the package is trained further on the documents, or a new one if the package has none for the scores.
    It replaces an earlier one, and is left out with the warning W415 if it does not help. With fewer than 50 texts that
    have right and wrong candidates, it is not trained, with the warning W416. The threshold is fitted on links that a
    ranker of other documents chose. The ranker gives their probabilities. Only without one are probabilities fitted to
    the scores.

    Args:
        documents: Documents with gold ids.
        type: Use only mentions with this label.
        prior: Also fit the prior: how much the annotation counts of concepts matter. See
            `spacy_sapbert.linking.prior.ConceptPrior`.
        precision: The wanted precision of links above the threshold, between 0 and 1. None chooses the threshold with
            the best F1.
        method: "isotonic" or "platt", see `fit_probabilities`.
        held_out: The share of documents, drawn at random, that is used for measuring only.
        seed: The seed of this draw.
        follow: A function that reports progress. It takes the documents of a pass and a description of the pass, and
            returns the documents.

    Returns:
        The counts of `documents`, the tried `weights` and `prior_weights`, and the fitted values. If a ranker was
        trained, `ranker` has the number of `texts`, how many of them are right first `before` and `after` by
        cross-validation, and whether it is `kept`. `sparse_weight`,
        `prior_weight` and `threshold` each have `before` and `after`. The measures `before` and `after` are those of
        the held-out documents. `lenient` and `strict` accuracy are percentages, and so are `p`, `r` and `f1` of links
        at the threshold, and `coverage`, the share of links above it. `threshold_probability` is the probability of a
        link at the threshold. `ece` (expected calibration error), `brier` and `reliability` range from 0
        to 1. Before probabilities are fitted, scores serve as probabilities.

    Raises:
        SapbertError: The pipeline has no linker. No mention has a gold id, or none is in the vocabulary. Fitting or
            measuring lacks right or wrong links. No threshold reaches the precision.
    """
    component = find_linker(nlp)
    linker = component.linker
    if linker.settings.selection.rerank:  # before minutes of work
        check_lightgbm()
    documents = _with_gold(documents, type, linker.kb)
    fitting, measuring = split_documents(documents, held_out, seed)
    unseen = UnseenDocuments(nlp, documents, follow)
    fit = partial(_fit, unseen, seed=seed, prior=prior)
    use = partial(_use, nlp, component, prior=prior, precision=precision, method=method)
    before = _measured(linker, unseen.link(measuring, "documents held out, before"), check=True)
    values = {name: getattr(linker, name) for name in ("sparse_weight", "prior_weight", "threshold")}
    use(fitting, fit(fitting))
    after = _measured(linker, unseen.link(measuring, "documents held out, after"))
    fitted = fit(documents)
    use(documents, fitted)
    return {
        "documents": {"fitted": len(fitting), "held_out": len(measuring)},
        "method": method,
        **{name: {"before": value, "after": getattr(linker, name)} for name, value in values.items()},
        **_tried(fitted),
        "before": before,
        "after": after,
    }


def _with_gold(documents: Iterable[Document], type: str | None, kb: KnowledgeBase) -> Documents:
    """Return the documents with gold mentions of a type, whose ids the vocabulary knows."""
    gold = GoldMentions(type)
    chosen = [document for document in with_known_ids(gold(documents), kb) if document.mentions]
    gold.check()
    warn_of_unknown_ids(chosen, kb)
    return chosen


def split_documents(documents: Documents, held_out: float, seed: int) -> tuple[Documents, Documents]:
    """Return the documents to fit on and the held-out ones. Documents with the same id are in the same part."""
    ids = list(dict.fromkeys(document.doc_id for document in documents))
    drawn = np.random.default_rng(seed).permutation(len(ids))[: round(held_out * len(ids))]
    held = {ids[number] for number in drawn}
    fitting = [document for document in documents if document.doc_id not in held]
    return fitting, [document for document in documents if document.doc_id in held]


def judge(mentions: Iterable[LinkedMention], linker: Linker) -> Judged:
    """Compare linked mentions with their gold ids. The links are in the order of mentions and parts."""
    kb = linker.kb
    links: list[tuple[float, bool]] = []
    best_scores: list[float] = []
    accurate: list[tuple[bool, bool]] = []
    for linked in mentions:
        gold = gold_concepts(linked.mention.ids, kb.find_id)
        firsts = [linker.linkable(part.candidates)[:1] for part in linked.parts]
        parts = [[frozenset(kb.ids(candidate.concept_id)) for candidate in first] for first in firsts]
        pairs = [(linker.confidence(first[0]), ids[0]) for first, ids in zip(firsts, parts, strict=True) if first]
        links += [(score, any(ids & group for group in gold)) for score, ids in pairs]
        known = [any(map(kb.find_id, group)) for group in gold]
        for group in (group for group, is_known in zip(gold, known, strict=True) if is_known):
            best_scores.append(max((score for score, ids in pairs if ids & group), default=-math.inf))
        if linked.mention.ids and all(map(kb.find_id, linked.mention.ids)):
            accurate.append((lenient_at(1, gold, parts), strict_at(1, gold, parts)))
    scores, right = np.array(links, dtype=float).reshape(-1, 2).T
    lenient, strict = np.array(accurate, dtype=bool).reshape(-1, 2).T
    return Judged(scores, right.astype(bool), np.array(best_scores, dtype=float), lenient, strict)


def _check_kinds(judged: Judged, part: str) -> None:
    if len(np.unique(judged.right)) < 2:
        raise SapbertError(Errors.E521.format(part=part, n=len(judged.right), right=int(judged.right.sum())))


# --- fitting


def _fit(unseen: UnseenDocuments, documents: Documents, *, seed: int, prior: bool) -> _Fitted:
    """Choose the weights and train a ranker. The linker does not change."""
    linker = unseen.linker
    present, present_prior = linker.sparse_weight, linker.prior_weight
    ranked = None
    with _uncalibrated(linker) as settings, linker.ranking(None):
        if prior:
            settings.prior_weight = 0.0  # the old prior must not influence the choice of λ
        weights = _try_weights(unseen, documents)
        settings.sparse_weight = weight = _best_weight(weights, present)
        priors = _try_priors(unseen, documents) if prior else {present_prior: weights[weight]}
        judged = dict(priors)
        if linker.settings.selection.rerank and 0.0 in judged:
            ranked, judged[0.0] = _rank(unseen, documents, seed) or (None, judged[0.0])
        prior_weight = _best_weight(judged, None)
    ranked = None if prior_weight else ranked
    if ranked:
        ranked.warn()
    _check_kinds(judged[prior_weight], "fitted")
    return _Fitted(weights, priors, weight, prior_weight, ranked, judged[prior_weight])


def _rank(unseen: UnseenDocuments, documents: Documents, seed: int) -> tuple[FittedRanker, Judged] | None:
    """Train a ranker, and judge the links that those of other documents chose; None if there is too little text."""
    linker = unseen.linker
    try:
        fitted, mentions = rank_by_others(unseen, documents, seed)
    except TrainingDataError as error:
        warnings.warn(Warnings.W416.format(reason=error), stacklevel=2)
        return None
    with linker.ranking(fitted.ranker):
        return fitted, judge(mentions, linker)


@contextmanager
def _uncalibrated(linker: Linker) -> Iterator[CandidateSettings]:
    """Link inside the block without a threshold and an earlier calibration, and with other weights."""
    settings, candidates, stored = linker.settings, linker.settings.candidates, linker.stored_parameters
    before = settings.threshold, candidates.sparse_weight, candidates.prior_weight
    settings.threshold, linker.stored_parameters = None, stored.without_calibration()
    try:
        yield candidates
    finally:
        settings.threshold, candidates.sparse_weight, candidates.prior_weight = before
        linker.stored_parameters = stored


def _try_weights(unseen: UnseenDocuments, documents: Documents) -> Tried:
    """Return the judged links for each sparse weight, rising; only for the present one if there is only one score."""
    linker, present = unseen.linker, unseen.linker.sparse_weight
    both = linker.generator.ngrams is not None and linker.generator.encoder is not None
    tried = {}
    for weight in sorted({*SPARSE_WEIGHTS, present}) if both else [present]:
        linker.settings.candidates.sparse_weight = weight
        what = f"documents linked with λ = {weight:g}" if both else "documents linked"
        tried[weight] = judge(unseen.link(documents, what), linker)
    return tried


def _try_priors(unseen: UnseenDocuments, documents: Documents) -> Tried:
    """Return the judged links for each prior weight, rising."""
    linker = unseen.linker
    before, linker.generator.cache_size = linker.generator.cache_size, KEPT_TEXTS
    try:
        tried = {}
        for weight in PRIOR_WEIGHTS:
            with linker.weighing(count_concepts(documents), weight):  # the prior decides what a link is judged by
                tried[weight] = judge(link_by_others(unseen, documents, weight), linker)
        return tried
    finally:
        linker.generator.cache_size = before


def _best_weight(tried: Tried, present: float | None) -> float:
    """Return the weight with the best mean accuracy; among equal ones the present weight, then the smallest."""
    n_right = {weight: int(judged.lenient.sum() + judged.strict.sum()) for weight, judged in tried.items()}
    return best_weight(n_right, present)


def fit_probabilities(judged: Judged, method: str) -> Points:
    """Fit a function from the score of a link to the probability that it is right, for a linker without a ranker.

    "isotonic" fits the non-decreasing function with the least squared error (Zadrozny and Elkan 2002). It needs a
    thousand links or more. "platt" fits 1 / (1 + exp(-a·score - b)) with a ≥ 0. It uses Platt's targets, which lie
    slightly inside 0 and 1 (Platt 1999).
    """
    fit = {"isotonic": _isotonic, "platt": _platt}[method]
    scores, probabilities = fit(judged.scores, judged.right)
    return tuple(zip(scores.tolist(), probabilities.tolist(), strict=True))


def _isotonic(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with requiring("train", "Calibration"):
        from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0, y_max=1).fit(scores, right.astype(float))
    return fitted.X_thresholds_, fitted.y_thresholds_


def _platt(scores: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit a sigmoid to Platt's smoothed targets (n + 1)/(n + 2) and 1/(n + 2) (Platt 1999)."""
    with requiring("train", "Calibration"):
        from sklearn.linear_model import LogisticRegression

    n_right, n_wrong = right.sum(), (~right).sum()
    targets = np.where(right, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))
    both = np.concatenate([scores, scores])[:, None], np.repeat([1, 0], len(scores))
    fitted = LogisticRegression(C=np.inf, max_iter=1000).fit(
        *both, sample_weight=np.concatenate([targets, 1 - targets])
    )
    slope, intercept = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    if slope < 0:  # the likelihood has one peak, so the best fit with a ≥ 0 is the mean
        slope, intercept = 0.0, float(np.log(targets.sum() / (1 - targets).sum()))
    grid = np.linspace(0, 1, SIGMOID_POINTS)
    return grid, 1 / (1 + np.exp(-slope * grid - intercept))


def fit_threshold(judged: Judged, precision: float | None) -> float:
    """Return the lowest threshold that reaches a precision, from 0 to 1. Without one, it is that of the best F1."""
    curve = threshold_curve(judged.scores, judged.right, judged.found)
    if precision is None:
        return float(curve.thresholds[curve.f1.argmax()])
    least = max(LEAST_LINKS, math.ceil(1 / (1 - precision)))
    enough = curve.n >= least
    reached = np.flatnonzero(enough & (curve.precision >= precision))
    if not len(reached):
        best = f"{curve.precision[enough].max():.3f}" if enough.any() else f"unknown: there are {len(judged.scores)}"
        raise SapbertError(Errors.E520.format(wanted=precision, least=least, best=best))
    return float(curve.thresholds[reached[0]])


def _use(
    nlp: Language,
    component: Any,
    documents: Documents,
    fitted: _Fitted,
    *,
    prior: bool,
    precision: float | None,
    method: str,
) -> None:
    """Store the fitted values. The settings, which take precedence, become None in the linker and in the config."""
    linker = component.linker
    threshold = fit_threshold(fitted.judged, precision)
    counts = count_concepts(documents) if prior else linker.stored_parameters.annotated
    parameters = LinkerParameters(fitted.sparse_weight, threshold, None, None, counts, fitted.prior_weight)
    linker.trained_ranker = fitted.ranked.ranker if fitted.ranked else None
    settings = linker.settings
    settings.threshold = settings.candidates.sparse_weight = settings.candidates.prior_weight = None
    linker.stored_parameters = parameters
    ranks = linker.ranker is not None
    points = None if ranks else fit_probabilities(fitted.judged, method)
    share = linker.generator.sparse_share
    linker.stored_parameters = parameters._replace(probabilities=points, sparse_share=share, reranked=ranks)
    (name,) = (name for name, other in nlp.pipeline if other is component)
    config = nlp.get_pipe_config(name)
    config["threshold"] = None
    config.setdefault("candidates", {}).update(sparse_weight=None, prior_weight=None)


# --- measuring


def _accuracies(judged: Judged) -> dict[str, float | None]:
    return {"lenient": percent(mean(judged.lenient)), "strict": percent(mean(judged.strict))}


def _tried(fitted: _Fitted) -> dict[str, Any]:
    """Return the accuracies with each weight that was tried, and what cross-validation says about the ranker."""
    tried: dict[str, Any] = {
        "weights": [{"sparse_weight": weight, **_accuracies(judged)} for weight, judged in fitted.weights.items()],
        "prior_weights": [{"prior_weight": weight, **_accuracies(judged)} for weight, judged in fitted.priors.items()],
    }
    if trained := fitted.ranked:
        right = {"before": trained.right_before, "after": trained.right_after}
        tried["ranker"] = {"texts": trained.texts, **right, "kept": trained.ranker is not None}
    return tried


def _measured(linker: Linker, mentions: Iterable[LinkedMention], *, check: bool = False) -> dict[str, Any]:
    judged = judge(mentions, linker)
    if check:
        _check_kinds(judged, "held-out")
    scores, right, fitted = judged.scores, judged.right, linker.parameters
    calibrated = [fitted.probability(score) for score in scores]
    probabilities = scores if fitted.probabilities is None else np.array(calibrated, dtype=float)
    at_threshold = linker.threshold if fitted.probabilities is None else fitted.probability(linker.threshold)
    table = reliability(probabilities, right)
    return {
        "links": len(scores),
        **_accuracies(judged),
        **_at_threshold(judged, linker.threshold),
        "threshold_probability": at_threshold,
        "ece": calibration_error(table),
        "brier": brier_score(probabilities, right),
        "reliability": table,
    }


def _at_threshold(judged: Judged, threshold: float) -> dict[str, float | None]:
    above = judged.scores > threshold
    precision, recall = mean(judged.right[above]), mean(judged.found > threshold)
    f1 = f1_score(precision or 0.0, recall or 0.0)  # a threshold above all links has no precision, but its F1 is 0
    return {"p": percent(precision), "r": percent(recall), "f1": percent(f1), "coverage": percent(mean(above))}
