"""Train a `DifferenceModel` on gold mentions of several corpora."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.concept_facts import ConceptFacts
from spacy_sapbert.linking.difference import FEATURES, DifferenceModel, compared, difference_features
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.text.languages import ENGLISH, LanguageRules
from spacy_sapbert.training.reranker_trainer import GoldPart, check_lightgbm

# Chosen by leaving out one corpus at a time.
MARGIN = 0.2
# Of two candidates that differ in nothing else, the one that adds fewer words is never rated lower.
_DIRECTIONS = {"score_lead": 1, "popularity_lead": 1, "same": 1, "added": -1, "lacking": -1, "case": 1, "letters": 1}
_SETTINGS = {
    "objective": "binary",
    "num_leaves": 15,
    "max_depth": 5,
    "num_iterations": 150,
    "learning_rate": 0.05,
    "min_data_in_leaf": 40,
    "lambda_l2": 1.0,
    "monotone_constraints": [_DIRECTIONS.get(feature, 0) for feature in FEATURES],
    "monotone_constraints_method": "advanced",
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
    rows = difference_features(
        [text for _, text, _ in shown], [candidates for candidates, *_ in shown], ConceptFacts(kb), rules
    )
    right = [
        not gold.isdisjoint(ids[candidate.concept_id]) for candidates, _, gold in shown for candidate in candidates
    ]
    sizes = np.array([len(candidates) for candidates, *_ in shown], dtype=np.int64)
    return DifferenceData(
        rows, np.array(right, dtype=bool), sizes, np.array([counts[text] ** -0.5 for _, text, _ in shown])
    )


def fit_difference_model(corpora: Sequence[DifferenceData], sparse_share: float, encoder: str = "") -> DifferenceModel:
    """Train on all candidates of all texts.

    Args:
        corpora: The data of the corpora.
        sparse_share: See `DifferenceModel`.
        encoder: See `DifferenceModel`.
    """
    lightgbm = check_lightgbm()
    rows, right, sizes, weights = map(np.concatenate, zip(*corpora, strict=True))
    labelled = lightgbm.Dataset(rows, right.astype(int), weight=weights.repeat(sizes))
    trees = Trees.from_lightgbm(lightgbm.train(_SETTINGS, labelled).dump_model())
    return DifferenceModel(trees, MARGIN, sparse_share, encoder)
