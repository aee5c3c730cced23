"""Build the arrays of a `NgramIndex`: the characters of all names, and the names with each 4-gram."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..encoders.ngrams import IDF_FILE, NAMES_PER_CHUNK, SETTINGS_FILE, NgramEncoder
from ..files.output import replacing_folder, writing
from ..files.values import array_header
from ..kb.knowledge_base import KnowledgeBase
from ..text.characters import character_table, code_points, look_up, ngrams

FORMAT = 3
MANIFEST_FILE = "postings.json"
ARRAYS = ("characters", "starts", "lengths", "grams", "postings", "posting_starts")
FILES = (MANIFEST_FILE, SETTINGS_FILE, IDF_FILE, *(f"{name}.npy" for name in ARRAYS))
CHUNKS_PER_FILE = 48
POSTINGS_PER_BLOCK = 2**23

GRAM = 4
"""The number of characters of an n-gram in the postings. With 4, a search finds more than with 3, and reads less."""
# The most frequent characters have a code of their own, the others share the rest. So the number of an n-gram is small.
BASE, OWN = 48, 40
_EDGE = 1  # a blank, and the start and the end of a name
_FEW = 128  # characters
_EDGES = 2  # on each side, so that short names share more 4-grams

_BLANK = sum(_EDGE * BASE**power for power in range(GRAM))  # the number of a 4-gram of edges, as in an empty text


class GramCodes(NamedTuple):
    """The codes of characters in the postings.

    Attributes:
        table: The code of each code point, from 1 to `BASE` - 1, see `character_table`.
    """

    table: np.ndarray

    @classmethod
    def of(cls, characters: str) -> GramCodes:
        """Return the codes for characters that are sorted by frequency, the most frequent first."""
        if " " not in characters:
            characters += " "  # texts may have blanks although the names have none
        ranks = np.arange(len(characters))
        shared = BASE - OWN - 2
        codes = np.where(ranks < OWN, ranks + 2, OWN + 2 + ranks % shared)
        points = code_points([characters])[0]
        codes[points == ord(" ")] = _EDGE
        order = np.argsort(points)
        return cls(character_table(points[order], codes[order].astype(np.int8)))

    def grams(self, points: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the 4-grams of texts, each once per text. A text has edges on both sides.

        Args:
            points: The code points of the texts.
            starts: Where each text starts, and the end of the last one.

        Returns:
            The index of the text and the number of each 4-gram, int64, sorted by text.
        """
        n_texts, sizes = len(starts) - 1, np.diff(starts)
        if n_texts == 1 and len(points) <= _FEW:
            return self._few(points)
        padded_starts = starts + 2 * _EDGES * np.arange(n_texts + 1)
        padded = np.full(padded_starts[-1], _EDGE, dtype=np.int64)
        offsets = np.repeat(2 * _EDGES * np.arange(n_texts) + _EDGES, sizes)
        padded[np.arange(len(points)) + offsets] = look_up(self.table, points)
        keys, inside = ngrams(padded, padded_starts, GRAM, BASE)
        inside &= keys != _BLANK
        texts = np.repeat(np.arange(n_texts), sizes + 2 * _EDGES)
        unique = np.unique(texts[inside] * BASE**GRAM + keys[inside])
        return np.divmod(unique, BASE**GRAM)

    def _few(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Do the same for one short text, for which plain Python is faster than NumPy."""
        edges = [_EDGE] * _EDGES
        codes = [*edges, *look_up(self.table, points).tolist(), *edges]
        numbers = {
            ((a * BASE + b) * BASE + c) * BASE + d
            for a, b, c, d in zip(*(codes[i:] for i in range(GRAM)), strict=False)
        }
        unique = np.array(sorted(numbers - {_BLANK}), dtype=np.int64)
        return np.zeros(len(unique), dtype=np.int64), unique


def identity(kb: KnowledgeBase, ngrams: NgramEncoder) -> dict[str, Any]:
    """Return what the arrays depend on."""
    return {"format": FORMAT, "kb": kb.fingerprint, "ngrams": ngrams.fingerprint}


def build_ngram_index(kb: KnowledgeBase, ngrams: NgramEncoder, folder: Path) -> None:
    """Write the arrays of a `NgramIndex` into a new folder. The folder appears when it is complete.

    Args:
        ngrams: The encoder of the sparse score. It is saved in the folder, too.
        folder: The folder to write. It is replaced if it exists.
    """
    with writing(folder), replacing_folder(folder) as new:
        work = new.with_name("work")
        work.mkdir()
        _write(kb, ngrams, work, new)


def _write(kb: KnowledgeBase, ngrams: NgramEncoder, work: Path, folder: Path) -> None:
    frequencies, starts = _write_points(ngrams.forms(kb.names()), work)
    frequent = "".join(sorted(frequencies, key=lambda character: (-frequencies[character], character)))
    _write_names(work, ngrams, starts, folder)
    _write_postings(work, GramCodes.of(frequent), starts, folder)
    ngrams.save(folder)
    manifest = {**identity(kb, ngrams), "frequent": frequent, "alphabet": ngrams.tables.alphabet}
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest), encoding="utf-8")


def _write_points(forms: Iterator[str], work: Path) -> tuple[Counter[str], np.ndarray]:
    """Write the code points of all names, and return how often each character occurs, and where each name starts."""
    frequencies: Counter[str] = Counter()
    lengths = [np.zeros(1, dtype=np.int64)]
    with (work / "points").open("wb") as file:
        while chunk := list(islice(forms, NAMES_PER_CHUNK)):
            points, starts = code_points(chunk)
            file.write(points.tobytes())
            lengths.append(np.diff(starts))
            for point, count in zip(*np.unique(points, return_counts=True), strict=True):
                frequencies[chr(point)] += int(count)
    return frequencies, np.cumsum(np.concatenate(lengths))


def _chunks(work: Path, starts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the code points and the starts of a chunk of names."""
    with (work / "points").open("rb") as file:
        for first in range(0, len(starts) - 1, NAMES_PER_CHUNK):
            part = starts[first : first + NAMES_PER_CHUNK + 1]
            yield np.fromfile(file, dtype="<u4", count=int(part[-1] - part[0])), part - part[0]


def _write_names(work: Path, ngrams: NgramEncoder, starts: np.ndarray, folder: Path) -> None:
    """Write the characters of the names, where each name starts, and the length of its vector."""
    lengths = [np.zeros(0)]
    dtype = np.min_scalar_type(len(ngrams.tables.alphabet))
    with _array_file(folder / "characters.npy", dtype, int(starts[-1])) as write:
        for points, part in _chunks(work, starts):
            write(ngrams.tables.places(points))
            lengths.append(ngrams.lengths(points, part))
    _save(folder / "starts.npy", _small(starts))
    _save(folder / "lengths.npy", np.concatenate(lengths).astype(np.float32))


def _write_postings(work: Path, codes: GramCodes, starts: np.ndarray, folder: Path) -> None:
    """Write the 4-grams, the rows of the names with each of them, block by block, and where these rows start."""
    of_chunks = list(_write_files(work, codes, starts))
    grams = np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *(some for some, _ in of_chunks)]))
    counts = np.zeros((len(of_chunks), len(grams)), dtype=np.int32)
    for row, (some, of_some) in zip(counts, of_chunks, strict=True):
        row[np.searchsorted(grams, some)] = of_some
    del of_chunks
    posting_starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0, dtype=np.int64))])
    _save(folder / "grams.npy", grams)
    _save(folder / "posting_starts.npy", _small(posting_starts))
    with (
        _array_file(folder / "postings.npy", np.dtype(np.int32), int(posting_starts[-1])) as write,
        ExitStack() as stack,
    ):
        files = [stack.enter_context((work / f"{i}").open("rb")) for i in range(len(counts))]
        for part in consecutive_parts(posting_starts, POSTINGS_PER_BLOCK):
            block = np.empty(posting_starts[part.stop] - posting_starts[part.start], dtype=np.int32)
            free = posting_starts[part] - posting_starts[part.start]
            for i, file in enumerate(files):
                some = counts[i, part].astype(np.int64)
                rows = np.fromfile(file, dtype=np.int32, count=int(some.sum()))
                positions = np.repeat(free - np.cumsum(some) + some, some) + np.arange(len(rows))
                block[positions] = rows + i * CHUNKS_PER_FILE * NAMES_PER_CHUNK
                free = free + some
            write(block)


def _write_files(work: Path, codes: GramCodes, starts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Write files of the names in `CHUNKS_PER_FILE` chunks, sorted by 4-gram.

    Yields:
        The 4-grams of each file, int32, and the number of names with each.
    """
    from scipy.sparse import csr_matrix

    chunks = _chunks(work, starts)
    for number in count():
        sizes, grams = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        for points, part in islice(chunks, CHUNKS_PER_FILE):
            names, keys = codes.grams(points, part)
            sizes.append(np.bincount(names, minlength=len(part) - 1))
            grams.append(keys.astype(np.int32))
        if len(sizes) == 1:
            return
        ends, columns = np.cumsum(np.concatenate(sizes)), np.concatenate(grams)
        by_name = csr_matrix((np.ones(len(columns), np.int8), columns, ends), shape=(len(ends) - 1, BASE**GRAM))
        by_gram = by_name.tocsc()
        by_gram.indices.astype(np.int32).tofile(work / f"{number}")
        counts = np.diff(by_gram.indptr)
        found = np.flatnonzero(counts)
        yield found.astype(np.int32), counts[found]


def consecutive_parts(starts: np.ndarray, most: int) -> Iterator[slice]:
    """Yield slices of consecutive items with a size of at most `most`, or one item, from where each item starts.

    The last of `starts` is the end of the last item.
    """
    first, end = 0, len(starts) - 1
    while first < end:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + most, side="right")) - 1)
        yield slice(first, last)
        first = last


def _small(starts: np.ndarray) -> np.ndarray:
    """Return positions in 32 bits if they fit."""
    return starts.astype(np.int32 if starts[-1] < 2**31 else np.int64)


def _save(path: Path, array: np.ndarray) -> None:
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)


@contextmanager
def _array_file(path: Path, dtype: np.dtype[Any], n: int) -> Iterator[Callable[[np.ndarray], None]]:
    """Write an array of known length piece by piece. Unlike a memory map, a file reports a full disk as an error."""
    with path.open("wb") as file:
        file.write(array_header(dtype, (n,)))

        def write(piece: np.ndarray) -> None:
            file.write(np.ascontiguousarray(piece, dtype).data)

        yield write
