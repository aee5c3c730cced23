"""`Reranker`: put a candidate first that is not the most similar one, if the evidence is clear."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..store.artifact import opening
from ..types import LinkedPart
from .rerank_features import N_FEATURES, CandidateFeatures, DocumentEvidence, WordRarity, shortlist
from .rerank_reasons import explain
from .settings import RERANKER_FILE
from .trees import Trees


class Reranker(NamedTuple):
    """Gradient-boosted trees that compare the candidates of a text.

    The most similar candidate stays first, unless the trees rate another one higher by more than the margin. The scores
    of the candidates do not change, and neither does the order of the others.

    Attributes:
        trees: Their predictions only compare candidates of one text.
        margin: How much higher another candidate must be rated, 0 or more.
        rarity: The rarity of words in the vocabulary of the training.
    """

    trees: Trees
    margin: float
    rarity: WordRarity

    @classmethod
    def undecided(cls) -> Reranker:
        """Return a reranker that keeps every first candidate. The linker then finds the candidates that one needs."""
        return cls(Trees(np.zeros((0, 0), np.int32), np.zeros((0, 0)), np.zeros((0, 1))), 0.0, WordRarity({}, 0.0))

    def rerank(self, parts: Sequence[LinkedPart], text: str, features: CandidateFeatures) -> list[LinkedPart]:
        """Return the parts with the chosen candidate first.

        Args:
            parts: The parts of the mentions of a document, best score first.
            text: The text of the document.
            features: Computes the features, with the vocabulary of the candidates.
        """
        unique = dict.fromkeys(parts)  # the same text occurs many times
        document = DocumentEvidence.of(list(unique), text)
        rows = features(list(unique), document)
        sizes = [len(shortlist(part.candidates)) for part in unique]
        chosen = choose(self.trees.predict(rows), sizes, self.margin)
        firsts = (np.cumsum(sizes) - sizes).tolist()
        reranked = {
            part: self._promoted(part, position, rows[[first + position, first]], document) if position else part
            for part, first, position in zip(unique, firsts, chosen, strict=True)
        }
        return [reranked[part] for part in parts]

    def _promoted(self, part: LinkedPart, position: int, pair: np.ndarray, document: DocumentEvidence) -> LinkedPart:
        best, before = part.candidates[position], part.candidates[0]
        added = self.trees.contributions(pair)
        others = (*part.candidates[:position], *part.candidates[position + 1 :])
        reasons = explain(part, best, before, added[0] - added[1], pair, document)
        return part._replace(candidates=(best, *others), tie=None, reasons=reasons)

    # --- saving

    def save(self, folder: Path) -> None:
        """Write the reranker into a folder."""
        from safetensors.numpy import save_file

        words = "\n".join(self.rarity.frequent).encode()
        arrays = {
            **self.trees._asdict(),
            "margin": np.array([self.margin]),
            "words": np.frombuffer(words, np.uint8),
            "rarity": np.array([*self.rarity.frequent.values(), self.rarity.other]),
        }
        save_file(arrays, folder / RERANKER_FILE)

    @classmethod
    def load(cls, folder: Path) -> Reranker:
        """Read what `save` wrote."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = folder / RERANKER_FILE
        with opening(path):
            try:
                arrays = load_file(path)
            except SafetensorError as error:
                raise ValueError(error) from error
            (margin,), rarity = arrays.pop("margin").tolist(), _read_rarity(arrays.pop("words"), arrays.pop("rarity"))
            trees = Trees(**arrays)
            if trees.features.max(initial=0) >= N_FEATURES:
                raise ValueError("a version with other features made it")
            return cls(trees, margin, rarity)


def _read_rarity(words: np.ndarray, rarity: np.ndarray) -> WordRarity:
    *values, other = rarity.tolist()
    return WordRarity(dict(zip(words.tobytes().decode().split("\n") if values else (), values, strict=True)), other)


def choose(ratings: np.ndarray, sizes: Sequence[int], margin: float) -> list[int]:
    """Return the position of the chosen candidate of each text: 0 for the most similar one.

    Args:
        ratings (float64, shape (candidates,)): The ratings of the candidates of all texts.
        sizes: The number of candidates of each text. It may be 0.
        margin: See `Reranker`.
    """
    chosen, first = [], 0
    for size in sizes:
        ratings_of_text = ratings[first : first + size]
        best = int(ratings_of_text.argmax()) if size else 0
        chosen.append(best if size and ratings_of_text[best] - ratings_of_text[0] > margin else 0)
        first += size
    return chosen
