"""Find a term in a text, in upper or lower case."""

from __future__ import annotations

from collections.abc import Iterator


def find_term(term: str, text: str, *, whole: bool = True) -> Iterator[int]:
    """Yield the positions of a term in a text, in upper or lower case, from left to right.

    Args:
        term: The term.
        text: The text.
        whole: Only whole words: the characters before and after are neither letters, nor digits, nor underscores.
    """
    term, text = _lower(term), _lower(text)
    start = text.find(term)
    while start >= 0:
        end = start + len(term)
        is_found = not (whole and (_in_word(text[start - 1 : start]) or _in_word(text[end : end + 1])))
        if is_found:
            yield start
        start = text.find(term, end if is_found else start + 1)


def _lower(text: str) -> str:
    # İ is the only character that becomes two in lower case
    return text.replace("İ", "i").lower()


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
