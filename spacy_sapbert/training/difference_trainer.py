"""Train a `DifferenceModel` on gold mentions of several corpora."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kb.knowledge_base import KnowledgeBase
from ..linking.agreement import SAME
from ..linking.difference import FEATURES, best_scores, compared, difference_features
from ..linking.difference_model import DifferenceModel, rate, with_rating
from ..linking.reranker import choose
from ..linking.trees import Trees
from ..text.languages import ENGLISH, LanguageRules
from .reranker_trainer import GoldPart, check_lightgbm

# Chosen by leaving out one corpus at a time.
MARGIN = 0.4
# Of two candidates that differ in nothing else, the one that adds fewer words is never rated lower.
_DIRECTIONS = {"score_lead": 1, "same": 1, "added": -1, "lacking": -1, "case": 1}
_RANKING = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "max_depth": 5,
    "num_iterations": 150,
    "monotone_constraints": [_DIRECTIONS.get(feature, 0) for feature in FEATURES],
    "monotone_constraints_method": "advanced",
}
_PROBABILITY = {"objective": "binary", "num_leaves": 8, "max_depth": 3, "num_iterations": 80}
_COMMON = {
    "learning_rate": 0.05,
    "min_data_in_leaf": 40,
    "lambda_l2": 1.0,
    "seed": 0,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}


class DifferenceData(NamedTuple):
    """The compared candidates of the gold mentions of a corpus. Texts without any are left out.

    Attributes:
        rows (float64, shape (candidates, features)): The features, see `difference_features`.
        right (bool, shape (candidates,)): Whether each candidate is right.
        sizes (int64, shape (texts,)): The number of candidates of each text.
        weights (float64, shape (texts,)): 1 / √n for a text that the corpus has n times.
    """

    rows: np.ndarray
    right: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray

    def select(self, texts: np.ndarray) -> DifferenceData:
        """Return the data of some texts: bool, shape (texts,)."""
        of_texts = texts.repeat(self.sizes)
        return DifferenceData(self.rows[of_texts], self.right[of_texts], self.sizes[texts], self.weights[texts])

    @property
    def starts(self) -> np.ndarray:
        """The first candidate of each text, int64, shape (texts,)."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)


def difference_data(parts: Sequence[GoldPart], kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> DifferenceData:
    """Compute the training data of the linked parts of gold mentions."""
    shown = [([part.candidates[place] for place in compared(part.candidates)], part.text, gold) for part, gold in parts]
    shown = [entry for entry in shown if entry[0]]
    counts = Counter(text for _, text, _ in shown)
    ids = kb.ids_of(list({candidate.concept_id for candidates, *_ in shown for candidate in candidates}))
    rows = difference_features([text for _, text, _ in shown], [candidates for candidates, *_ in shown], rules)
    right = [
        not gold.isdisjoint(ids[candidate.concept_id]) for candidates, _, gold in shown for candidate in candidates
    ]
    sizes = np.array([len(candidates) for candidates, *_ in shown], dtype=np.int64)
    return DifferenceData(
        rows, np.array(right, dtype=bool), sizes, np.array([counts[text] ** -0.5 for _, text, _ in shown])
    )


def fit_difference_model(corpora: Sequence[DifferenceData], sparse_share: float, encoder: str = "") -> DifferenceModel:
    """Train ranking and probability.

    The ratings from which the probability is learned are those of trees that were trained on the other corpora.

    Args:
        corpora: The data of two corpora or more.
        sparse_share: See `DifferenceModel`.
        encoder: See `DifferenceModel`.
    """
    joined = _join(corpora)
    ratings = np.concatenate(
        [
            rate(_fit_ranking(_join([*corpora[:number], *corpora[number + 1 :]])), data.rows)
            for number, data in enumerate(corpora)
        ]
    )
    return DifferenceModel(_fit_ranking(joined), MARGIN, _fit_probability(joined, ratings), sparse_share, encoder)


def _join(corpora: Sequence[DifferenceData]) -> DifferenceData:
    return DifferenceData(*map(np.concatenate, zip(*corpora, strict=True)))


def _fit_ranking(data: DifferenceData) -> Trees:
    """Learn from the texts that are no names and have a right and a wrong candidate."""
    n_right = np.add.reduceat(data.right.astype(int), data.starts)
    is_open = best_scores(data.rows)[data.starts] < SAME
    chosen = data.select((n_right > 0) & (n_right < data.sizes) & is_open)
    return _train(chosen.rows, chosen.right, chosen.weights.repeat(chosen.sizes), _RANKING, chosen.sizes)


def _fit_probability(data: DifferenceData, ratings: np.ndarray) -> Trees:
    """Learn from the chosen candidate of each text."""
    rows = with_rating(data.rows, ratings, data.sizes.tolist())
    chosen = data.starts + np.array(choose(ratings, data.sizes.tolist(), MARGIN), dtype=np.int64)
    return _train(rows[chosen], data.right[chosen], data.weights, _PROBABILITY)


def _train(
    rows: np.ndarray,
    right: np.ndarray,
    weights: np.ndarray,
    settings: Mapping[str, Any],
    sizes: np.ndarray | None = None,
) -> Trees:
    lightgbm = check_lightgbm()
    labelled = lightgbm.Dataset(rows, right.astype(int), group=sizes, weight=weights)
    return Trees.from_lightgbm(lightgbm.train({**_COMMON, **settings}, labelled).dump_model())
