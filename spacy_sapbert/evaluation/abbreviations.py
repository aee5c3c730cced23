"""Measure how well abbreviation definitions are found, on a corpus such as MED1250."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..documents.med1250 import AbbreviationRecord, Pair
from ..metrics.abbreviations import compare_leniently, fold, fold_pairs, letters
from ..metrics.counts import SetCounts, compare_sets, micro, total
from ..text.abbreviations import find_definitions
from ..text.languages import ENGLISH

Find = Callable[[str], Iterable[Pair]]


def find_pairs(text: str) -> list[Pair]:
    """Return the short and long forms that `find_definitions` finds."""
    return [(definition.short, definition.long) for definition in find_definitions(text)]


def evaluate_abbreviations(records: Iterable[AbbreviationRecord], find: Find = find_pairs) -> dict[str, Any]:
    """Compare the abbreviation pairs found in each record with its gold pairs.

    Pairs are unique in a record, with case and blanks folded. Pairs of synonyms count neither as right nor as wrong.

    Two pairs are leniently the same if both conditions hold. Their short forms have the same letters and digits. Their
    long forms are equal without punctuation and leading stop words, or have a Jaccard overlap of words of at least 0.5.
    Each gold pair is found at most once.

    Args:
        records: Records from `read_med1250`.
        find: A function that finds the pairs of a short and a long form in a text.

    Returns:
        The percentages `p`, `r` and `f1` (0 if the denominator is 0), and the number of gold `pairs`. `lenient` has the
        same keys. `errors` lists errors by cause, with `pmid`, `short` and `long`. An error also has `found` if a gold
        short form got another long form.
    """
    strict: list[SetCounts] = []
    lenient: list[SetCounts] = []
    errors: dict[str, list[dict[str, str]]] = {}
    for record in records:
        gold = fold_pairs(record.pairs)
        found = fold_pairs(find(record.text)) - fold_pairs(record.synonyms)
        strict.append(compare_sets(gold, found))
        lenient.append(compare_leniently(gold, found, ENGLISH.abbreviations.stop_words))
        for cause, error in _errors(record, gold, found):
            errors.setdefault(cause, []).append(error)
    return {**_scores(strict), "lenient": _scores(lenient), "errors": dict(sorted(errors.items()))}


def _scores(counts: Sequence[SetCounts]) -> dict[str, Any]:
    return {**micro(counts), "pairs": total(counts).gold}


def _errors(record: AbbreviationRecord, gold: set[Pair], found: set[Pair]) -> Iterable[tuple[str, dict[str, str]]]:
    """Yield the cause and the position of each error.

    A wrong long form of a gold short form is one error, not two.
    """
    wrong = dict(sorted(found - gold))
    for short, long in sorted(gold - found):
        error = {"pmid": record.pmid, "short": short, "long": long}
        if short in wrong:
            yield "wrong long form", {**error, "found": wrong[short]}
        else:
            yield _why_missed(short, long, fold(record.text)), error
    missed = {short for short, _ in gold - found}
    for short, long in sorted(found - gold):
        if short not in missed:
            yield "not defined there", {"pmid": record.pmid, "short": short, "long": long}


def _why_missed(short: str, long: str, text: str) -> str:
    if long not in text:
        return "long form not in one piece"
    if not _is_in_order(letters(short), long):
        return "letters missing or in another order"
    gaps = [(bracket, blank) for bracket in "([" for blank in ("", " ")]  # folding leaves at most one blank
    if not any(bracket + blank + short in text or short + blank + bracket in text for bracket, blank in gaps):
        return "no bracket"
    return "words between, or another form of the definition"


def _is_in_order(short: str, long: str) -> bool:
    rest = iter(long)
    return all(letter in rest for letter in short)
