"""Lists of words and other facts, in text files beside the modules that read them."""

from __future__ import annotations

from pathlib import Path

from ..files.values import read_sections


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text that are separated by blanks."""
    return frozenset(words.split())


def pairs(listed: str) -> dict[str, str]:
    """Return what is before and behind the colon of each word: "Ca:calcium K:potassium"."""
    parts = (word.partition(":") for word in listed.split())
    return {before: behind for before, _, behind in parts}


def read_lines(path: Path) -> list[str]:
    """Return the lines of a list. A language without it has none."""
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def languages_of(folder: Path, name: str = "") -> tuple[str, ...]:
    """Return the codes of the languages that have a file in a folder.

    Args:
        folder: The folder.
        name: What is behind the code in the name of the file, such as "_cues".
    """
    codes = (path.name.removesuffix(f"{name}.txt") for path in folder.glob(f"*{name}.txt"))
    return tuple(sorted(code for code in codes if code.isalpha()))


def read_lists(module: str) -> dict[str, str]:
    """Return the lists of a module by name, each as the text of its lines.

    A line such as "[stop_words]" names the list below it. What comes before the first one is a comment.

    Args:
        module: The `__file__` of the module. Its lists are in the text file of the same name.
    """
    return read_sections(Path(module).with_suffix(".txt"))
