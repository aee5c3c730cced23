"""`NameMatcher`: find all names of a vocabulary in a text, by hashes of bags of words."""

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
    """A match: characters `start:end` of a text are the name at `row` of the knowledge base."""

    start: int
    end: int
    row: int


class NameMatcher:
    """Finds the longest names of a knowledge base in a text. Case, plural, spelling and word order may differ.

    The key of a name is the sum of the hashes of its words. One running sum gives the keys of all windows of n words of
    a text. One binary search looks them all up.

    Args:
        kb: The knowledge base.
        hashes: The sorted keys of names, uint64, shape (n,).
        rows: The row of each name, int32, shape (n,). Equal keys are ordered by tie rank.
    """

    def __init__(self, kb: KnowledgeBase, hashes: np.ndarray, rows: np.ndarray) -> None:
        self.kb = kb
        self.hashes = hashes
        self.rows = rows

    @classmethod
    def build(cls, kb: KnowledgeBase) -> NameMatcher:
        """Compute the keys of all names of a knowledge base."""
        keys = np.fromiter((_name_key(name) for name in kb.names()), dtype=np.uint64, count=kb.n_names)
        rows = np.flatnonzero(keys).astype(np.int32)  # a name of function words and punctuation has no key
        order = np.lexsort((_tie_ranks(kb)[rows], keys[rows]))
        return cls(kb, keys[rows][order], rows[order])

    def find(self, text: str) -> list[NameMatch]:
        """Return all matches that are not inside a longer one, by position. They may overlap."""
        found = words(text)
        reach = [0] * len(found)  # for each word, the end of the match that contains it, in words
        matches: list[NameMatch] = []
        for start, end in self._windows(text, found):
            row = None if reach[start] >= end else self._verify(text, found[start:end])
            if row is not None:
                matches.append(NameMatch(found[start].start, found[end - 1].end, row))
                reach[start:end] = [max(end, other) for other in reach[start:end]]
        return sorted(matches)

    def find_composites(self, text: str, matches: Sequence[NameMatch]) -> list[NameMatch]:
        """Find composite mentions: a match, a connector, and words that need a part of the match to be a name.

        In "breast and ovarian cancer", only "ovarian cancer" is written out. The whole is found since both single
        mentions are names.

        Args:
            text: The text.
            matches: The matches of `find`.

        Returns:
            One match per composite, with the row of its first single mention.
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
        """Find the most plausible composite split into names, if not all parts are written out.

        Returns:
            The rows of these names, or an empty list.
        """
        for parts in composite_splits(text):
            rows = [row for part in parts if (row := self.match(part)) is not None]
            if len(rows) == len(parts) and not all(part in text for part in parts):
                return rows
        return []

    def match(self, text: str) -> int | None:
        """Return the row of the name that equals a whole text, or None."""
        window = words(text)
        return self._verify(text, window) if window and window[0].key and window[-1].key else None

    def save(self, folder: Path) -> None:
        """Write the keys and rows into a folder."""
        np.save(folder / HASHES_FILE, self.hashes, allow_pickle=False)
        np.save(folder / ROWS_FILE, self.rows, allow_pickle=False)

    @classmethod
    def load(cls, kb: KnowledgeBase, folder: Path) -> NameMatcher:
        """Open what `save` wrote, memory-mapped.

        Raises:
            SapbertError: E306 a file is missing or damaged.
        """
        try:
            arrays = [np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in (HASHES_FILE, ROWS_FILE)]
        except (OSError, EOFError, ValueError) as error:
            raise SapbertError(Errors.E306.format(path=folder, reason=error)) from error
        return cls(kb, arrays[0], arrays[1])

    def _windows(self, text: str, found: list[Word]) -> Iterator[tuple[int, int]]:
        """Yield the first word and the end of each window that may be a name, the longest first."""
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
        """Return the row of the name that a window equals, or None.

        Two bags of words may share a hash, and not all words may change places. Reordered words must not be separated
        by a comma. Words joined by "to", "with" and similar words only match a name with such a word: "lip with cleft
        …" is not cleft lip. If a word is a single letter or digit, the words must be the same in the same order:
        "hepatitis in a …" and "B hepatitis" are not names.
        """
        written = text[window[0].start : window[-1].end]
        bag_key = _bag_key([word.key for word in window])
        names = {row: self.kb.name(row) for row in (*self._rows(_acronym_key(written)), *self._rows(bag_key))}
        same = (
            row
            for row, name in names.items()
            if (name == written if is_acronym(name) else _same_name(text, window, name))
        )
        # prefer the name as written; otherwise the rows are ordered by tie rank
        return min(same, key=lambda row: names[row].lower() != written.lower(), default=None)

    def _rows(self, key: int) -> list[int]:
        if not key:
            return []
        left, right = (np.searchsorted(self.hashes, np.uint64(key), side) for side in ("left", "right"))
        rows: list[int] = self.rows[left:right].tolist()
        return rows


def _tie_ranks(kb: KnowledgeBase) -> np.ndarray:
    """Return the tie rank of each name by its best concept, int32, shape (names,); see `KnowledgeBase.tie_order`."""
    names = kb.name_concepts.names
    order = np.lexsort((names, *kb.tie_order(np.arange(len(names)))))
    best, firsts = np.unique(names[order], return_index=True)
    ranks = np.zeros(kb.n_names, dtype=np.int32)
    ranks[best] = firsts
    return ranks


def _extensions(text: str, match: NameMatch) -> Iterator[tuple[int, int]]:
    """Yield the match with a connector and 1 to `MAX_ADDED` words on either side, fewest words first."""
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
    """Return whether a function word relates two words. "of" and articles do not count."""
    return any(text[word.start : word.end].lower() not in _OPEN for word in found if not word.key)


def _name_key(name: str) -> int:
    return _acronym_key(name) or _bag_key([word.key for word in words(name)])


def _acronym_key(text: str) -> int:
    # the prefix keeps it apart from the hash of a word with the same letters
    return hash64(f"={text}") if is_acronym(text) else 0


def _bag_key(keys: list[str]) -> int:
    return sum(map(_word_hash, keys)) % 2**64


def _word_hash(key: str) -> int:
    return hash64(key) if key else 0
