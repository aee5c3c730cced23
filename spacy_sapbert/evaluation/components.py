"""Measure the rules that find abbreviations, split composites, and find names of the vocabulary in texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import dropwhile
from typing import Any

from ..documents.pubtator import AbbreviationRecord, Pair
from ..metrics.counts import SetCounts, compare_sets, micro, percent, ratio, total
from ..text.abbreviations import find_definitions
from ..text.composites import composite_splits
from ..text.languages import ENGLISH
from ..text.normalize import lower
from ..types import Mention

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
    scores, lenient_scores = ({**micro(counts), "pairs": total(counts).gold} for counts in (strict, lenient))
    return {**scores, "lenient": lenient_scores, "errors": dict(sorted(errors.items()))}


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
            yield "missed", error
    missed = {short for short, _ in gold - found}
    for short, long in sorted(found - gold):
        if short not in missed:
            yield "not defined there", {"pmid": record.pmid, "short": short, "long": long}


def fold_pairs(pairs: Iterable[Pair]) -> set[Pair]:
    """Return the pairs with case and blanks folded."""
    return {(lower(short), lower(long)) for short, long in pairs}


def compare_leniently(gold: set[Pair], found: set[Pair], stop_words: Collection[str]) -> SetCounts:
    """Count the pairs from `fold_pairs` that are equal, or leniently the same; see `evaluate_abbreviations`."""
    exact, left = compare_sets(gold, found), sorted(found - gold)
    n_similar = 0
    for pair in sorted(gold - found):
        similar = next((other for other in left if _is_similar(pair, other, stop_words)), None)
        if similar is not None:  # each found pair counts once
            left.remove(similar)
            n_similar += 1
    return exact._replace(hits=exact.hits + n_similar)


def _is_similar(a: Pair, b: Pair, stop_words: Collection[str]) -> bool:
    letters_a, letters_b = ("".join(filter(str.isalnum, short)) for short, _ in (a, b))
    words_a, words_b = (list(dropwhile(stop_words.__contains__, re.findall(r"[^\W_]+", long))) for _, long in (a, b))
    shared, all_words = set(words_a) & set(words_b), set(words_a) | set(words_b)
    return letters_a == letters_b and (words_a == words_b or len(shared) >= 0.5 * len(all_words))


Split = Callable[[str], Sequence[str]]
"""Returns the parts of a mention's text, or no parts if it is not split."""

SPANS_KEY = "composites"

_CONNECTOR = re.compile(r"\b(?:and|or)\b|[,/]", re.IGNORECASE)


def first_split(text: str) -> Sequence[str]:
    """Return the parts of the most likely split, judged by the words alone."""
    return next(iter(composite_splits(text)), ())


def decide_by(kb: str, encoder: str = "starter") -> Split:
    """Return a function that splits a text as a linker with a vocabulary decides, each text on its own."""
    from spacy.tokens import Span

    from ..pipeline.factories import LINKER
    from ..pipeline.tokenizer import blank_pipeline

    nlp = blank_pipeline("en")
    splitter: Any = nlp.add_pipe("composite_splitter", config={"spans_key": SPANS_KEY})
    linker: Any = nlp.add_pipe(LINKER, config={"kb": kb, "encoder": encoder, "spans_key": SPANS_KEY})
    assert linker.linker  # opens it now, so that errors come before the corpus is read

    def split(text: str) -> Sequence[str]:
        doc = nlp.make_doc(text)
        doc.spans[SPANS_KEY] = [Span(doc, 0, len(doc))]
        ((parts,),) = linker.predict([splitter(doc)])
        return [part.text for part in parts] if len(parts) > 1 else []

    return split


def evaluate_composites(
    mentions: Iterable[Mention], split: Split = first_split, decide: Split | None = None
) -> dict[str, Any]:
    """Compare the parts of each mention with its gold parts. The number of gold ids is not used.

    Parts are compared as a set, with case and blanks folded. A mention that is not split has no predicted parts.
    Corpora also annotate parts of mentions without a coordination ("hemorrhagic cystitis"), so there are two groups.

    Args:
        mentions: The mentions of the types to measure.
        split: Splits by the words alone.
        decide: Makes the final decision, such as the result of `decide_by`.

    Returns:
        The groups `connector` and `no_connector`, `wrong_splits` and `errors`, and with `decide` also `decided`. Both
        groups have mentions with gold parts, with or without "and", "or", a comma or a slash. A group has the count `n`
        and the percentages `exact` (all parts right), `part_p`, `part_r` and `part_f1` (0 if the denominator is 0).
        `decided` is the group `connector` after `decide`. `wrong_splits` counts `n` split mentions `of` those with a
        connector, at most one id and no gold parts. They are split by `decide` if given, or else by `split`. `errors`
        has the texts of wrong mentions in `connector` and `wrong_splits`, with gold and predicted parts.
    """
    connector, no_connector, decided, singles = _Group(), _Group(), _Group(), _Group()
    for mention in mentions:
        has_connector = _CONNECTOR.search(mention.text) is not None
        if mention.parts:
            (connector if has_connector else no_connector).add(mention, split(mention.text))
        if has_connector and (mention.parts or len(mention.ids) <= 1):
            (decided if mention.parts else singles).add(mention, (decide or split)(mention.text))
    return {
        "connector": connector.report(),
        "no_connector": no_connector.report(),
        "wrong_splits": {"n": len(singles.errors), "of": len(singles.counts)},
        **({"decided": decided.report()} if decide else {}),
        "errors": {"connector": connector.errors, "wrong_splits": singles.errors},
    }


class _Group:
    def __init__(self) -> None:
        self.counts: list[SetCounts] = []
        self.errors: list[dict[str, Any]] = []

    def add(self, mention: Mention, predicted: Sequence[str]) -> None:
        gold, folded = ({" ".join(part.casefold().split()) for part in parts} for parts in (mention.parts, predicted))
        self.counts.append(compare_sets(gold, folded))
        if gold != folded:
            self.errors.append({"text": mention.text, "gold": list(mention.parts), "predicted": list(predicted)})

    def report(self) -> dict[str, Any]:
        """Return the count `n` of mentions, and the percentages `exact`, `part_p`, `part_r` and `part_f1`."""
        n, parts = len(self.counts), {f"part_{name}": value for name, value in micro(self.counts).items()}
        return {"n": n, "exact": percent(ratio(n - len(self.errors), n)), **parts}
