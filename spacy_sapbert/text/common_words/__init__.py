"""Words of general language. `README.md` says where the lists come from."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ...files.values import languages_of, read_lines

_FOLDER = Path(__file__).parent
ENGLISH = "en"
LISTED_LANGUAGES = tuple(code for code in languages_of(_FOLDER) if code != ENGLISH)
"""The codes of other languages with a list."""


@lru_cache(maxsize=8)
def common_words(language: str = ENGLISH) -> frozenset[str]:
    """Return the lower-case words that mean no concept in nearly every text: "into", "chronic", "position".

    Args:
        language: The code of a language. The lists for `LISTED_LANGUAGES` are short. They also have phrases, and short
            forms in capitals. Other languages have no such words.
    """
    return frozenset(read_lines(_FOLDER / f"{language}.txt"))


@lru_cache(maxsize=8)
def common_nouns(language: str = "en") -> dict[str, int]:
    """Return frequent lower-case nouns with their ranks. Rank 0 is the most frequent.

    Such a noun may mean a concept, or something else: "face", "hand", "depression".
    """
    return {word: rank for rank, word in enumerate(read_lines(_FOLDER / f"{language}_nouns.txt"))}


@lru_cache(maxsize=8)
def common_keys(language: str) -> frozenset[str]:
    """Return the keys of common words and nouns, see `Words.content`. They are in a file, since folding takes long."""
    return frozenset(read_lines(_FOLDER / f"{language}_keys.txt"))


@lru_cache(maxsize=1)
def everyday_nouns() -> frozenset[str]:
    """Return the lower-case English nouns that biomedical texts and names hardly ever have: "recipe"."""
    return general_nouns().difference(read_lines(_FOLDER / f"{ENGLISH}_biomedical.txt"))


@lru_cache(maxsize=1)
def general_nouns() -> frozenset[str]:
    """Return the lower-case English nouns that few names of concepts have: "recipe", "battery"."""
    return frozenset(common_nouns()).difference(read_lines(_FOLDER / f"{ENGLISH}_names.txt"))


@lru_cache(maxsize=1)
def body_words() -> frozenset[str]:
    """Return the lower-case English words of places of the body: "left", "knee". They name no disease together."""
    return frozenset(read_lines(_FOLDER / f"{ENGLISH}_body.txt"))


def general_words(language: str) -> frozenset[str]:
    """Return words and phrases that mean no concept alone, without short forms. The languages are those with a list.

    The English ones are names of the starter vocabulary that corpora of several kinds hardly ever annotate.
    """
    words = common_words(language) if language in LISTED_LANGUAGES else read_lines(_FOLDER / f"{language}_general.txt")
    return frozenset(word for word in words if not word.isupper())


@lru_cache(maxsize=8)
def general_names(kind: str) -> frozenset[str]:
    """Return English names, in lower case, that only vocabularies of some kind have as concepts.

    Args:
        kind: "foods" that are no drugs, "analytes" that are rarely given as drugs, or "phrases" that are no findings.
    """
    return frozenset(read_lines(_FOLDER / f"en_{kind}.txt"))
