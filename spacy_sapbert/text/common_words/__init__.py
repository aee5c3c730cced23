"""Words of general English. `scripts/common_words.py` makes the lists, and says where they come from."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@lru_cache(maxsize=8)
def common_words(language: str = "en") -> frozenset[str]:
    """Return the lower-case words that mean no concept in nearly every text: "into", "chronic", "position".

    Args:
        language: The code of a language. There are lists for "en" only. Other languages have no such words.
    """
    return frozenset(_read(f"{language}.txt"))


@lru_cache(maxsize=8)
def common_nouns(language: str = "en") -> dict[str, int]:
    """Return frequent lower-case nouns with their ranks. Rank 0 is the most frequent.

    Such a noun may mean a concept, or something else: "face", "hand", "depression".
    """
    return {word: rank for rank, word in enumerate(_read(f"{language}_nouns.txt"))}


def _read(file: str) -> list[str]:
    path = _FOLDER / file
    return path.read_text(encoding="utf-8").split() if path.is_file() else []
