"""Find texts again in the same document, token by token."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from .languages import ENGLISH, LanguageRules
from .normalize import spell_out_greek
from .words import CACHED_NAMES, is_acronym, read_words

LONGEST = 12  # tokens of a name that is looked for; it bounds the work at each token
MOST_NUMBERING = 3  # characters of the part that makes another name: "MMP-9", "angiotensin II"

_DASHES = frozenset("-–‐‑")
_GREEK = frozenset(("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "kappa", "lambda", "sigma", "omega"))

Name = tuple[str, ...]
"""The keys of the tokens of a text. They are the same whatever the case, the plural or the national spelling."""


class TokenNames:
    """The tokens of a document as keys, to find a name again.

    A short word that is mostly capitals keeps its case: "ALL" is not "all".

    Args:
        tokens: The texts of the tokens.
        spaces: Whether a blank follows each token.
    """

    def __init__(self, tokens: Sequence[str], spaces: Sequence[bool], rules: LanguageRules = ENGLISH) -> None:
        self._tokens = tokens
        self._spaces = spaces
        keys = {text: _key(text, rules) for text in dict.fromkeys(tokens)}
        self._keys = [keys[text] for text in tokens]

    def name(self, start: int, end: int) -> Name:
        """Return the name of the tokens from `start` up to `end`."""
        return tuple(self._keys[start:end])

    def find(self, names: Collection[Name], taken: Iterable[tuple[int, int]]) -> list[tuple[int, int, Name]]:
        """Return the other places of names, by position. The longest name counts; none overlaps another one.

        A name of one character or of more than `LONGEST` tokens is not looked for. A place is left out if it is a part
        of a word or of a longer name, such as "MMP" in "MMP-9" and "angiotensin" in "angiotensin II".

        Args:
            taken: First token, and position after the last token, of the places that are known.

        Returns:
            First token, position after the last token, and name of each place.
        """
        searched = {name for name in names if 0 < len(name) <= LONGEST and name[0] and len("".join(name)) > 1}
        by_first: dict[str, set[int]] = defaultdict(set)
        for name in searched:
            by_first[name[0]].add(len(name))
        lengths = {key: sorted(name_lengths, reverse=True) for key, name_lengths in by_first.items()}
        free = [True] * len(self._tokens)
        for start, end in taken:
            free[start:end] = [False] * (end - start)
        repeats = []
        start = 0
        while start < len(free):
            if self._keys[start] not in lengths:  # as nearly always
                start += 1
                continue
            ends = (start + length for length in lengths[self._keys[start]])
            inside = (end for end in ends if end <= len(free))
            fitting = (end for end in inside if self.name(start, end) in searched and all(free[start:end]))
            end = next(fitting, start)
            if self._is_whole(start, end):
                repeats.append((start, end, self.name(start, end)))
            start = max(end, start + 1)
        return repeats

    def _is_whole(self, start: int, end: int) -> bool:
        """Return whether a place has tokens, and is neither a part of a word nor of a longer name."""
        if start == end:
            return False
        edges = self._tokens[start][0] + self._tokens[end - 1][-1]
        return edges.isalnum() and not self._goes_on_before(start) and not self._goes_on_after(end)

    def _goes_on_before(self, start: int) -> bool:
        if not start or self._spaces[start - 1]:
            return False
        before = self._tokens[start - 1]
        return before[-1:].isalnum() or (
            before in _DASHES and start > 1 and not self._spaces[start - 2] and _is_numbering(self._tokens[start - 2])
        )

    def _goes_on_after(self, end: int) -> bool:
        if end == len(self._tokens):
            return False
        after = self._tokens[end]
        if _is_numbering(after):
            return True
        if self._spaces[end - 1]:
            return False
        dashed = after in _DASHES and not self._spaces[end] and end + 1 < len(self._tokens)
        return after[:1].isalnum() or (dashed and _is_numbering(self._tokens[end + 1]))


@lru_cache(maxsize=CACHED_NAMES)
def _key(text: str, rules: LanguageRules) -> str:
    key = read_words(text, rules)
    if is_acronym(text):
        return text
    return (text.isalpha() and "".join(key.keys)) or text.lower()  # a function word has no key


def _is_numbering(text: str) -> bool:
    """Return whether a token makes another name of the one before it: "9", "II", "A", "alpha"."""
    if spell_out_greek(text).lower() in _GREEK:
        return True
    return len(text) <= MOST_NUMBERING and text.isalnum() and (text[0].isdigit() or text.upper() == text)
