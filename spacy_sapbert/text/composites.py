"""Split composite mentions into single mentions: "breast and ovarian cancer" → "breast cancer", "ovarian cancer".

The conjuncts of a composite mention share words that are written once. These may be the first words of the first
conjunct ("atrial fibrillation and flutter") or the last words of the last one ("breast and ovarian cancer"). They may
also be both. Each pair of lengths gives one split. `spacy_sapbert.text.coordination` says how plausible it is.

Conjuncts may also share a part of a word, which a number, a letter or a Roman numeral ends: "ERK1/2", "IL-1α and β".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby, pairwise, product
from math import inf
from operator import itemgetter
from typing import NamedTuple

from .coordination import Cut, Words, cost, word_class
from .languages import ENGLISH, LanguageRules
from .languages.rules import CompositeRules

# Real mentions are far below these limits, which bound the work on hostile text.
MAX_CHARACTERS = 1000
MAX_WORDS = 40
MAX_CONJUNCTS = 12
# A split that costs this much more than the best one is dropped: "of the bladder" for "cancer of the bladder".
_MARGIN = 3.0
# A part of a list shares words only if these phrases are as parallel as this.
_PARALLEL = 0.5

_RUN_END = re.compile(r"(?<![\w'′’-])[\w'′’-]+$")
_RUN_START = re.compile(r"[\w'′’-]+")
_LAST_BRACKET = re.compile(r"(?:^|\s)[(\[]([^()\[\]]*)[)\]]$")
_BARE_LOCANT = re.compile(r"(?:\d+|[A-Za-z])['′]*,")
_LOCANT = re.compile(r"(?:\d+|[A-Za-z])['′]*-")
_OPENING = frozenset("([{")
_HYPHENS = "-‐‑–"
_OPEN_END = re.compile(rf"(?<=\w)[{_HYPHENS}]+$")
_OPEN_START = re.compile(rf"^[{_HYPHENS}]+(?=\w)")
_SMALL_AFTER_HYPHEN = re.compile(rf"(?<=\w)[{_HYPHENS}](?=[a-z]{{3}})")
_INNER_HYPHEN = re.compile(rf"(?<=\w)[{_HYPHENS}](?=\w)")
_AFTER_LETTER = rf"(?:(?<=[^\W\d_])|(?<=[^\W\d_][{_HYPHENS}]))"
_RANGE = re.compile(rf"{_AFTER_LETTER}(\d{{1,2}})[{_HYPHENS}](\w*?)(\d{{1,2}})$")
_MAY_BE_RANGE = re.compile(rf"\d[{_HYPHENS}]\S*\d")


class _Numbering(NamedTuple):
    """Patterns of what numbers the members of a series: at the end of a word, at its beginning, and alone."""

    end: re.Pattern[str]
    start: re.Pattern[str]


def _numbering(form: str, not_before: str) -> _Numbering:
    return _Numbering(re.compile(rf"(?<!{not_before})(?:{form})$"), re.compile(rf"(?:{form})(?![^\W_])"))


_GREEK = "[α-ω]|alpha|beta|gamma|delta|epsilon|zeta|kappa"
_LATIN = r"[^\W\d_]"
_NUMBERINGS = (
    _numbering(r"\d{1,3}[A-Za-z]?", r"[\d.,]"),
    _numbering(r"\d{1,2}[A-Z]\d{1,2}", r"[\d.,]"),
    _numbering(r"[A-Z]\d{1,3}", _LATIN),
    _numbering("[IVX]+", _LATIN),
    _numbering("[A-Z]", _LATIN),
    _numbering("[a-z]", _LATIN),
    _numbering(rf"(?:{_GREEK})\d?", "[α-ω]"),
)
_LONGEST_NUMBER = 6  # with a comma and a blank
_NUMBER = re.compile(rf"\d+(?:[A-Za-z](?![^\W_]))?|(?:{_GREEK})(?!{_LATIN})|(?<![^\W_])(?:[IVX]+|{_LATIN})(?![^\W_])")


def composite_splits(text: str, *, max_splits: int = 6, rules: LanguageRules = ENGLISH) -> list[tuple[str, ...]]:
    """Return the possible splits of a composite mention into single mentions, the most plausible first.

    The whole mention is not a split. A text without a connector has no split. Neither has a text beyond
    `MAX_CHARACTERS`, `MAX_WORDS` or `MAX_CONJUNCTS`. Parts keep the words and the case of the text. Only what a hyphen
    omits is filled in ("hyper- or hypotension").

    Args:
        max_splits: The most splits to return.
    """
    if len(text) > MAX_CHARACTERS or not _may_join(text, rules.composites):
        return []
    return list(_composite_splits(text, rules.composites))[:max_splits]


def _may_join(text: str, rules: CompositeRules) -> bool:
    """Return quickly whether a text may have a connector other than a comma, or end in a series of numbers."""
    if text.rfind(",") + _LONGEST_NUMBER > len(text) or _MAY_BE_RANGE.search(text):  # "hepatitis A, B", "SCA1-3"
        return True
    lower = f" {text.lower()} "
    if not text.isprintable():  # other blanks, such as a line break
        lower = f" {' '.join(lower.split())} "
    return any(part in lower for part in rules.parts_of_connectors)


def differ_in_numbers(parts: Sequence[str]) -> bool:
    """Return whether parts differ only in numbers or single letters, as "SCA1" and "SCA2" do."""
    stems = {_NUMBER.sub("", part).strip() for part in parts}
    return len(stems) == 1 and "" not in stems


@lru_cache(maxsize=1 << 12)  # documents repeat their mentions
def _composite_splits(text: str, rules: CompositeRules) -> tuple[tuple[str, ...], ...]:
    tokens = _tokens(text, rules)
    conjuncts = _fill_omissions(_conjuncts(tokens, rules) or _conjuncts(_without_bracket(tokens, rules), rules), rules)
    ranked = [(value, _parts(cut)) for value, cut in _plausible(_cuts(conjuncts, rules))]
    ranked = sorted([*ranked, *_lists(conjuncts, rules)], key=itemgetter(0))
    ranked[1:1] = [(0.0, parts) for parts in _nested(tokens, rules)]
    splits: dict[frozenset[str], tuple[str, ...]] = {}
    for _, found in ranked:
        parts = tuple(dict.fromkeys(found))
        # "A/T" and "1/2" say nothing of a series
        if len(parts) > 1 and not ("/" in text and all(map(_NUMBER.fullmatch, parts))):
            splits.setdefault(frozenset(parts), parts)
    return tuple(splits.values())


def _plausible(cuts: Iterable[Cut]) -> list[tuple[float, Cut]]:
    """Return the cuts that cost at most `_MARGIN` more than the best one, the best first, with their costs."""
    lowest = inf
    ranked = []
    for cut in cuts:
        value = cost(cut, lowest + _MARGIN)
        if value < lowest + _MARGIN:
            lowest = min(lowest, value)
            ranked.append((value, cut.after, cut.before, cut))
    return [(value, cut) for value, _, _, cut in sorted(ranked) if value < lowest + _MARGIN]


def _lists(conjuncts: tuple[Words, ...], rules: CompositeRules) -> Iterator[tuple[float, list[str]]]:
    """Yield splits of lists of which only some share words, with their costs: "fever, joint and muscle pain"."""
    for start, end in [(start, len(conjuncts)) for start in range(1, len(conjuncts) - 1)] + [
        (0, end) for end in range(2, len(conjuncts))
    ]:
        alone = conjuncts[:start] + conjuncts[end:]
        classes = {word_class(words[-1], rules) for words in alone}
        if not rules.head_first and classes <= {"noun", "condition"}:
            cuts = (cut for cut in _cuts(conjuncts[start:end], rules) if cut.after and not cut.before)
            value, cut = next(iter(_plausible(cuts)), (inf, None))
            if cut and value <= _PARALLEL:
                ahead, behind = ([_joined(words, rules) for words in some] for some in (alone[:start], alone[start:]))
                plain = "noun" in classes or word_class(cut.suffix[-1], rules) == "noun"
                yield value + plain, [*ahead, *_parts(cut), *behind]


def _nested(tokens: Sequence[str], rules: CompositeRules) -> Iterator[list[str]]:
    """Yield splits of two coordinations: "acute or chronic liver and kidney failure" has four parts."""
    positions = [position for position, token in enumerate(tokens) if _is_connector(token, rules)]
    if len(positions) != 2 or len(tokens) > MAX_WORDS // 2 or any(tokens[position] in ",/" for position in positions):
        return
    for position in positions:
        conjuncts = (tuple(tokens[:position]), tuple(tokens[position + 1 :]))
        for _, cut in _plausible(_cuts(conjuncts if all(conjuncts) else (), rules))[:1]:
            inner = [next(iter(_composite_splits(part, rules)), ()) for part in _parts(cut)]
            if all(inner):
                yield list(chain.from_iterable(inner))


# --- from text to words and connectors


def _tokens(text: str, rules: CompositeRules) -> list[str]:
    """Split a text into words and connectors. A fixed pair ("head and neck") is one word."""
    text = rules.elided.sub(r"\g<0> ", text) if rules.elided else text
    tokens = [token for word, following in pairwise([*_words(text), ""]) for token in _split(word, following, rules)]
    tokens = [token for token in tokens if token.lower() not in rules.announcers]
    joined: list[str] = []
    while tokens:
        size = next((size for size in (3, 2) if " ".join(tokens[:size]).lower() in rules.phrases), 1)
        joined.append(" ".join(tokens[:size]))
        del tokens[:size]
    return joined


def _words(text: str) -> list[str]:
    """Split a text at whitespace. "septal (VSD)" and "N, N'-dimethyl" are one word each."""
    words: list[str] = []
    depth = 0
    for chunk in text.split():
        if words and (depth or chunk[0] in _OPENING or (_LOCANT.match(chunk) and _BARE_LOCANT.fullmatch(words[-1]))):
            words[-1] += " " + chunk
        else:
            words.append(chunk)
        depth = max(0, depth + sum((char in _OPENING) - (char in ")]}") for char in chunk))
    return words


def _split(word: str, following: str, rules: CompositeRules) -> list[str]:
    # the comma in "ataxia, type 1" does not separate conjuncts
    bare = word if rules.classifier.fullmatch(following) else word.rstrip(", ")
    tokens = _split_slashes(bare, rules) if bare else []
    return tokens if bare == word else [*tokens, ","]


def _split_slashes(word: str, rules: CompositeRules) -> list[str]:
    pieces = _pieces(word)
    if len(pieces) == 1 or word.lower() in rules.connectors or not _OPENING.isdisjoint(word):
        return [word]
    # If one slash is within a name ("dibenzo/b,f/azepine"), the others are part of that name, too.
    if members := _split_numbers(pieces):
        return members
    if not all(_separates(left, right) or rules.classifier.fullmatch(right) for left, right in pairwise(pieces)):
        return [word]
    return [token for token in re.split("(/)", word) if token]


def _pieces(word: str) -> list[str]:
    """Return the pieces between slashes, or those of a range: "SCA1", "2" and "3" for "SCA1-3" or "SCA1-SCA3"."""
    bounds = _RANGE.search(word)
    if bounds and bounds[2] in ("", word[: bounds.start()]):
        first, last = int(bounds[1]), int(bounds[3])
        if 0 < last - first < MAX_CONJUNCTS:
            return [word[: bounds.end(1)], *map(str, range(first + 1, last + 1))]
    return word.split("/")


def _separates(left: str, right: str) -> bool:
    """Return whether a slash stands between words, not next to a number or a single letter. Empty sides are ignored."""
    before, after = _RUN_END.search(left), _RUN_START.match(right)
    runs = [run[0] if run else "" for run, side in ((before, left), (after, right)) if side]
    return all(len(run) > 1 and any(char.isalpha() for char in run) for run in runs)


def _without_bracket(tokens: list[str], rules: CompositeRules) -> list[str]:
    """Return the tokens with those of the last bracket: "deficiencies C2 and C7" for "deficiencies (C2 and C7)"."""
    bracket = _LAST_BRACKET.search(tokens[-1]) if tokens else None
    return [*tokens[:-1], *_tokens(f"{tokens[-1][: bracket.start()]} {bracket[1]}", rules)] if bracket else tokens


def _split_numbers(pieces: list[str]) -> list[str]:
    """Split a series at its slashes: "17α/β-estradiol" into "17α-estradiol" and "17β-estradiol"."""
    first, *inner, last = pieces
    for numbering in _NUMBERINGS:
        start, end = numbering.end.search(first), numbering.start.match(last.lstrip(_HYPHENS))
        if start and end and all(numbering.start.fullmatch(piece.lstrip(_HYPHENS)) for piece in inner):
            rest = end.string[end.end() :]
            numbers = (start[0], *(piece.lstrip(_HYPHENS) for piece in inner), end[0])
            members = [f"{first[: start.start()]}{number}{rest}" for number in numbers]
            return [token for member in members for token in ("/", member)][1:]
    return []


def _is_connector(token: str, rules: CompositeRules) -> bool:
    # a capital is not a connector: "hepatitis A y E"
    return (token if len(token) == 1 else token.lower()) in rules.connectors


# --- from words to conjuncts


def _conjuncts(tokens: list[str], rules: CompositeRules) -> tuple[Words, ...]:
    """Return the conjuncts, or none if the text has too many words or only commas.

    A comma alone joins nothing but numbers ("hepatitis A, B"). It inverts names ("Emerin, deficiency") and separates
    adjectives ("sudden, unexplained death"). In a list that ends with ", and", the commas separate the conjuncts, and
    an "and" without a comma stays inside.
    """
    runs = [tuple(run) for _, run in groupby(tokens, key=lambda token: _is_connector(token, rules))]
    runs = runs[1:] if runs and _is_connector(runs[0][0], rules) else runs
    words, separators = runs[::2], runs[1 : len(runs) - 1 : 2]
    if len(tokens) > MAX_WORDS or not separators:
        return ()
    if all(set(separator) == {","} for separator in separators) and not _is_series(words):
        return ()
    if separators[0] == (",",) and len(words) == 3 and _is_inverted(words, rules):
        return (words[0] + words[1], words[2])
    serial = any("," in separator and len(separator) > 1 for separator in separators)
    conjuncts = [words[0]]
    for separator, conjunct in zip(separators, words[1:], strict=True):
        if serial and "," not in separator:
            conjuncts[-1] += separator + conjunct
        else:
            conjuncts.append(conjunct)
    return tuple(conjuncts) if 1 < len(conjuncts) <= MAX_CONJUNCTS else ()


def _is_inverted(words: Sequence[Words], rules: CompositeRules) -> bool:
    """Return whether what follows a noun and a comma belongs to it: "disability, mild or moderate", "receptors, B1"."""
    first, *others = (word_class(part[-1], rules) for part in words)
    are_numbers = any(_numberings(words)) and not _is_series(words)
    return first in ("noun", "condition") and (are_numbers or set(others) <= {"adjective", "qualifier"})


def _is_series(conjuncts: Sequence[Words]) -> bool:
    """Return whether the first conjunct ends in a number, and the others are numbers of the same kind."""
    return any(numbering.end.search(conjuncts[0][-1]) for numbering in _numberings(conjuncts))


def _numberings(conjuncts: Sequence[Words]) -> Iterator[_Numbering]:
    """Yield the kinds of numbers that all conjuncts but the first are."""
    for numbering in _NUMBERINGS:
        if all(len(words) == 1 and numbering.start.fullmatch(words[0].lstrip(_HYPHENS)) for words in conjuncts[1:]):
            yield numbering


def _fill_omissions(conjuncts: tuple[Words, ...], rules: CompositeRules) -> tuple[Words, ...]:
    """Fill in what is left out: "hyper-" before "hypotension", "-related" after "drug-induced", "2" after "BRCA1"."""
    filled: list[Words] = []
    for position, words in enumerate(conjuncts):
        if position < len(conjuncts) - 1 and (_OPEN_END.search(words[-1]) or _is_prefix(words[-1], rules)):
            words = (*words[:-1], _with_ending(words[-1], conjuncts[-1], rules))
        if position and _OPEN_START.match(words[0]):
            words = (_with_beginning(words[0], conjuncts[0], rules), *words[1:])
        if position:
            words = (_with_stem(words[0], filled[-1][-1]), *words[1:])
        filled.append(words)
    return tuple(filled)


def _is_prefix(word: str, rules: CompositeRules) -> bool:
    """Return whether a word is a prefix without its hyphen, as in "hyper and hypotension"."""
    prefix = rules.prefix.match(f"{word}aaa")
    return prefix is not None and prefix.end() == len(word)


def _with_stem(word: str, previous: str) -> str:
    """Return a number after the stem of the previous word: "BRCA2" for "2" after "BRCA1"."""
    if word != "a":  # an article
        for numbering in _NUMBERINGS:
            if numbering.start.fullmatch(word) and (end := numbering.end.search(previous)):
                return previous[: end.start()] + word
    return word


def _with_ending(word: str, donors: Words, rules: CompositeRules) -> str:
    stem = _OPEN_END.sub("", word)
    for donor in donors:
        if (hyphens := list(_INNER_HYPHEN.finditer(donor))) and not _is_proper(donor, hyphens[0].end(), donors):
            # "Typ-1- und Typ-2-Diabetes": compounds may have several
            own = len(_INNER_HYPHEN.findall(stem)) if rules.head else 0
            return stem + donor[hyphens[min(own, len(hyphens) - 1)].start() :]
        # "Panik" does not begin with "pan" after "Angst-"
        is_prefix = rules.head is None or _is_prefix(stem, rules)
        if form := (is_prefix and rules.prefix.match(donor)) or (
            stem.endswith("o") and rules.combining_form.match(donor)
        ):
            return stem + donor[form.end() :]
        if rules.head and (head := rules.head.search(donor)):
            return stem + donor[head.start() :]
    return stem


def _is_proper(word: str, start: int, words: Words) -> bool:
    """Return whether a hyphen joins names, as in "Hippel-Lindau", and another word has one before a small letter."""
    return word[start].isupper() and any(_SMALL_AFTER_HYPHEN.search(other) for other in words if other != word)


def _with_beginning(word: str, donors: Words, rules: CompositeRules) -> str:
    ending = _OPEN_START.sub("", word)
    for donor in reversed(donors):
        if hyphens := list(_INNER_HYPHEN.finditer(donor)):
            return donor[: hyphens[-1].end()] + ending
        if rules.head and (head := rules.head.search(donor)):
            return donor[: head.start()] + ending
    return ending


# --- from conjuncts to splits


def _cuts(conjuncts: tuple[Words, ...], rules: CompositeRules) -> list[Cut]:
    """Return every cut in which each conjunct keeps at least one word of its own."""
    if not conjuncts:
        return []
    shared = product(range(len(conjuncts[0])), range(len(conjuncts[-1])))
    return [Cut(conjuncts, before, after, rules) for before, after in shared]


def _parts(cut: Cut) -> list[str]:
    parts = []
    for position, own in enumerate((cut.opening, *cut.conjuncts[1:-1], cut.closing)):
        words = [word for word in (*cut.prefix, *own, *cut.suffix) if word.lower() not in cut.rules.others]
        while position and not cut.before and words and word_class(words[0], cut.rules) == "determiner":
            del words[0]
        if words:
            parts.append(_joined(words, cut.rules))
    return parts


def _joined(words: Iterable[str], rules: CompositeRules) -> str:
    if rules.elided is None:
        return " ".join(words)
    # no blank after "l'"
    return "".join(word if rules.elided.match(f"{word}a") else f"{word} " for word in words).rstrip()
