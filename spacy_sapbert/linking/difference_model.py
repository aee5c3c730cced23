"""`DifferenceModel`: rank candidates by how their names differ from the text, and give their probability."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..encoders.ngrams import TEXT_NORMALIZER
from ..starter import DIFFERENCE_MODELS
from ..store.artifact import opening
from ..text.languages import ENGLISH, LanguageRules
from ..types import Candidate, LinkedPart
from .agreement import SAME
from .difference import DEPTH, best_scores, compared, describe, difference_features
from .rerank_features import leads
from .reranker import choose
from .trees import Trees

_Judged = tuple[tuple[Candidate, ...], tuple[str, ...]]

if TYPE_CHECKING:
    from .candidates import CandidateGenerator

PROBABLE = 0.5
"""A link needs a higher probability."""
_DIGITS = 4  # of a probability
_PREFIXES = ("ranking", "probability")


class DifferenceModel(NamedTuple):
    """What differences between texts and names mean, learned once from open corpora, for scores of one kind.

    It reads no words and no concepts, so it needs no documents of the user. A candidate whose name is the text stays
    first. Else the candidate that `ranking` rates highest comes first, if its rating is higher by more than the margin.

    Attributes:
        ranking: Trees over `difference.FEATURES`. Their predictions only compare candidates of one text.
        margin: How much higher another candidate must be rated, 0 or more.
        probability: Trees over the same features and the lead in the ranking: the log-odds that a candidate is right.
        sparse_share: The share of the sparse score in the scores, see `LinkerParameters`.
        encoder: The fingerprint of the encoder; empty for n-grams alone.
    """

    ranking: Trees
    margin: float
    probability: Trees
    sparse_share: float
    encoder: str = ""

    def __call__(self, parts: Sequence[LinkedPart], rules: LanguageRules = ENGLISH) -> list[LinkedPart]:
        """Return the parts with the chosen candidate first, and with the probabilities of the first candidates."""
        keys = [(part.text, part.candidates[:DEPTH]) for part in parts]
        unique = list(dict.fromkeys(keys))  # the same text occurs many times
        places = [compared(candidates) for _, candidates in unique]
        sizes = list(map(len, places))
        lists = [[key[1][place] for place in of_text] for key, of_text in zip(unique, places, strict=True)]
        rows = difference_features([text for text, _ in unique], lists, rules)
        ratings = rate(self.ranking, rows)
        probabilities = self.probabilities(rows, ratings, sizes).round(_DIGITS).tolist()
        judged, end = {}, 0
        for key, of_text, best in zip(unique, places, choose(ratings, sizes, self.margin), strict=True):
            start, end = end, end + len(of_text)
            judged[key] = _judge(*key, of_text, best, probabilities[start:end], rules)
        return [_with(part, *judged[key]) for part, key in zip(parts, keys, strict=True)]

    def probabilities(self, rows: np.ndarray, ratings: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
        """Return the probability that each candidate is right: float64, shape (candidates,).

        Args:
            rows: The features.
            ratings: The ratings.
            sizes: The number of candidates of each text.
        """
        return 1 / (1 + np.exp(-self.probability.predict(with_rating(rows, ratings, sizes))))

    # --- saving

    def save(self, path: Path) -> None:
        """Write the model into a file."""
        from safetensors.numpy import save_file

        trees = {
            f"{prefix}.{field}": array
            for prefix in _PREFIXES
            for field, array in getattr(self, prefix)._asdict().items()
        }
        numbers = {"margin": np.array([self.margin]), "sparse_share": np.array([self.sparse_share])}
        save_file({**trees, **numbers, "encoder": np.frombuffer(self.encoder.encode(), np.uint8)}, path)

    @classmethod
    def load(cls, path: Path) -> DifferenceModel:
        """Read what `save` wrote."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        with opening(path):
            try:
                arrays = load_file(path)
            except SafetensorError as error:
                raise ValueError(error) from error
            ranking, probability = (
                Trees(*(arrays[f"{prefix}.{field}"] for field in Trees._fields)) for prefix in _PREFIXES
            )
            (margin,), (share,) = arrays["margin"].tolist(), arrays["sparse_share"].tolist()
            return cls(ranking, margin, probability, share, arrays["encoder"].tobytes().decode())


def rate(ranking: Trees, rows: np.ndarray) -> np.ndarray:
    """Return the ratings of candidates by their features: float64, shape (candidates,). 0 if the text is a name."""
    is_open = best_scores(rows) < SAME
    ratings = np.zeros(len(rows))
    ratings[is_open] = ranking.predict(rows[is_open])
    return ratings


def with_rating(rows: np.ndarray, ratings: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Return the features for the probability: those of the difference, and by how much the rating leads."""
    counts = np.array([size for size in sizes if size], dtype=np.int64)
    return np.column_stack([rows, leads(ratings, np.cumsum(counts) - counts, counts)])


def _judge(
    text: str,
    candidates: tuple[Candidate, ...],
    places: Sequence[int],
    best: int,
    probabilities: Sequence[float],
    rules: LanguageRules,
) -> _Judged:
    """Return the first candidates in their new order with probabilities, and why the order changed.

    Args:
        text: The text.
        candidates: Its first candidates.
        places: The positions of those that were compared.
        best: Which of these is the best.
        probabilities: Their probabilities.
        rules: The rules of the language.
    """
    judged = [candidate._replace(probability=0.0) if candidate.refusal else candidate for candidate in candidates]
    for place, probability in zip(places, probabilities, strict=True):
        judged[place] = candidates[place]._replace(probability=probability)
    if not best:
        return tuple(judged), ()
    chosen = judged.pop(places[best])
    return (chosen, *judged), _reasons(text, chosen, candidates[places[0]], rules)


def _with(part: LinkedPart, first: tuple[Candidate, ...], reasons: tuple[str, ...]) -> LinkedPart:
    candidates = first + part.candidates[DEPTH:]
    if not reasons:
        return part._replace(candidates=candidates)
    return part._replace(candidates=candidates, tie=None, reasons=reasons)


def _reasons(text: str, best: Candidate, before: Candidate, rules: LanguageRules) -> tuple[str, ...]:
    return (
        f"instead of {before.concept_id} ({before.name}), which is more similar ({before.score:.3f})",
        f"its name {describe(text, best.name, rules)}, the other one {describe(text, before.name, rules)}",
    )


@cache
def _shipped() -> tuple[DifferenceModel, ...]:
    return tuple(map(DifferenceModel.load, DIFFERENCE_MODELS))


def model_of(generator: CandidateGenerator) -> DifferenceModel | None:
    """Return the model in the package for the scores of a generator; None if there is none."""
    ngrams, vectors, share = generator.ngram_encoder, generator.vectors, generator.sparse_share
    if ngrams is None or ngrams.text_normalizer != TEXT_NORMALIZER:
        return None
    for model in _shipped():
        if model.sparse_share == share and (vectors is None or vectors.encoder.fingerprint == model.encoder):
            return model
    return None
