"""`DifferenceModel`: rank candidates by how their names differ from the text, and give their probability."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..encoders.ngrams import TEXT_NORMALIZER
from ..starter import DIFFERENCE_MODELS
from ..store.artifact import opening
from ..store.cache import drop_oldest
from ..text.languages import ENGLISH, LanguageRules
from ..types import Candidate, LinkedPart
from .agreement import SAME, is_short
from .difference import DEPTH, FEATURES, FactsOf, best_scores, compared, describe, difference_features
from .reranker import choose
from .trees import Trees

_Judged = tuple[tuple[Candidate, ...], tuple[str, ...]]
Judgments = dict[tuple[str, tuple[Candidate, ...]], _Judged]
"""The first candidates in their new order with probabilities, and why the order changed, by text and candidates."""

if TYPE_CHECKING:
    from .candidates import CandidateGenerator

PROBABLE = 0.5
"""A link needs a higher probability."""
NAMED = 0.8
"""The least probability of a concept that alone has the text as a name, unless the text is short."""
MOST_JUDGMENTS = 4096  # that are kept
_DIGITS = 4  # of a probability


class DifferenceModel(NamedTuple):
    """What differences between texts and names mean, learned once from open corpora, for scores of one kind.

    It knows no words and no concepts, so it needs no documents of the user. A candidate whose name is the text stays
    first. Else the candidate with the highest log-odds comes first, if it leads by more than the margin.

    Attributes:
        trees: Trees over `difference.FEATURES`: the log-odds that a candidate is right.
        margin: By how much the log-odds of another candidate must be higher, 0 or more.
        sparse_share: The share of the sparse score in the scores, see `LinkerParameters`.
        encoder: The fingerprint of the encoder; empty for n-grams alone.
    """

    trees: Trees
    margin: float
    sparse_share: float
    encoder: str = ""

    def __call__(
        self,
        parts: Sequence[LinkedPart],
        facts_of: FactsOf,
        rules: LanguageRules = ENGLISH,
        earlier: Judgments | None = None,
    ) -> list[LinkedPart]:
        """Return the parts with the chosen candidate first, and with the probabilities of the first candidates.

        What is in `earlier` is not computed again. The rest is added to it.
        """
        earlier = {} if earlier is None else earlier
        keys = [(part.text, part.candidates[:DEPTH]) for part in parts]  # the same text occurs many times
        judgments = {key: judged for key in keys if (judged := earlier.get(key))}
        if unique := list(dict.fromkeys([key for key in keys if key not in judgments])):
            new = self._judgments(unique, facts_of, rules)
            earlier.update(new)
            drop_oldest(earlier, MOST_JUDGMENTS)
            judgments |= new
        return [_with(part, *judgments[key]) for part, key in zip(parts, keys, strict=True)]

    def _judgments(
        self, unique: Sequence[tuple[str, tuple[Candidate, ...]]], facts_of: FactsOf, rules: LanguageRules
    ) -> Judgments:
        places = [compared(candidates) for _, candidates in unique]
        lists = [[key[1][place] for place in of_text] for key, of_text in zip(unique, places, strict=True)]
        rows = difference_features([text for text, _ in unique], lists, facts_of, rules)
        log_odds = self.trees.predict(rows)
        probabilities = probability(log_odds).round(_DIGITS).tolist()
        judgments, end = Judgments(), 0
        for key, of_text, best in zip(unique, places, self.choose(rows, log_odds, list(map(len, places))), strict=True):
            start, end = end, end + len(of_text)
            judgments[key] = _judge(*key, of_text, best, probabilities[start:end], rules)
        return judgments

    def choose(self, rows: np.ndarray, log_odds: np.ndarray, sizes: Sequence[int]) -> list[int]:
        """Return which candidate of each text comes first. `TieBreaker` has chosen among those with the best score.

        Args:
            rows: The features of the candidates.
            log_odds: Their log-odds.
            sizes: The number of candidates of each text.
        """
        best = best_scores(rows)
        tied = rows[:, FEATURES.index("score")] == best
        tied[[start for start, size in zip(accumulate(sizes, initial=0), sizes, strict=False) if size]] = False
        return choose(np.where(tied, -np.inf, np.where(best < SAME, log_odds, 0.0)), sizes, self.margin)

    # --- saving

    def save(self, path: Path) -> None:
        """Write the model into a file."""
        from safetensors.numpy import save_file

        trees = self.trees._replace(values=self.trees.values.astype(np.float32))
        numbers = {"margin": np.array([self.margin]), "sparse_share": np.array([self.sparse_share])}
        save_file({**trees._asdict(), **numbers, "encoder": np.frombuffer(self.encoder.encode(), np.uint8)}, path)

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
            trees = Trees(*(arrays[field] for field in Trees._fields))
            (margin,), (share,) = arrays["margin"].tolist(), arrays["sparse_share"].tolist()
            wide = trees._replace(values=trees.values.astype(np.float64))
            return cls(wide, margin, share, arrays["encoder"].tobytes().decode())


def probability(log_odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of log-odds."""
    return np.asarray(1 / (1 + np.exp(-log_odds)))


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
        candidates: Its first candidates.
        places: The positions of those that were compared.
        best: Which of these is the best.
        probabilities: Their probabilities.
    """
    judged = [candidate._replace(probability=0.0) if candidate.refusal else candidate for candidate in candidates]
    for place, probability in zip(places, probabilities, strict=True):
        judged[place] = Candidate(*candidates[place][:-1], probability)  # faster than `_replace`
    if not best:
        if candidates and not is_short(text) and _is_name_of_first(text, candidates):
            judged[0] = judged[0]._replace(probability=max(judged[0].probability or 0.0, NAMED))
        return tuple(judged), ()
    chosen = judged.pop(places[best])
    return (chosen, *judged), _reasons(text, chosen, candidates[places[0]], rules)


def _is_name_of_first(text: str, candidates: tuple[Candidate, ...]) -> bool:
    """Return whether a text is a name of the first candidate, and of no other. The case only counts between these."""
    same = [candidate for candidate in candidates if candidate.name.casefold() == text.casefold()]
    exact = [candidate for candidate in same if candidate.name == text] or same
    return exact == [candidates[0]] and candidates[0].refusal is None


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
    ngrams, encoder, share = generator.ngram_encoder, generator.encoder, generator.sparse_share
    if ngrams is None or ngrams.text_normalizer != TEXT_NORMALIZER:
        return None
    for model in _shipped():
        if model.sparse_share == share and (encoder is None or encoder.fingerprint == model.encoder):
            return model
    return None
