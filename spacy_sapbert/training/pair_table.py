"""All pairs of a file in memory, perhaps with negatives, and batches of them with what is known of their names."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import Errors, SapbertError
from ..text.hashing import hash64
from .checks import check_counts
from .pair_files import Pair, find_shared_names, read_pairs, read_shared_names
from .triple_files import Triple, read_triples


class Batch(NamedTuple):
    """Names that are encoded together, each once.

    Attributes:
        names: n names, in normal form.
        pairs (int64, shape (b, 2)): the places in `names` of the pairs that were drawn.
        synonyms (bool, shape (n, n)): whether two different places hold names of one concept. What is not known to be a
            synonym is a negative.
        triplets (int64, shape (t, 3)): the places of each pair with each of the negatives that were given with it.
    """

    names: list[str]
    pairs: np.ndarray
    synonyms: np.ndarray
    triplets: np.ndarray = np.empty((0, 3), dtype=np.int64)


class PairWithNegatives(NamedTuple):
    """Two names of one concept, and names of others, each with the ids of its concepts as far as they are known."""

    concept_id: str
    name1: str
    name2: str
    negatives: tuple[tuple[str, tuple[str, ...]], ...]


class PairTable:
    """Pairs of synonyms, in 16 bytes each and as many for a negative, and the text of their names.

    Args:
        pairs: grouped by concept where they come from our files, which keeps the texts few.
        owners: the ids of all concepts of a name, for names that several concepts share.

    Raises:
        SapbertError: E330 there is no pair of two different names.
    """

    def __init__(
        self, pairs: Iterable[Pair | PairWithNegatives], owners: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self._owners = {hash64(name): [_key(one) for one in ids] for name, ids in (owners or {}).items()}
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
                negative_concepts.append(self._owned_by(name, ids))
                negative_pairs.append(len(concepts))
            concepts.append(_key(pair.concept_id))
        if not concepts:
            raise SapbertError(Errors.E330.format(same=self.same_name))
        self._texts = bytes(names.texts)
        self._ends = np.asarray(names.ends, dtype=np.int64)
        self._rows = np.asarray(rows, dtype=np.int32).reshape(-1, 2)
        self._concepts = np.asarray(concepts, dtype=np.int64)
        self._negatives = np.asarray(negatives, dtype=np.int32)
        self._negative_concepts = np.asarray(negative_concepts, dtype=np.int64)
        self._negative_pairs = np.asarray(negative_pairs, dtype=np.int32)

    def _owned_by(self, name: str, ids: Sequence[str]) -> int:
        """Note the concepts of a negative. RETURNS (int): one of them, or what stands for an unknown one of its own."""
        keys = [_key(one) for one in ids] or [_key(f"\t{name}")]  # no id holds a tab
        if len(keys) > 1:
            known = self._owners.setdefault(hash64(name), [])
            known.extend(key for key in keys if key not in known)
        return keys[0]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def n_names(self) -> int:
        """How many names there are, each counted once a concept."""
        return len(self._ends) - 1

    @property
    def n_shared(self) -> int:
        """How many names are known to belong to several concepts."""
        return len(self._owners)

    @property
    def fingerprint(self) -> str:
        """A hash of pairs and names: equal ones give equal batches."""
        digest = hashlib.sha256(self._texts)
        negatives = (self._negatives, self._negative_concepts, self._negative_pairs)
        for part in (self._ends, self._rows, self._concepts, *negatives):
            digest.update(part.tobytes())
        digest.update(repr(sorted(self._owners.items())).encode())
        return digest.hexdigest()

    def name(self, row: int) -> str:
        return self._texts[self._ends[row] : self._ends[row + 1]].decode()

    def batch(self, pairs: np.ndarray) -> Batch:
        """Bring pairs together.

        Args:
            pairs (int64, shape (b,)): numbers of pairs, from 0 to len(self).
        """
        which, given = self._given(pairs)
        rows = np.concatenate((self._rows[pairs].ravel(), self._negatives[given]))
        matching_entries = np.concatenate((np.repeat(self._concepts[pairs], 2), self._negative_concepts[given]))
        # a name has several rows where the pairs are not grouped by concept
        known: dict[tuple[str, int], int] = {}
        places = np.array(
            [
                known.setdefault((self.name(row), concept), len(known))
                for row, concept in zip(rows, matching_entries.tolist(), strict=True)
            ]
        )
        names = [name for name, _ in known]
        concept_of = np.array([concept for _, concept in known])
        drawn, negatives = places[: 2 * len(pairs)].reshape(-1, 2), places[2 * len(pairs) :]
        return Batch(names, drawn, self._synonyms(names, concept_of), np.column_stack((drawn[which], negatives)))

    def _given(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``: of each negative that is given with one of these pairs, the place in `pairs`, and its number."""
        firsts = np.searchsorted(self._negative_pairs, pairs, "left")
        lasts = np.searchsorted(self._negative_pairs, pairs, "right")
        given = [np.arange(first, last) for first, last in zip(firsts, lasts, strict=True)]
        return np.repeat(np.arange(len(pairs)), lasts - firsts), np.concatenate(given)

    def _synonyms(self, names: list[str], concept_of: np.ndarray) -> np.ndarray:
        """Return `bool, shape (n, n)`: whether the concepts of two names overlap."""
        synonyms = concept_of[:, None] == concept_of[None, :]
        shared = {place: ids for place, name in enumerate(names) if (ids := self._owners.get(hash64(name)))}
        for place, ids in shared.items():
            same = np.isin(concept_of, ids)
            synonyms[place] |= same
            synonyms[:, place] |= same
        for place, ids in shared.items():  # two shared names can meet in a concept that no pair of the batch is of
            for other, others in shared.items():
                synonyms[place, other] |= not set(ids).isdisjoint(others)
        np.fill_diagonal(synonyms, False)
        return synonyms


class _Names:
    """The text of names, and a number for each; one that comes again within a concept keeps its number.

    Attributes:
        texts (bytearray), ends (array): UTF-8, and where each name ends.
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


def read_pair_file(path: str, *, shared: str | None = "auto") -> PairTable:
    """Read a file of pairs, as `spacy-sapbert pairs` and SapBERT's own scripts write it.

    Args:
        path: the file, plain or gzipped.
        shared: the file of the names that several concepts share; "auto" takes the one beside the pairs where there is
            one, None goes by the ids of the pairs alone, as the published code does.

    Raises:
        SapbertError: E180 a broken line, E12x a file cannot be read, E330 there is no pair.
    """
    return PairTable(read_pairs(Path(path)), _read_owners(path, shared))


def read_triple_file(path: str, *, negatives: int | None = None, shared: str | None = "auto") -> PairTable:
    """Read a file of triples, as `spacy-sapbert mine` writes it: each pair once, with its negatives.

    Args:
        path: the file, plain or gzipped.
        negatives: at most so many of each pair, those that come first: the nearest; None for all.
        shared: as for `read_pair_file`; "auto" takes the file beside the triples where there is one.

    Raises:
        SapbertError: E185, E186 no triples or a broken line, E180 a broken line among the shared names, E12x a file
            cannot be read, E330 there is no pair, E335 a number of negatives that makes no sense.
    """
    check_counts(negatives=negatives)
    return PairTable(_by_pair(read_triples(Path(path)), negatives), _read_owners(path, shared))


def _by_pair(triples: Iterable[Triple], most: int | None) -> Iterator[PairWithNegatives]:
    for (concept_id, anchor, positive), group in groupby(triples, key=lambda triple: triple[:3]):
        negatives = tuple((triple.negative, triple.negative_ids) for triple in islice(group, most))
        yield PairWithNegatives(concept_id, anchor, positive, negatives)


def _read_owners(path: str, shared: str | None) -> dict[str, tuple[str, ...]]:
    """Return the concepts of the names that several share."""
    owners = find_shared_names(Path(path)) if shared == "auto" else shared
    return dict(read_shared_names(Path(owners))) if owners else {}


def _key(concept_id: str) -> int:
    """Return `int`: stands for a concept in an array of int64."""
    return hash64(concept_id) - 2**63
