"""Every place of a text where a name of the vocabulary stands, by hashes of bags of words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import Errors, SapbertError
from ..kb.knowledge_base import KnowledgeBase
from ..text.composites import composite_splits
from ..text.hashing import hash64
from ..text.words import Word, is_acronym, words

HASHES_FILE = "name_hashes.npy"
ROWS_FILE = "name_rows.npy"
MAX_WORDS = 12
MAX_ADDED = 3

_OPEN = frozenset({"of", "the", "an"})
_ANY_WORD = re.compile(r"[^\s,;/()]+")
_WORDS = rf"((?:[^\s,;/().]+ ){{0,{MAX_ADDED - 1}}}[^\s,;/().]+)"
_CONNECTOR = r"(?:\s+(?:and|or|and/or)\s+|/)"
_BEFORE = re.compile(rf"(?<![^\s(,;]){_WORDS}{_CONNECTOR}$")
_AFTER = re.compile(rf"{_CONNECTOR}{_WORDS}")


class NameMatch(NamedTuple):
    """Characters `start:end` of a text are the name at `row` of the store."""

    start: int
    end: int
    row: int


class NameMatcher:
    """Finds the longest names of a store in a text, whatever their case, plural, spelling and word order.

    The key of a name is the sum of its words' hashes, so that all windows of n words of a text come from one running
    sum, and one binary search looks all of them up.

    Args:
        hashes (uint64, shape (n,)): keys of names, sorted.
        rows (int32, shape (n,)): the name of each; of equal keys first the one whose owner has the best claim on it.
    """

    def __init__(self, kb: KnowledgeBase, hashes: np.ndarray, rows: np.ndarray) -> None:
        self.kb = kb
        self.hashes = hashes
        self.rows = rows

    @classmethod
    def build(cls, kb: KnowledgeBase) -> NameMatcher:
        keys = np.fromiter((_name_key(name) for name in kb.names()), dtype=np.uint64, count=kb.n_names)
        rows = np.flatnonzero(keys).astype(np.int32)  # a name of function words and punctuation has no key
        order = np.lexsort((_tie_ranks(kb)[rows], keys[rows]))
        return cls(kb, keys[rows][order], rows[order])

    def find(self, text: str) -> list[NameMatch]:
        """Return all matches that lie in no longer one, by position; they may overlap."""
        found = words(text)
        reach = [0] * len(found)  # the end of the match that a word lies in, in words
        matches: list[NameMatch] = []
        for start, end in self._windows(text, found):
            row = None if reach[start] >= end else self._verify(text, found[start:end])
            if row is not None:
                matches.append(NameMatch(found[start].start, found[end - 1].end, row))
                reach[start:end] = [max(end, other) for other in reach[start:end]]
        return sorted(matches)

    def find_composites(self, text: str, matches: Sequence[NameMatch]) -> list[NameMatch]:
        """Find composite mentions: a match, a connector and words that need a part of the match to be a name.

        In "breast and ovarian cancer" only "ovarian cancer" is written as such; the whole is found because both of its
        single mentions are names.

        Returns:
            each with the row of its first single mention.
        """
        found = []
        for match in matches:
            for start, end in _extensions(text, match):
                window = words(text[start:end])
                rows = self.composite_rows(text[start:end]) if window[0].key and window[-1].key else []
                if rows:
                    found.append(NameMatch(start, end, rows[0]))
                    break
        return found

    def composite_rows(self, text: str) -> list[int]:
        """The likeliest reading of a composite whose parts are all names, if one of them is not written as such.

        Returns:
            the rows of these names.
        """
        for parts in composite_splits(text):
            rows = [row for part in parts if (row := self.match(part)) is not None]
            if len(rows) == len(parts) and not all(part in text for part in parts):
                return rows
        return []

    def match(self, text: str) -> int | None:
        """Return the row of the name that this text is, as a whole."""
        window = words(text)
        return self._verify(text, window) if window and window[0].key and window[-1].key else None

    def save(self, folder: Path) -> None:
        np.save(folder / HASHES_FILE, self.hashes, allow_pickle=False)
        np.save(folder / ROWS_FILE, self.rows, allow_pickle=False)

    @classmethod
    def load(cls, kb: KnowledgeBase, folder: Path) -> NameMatcher:
        try:
            arrays = [np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in (HASHES_FILE, ROWS_FILE)]
        except (OSError, EOFError, ValueError) as error:
            raise SapbertError(Errors.E306.format(path=folder, reason=error)) from error
        return cls(kb, arrays[0], arrays[1])

    def _windows(self, text: str, found: list[Word]) -> Iterator[tuple[int, int]]:
        """Yield first word and end of each window that may be a name, the longest first."""
        sums = np.cumsum(np.array([0, *(_word_hash(word.key) for word in found)], dtype=np.uint64), dtype=np.uint64)
        breaks = np.cumsum([word.broken for word in found])
        solid = np.array([bool(word.key) for word in found])
        for length in range(min(MAX_WORDS, len(found)), 0, -1):
            last = len(found) - length + 1
            known = self._known(sums[length:] - sums[:last])
            if length == 1:
                acronyms = [_acronym_key(text[word.start : word.end]) for word in found]
                known |= self._known(np.array(acronyms, dtype=np.uint64))
            whole = (breaks[length - 1 :] == breaks[:last]) & solid[:last] & solid[length - 1 :]
            yield from ((start, start + length) for start in np.flatnonzero(known & whole).tolist())

    def _known(self, keys: np.ndarray) -> np.ndarray:
        if not len(self.hashes):
            return np.zeros(len(keys), dtype=bool)
        places = np.searchsorted(self.hashes, keys).clip(max=len(self.hashes) - 1)
        return self.hashes[places] == keys

    def _verify(self, text: str, window: list[Word]) -> int | None:
        """Two bags may share a hash, and not all words may change places.

        Words in another order must not stand on two sides of a comma. Words that "to", "with" and the like join are no
        name without any such word: "lip with cleft …" is no cleft lip. Where one of the words is a single letter or
        digit, neither order nor function words are free: "hepatitis in a …" and "B hepatitis" are no names.
        """
        written = text[window[0].start : window[-1].end]
        bag_key = _bag_key([word.key for word in window])
        names = {row: self.kb.name(row) for row in (*self._rows(_acronym_key(written)), *self._rows(bag_key))}
        same = (
            row
            for row, name in names.items()
            if (name == written if is_acronym(name) else _same_name(text, window, name))
        )
        # of several names, the one that is so written; where none is, rows come in the order that decides
        return min(same, key=lambda row: names[row].lower() != written.lower(), default=None)

    def _rows(self, key: int) -> list[int]:
        if not key:
            return []
        left, right = (np.searchsorted(self.hashes, np.uint64(key), side) for side in ("left", "right"))
        rows: list[int] = self.rows[left:right].tolist()
        return rows


def _tie_ranks(kb: KnowledgeBase) -> np.ndarray:
    """Return `int32, shape (names,)`: 0 for the name whose owner has the best claim, see `KnowledgeBase.tie_order`."""
    names = kb.name_concepts.names
    order = np.lexsort((names, *kb.tie_order(np.arange(len(names)))))
    best, firsts = np.unique(names[order], return_index=True)
    ranks = np.zeros(kb.n_names, dtype=np.int32)
    ranks[best] = firsts
    return ranks


def _extensions(text: str, match: NameMatch) -> Iterator[tuple[int, int]]:
    """Yield the match with a connector and 1 to `MAX_ADDED` words on either side, few first."""
    before = _BEFORE.search(text, max(0, match.start - 80), match.start)
    if before:
        starts = [word.start() for word in _ANY_WORD.finditer(text, before.start(1), before.end(1))]
        yield from ((start, match.end) for start in reversed(starts))
    after = _AFTER.match(text, match.end)
    if after:
        ends = [word.end() for word in _ANY_WORD.finditer(text, after.start(1), after.end(1))]
        yield from ((match.start, end) for end in ends)


def _same_name(text: str, window: list[Word], name: str) -> bool:
    name_words = words(name)
    keys, name_keys = [word.key for word in window], [word.key for word in name_words]
    if keys == name_keys or any(len(key) == 1 for key in keys):
        return keys == name_keys
    if _is_joined(text, window) and not _is_joined(name, name_words):
        return False
    keys, name_keys = list(filter(None, keys)), list(filter(None, name_keys))
    return keys == name_keys or (not any(word.comma for word in window[1:]) and sorted(keys) == sorted(name_keys))


def _is_joined(text: str, found: list[Word]) -> bool:
    """Whether a function word says how two words go together, which "of" and articles leave open."""
    return any(text[word.start : word.end].lower() not in _OPEN for word in found if not word.key)


def _name_key(name: str) -> int:
    return _acronym_key(name) or _bag_key([word.key for word in words(name)])


def _acronym_key(text: str) -> int:
    # marked, so that it is never the hash of the same letters as a word
    return hash64(f"={text}") if is_acronym(text) else 0


def _bag_key(keys: list[str]) -> int:
    return sum(map(_word_hash, keys)) % 2**64


def _word_hash(key: str) -> int:
    return hash64(key) if key else 0
