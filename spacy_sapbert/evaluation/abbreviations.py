"""How well definitions of abbreviations are found, against a corpus such as MED1250."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import dropwhile
from typing import Any

from ..corpora.med1250 import AbbreviationRecord, Pair
from ..text.abbreviations import find_definitions
from ..text.long_forms import STOP_WORDS

Find = Callable[[str], Iterable[Pair]]

MIN_OVERLAP = 0.5


def find_pairs(text: str) -> list[Pair]:
    """RETURNS (list[Pair]): the short and long forms of `find_definitions`."""
    return [(definition.short, definition.long) for definition in find_definitions(text)]


def evaluate_abbreviations(records: Iterable[AbbreviationRecord], find: Find = find_pairs) -> dict[str, Any]:
    """Compare the pairs found in each record with its gold pairs: unique ones, with case and blanks folded.

    Pairs of synonyms count neither way. Lenient: the short forms are the same letters and digits, and the long forms
    are the same without punctuation and stop words at their start, or have a Jaccard overlap of words of at least 0.5;
    each gold pair is found once.

    records (Iterable[AbbreviationRecord]): as `read_med1250` gives them.
    find (Callable): from a text to pairs of a short and a long form.
    RETURNS (dict): percentages `p`, `r`, `f1` (0 where there is nothing to divide by) and the number of gold `pairs`;
        `lenient`: the same; `errors`: lists by cause, with `pmid`, `short`, `long` and, where another long form was
        found for a gold short form, `found`.
    """
    strict, lenient = _Counts(), _Counts()
    errors: dict[str, list[dict[str, str]]] = {}
    for record in records:
        gold = _fold_all(record.pairs)
        found = _fold_all(find(record.text)) - _fold_all(record.synonyms)
        strict.add(len(gold & found), len(found), len(gold))
        lenient.add(len(gold & found) + _count_alike(gold - found, found - gold), len(found), len(gold))
        for cause, error in _errors(record, gold, found):
            errors.setdefault(cause, []).append(error)
    return {**strict.scores(), "lenient": lenient.scores(), "errors": dict(sorted(errors.items()))}


class _Counts:
    def __init__(self) -> None:
        self.right = self.found = self.gold = 0

    def add(self, right: int, found: int, gold: int) -> None:
        self.right += right
        self.found += found
        self.gold += gold

    def scores(self) -> dict[str, float]:
        precision = 100 * self.right / self.found if self.found else 0.0
        recall = 100 * self.right / self.gold if self.gold else 0.0
        f1 = 200 * self.right / (self.found + self.gold) if self.right else 0.0
        return {"p": round(precision, 2), "r": round(recall, 2), "f1": round(f1, 2), "pairs": self.gold}


def _fold_all(pairs: Iterable[Pair]) -> set[Pair]:
    return {(_fold(short), _fold(long)) for short, long in pairs}


def _fold(text: str) -> str:
    return " ".join(text.lower().split())


def _count_alike(gold: Iterable[Pair], found: Iterable[Pair]) -> int:
    """RETURNS (int): how many of the gold pairs are leniently found, each by another of the pairs found."""
    left, count = sorted(found), 0
    for pair in sorted(gold):
        alike = next((other for other in left if _alike(pair, other)), None)
        if alike is not None:
            left.remove(alike)
            count += 1
    return count


def _alike(a: Pair, b: Pair) -> bool:
    if _letters(a[0]) != _letters(b[0]):
        return False
    words_a, words_b = _words(a[1]), _words(b[1])
    shared, all_words = set(words_a) & set(words_b), set(words_a) | set(words_b)
    return words_a == words_b or len(shared) >= MIN_OVERLAP * len(all_words)


def _letters(short: str) -> str:
    return "".join(filter(str.isalnum, short))


def _words(long: str) -> Sequence[str]:
    return list(dropwhile(STOP_WORDS.__contains__, re.findall(r"[^\W_]+", long)))


def _errors(record: AbbreviationRecord, gold: set[Pair], found: set[Pair]) -> Iterable[tuple[str, dict[str, str]]]:
    """Yield the cause and the place of each error; a wrong long form of a gold short form is one error, not two."""
    wrong = dict(sorted(found - gold))
    for short, long in sorted(gold - found):
        error = {"pmid": record.pmid, "short": short, "long": long}
        if short in wrong:
            yield "wrong long form", {**error, "found": wrong[short]}
        else:
            yield _why_missed(short, long, _fold(record.text)), error
    missed = {short for short, _ in gold - found}
    for short, long in sorted(found - gold):
        if short not in missed:
            yield "not defined there", {"pmid": record.pmid, "short": short, "long": long}


def _why_missed(short: str, long: str, text: str) -> str:
    if long not in text:
        return "long form not in one piece"
    if not _is_in_order(_letters(short), long):
        return "letters missing or in another order"
    gaps = [(bracket, blank) for bracket in "([" for blank in ("", " ")]  # blanks are folded
    if not any(bracket + blank + short in text or short + blank + bracket in text for bracket, blank in gaps):
        return "no bracket"
    return "words between, or another form of the definition"


def _is_in_order(letters: str, long: str) -> bool:
    rest = iter(long)
    return all(letter in rest for letter in letters)
