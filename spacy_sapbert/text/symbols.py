"""Symbols, such as those of genes, and names with accents: "GSK3β" is written "GSK3B" and "GSK-3beta", too."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from .normalize import LATIN, SHORTEST_STEM, plain, spell_out_greek, symbol_runs
from .words import joined_letters

MAX_LETTERS = 16  # of a symbol, with digits
LONGEST_SYMBOL = 7  # letters and digits; a longer one may be misspelled
MAX_WORD = 5  # letters of a symbol before a blank
_MOST_RUNS = 5

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe"})
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SPECIES = re.compile(r"^(?:hsa-|[hmr](?=[A-Z]))")
_SERIES = re.compile(r"\d[-/. ]\d")  # "IL-1/2" is not "IL-12"
_LETTERS_BEHIND = re.compile(r"\d[^\W\d_]{2}")  # a formula such as "NH4Ac", which may be written in another order
_TO_GREEK = dict(zip("abgd", "αβγδ", strict=True))


def without_accents(text: str) -> list[str]:
    """Return a name in ASCII letters, and with two letters for an umlaut."""
    bare = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
    return [form for form in (bare, text.translate(_UMLAUTS)) if form != text]


def symbol_spellings(text: str) -> list[str]:
    """Return other ways to write a symbol, the most plausible first. A text that is no symbol has none."""
    runs = symbol_runs(text.replace("kB", "κB"))
    if not _is_symbol(text, runs):
        return []
    is_long = sum(len(run) for run in runs if run not in LATIN) >= SHORTEST_STEM
    spellings = [[LATIN.get(run, run) for run in runs]] * is_long + [[spell_out_greek(run) for run in runs]]
    last = runs[-1][-1].lower()
    if last in _TO_GREEK and len("".join(runs)) > 2:  # "GSK3B" may be GSK3-beta
        spellings.append([*runs[:-1], *filter(None, [runs[-1][:-1]]), spell_out_greek(_TO_GREEK[last])])
    written = dict.fromkeys(form for spelling in spellings for form in _with_hyphens(spelling))
    return [form for form in written if form != text]


def are_other_symbols(text: str, name: str) -> bool:
    """Return whether two texts are symbols, and no other ways to write one, nor one with an ending: SEPN1 and EPN1.

    A prefix for the species makes no difference: "hSERCA2", "hsa-mir-21". Of 23 links to such names, 19 were wrong.
    """
    if " " in text or " " in name or "/" in text or "/" in name:
        return False
    is_symbol = any(map(str.isdigit, text)) or sum(map(str.isupper, text)) > 1
    if not is_symbol or _LETTERS_BEHIND.search(text):
        return False
    one, other = _latin_letters(text), _latin_letters(name)
    same = joined_letters(text) == joined_letters(name)
    return not same and len(one) <= LONGEST_SYMBOL and not (one.startswith(other) or other.startswith(one))


@lru_cache(maxsize=1 << 12)
def _latin_letters(symbol: str) -> str:
    runs = symbol_runs(_SPECIES.sub("", plain(symbol)))
    return joined_letters("".join(LATIN.get(run, run) for run in runs))


def _is_symbol(text: str, runs: list[str]) -> bool:
    """Return whether a text may be a symbol: a few short runs of letters, digits or Greek letters, not two words."""
    if len(text) > 2 * MAX_LETTERS or len(runs) > _MOST_RUNS or sum(map(len, runs)) > MAX_LETTERS:
        return False
    if _SERIES.search(text):
        return False
    if " " in text and (runs[0].islower() or max(map(len, runs)) > MAX_WORD):
        return False
    return any(run in LATIN or not run.islower() for run in runs) or (len(runs) > 1 and min(map(len, runs)) == 1)


def _with_hyphens(runs: list[str]) -> Iterator[str]:
    """Yield the runs of a symbol with no hyphen, with one, and with all."""
    yield "".join(runs)
    yield from ("".join(runs[:place]) + "-" + "".join(runs[place:]) for place in range(1, len(runs)))
    if len(runs) > 2:
        yield "-".join(runs)
