"""How well definitions of abbreviations are found, against a corpus such as MED1250."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..corpora.med1250 import AbbreviationRecord, Pair
from ..metrics.abbreviations import compare_leniently, fold, fold_pairs, letters
from ..metrics.counts import SetCounts, compare_sets, micro, total
from ..text.abbreviations import find_definitions
from ..text.long_forms import STOP_WORDS

Find = Callable[[str], Iterable[Pair]]


def find_pairs(text: str) -> list[Pair]:
    """Return the short and long forms of `find_definitions`."""
    return [(definition.short, definition.long) for definition in find_definitions(text)]


def evaluate_abbreviations(records: Iterable[AbbreviationRecord], find: Find = find_pairs) -> dict[str, Any]:
    """Compare the pairs found in each record with its gold pairs: unique ones, with case and blanks folded.

    Pairs of synonyms count neither way. Lenient: the short forms are the same letters and digits, and the long forms
    are the same without punctuation and stop words at their start, or have a Jaccard overlap of words of at least 0.5;
    each gold pair is found once.

    Args:
        records: as `read_med1250` gives them.
        find: from a text to pairs of a short and a long form.

    Returns:
        dict: percentages `p`, `r`, `f1` (0 where there is nothing to divide by) and the number of gold `pairs`;
            `lenient`: the same; `errors`: lists by cause, with `pmid`, `short`, `long` and, where another long form was
            found for a gold short form, `found`.
    """
    strict: list[SetCounts] = []
    lenient: list[SetCounts] = []
    errors: dict[str, list[dict[str, str]]] = {}
    for record in records:
        gold = fold_pairs(record.pairs)
        found = fold_pairs(find(record.text)) - fold_pairs(record.synonyms)
        strict.append(compare_sets(gold, found))
        lenient.append(compare_leniently(gold, found, STOP_WORDS))
        for cause, error in _errors(record, gold, found):
            errors.setdefault(cause, []).append(error)
    return {**_scores(strict), "lenient": _scores(lenient), "errors": dict(sorted(errors.items()))}


def _scores(counts: Sequence[SetCounts]) -> dict[str, Any]:
    return {**micro(counts), "pairs": total(counts).gold}


def _errors(record: AbbreviationRecord, gold: set[Pair], found: set[Pair]) -> Iterable[tuple[str, dict[str, str]]]:
    """Yield the cause and the place of each error; a wrong long form of a gold short form is one error, not two."""
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
    gaps = [(bracket, blank) for bracket in "([" for blank in ("", " ")]  # blanks are folded
    if not any(bracket + blank + short in text or short + blank + bracket in text for bracket, blank in gaps):
        return "no bracket"
    return "words between, or another form of the definition"


def _is_in_order(wanted: str, long: str) -> bool:
    rest = iter(long)
    return all(letter in rest for letter in wanted)
