"""`Ranker`: which candidate is right, how probable that is, and whether the vocabulary lacks the concept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, repeat
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..encoders.ngrams import TEXT_NORMALIZER
from ..starter import RANKERS
from ..store.artifact import opening
from ..store.cache import drop_oldest
from ..text.common_words import general_nouns
from ..text.languages import ENGLISH, LanguageRules
from ..text.normalize import n_common
from ..text.words import has_same_letters, joined_letters, read_words
from ..types import SCORE_DIGITS, Candidate, Grade, LinkedPart
from .agreement import CHECKED, is_short
from .concept_facts import ConceptFacts
from .trees import Trees

if TYPE_CHECKING:
    from .candidates import CandidateGenerator

FEATURES = (
    "grade", "score", "support", "preferred", "popularity", "names", "main",
    "score_lead", "dense_lead", "sparse_lead", "preferred_lead", "popularity_lead",
    "same", "added", "lacking", "words", "beginning", "alike", "same_last", "numbers_added", "numbers_lacking",
    "general_added", "lacking_general", "lacking_behind", "lacking_nouns",
    "length", "longer", "case", "capitals", "letters",
    "annotated", "annotated_lead", "annotated_so", "annotated_so_lead", "elsewhere", "elsewhere_lead",
)  # fmt: skip
"""The names of the features, in the order of the columns. None is a word or a concept."""

DEPTH = CHECKED  # a candidate behind it may contradict the text
GAP = 0.2  # chosen on the training parts of several corpora
_MOST_POPULAR = 10  # log(1 + n) of all abstracts
_LONGEST = 30  # characters; longer texts count as equally long
_SAME_BAG, _SAME_WORDS = 1, 2
_MOST_ELSEWHERE = 2  # other texts of a document
_ALIKE = 0.5  # share of the letters of other words that are alike

Parts = tuple[LinkedPart, ...]


class Text(NamedTuple):
    """A text with its first candidates.

    Attributes:
        text: The text.
        candidates: At most `DEPTH`, best first.
        elsewhere: How many other texts of the document have each candidate as their first one: at most 2.
    """

    text: str
    candidates: tuple[Candidate, ...]
    elsewhere: tuple[int, ...]


def texts_of(mentions: Sequence[Parts]) -> list[list[Text]]:
    """Return the texts of each mention of a document."""
    flat, linked, forms = list(chain.from_iterable(mentions)), dict[str, set[str]](), dict[str, str]()
    for part in flat if len(flat) > 1 else ():
        forms[part.text] = joined_letters(part.text)
        if part.candidates and part.candidates[0].refusal is None:
            linked.setdefault(part.candidates[0].concept_id, set()).add(forms[part.text])
    texts = dict[int, list[Text]]()
    for parts in mentions:  # equal mentions have the same parts
        if id(parts) in texts:
            continue
        texts[id(parts)] = []
        for part in parts:
            candidates, elsewhere = part.candidates[:DEPTH], list[int]()
            for candidate in candidates:
                others = linked.get(candidate.concept_id)
                n = len(others) - (forms[part.text] in others) if others else 0
                elsewhere.append(n if n < _MOST_ELSEWHERE else _MOST_ELSEWHERE)
            texts[id(parts)].append(Text(part.text, candidates, tuple(elsewhere)))
    return [texts[id(parts)] for parts in mentions]


def compared(candidates: Sequence[Candidate]) -> list[int]:
    """Return the positions of the candidates of a text that are compared, best first.

    They are among the first `DEPTH`, are not refused, and have scores up to `GAP` below the first. If the text is the
    name of the first one, they end with the first whose name it is not: no other name counts more, whatever its
    difference. If the text is another way to write its name, it is compared with none.
    """
    agreeing: list[int] = []
    least, best = -math.inf, Grade.REFUSED
    for place, candidate in enumerate(candidates[:DEPTH]):
        if candidate.grade is Grade.REFUSED or candidate.score < least:
            continue
        if not agreeing:
            best, least = candidate.grade, candidate.score - GAP
        agreeing.append(place)
        if candidate.rewrite or candidate.grade < Grade.NEARLY_SAME <= best:
            break
    return agreeing


def features(
    texts: Sequence[Text], places: Sequence[Sequence[int]], facts: ConceptFacts, rules: LanguageRules = ENGLISH
) -> np.ndarray:
    """Return the features of the compared candidates of texts.

    Args:
        places: The positions of the compared candidates of each text. There may be none.
        facts: Looks up what is known of concepts.

    Returns:
        A float64 array of shape (candidates, `len(FEATURES)`). The candidates of the first text come first.
    """
    lists, pairs = list[list[Candidate]](), list[tuple[str, str]]()
    for text, at in zip(texts, places, strict=True):
        lists.append(list(map(text.candidates.__getitem__, at)))
        pairs += map(_NAMED, lists[-1])
    known = facts(list(map(itemgetter(0), pairs)))
    annotated = iter(facts.annotated(pairs)) if facts.has_annotations else repeat(0.0)
    rows: list[tuple[float, ...]] = []
    for (written, _, elsewhere), at, candidates in zip(texts, places, lists, strict=True):
        is_counted = facts.has_annotations or any(elsewhere)
        values, counts, of_concepts = [], [], list[tuple[float, ...]]()
        words = list(compare(written, map(attrgetter("name"), candidates), rules))
        for c, place, of_words in zip(candidates, at, words, strict=True):
            fact = known[c.concept_id]
            # a lead is at most 1, but logarithms of counts differ by more
            popularity, preferred = fact.popularity / _MOST_POPULAR, fact.preferred == c.name
            values.append((c.score, c.dense or 0.0, c.sparse or 0.0, preferred, popularity))
            if is_counted:
                counts.append((fact.annotations, next(annotated), elsewhere[place] if _is_like(of_words) else 0))
            of_concept = fact.popularity, fact.names, not fact.supplementary
            of_concepts.append((c.grade, c.score, c.support, preferred, *of_concept))
        leads = zip(*map(_leads, zip(*values, strict=True)), strict=True)
        counted = _counted(counts) if counts else repeat(_NOTHING_COUNTED, len(at))
        rows += map(tuple, map(chain, of_concepts, leads, words, counted))
    # rounded, since the last digits of similarities depend on the processor
    return np.array(rows, dtype=np.float64).reshape(-1, len(FEATURES)).round(SCORE_DIGITS)


def _is_like(of_words: Sequence[float]) -> bool:
    """Return whether a name shares a word with the text, or letters of one.

    Else each unknown word would mean the disease that the document is about.
    """
    _, _, lacking, n, _, alike, *_ = of_words
    return lacking < n or alike >= _ALIKE


_NAMED = attrgetter("concept_id", "name")
_NOTHING_COUNTED = (0.0,) * 6


def _counted(counts: Sequence[tuple[float, ...]]) -> Iterator[tuple[float, ...]]:
    """Yield each count of each candidate, followed by how much more it is than the highest of the others."""
    columns = [(column, _leads([*column, 0.0], most=math.inf)) for column in zip(*counts, strict=True)]
    for row in range(len(counts)):
        yield tuple(chain.from_iterable((column[row], leads[row]) for column, leads in columns))


def _leads(values: Sequence[float], most: float = 1.0) -> list[float]:
    """Return by how much each value is above the best other one: at most `most`, and that if there is no other."""
    if len(values) < 2:
        return [most] * len(values)
    *_, second, highest = sorted(values)
    return [min(value - (second if value == highest else highest), most) for value in values]


def compare(text: str, names: Iterable[str], rules: LanguageRules = ENGLISH) -> Iterator[tuple[float, ...]]:
    """Yield the features of a text and each of several names, from "same" to "letters"."""
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
    """Return the features of the words of a text and of a name, from "same" to "lacking_nouns"."""
    if words == known:
        return _SAME_WORDS, 0, 0, len(words), 0.0, 0.0, True, 0, 0, 0, 0, 0, 0
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
        *(_lacking(words, known, rules) if lacking else (0, 0, 0)),
    )


@cache
def _general_words(rules: LanguageRules) -> tuple[frozenset[str], ...]:
    """Return the meanings of general words, and those of general nouns."""
    kinds = rules.words.general_words, general_nouns() if rules.code == ENGLISH.code else ()
    return tuple(frozenset(chain.from_iterable(read_words(word, rules).meanings for word in kind)) for kind in kinds)


def _lacking(words: Sequence[str], known: Sequence[str], rules: LanguageRules) -> tuple[int, int, int]:
    """Return how many words that a name lacks are general, and how many others are behind the shared ones, or nouns."""
    shared = [place for place, word in enumerate(words) if word in known]
    general_words, nouns = _general_words(rules)
    general = behind = n_nouns = 0
    for place, word in enumerate(words):
        if not shared or word in known:
            continue
        if word in general_words:
            general += 1
        else:
            behind += place > shared[-1]
            n_nouns += word in nouns
    return general, behind, n_nouns


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

_Judged = tuple[tuple[Candidate, ...], tuple[str, ...]]
Judgments = dict[Text, _Judged]
"""The first candidates in their new order with probabilities, and why the order changed, by text."""

PROBABLE = 0.5
"""A link needs a higher probability."""
NAMED = 0.8
"""The least probability of a concept that alone has the text as a name, unless the text is short."""
MOST_JUDGMENTS = 4096  # that are kept
_DIGITS = 4  # of a probability
_NUMBERS = "choosing", "margin", "sparse_share"
_CHOICE = list(map(FEATURES.index, ("grade", "score", "annotated", "annotated_so")))


class Ranker(NamedTuple):
    """Which candidate of a text is right, for scores of one kind.

    One is in the package. It was learned once from open corpora and knows no words and no concepts. What a user trains
    has its trees, and more of them.

    The candidate with the highest rating comes first, if it leads by more than the margin, but none with a worse grade.
    The probability of a candidate with the rating z is exp(z) / (1 + Σ exp(z)), over those that
    are compared. What is left is the probability that the vocabulary lacks the concept.

    Attributes:
        trees: Trees over `FEATURES`, which rate a candidate.
        choosing: How many of the trees choose the candidate. The others only count for its probability.
        margin: By how much the rating of another candidate must be higher, 0 or more.
        sparse_share: The share of the sparse score in the scores, see `LinkerParameters`.
        encoder: The fingerprint of the encoder; empty for n-grams alone.
    """

    trees: Trees
    choosing: int
    margin: float
    sparse_share: float
    encoder: str = ""

    def __call__(
        self,
        documents: Sequence[Sequence[Parts]],
        facts: ConceptFacts,
        rules: LanguageRules = ENGLISH,
        earlier: Judgments | None = None,
    ) -> list[list[Parts]]:
        """Return the parts with the chosen candidate first, and with the probabilities of the first candidates.

        Mentions with the same parts share the result. What is in `earlier` is not computed again. The rest is added to
        it.

        Args:
            documents: The parts of each mention of each document.
        """
        earlier = {} if earlier is None else earlier
        numbers, found = dict[Text, int](), list[list[tuple[int, ...]]]()
        for mentions in documents:
            found.append([])
            for texts in texts_of(mentions):
                ids = list[int]()
                for text in texts:  # the same one occurs many times
                    ids.append(numbers.setdefault(text, len(numbers)))
                found[-1].append(tuple(ids))
        unique = list(numbers)
        judged, new = dict[int, _Judged](), list[int]()
        for number, text in enumerate(unique):
            if known := earlier.get(text):  # another thread may drop some
                judged[number] = known
            else:
                new.append(number)
        if new:
            judgments = self._judgments(list(map(unique.__getitem__, new)), facts, rules)
            for number, judgment in zip(new, judgments, strict=True):
                judged[number] = earlier[unique[number]] = judgment
            if len(earlier) > MOST_JUDGMENTS:
                drop_oldest(earlier, MOST_JUDGMENTS)
        shared, ranked = dict[tuple[int, ...], Parts](), list[list[Parts]]()
        for mentions, of_mentions in zip(documents, found, strict=True):
            ranked.append([])
            for parts, of_parts in zip(mentions, of_mentions, strict=True):
                key = id(parts), *of_parts  # equal mentions have the same parts
                if key not in shared:
                    shared[key] = tuple(map(_with, parts, map(judged.__getitem__, of_parts)))
                ranked[-1].append(shared[key])
        return ranked

    def _judgments(self, texts: Sequence[Text], facts: ConceptFacts, rules: LanguageRules) -> Iterator[_Judged]:
        places = [compared(text.candidates) for text in texts]
        rows, sizes = features(texts, places, facts, rules), list(map(len, places))
        ratings, order = self.rate(rows)
        probabilities = iter(shares(ratings, sizes).round(_DIGITS).tolist())
        for text, at, best in zip(texts, places, self.choose(rows, order, sizes), strict=True):
            yield _judge(text, at, best, list(islice(probabilities, len(at))), rules)

    def rate(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the ratings of candidates with these features, and those by which one is chosen."""
        ratings = self.trees.predict(rows)
        is_chosen_by_all = self.choosing == len(self.trees.values)
        return ratings, ratings if is_chosen_by_all else self.trees.first(self.choosing).predict(rows)

    def choose(self, rows: np.ndarray, order: np.ndarray, sizes: Sequence[int]) -> list[int]:
        """Return which candidate of each text comes first: one with the grade of the first one.

        If both have the same score, annotators must never mean either: else the rules for ties know more.

        Args:
            rows: The features of the candidates.
            order: The second ratings of `rate`.
            sizes: The number of candidates of each text.
        """
        places, rated, chosen, first = rows[:, _CHOICE].tolist(), order.tolist(), list[int](), 0
        for size in sizes:
            best, highest = 0, rated[first] + self.margin if size else 0.0
            for other in range(1, size):
                if rated[first + other] > highest:
                    (own, score, *counts), (grade, more, *first_counts) = places[first + other], places[first]
                    if own == grade and (score < more or not any(counts + first_counts)):
                        best, highest = other, rated[first + other]
            chosen.append(best)
            first += size
        return chosen

    # --- saving

    def save(self, path: Path) -> None:
        """Write the ranker into a file."""
        from safetensors.numpy import save_file

        trees = self.trees._replace(values=self.trees.values.astype(np.float32))
        numbers = {name: np.array([getattr(self, name)]) for name in _NUMBERS}
        save_file({**trees._asdict(), **numbers, "encoder": np.frombuffer(self.encoder.encode(), np.uint8)}, path)

    @classmethod
    def load(cls, path: Path) -> Ranker:
        """Read what `save` wrote."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        with opening(path):
            try:
                arrays = load_file(path)
            except SafetensorError as error:
                raise ValueError(error) from error
            trees = Trees(*(arrays[field] for field in Trees._fields))
            choosing, margin, share = (arrays[name].item() for name in _NUMBERS)
            if trees.features.max(initial=0) >= len(FEATURES):
                raise ValueError("a version with other features made it")
            wide = trees._replace(values=trees.values.astype(np.float64))
            return cls(wide, choosing, margin, share, arrays["encoder"].tobytes().decode())


def shares(ratings: np.ndarray, sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the probabilities of the candidates of texts by their ratings, see `Ranker`."""
    counts, odds = np.asarray(sizes, dtype=np.int64), np.exp(ratings)
    counts = counts[counts > 0]
    return odds / (1 + np.add.reduceat(odds, np.cumsum(counts) - counts)).repeat(counts) if len(counts) else odds


def _judge(
    text: Text, places: Sequence[int], best: int, probabilities: Sequence[float], rules: LanguageRules
) -> _Judged:
    """Return the first candidates in their new order with probabilities, and why the order changed.

    Args:
        places: The positions of those that were compared.
        best: Which of these is the best.
        probabilities: Their probabilities.
    """
    judged, of_place = list[Candidate](), dict(zip(places, probabilities, strict=True))
    for place, candidate in enumerate(text.candidates):
        probability = 0.0 if candidate.refusal else of_place.get(place)
        judged.append(candidate if probability is None else candidate._replace(probability=probability))
    if best:
        reasons = tuple(_reasons(text, places[best], places[0], rules))
        return (judged.pop(places[best]), *judged), reasons
    if judged and judged[0].refusal is None and not is_short(text.text) and _is_only_name(text.text, text.candidates):
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


def _reasons(text: Text, best: int, first: int, rules: LanguageRules) -> Iterator[str]:
    chosen, before = text.candidates[best], text.candidates[first]
    more = "as" if before.score == chosen.score else "more"
    yield f"instead of {before.concept_id} ({before.name}), which is {more} similar ({before.score:.3f})"
    own, other = (describe(text.text, candidate.name, rules) for candidate in (chosen, before))
    yield f"its name {own}, the other one {other}"
    if text.elsewhere[best] > text.elsewhere[first]:
        yield "another mention of the document is most similar to it"


@cache
def _shipped() -> tuple[Ranker, ...]:
    return tuple(map(Ranker.load, RANKERS))


def ranker_for(generator: CandidateGenerator, trained: Ranker | None = None) -> Ranker | None:
    """Return the ranker for the scores of a generator: the trained one, or that in the package, or None."""
    share, encoder = generator.sparse_share, generator.encoder
    fingerprint = encoder.fingerprint if encoder else ""
    ngrams = generator.ngrams.ngrams if generator.ngrams else None
    in_package = _shipped() if ngrams and ngrams.text_normalizer == TEXT_NORMALIZER else ()
    for ranker in (trained, *in_package):
        if ranker and ranker.sparse_share == share and ranker.encoder == fingerprint:
            return ranker
    return None
