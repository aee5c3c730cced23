"""How the names of candidates differ from a text, and `DifferenceModel`, which ranks them by that."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import filterfalse, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..encoders.ngrams import TEXT_NORMALIZER
from ..starter import DIFFERENCE_MODELS
from ..store.artifact import opening
from ..store.cache import drop_oldest
from ..text.languages import ENGLISH, LanguageRules
from ..text.normalize import n_common
from ..text.words import has_same_letters, joined_letters, read_words
from ..types import SCORE_DIGITS, Candidate, Grade, LinkedPart
from .agreement import CHECKED, SAME, is_short
from .concept_facts import Fact
from .trees import Trees

if TYPE_CHECKING:
    from .candidates import CandidateGenerator

FEATURES = (
    "score", "score_lead", "dense_lead", "sparse_lead", "support",
    "preferred", "preferred_lead", "popularity", "popularity_lead", "names", "main",
    "same", "added", "lacking", "words", "beginning", "alike", "same_last", "numbers_added", "numbers_lacking",
    "general_added", "length", "longer", "case", "capitals", "letters",
)  # fmt: skip
"""The names of the features, in the order of the columns. None is a word or a concept."""

DEPTH = CHECKED  # a candidate behind it may contradict the text
GAP = 0.2  # chosen on the training parts of several corpora
_MOST_POPULAR = 10  # log(1 + n) of all abstracts
_LONGEST = 30  # characters; longer texts count as equally long
_SAME_BAG, _SAME_WORDS = 1, 2


FactsOf = Callable[[Collection[str]], Mapping[str, Fact]]


def compared(candidates: Sequence[Candidate]) -> list[int]:
    """Return the positions of the candidates of a text that are compared, best first.

    They are among the first `DEPTH`, are not refused, and have scores up to `GAP` below the first. If the text is the
    name of the first one, they are the first two: no other name counts more, whatever its difference. If the text is
    another way to write its name, it is compared with none.
    """
    agreeing: list[int] = []
    least, depth = -math.inf, DEPTH
    for place, candidate in enumerate(candidates[:DEPTH]):
        if candidate.grade > Grade.REFUSED and candidate.score >= least and len(agreeing) < depth:
            if not agreeing:
                least = candidate.score - GAP
                depth = 1 if candidate.rewrite else 2 if candidate.grade >= Grade.NEARLY_SAME else DEPTH
            agreeing.append(place)
    return agreeing


def difference_features(
    texts: Sequence[str],
    lists: Sequence[Sequence[Candidate]],
    facts_of: FactsOf,
    rules: LanguageRules = ENGLISH,
) -> np.ndarray:
    """Return the features of the compared candidates of texts.

    Args:
        lists: The compared candidates of each text. There may be none.
        facts_of: Looks up what is known of concepts.

    Returns:
        A float64 array of shape (candidates, `len(FEATURES)`). The candidates of the first text come first.
    """
    facts = facts_of([candidate.concept_id for candidates in lists for candidate in candidates])
    rows: list[tuple[float, ...]] = []
    for text, candidates in zip(texts, lists, strict=True):
        known = [facts[candidate.concept_id] for candidate in candidates]
        values = [
            # a lead is at most 1, but logarithms of counts differ by more
            (c.score, c.dense or 0.0, c.sparse or 0.0, fact.preferred == c.name, fact.popularity / _MOST_POPULAR)
            for c, fact in zip(candidates, known, strict=True)
        ]
        leads = zip(*map(_leads, zip(*values, strict=True)), strict=True)
        words = compare(text, map(attrgetter("name"), candidates), rules)
        for candidate, fact, value, lead, of_words in zip(candidates, known, values, leads, words, strict=True):
            of_concept = value[3], lead[3], fact.popularity, lead[4], fact.names, not fact.supplementary
            rows.append((candidate.score, *lead[:3], candidate.support, *of_concept, *of_words))
    # rounded, since the last digits of similarities depend on the processor
    return np.array(rows, dtype=np.float64).reshape(-1, len(FEATURES)).round(SCORE_DIGITS)


def _leads(values: Sequence[float]) -> list[float]:
    """Return by how much each value is above the best other one: at most 1, and 1 if there is no other."""
    if len(values) < 2:
        return [1.0] * len(values)
    *_, second, highest = sorted(values)
    return [min(value - (second if value == highest else highest), 1.0) for value in values]


def compare(text: str, names: Iterable[str], rules: LanguageRules = ENGLISH) -> Iterator[tuple[float, ...]]:
    """Yield the features of a text and each of several names, from "same" on."""
    words, letters = read_words(text, rules).meanings, joined_letters(text)
    length, capitals = min(len(text), _LONGEST), text.isupper()
    for name in names:
        known, other_letters = read_words(name, rules).meanings, joined_letters(name)
        same, *of_words = _compare_words(words, known, rules)
        has_same = letters == other_letters
        if not same and has_same and has_same_letters(text, name):
            same = _SAME_WORDS
        yield (
            same,
            *of_words,
            length,
            max(-_LONGEST, min(len(name) - len(text), _LONGEST)),
            2 if text == name else len(text) == len(name) and text.casefold() == name.casefold(),
            capitals,
            1.0 if has_same else min(1.0, sum(_shared_ends(letters, other_letters))),
        )


def _compare_words(words: Sequence[str], known: Sequence[str], rules: LanguageRules) -> tuple[float, ...]:
    """Return the features of the words of a text and of a name, from "same" to "general_added"."""
    if words == known:
        return _SAME_WORDS, 0, 0, len(words), 0.0, 0.0, True, 0, 0, 0
    lacking, added = _only_in(words, known), _only_in(known, words)
    beginning = ending = 0.0
    if lacking and added:
        beginning, ending = _shared_ends("".join(lacking), "".join(added))
    of_kind, of_state = rules.words.modifiers
    return (
        0 if lacking or added else _SAME_BAG,
        len(added),
        len(lacking),
        len(words),
        beginning,
        min(1.0, beginning + ending),
        words[-1:] == known[-1:],
        len([word for word in added if len(word) == 1 or not word.isalpha()]),
        len([word for word in lacking if len(word) == 1 or not word.isalpha()]),
        len([word for word in added if word in of_kind or word in of_state]),
    )


def _shared_ends(first: str, second: str) -> tuple[float, float]:
    """Return which share of the longer text is the beginning of both, and which is the end of both."""
    longest = max(len(first), len(second), 1)
    return n_common(first, second) / longest, n_common(first[::-1], second[::-1]) / longest


def _only_in(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the words that a text has more often than another one, in their order."""
    if len(set(words)) == len(words):
        return [word for word in words if word not in others]
    left: dict[str, int] = {}
    for word in others:
        left[word] = left.get(word, 0) + 1
    only = []
    for word in words:
        if n := left.get(word, 0):
            left[word] = n - 1
        else:
            only.append(word)
    return only


def describe(text: str, name: str, rules: LanguageRules = ENGLISH) -> str:
    """Say how a name differs from a text: "adds “idiopathic”"."""
    added, lacking = _shown(name, text, rules), _shown(text, name, rules)
    if added and lacking:
        shared = set(read_words(text, rules).meanings).intersection(read_words(name, rules).meanings)
        return f"has “{added}” instead of “{lacking}”" if shared else "has other words"
    if added or lacking:
        return f"adds “{added}”" if added else f"lacks “{lacking}”"
    return "has the same words"


def _shown(text: str, other: str, rules: LanguageRules) -> str:
    """Return the words that only a text has, as it writes them."""
    read = read_words(text, rules)
    only = set(_only_in(read.meanings, read_words(other, rules).meanings))
    return " ".join(word.written for word in read.words if word.key and word.meaning in only)


# --- the model

_Text = tuple[str, tuple[Candidate, ...]]
_Judged = tuple[tuple[Candidate, ...], tuple[str, ...]]
Judgments = dict[_Text, _Judged]
"""The first candidates in their new order with probabilities, and why the order changed, by text and candidates."""

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
        judgments = {key: known for key in keys if (known := earlier.get(key))}  # another thread may drop some
        if new := list(dict.fromkeys(filterfalse(judgments.__contains__, keys))):
            judgments.update(zip(new, self._judgments(new, facts_of, rules), strict=True))
            earlier.update((key, judgments[key]) for key in new)
            if len(earlier) > MOST_JUDGMENTS:
                drop_oldest(earlier, MOST_JUDGMENTS)
        return list(map(_with, parts, map(judgments.__getitem__, keys)))

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
    folded, first, *others = text.casefold(), *map(attrgetter("name"), candidates)
    if first.casefold() != folded or text in others:
        return False
    return first == text or folded not in map(str.casefold, others)


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
    if generator.ngrams is None or generator.ngrams.ngrams.text_normalizer != TEXT_NORMALIZER:
        return None
    encoder, share = generator.encoder, generator.sparse_share
    for model in _shipped():
        if model.sparse_share == share and (encoder is None or encoder.fingerprint == model.encoder):
            return model
    return None
