"""Composite mentions: the single mentions that "breast and ovarian cancer" may stand for.

The conjuncts of a composite mention share words that are written once: the first words of the first conjunct
("atrial fibrillation and flutter"), the last words of the last one ("breast and ovarian cancer"), or both. Every pair
of lengths gives one reading; `spacy_sapbert.text.coordination` says how plausible it is.
"""

from __future__ import annotations

import re
from itertools import groupby, pairwise, product

from .coordination import Cut, Words, cost, word_class

# No mention comes near these; they bound the work that a hostile text can cause.
MAX_CHARACTERS = 1000
MAX_WORDS = 40
MAX_CONJUNCTS = 12
# A reading that costs so much more than the best one is none: "of the bladder" for "cancer of the bladder".
_MARGIN = 3.0

_LONG_CONNECTORS = frozenset(("as well as", "but not", "but also", "and also", "and not"))
_CONNECTORS = _LONG_CONNECTORS | {"and", "or", "nor", "&", "/", ",", "and/or", "or/and"}
_FIXED_PAIRS = frozenset(("head and neck", "head & neck", "foot and mouth", "nose and throat"))
_PHRASES = _LONG_CONNECTORS | _FIXED_PAIRS
# These announce the list or its last member; a single mention does without them.
_ANNOUNCERS = frozenset(("both", "either", "neither", "some", "any", "various", "several"))
_CLASSIFIER = re.compile(r"(?:type|grade|stage|form|group|class)(?:e?s)?", re.IGNORECASE)
_RUN_END = re.compile(r"(?<![\w'′’-])[\w'′’-]+$")
_RUN_START = re.compile(r"[\w'′’-]+")
_BARE_LOCANT = re.compile(r"(?:\d+|[A-Za-z])['′]*,")
_LOCANT = re.compile(r"(?:\d+|[A-Za-z])['′]*-")
_HYPHENS = "-‐‑–"
_OPEN_END = re.compile(rf"(?<=\w)[{_HYPHENS}]+$")
_OPEN_START = re.compile(rf"^[{_HYPHENS}]+(?=\w)")
_INNER_HYPHEN = re.compile(rf"(?<=\w)[{_HYPHENS}](?=\w)")
_PREFIX = re.compile(
    "(?:hyper|hypo|normo|intra|extra|inter|infra|supra|trans|retro|ultra|pre|post|peri|para|sub|epi|endo|exo|anti|ante"
    "|dys|uni|bi|tri|tetra|quadri|hemi|mono|oligo|poly|multi|pan|micro|macro|tachy|brady|an(?=uri))(?=[a-z]{3})",
    re.IGNORECASE,
)
# "nephro" of "nephrotoxicity", after "hepato-"
_COMBINING_FORM = re.compile("[a-z]{2,7}?o(?=[a-z]{4})", re.IGNORECASE)


def composite_splits(text: str, *, max_splits: int = 6) -> list[tuple[str, ...]]:
    """The possible single mentions of a composite mention, the most plausible reading first.

    The whole is no reading of itself. A text without a connector has none, and neither has one beyond
    `MAX_CHARACTERS`, `MAX_WORDS` or `MAX_CONJUNCTS`. Parts keep the text's own words and case; only what a hyphen
    leaves out is filled in ("hyper- or hypotension").
    """
    if len(text) > MAX_CHARACTERS:
        return []
    ranked = sorted((cost(cut), cut.after, cut.before, cut) for cut in _cuts(_filled_in(_conjuncts(_tokens(text)))))
    found: dict[tuple[str, ...], None] = {}
    for value, _, _, cut in ranked:
        parts = tuple(dict.fromkeys(_parts(cut)))
        if len(parts) > 1 and value < ranked[0][0] + _MARGIN:
            found.setdefault(parts)
    return list(found)[:max_splits]


# --- from text to words and connectors


def _tokens(text: str) -> list[str]:
    """Words and connectors; a fixed pair ("head and neck") is one word."""
    tokens = [token for word, following in pairwise([*_words(text), ""]) for token in _split(word, following)]
    tokens = [token for token in tokens if token.lower() not in _ANNOUNCERS]
    joined: list[str] = []
    while tokens:
        size = next((size for size in (3, 2) if " ".join(tokens[:size]).lower() in _PHRASES), 1)
        joined.append(" ".join(tokens[:size]))
        del tokens[:size]
    return joined


def _words(text: str) -> list[str]:
    """Words between blanks; "septal (VSD)" and "N, N'-dimethyl" are one word each."""
    words: list[str] = []
    depth = 0
    for chunk in text.split():
        if words and (depth or chunk[0] in "([{" or (_LOCANT.match(chunk) and _BARE_LOCANT.fullmatch(words[-1]))):
            words[-1] += " " + chunk
        else:
            words.append(chunk)
        depth = max(0, depth + sum((char in "([{") - (char in ")]}") for char in chunk))
    return words


def _split(word: str, following: str) -> list[str]:
    # the comma of "ataxia, type 1" separates no conjuncts
    bare = word if _CLASSIFIER.fullmatch(following) else word.rstrip(", ")
    tokens = _split_slashes(bare) if bare else []
    return tokens if bare == word else [*tokens, ","]


def _split_slashes(word: str) -> list[str]:
    if "/" not in word or word.lower() in _CONNECTORS or any(bracket in word for bracket in "([{"):
        return [word]
    # One slash within a name ("dibenzo/b,f/azepine") makes the others part of that name too.
    if not all(_separates(left, right) for left, right in pairwise(word.split("/"))):
        return [word]
    return [token for token in re.split("(/)", word) if token]


def _separates(left: str, right: str) -> bool:
    """Whether a slash stands between words, not next to a number or a single letter. A blank side is not looked at."""
    before, after = _RUN_END.search(left), _RUN_START.match(right)
    runs = [run[0] if run else "" for run, side in ((before, left), (after, right)) if side]
    return all(len(run) > 1 and any(char.isalpha() for char in run) for run in runs)


def _is_connector(token: str) -> bool:
    return token.lower() in _CONNECTORS


# --- from words to conjuncts


def _conjuncts(tokens: list[str]) -> tuple[Words, ...]:
    """The conjuncts, or none where the text has too many words, or commas only.

    A comma alone joins nothing: names are inverted with it ("Emerin, deficiency"), adjectives follow one another
    ("sudden, unexplained death"). In a list closed by ", and" the commas separate, and a bare "and" stays inside.
    """
    runs = [tuple(run) for _, run in groupby(tokens, key=_is_connector)]
    runs = runs[1:] if runs and _is_connector(runs[0][0]) else runs
    words, separators = runs[::2], runs[1 : len(runs) - 1 : 2]
    if len(tokens) > MAX_WORDS or all(set(separator) == {","} for separator in separators):
        return ()
    serial = any("," in separator and len(separator) > 1 for separator in separators)
    conjuncts = [words[0]]
    for separator, conjunct in zip(separators, words[1:], strict=True):
        if serial and "," not in separator:
            conjuncts[-1] += separator + conjunct
        else:
            conjuncts.append(conjunct)
    return tuple(conjuncts) if 1 < len(conjuncts) <= MAX_CONJUNCTS else ()


def _filled_in(conjuncts: tuple[Words, ...]) -> tuple[Words, ...]:
    """Conjuncts with what hyphens leave out: "hyper-" before "hypotension", "-related" after "drug-induced"."""
    filled = []
    for position, words in enumerate(conjuncts):
        if position < len(conjuncts) - 1 and _OPEN_END.search(words[-1]):
            words = (*words[:-1], _with_ending(words[-1], conjuncts[-1]))
        if position and _OPEN_START.match(words[0]):
            words = (_with_beginning(words[0], conjuncts[0]), *words[1:])
        filled.append(words)
    return tuple(filled)


def _with_ending(word: str, donors: Words) -> str:
    stem = _OPEN_END.sub("", word)
    for donor in donors:
        if hyphen := _INNER_HYPHEN.search(donor):
            return stem + donor[hyphen.start() :]
        if form := _PREFIX.match(donor) or (stem.endswith("o") and _COMBINING_FORM.match(donor)):
            return stem + donor[form.end() :]
    return stem


def _with_beginning(word: str, donors: Words) -> str:
    ending = _OPEN_START.sub("", word)
    for donor in reversed(donors):
        if hyphens := list(_INNER_HYPHEN.finditer(donor)):
            return donor[: hyphens[-1].end()] + ending
    return ending


# --- from conjuncts to readings


def _cuts(conjuncts: tuple[Words, ...]) -> list[Cut]:
    """Every number of words that the conjuncts may share before and after, each keeping at least one of its own."""
    if not conjuncts:
        return []
    shared = product(range(len(conjuncts[0])), range(len(conjuncts[-1])))
    return [Cut(conjuncts, before, after) for before, after in shared]


def _parts(cut: Cut) -> list[str]:
    parts = []
    for position, own in enumerate((cut.opening, *cut.conjuncts[1:-1], cut.closing)):
        words = [word for word in (*cut.prefix, *own, *cut.suffix) if word.lower() != "other"]
        while position and not cut.before and words and word_class(words[0]) == "determiner":
            del words[0]
        if words:
            parts.append(" ".join(words))
    return parts
