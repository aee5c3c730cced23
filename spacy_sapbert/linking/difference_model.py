"""`DifferenceModel`: rank candidates by how their names differ from the text, and give their probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..encoders.ngrams import TEXT_NORMALIZER
from ..starter import DIFFERENCE_MODELS
from ..store.artifact import opening
from ..store.cache import drop_oldest
from ..text.languages import ENGLISH, LanguageRules
from ..types import Candidate, LinkedPart
from .agreement import is_short
from .difference import DEPTH, FEATURES, FactsOf, compared, describe, difference_features
from .grades import SAME
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
        if new := [key for key in dict.fromkeys(keys) if key not in earlier]:
            earlier.update(zip(new, self._judgments(new, facts_of, rules), strict=True))
        judged = [_with(part, *earlier[key]) for part, key in zip(parts, keys, strict=True)]
        if len(earlier) > MOST_JUDGMENTS:
            drop_oldest(earlier, MOST_JUDGMENTS)
        return judged

    def _judgments(
        self, texts: Sequence[tuple[str, tuple[Candidate, ...]]], facts_of: FactsOf, rules: LanguageRules
    ) -> Iterator[_Judged]:
        places = [compared(candidates) for _, candidates in texts]
        lists = [[key[1][place] for place in of_text] for key, of_text in zip(texts, places, strict=True)]
        rows = difference_features([text for text, _ in texts], lists, facts_of, rules)
        log_odds = self.trees.predict(rows)
        probabilities = iter(probability(log_odds).round(_DIGITS).tolist())
        for key, of_text, best in zip(texts, places, self.choose(rows, log_odds, list(map(len, places))), strict=True):
            yield _judge(*key, of_text, best, list(islice(probabilities, len(of_text))), rules)

    def choose(self, rows: np.ndarray, log_odds: np.ndarray, sizes: Sequence[int]) -> list[int]:
        """Return which candidate of each text comes first. `TieBreaker` has chosen among those with the best score.

        Args:
            rows: The features of the candidates.
            log_odds: Their log-odds.
            sizes: The number of candidates of each text.
        """
        candidates = iter(zip(rows[:, FEATURES.index("score")].tolist(), log_odds.tolist(), strict=True))
        return [self._choose(list(islice(candidates, size))) for size in sizes]

    def _choose(self, candidates: Sequence[tuple[float, float]]) -> int:
        """Return which of the candidates of a text comes first, by their scores and log-odds."""
        best = max([score for score, _ in candidates], default=SAME)
        if best >= SAME:
            return 0
        others = [(odds, -place) for place, (score, odds) in enumerate(candidates) if place and score < best]
        odds, place = max(others, default=(0.0, 0))
        return -place if place and odds - candidates[0][1] > self.margin else 0

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
        judged[place] = candidates[place]._replace(probability=probability)
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
