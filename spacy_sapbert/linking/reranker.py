"""`Reranker`: put a candidate first that is not the most similar one, if the evidence is clear, and say why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..store.artifact import opening
from ..types import Candidate, LinkedPart
from .rerank_features import (
    COLUMNS,
    FEATURES,
    N_FEATURES,
    CandidateFeatures,
    DocumentEvidence,
    WordRarity,
    same_form,
    shortlist,
    words_in,
)
from .settings import RERANKER_FILE
from .trees import Trees

_GROUPS = np.repeat(np.arange(len(FEATURES)), list(map(len, FEATURES.values())))
LEAST_SHARE = 0.1  # of what speaks for the first candidate: a group with less is not mentioned
MOST_WORDS = 3


class Reranker(NamedTuple):
    """Gradient-boosted trees that compare the candidates of a text.

    The first candidate stays first, unless the trees rate another one higher by more than the margin. The scores of the
    candidates do not change, and neither does the order of the others. The chosen one is as probable as the first was,
    or more.

    Attributes:
        trees: Their predictions only compare candidates of one text.
        margin: How much higher another candidate must be rated, 0 or more.
        rarity: The rarity of words in the vocabulary of the training.
        after_ranking: Whether it was trained on candidates in the order of `DifferenceModel`, which then comes first.
    """

    trees: Trees
    margin: float
    rarity: WordRarity
    after_ranking: bool = False

    @classmethod
    def undecided(cls) -> Reranker:
        """Return a reranker that keeps every first candidate. The linker then finds the candidates that one needs."""
        trees = Trees(np.zeros((0, 0), np.int32), np.zeros((0, 0)), np.zeros((0, 1)))
        return cls(trees, 0.0, WordRarity({}, 0.0), after_ranking=True)

    def rerank(self, parts: Sequence[LinkedPart], text: str, features: CandidateFeatures) -> list[LinkedPart]:
        """Return the parts with the chosen candidate first.

        Args:
            parts: The parts of the mentions of a document, best candidate first.
            text: The text of the document.
            features: Computes the features, with the vocabulary of the candidates.
        """
        if not len(self.trees.values):
            return list(parts)
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
        reasons = explain(part, best, added[0] - added[1], pair, document)
        known = [candidate.probability for candidate in (best, before) if candidate.probability is not None]
        chosen = best._replace(probability=max(known, default=None))
        return part._replace(candidates=(chosen, *others), tie=None, reasons=reasons)

    # --- saving

    def save(self, folder: Path) -> None:
        """Write the reranker into a folder."""
        from safetensors.numpy import save_file

        words = "\n".join(self.rarity.frequent).encode()
        arrays = {
            **self.trees._asdict(),
            "margin": np.array([self.margin]),
            "after_ranking": np.array([self.after_ranking]),
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
            (after_ranking,) = arrays.pop("after_ranking", np.zeros(1, bool)).tolist()
            (margin,), rarity = arrays.pop("margin").tolist(), _read_rarity(arrays.pop("words"), arrays.pop("rarity"))
            trees = Trees(**arrays)
            if trees.features.max(initial=0) >= N_FEATURES:
                raise ValueError("a version with other features made it")
            return cls(trees, margin, rarity, after_ranking)


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


# --- reasons


_SAY = {
    "similarity": (
        ("+support", "more of its names are similar"),
        ("+dense", "the encoder finds it more similar"),
        ("+sparse", "more of its letters fit"),
    ),
    "words": (
        ("+share_of_text", "more words of the mention are in its name"),
        ("-only_in_text", "more words of the mention are in its name"),
        ("-only_in_name", "its name adds fewer words"),
        ("+same_head", "the last word is the same"),
        ("-numbers_only_in_text", "its number fits"),
        ("-numbers_only_in_name", "its number fits"),
        ("-other_beginnings", "no word has another beginning"),
    ),
    "vocabulary": (
        ("+preferred", "this is its preferred name"),
        ("+names", "it has more names"),
        ("-supplementary", "it is a main descriptor, not a supplementary record"),
    ),
    "annotations": (
        ("+annotations_by_name", "annotators mean it more often by this name"),
        ("+prior", "annotators mean it more often"),
        ("+annotations", "annotators mean it more often"),
    ),
    "difference": (("+probability", "names that differ so are right more often"),),
}
"""What speaks for a candidate that has more (+) or less (-) of a feature, by group."""


def explain(
    part: LinkedPart, best: Candidate, added: np.ndarray, features: np.ndarray, document: DocumentEvidence
) -> tuple[str, ...]:
    """Say why one candidate was put before the most similar one, which is the first of the part.

    Args:
        best: The chosen candidate.
        added (float64, shape (features,)): What each feature adds to the rating of `best`, less what it adds to that of
            the most similar one.
        features (float64, shape (2, features)): The features of both.
        document: What the document says.

    Returns:
        First the other candidate. Then the groups of features that speak for the chosen one, strongest first, each with
        its share.
    """
    before = part.candidates[0]
    speaking = np.maximum(np.bincount(_GROUPS, added, minlength=len(FEATURES)), 0.0)
    shares = dict(zip(FEATURES, (speaking / max(speaking.sum(), np.finfo(float).tiny)).tolist(), strict=True))
    said = []
    for group in sorted(shares, key=lambda group: -shares[group]):
        if shares[group] >= LEAST_SHARE:
            reasons = dict.fromkeys(reason for feature, reason in _SAY.get(group, ()) if _exceeds(features, feature))
            reasons |= dict.fromkeys(_of_document(part, best, features, document) if group == "document" else ())
            said.append(f"{group} {shares[group]:.0%}: {', '.join(reasons) or 'several small differences'}")
    similar = "more" if before.score > best.score else "as" if before.score == best.score else "less"
    return (f"instead of {before.concept_id} ({before.name}), which is {similar} similar ({before.score:.3f})", *said)


def _exceeds(features: np.ndarray, feature: str) -> bool:
    """Return whether the chosen candidate has more of a feature, or less if it begins with a minus."""
    chosen, other = features[:, COLUMNS[feature[1:]]]
    return bool(chosen < other if feature[0] == "-" else chosen > other)


def _of_document(part: LinkedPart, best: Candidate, features: np.ndarray, document: DocumentEvidence) -> Iterator[str]:
    texts, words = document.linked.get(best.concept_id, {}), document.words
    if others := [text for form, text in texts.items() if form != same_form(part.text)]:
        yield f"{_quoted(others)} is linked to it" if len(others) == 1 else f"{_quoted(others)} are linked to it"
    added = words_in(best.name).keys() - words_in(part.text).keys()
    if _exceeds(features, "+words_elsewhere") and (elsewhere := sorted(words[word] for word in added if word in words)):
        yield f"the document has {_quoted(elsewhere)}"


def _quoted(texts: Sequence[str]) -> str:
    return ", ".join(f"“{text}”" for text in texts[:MOST_WORDS])
