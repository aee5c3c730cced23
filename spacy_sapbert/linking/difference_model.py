"""`DifferenceModel`: rank candidates by how their names differ from the text, and give their probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import filterfalse, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..encoders.ngrams import TEXT_NORMALIZER
from ..starter import DIFFERENCE_MODELS
from ..store.artifact import opening
from ..store.cache import drop_oldest
from ..text.languages import ENGLISH, LanguageRules
from ..types import Candidate, Grade, LinkedPart
from .agreement import is_short
from .difference import DEPTH, FEATURES, FactsOf, compared, describe, difference_features
from .grades import SAME
from .trees import Trees

_Text = tuple[str, tuple[Candidate, ...]]
_Judged = tuple[tuple[Candidate, ...], tuple[str, ...]]
Judgments = dict[_Text, _Judged]
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
        if new := list(dict.fromkeys(filterfalse(earlier.__contains__, keys))):
            earlier.update(zip(new, self._judgments(new, facts_of, rules), strict=True))
        judged = list(map(_with, parts, map(earlier.__getitem__, keys)))
        if len(earlier) > MOST_JUDGMENTS:
            drop_oldest(earlier, MOST_JUDGMENTS)
        return judged

    def _judgments(self, texts: Sequence[_Text], facts_of: FactsOf, rules: LanguageRules) -> Iterator[_Judged]:
        written, candidates = zip(*texts, strict=True)
        places = list(map(compared, candidates))
        lists = [list(map(of_text.__getitem__, at)) for of_text, at in zip(candidates, places, strict=True)]
        rows = difference_features(written, lists, facts_of, rules)
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
        scores, odds = rows[:, FEATURES.index("score")].tolist(), log_odds.tolist()
        chosen, first = [], 0
        for size in sizes:
            best = max(scores[first : first + size], default=SAME)
            place, highest = 0, odds[first] + self.margin if size else 0.0
            for other in range(1, size if best < SAME else 0):
                if scores[first + other] < best and odds[first + other] > highest:
                    place, highest = other, odds[first + other]
            chosen.append(place)
            first += size
        return chosen

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
    judged, of_place = list[Candidate](), dict(zip(places, probabilities, strict=True))
    for place, candidate in enumerate(candidates):
        probability = 0.0 if candidate.refusal else of_place.get(place)
        judged.append(candidate if probability is None else candidate._replace(probability=probability))
    if best:
        chosen = judged.pop(places[best])
        return (chosen, *judged), _reasons(text, chosen, candidates[places[0]], rules)
    if judged and judged[0].refusal is None and not is_short(text) and _is_only_name(text, candidates):
        judged[0] = judged[0]._replace(probability=max(judged[0].probability or 0.0, NAMED))
    return tuple(judged), ()


def _is_only_name(text: str, candidates: tuple[Candidate, ...]) -> bool:
    """Return whether a text is a name of the first candidate, and of no other. The case only counts between these."""
    if candidates[0].grade < Grade.NEARLY_SAME:
        return False
    folded = text.casefold()
    same = [candidate for candidate in candidates if candidate.name.casefold() == folded]
    exact = [candidate for candidate in same if candidate.name == text] or same
    return exact == [candidates[0]]


def _with(part: LinkedPart, judged: _Judged) -> LinkedPart:
    first, reasons = judged
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
