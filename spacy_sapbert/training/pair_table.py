"""`PairTable`: all pairs of a file in memory, optionally with negatives, and batches of them."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import EmptyError
from ..files.values import hash64
from ..settings_block import check_counts
from .pair_files import Pair, Triple, find_shared_names, read_pairs, read_shared_names, read_triples


class Batch(NamedTuple):
    """Unique names that are encoded together.

    Attributes:
        names: The n names, in normal form.
        pairs: The positions of the drawn pairs in `names`, int64, shape (b, 2).
        synonyms: Whether two different positions hold names of one concept, bool, shape (n, n). All other pairs of
            names are negatives.
        triplets: The positions of each pair with each of its offline negatives, int64, shape (t, 3).
    """

    names: list[str]
    pairs: np.ndarray
    synonyms: np.ndarray
    triplets: np.ndarray = np.empty((0, 3), dtype=np.int64)


class PairWithNegatives(NamedTuple):
    """Two names of one concept, and names of others. Each of these has the known ids of its concepts."""

    concept_id: str
    name1: str
    name2: str
    negatives: tuple[tuple[str, tuple[str, ...]], ...]


class PairTable:
    """Pairs of synonyms, in 16 bytes each plus 16 per negative, and the text of their names.

    Args:
        pairs: The pairs. Our files group them by concept, which saves memory for the texts.
        owners: The ids of all concepts of a name, for names that several concepts share.
    """

    def __init__(
        self, pairs: Iterable[Pair | PairWithNegatives], owners: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self._owners = {hash64(name): list(map(_key, ids)) for name, ids in (owners or {}).items()}
        names = _Names()
        rows, concepts = array("i"), array("q")
        negatives, negative_concepts, negative_pairs = array("i"), array("q"), array("i")
        self.same_name = 0
        for pair in pairs:
            if pair.name1 == pair.name2:
                self.same_name += 1
                continue
            names.begin(pair.concept_id)
            rows.extend((names.row(pair.name1), names.row(pair.name2)))
            for name, ids in pair.negatives if isinstance(pair, PairWithNegatives) else ():
                negatives.append(names.row(name))
                negative_concepts.append(self._concept_of_negative(name, ids))
                negative_pairs.append(len(concepts))
            concepts.append(_key(pair.concept_id))
        if not concepts:
            what = f"pair of two different names (pairs of a name with itself: {self.same_name:,})"
            remedy = "Concepts with a single name give no pairs, so use a vocabulary with synonyms."
            raise EmptyError(remedy, what=what, consequence="there is nothing to train on")
        self._texts = bytes(names.texts)
        self._ends = np.asarray(names.ends, dtype=np.int64)
        self._rows = np.asarray(rows, dtype=np.int32).reshape(-1, 2)
        self._concepts = np.asarray(concepts, dtype=np.int64)
        self._negatives = np.asarray(negatives, dtype=np.int32)
        self._negative_concepts = np.asarray(negative_concepts, dtype=np.int64)
        self._negative_pairs = np.asarray(negative_pairs, dtype=np.int32)

    def _concept_of_negative(self, name: str, ids: Sequence[str]) -> int:
        """Store the concepts of a negative, and return the key of one of them. An unknown concept gets its own key."""
        keys = list(map(_key, ids)) or [_key(f"\t{name}")]  # ids never contain a tab
        if len(keys) > 1:
            known = self._owners.setdefault(hash64(name), [])
            known.extend(key for key in keys if key not in known)
        return keys[0]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def n_names(self) -> int:
        """The number of names. A name counts once per concept."""
        return len(self._ends) - 1

    @property
    def fingerprint(self) -> str:
        """A hash of pairs and names. Equal hashes give equal batches."""
        digest = hashlib.sha256(self._texts)
        negatives = (self._negatives, self._negative_concepts, self._negative_pairs)
        for part in (self._ends, self._rows, self._concepts, *negatives):
            digest.update(part.tobytes())
        digest.update(repr(sorted(self._owners.items())).encode())
        return digest.hexdigest()

    def name(self, row: int) -> str:
        """Return the name at a row."""
        return self._texts[self._ends[row] : self._ends[row + 1]].decode()

    def batch(self, pairs: np.ndarray) -> Batch:
        """Make a batch of pairs.

        Args:
            pairs: The numbers of the pairs, from 0 to len(self) - 1, int64, shape (b,).
        """
        which, negative_rows = self._negatives_of(pairs)
        rows = np.concatenate((self._rows[pairs].ravel(), self._negatives[negative_rows]))
        concepts = np.concatenate((np.repeat(self._concepts[pairs], 2), self._negative_concepts[negative_rows]))
        # a name has several rows if the pairs are not grouped by concept
        keys = list(zip(map(self.name, rows), concepts.tolist(), strict=True))
        unique = {key: position for position, key in enumerate(dict.fromkeys(keys))}
        positions = np.array([unique[key] for key in keys])
        names = [name for name, _ in unique]
        synonyms = self._synonyms(names, np.array([concept for _, concept in unique]))
        drawn, negatives = positions[: 2 * len(pairs)].reshape(-1, 2), positions[2 * len(pairs) :]
        return Batch(names, drawn, synonyms, np.column_stack((drawn[which], negatives)))

    def _negatives_of(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the offline negatives of pairs: indices into `pairs`, and the numbers of the negatives."""
        firsts = np.searchsorted(self._negative_pairs, pairs, "left")
        lasts = np.searchsorted(self._negative_pairs, pairs, "right")
        negative_rows = [np.arange(first, last) for first, last in zip(firsts, lasts, strict=True)]
        return np.repeat(np.arange(len(pairs)), lasts - firsts), np.concatenate(negative_rows)

    def _synonyms(self, names: list[str], concepts: np.ndarray) -> np.ndarray:
        """Return whether the concepts of two names overlap, bool, shape (n, n)."""
        synonyms = concepts[:, None] == concepts[None, :]
        # the positions of shared names by concept, which may have no other name here
        sharing: dict[int, list[int]] = {}
        for position, name in enumerate(names):
            for concept in self._owners.get(hash64(name), ()):
                sharing.setdefault(concept, []).append(position)
        for concept, positions in sharing.items():
            members = np.union1d(positions, np.flatnonzero(concepts == concept))
            synonyms[np.ix_(members, members)] = True
        np.fill_diagonal(synonyms, False)
        return synonyms


class _Names:
    """The texts of names, and a number for each. A repeated name within a concept keeps its number.

    Attributes:
        texts (bytearray): The names in UTF-8.
        ends (array): The end of each name.
    """

    def __init__(self) -> None:
        self.texts = bytearray()
        self.ends = array("q", [0])
        self._known: dict[str, int] = {}
        self._concept_id: str | None = None

    def begin(self, concept_id: str) -> None:
        if concept_id != self._concept_id:
            self._concept_id, self._known = concept_id, {}

    def row(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = len(self.ends) - 1
            self.texts += name.encode()
            self.ends.append(len(self.texts))
        return self._known[name]


# from a table and a random generator to the batches of one epoch, as numbers of pairs
Batcher = Callable[[PairTable, np.random.Generator], list[np.ndarray]]


def shuffled_batches(size: int = 256) -> Batcher:
    """Shuffle all pairs and cut them into batches. The last batch of an epoch is smaller.

    Args:
        size: Pairs per batch.
    """
    check_counts("ShuffledBatches", size=size)

    def batches(pairs: PairTable, rng: np.random.Generator) -> list[np.ndarray]:
        order = rng.permutation(len(pairs))
        return [order[start : start + size] for start in range(0, len(order), size)]

    return batches


def read_pair_file(path: str, *, shared: str | None = "auto") -> PairTable:
    """Read a file of pairs that `spacy-sapbert pairs` or SapBERT's own scripts wrote.

    Args:
        path: The file, plain or gzipped.
        shared: The file of names that several concepts share. "auto" takes the one next to the pairs, if there is one.
            None only uses the ids of the pairs, as the published code does.

    Raises:
        BadRecordError: A line is broken.
        EmptyError: There is no pair of two different names.
    """
    return PairTable(read_pairs(Path(path)), _read_owners(path, shared))


def read_triple_file(path: str, *, negatives: int | None = None, shared: str | None = "auto") -> PairTable:
    """Read a file of triples that `spacy-sapbert mine` wrote: each pair once, with its negatives.

    Args:
        path: The file, plain or gzipped.
        negatives: The most negatives per pair. The first ones are the nearest. None takes all.
        shared: As for `read_pair_file`. "auto" takes the file next to the triples, if there is one.

    Raises:
        MissingColumnError: A column is missing.
        BadRecordError: A line is broken.
        EmptyError: There is no pair of two different names.
    """
    check_counts("TripleFile", negatives=negatives)
    return PairTable(_by_pair(read_triples(Path(path)), negatives), _read_owners(path, shared))


def _by_pair(triples: Iterable[Triple], most: int | None) -> Iterator[PairWithNegatives]:
    for (concept_id, anchor, positive), group in groupby(triples, key=lambda triple: triple[:3]):
        negatives = tuple((triple.negative, triple.negative_ids) for triple in islice(group, most))
        yield PairWithNegatives(concept_id, anchor, positive, negatives)


def _read_owners(path: str, shared: str | None) -> dict[str, tuple[str, ...]]:
    owners = find_shared_names(Path(path)) if shared == "auto" else shared
    return dict(read_shared_names(Path(owners))) if owners else {}


def _key(concept_id: str) -> int:
    """Return a number for a concept that fits into int64."""
    return hash64(concept_id) - 2**63
