"""All pairs of a file in memory, and batches of them with what is known of their names."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import Errors, SapbertError
from ..kb.pair_files import Pair, find_shared_names, read_pairs, read_shared_names
from ..text.hashing import hash64


class Batch(NamedTuple):
    """Names that are encoded together, each once.

    names (list[str]): n names, in normal form.
    pairs (int64, shape (b, 2)): the places in `names` of the pairs that were drawn.
    synonyms (bool, shape (n, n)): whether two different places hold names of one concept. What is not known to be a
        synonym is a negative.
    """

    names: list[str]
    pairs: np.ndarray
    synonyms: np.ndarray


class PairTable:
    """Pairs of synonyms, in 16 bytes each, and the text of their names.

    pairs (Iterable[Pair]): grouped by concept where they come from our files, which keeps the texts few.
    owners (Mapping[str, Sequence[str]]): the ids of all concepts of a name, for names that several concepts share.
    RAISES (SapbertError): E330 there is no pair of two different names.
    """

    def __init__(self, pairs: Iterable[Pair], owners: Mapping[str, Sequence[str]] | None = None) -> None:
        self._owners = {hash64(name): [_key(one) for one in ids] for name, ids in (owners or {}).items()}
        texts = bytearray()
        ends, rows, concepts = array("q", [0]), array("i"), array("q")
        known: dict[str, int] = {}
        concept_id = None
        self.same_name = 0
        for pair in pairs:
            if pair.concept_id != concept_id:
                concept_id, known = pair.concept_id, {}
            if pair.name1 == pair.name2:
                self.same_name += 1
                continue
            for name in pair[1:]:
                if name not in known:
                    known[name] = len(ends) - 1
                    texts += name.encode()
                    ends.append(len(texts))
                rows.append(known[name])
            concepts.append(_key(pair.concept_id))
        if not concepts:
            raise SapbertError(Errors.E330.format(same=self.same_name))
        self._texts = bytes(texts)
        self._ends = np.asarray(ends, dtype=np.int64)
        self._rows = np.asarray(rows, dtype=np.int32).reshape(-1, 2)
        self._concepts = np.asarray(concepts, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def n_names(self) -> int:
        """RETURNS (int): how many names there are, each counted once a concept."""
        return len(self._ends) - 1

    @property
    def n_shared(self) -> int:
        """RETURNS (int): how many names are known to belong to several concepts."""
        return len(self._owners)

    @property
    def fingerprint(self) -> str:
        """A hash of pairs and names: equal ones give equal batches."""
        digest = hashlib.sha256(self._texts)
        for part in (self._ends, self._rows, self._concepts):
            digest.update(part.tobytes())
        digest.update(repr(sorted(self._owners.items())).encode())
        return digest.hexdigest()

    def name(self, row: int) -> str:
        return self._texts[self._ends[row] : self._ends[row + 1]].decode()

    def batch(self, pairs: np.ndarray) -> Batch:
        """Bring pairs together.

        pairs (int64, shape (b,)): numbers of pairs, from 0 to len(self).
        """
        owned = np.repeat(self._concepts[pairs], 2).tolist()
        # a name has several rows where the pairs are not grouped by concept
        known: dict[tuple[str, int], int] = {}
        places = [
            known.setdefault((self.name(row), concept), len(known))
            for row, concept in zip(self._rows[pairs].ravel(), owned, strict=True)
        ]
        names = [name for name, _ in known]
        concept_of = np.array([concept for _, concept in known])
        return Batch(names, np.array(places).reshape(-1, 2), self._synonyms(names, concept_of))

    def _synonyms(self, names: list[str], concept_of: np.ndarray) -> np.ndarray:
        """RETURNS (bool, shape (n, n)): whether the concepts of two names overlap."""
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


def read_pair_file(path: str, *, shared: str | None = "auto") -> PairTable:
    """Read a file of pairs, as `spacy-sapbert pairs` and SapBERT's own scripts write it.

    shared (str | None): the file of the names that several concepts share; "auto" takes the one beside the pairs
        where there is one, None goes by the ids of the pairs alone, as the published code does.
    RAISES (SapbertError): E180 a broken line, E12x a file cannot be read, E330 there is no pair.
    """
    beside = find_shared_names(Path(path)) if shared == "auto" else shared
    return PairTable(read_pairs(Path(path)), dict(read_shared_names(Path(beside))) if beside else {})


def _key(concept_id: str) -> int:
    """RETURNS (int): stands for a concept in an array of int64."""
    return hash64(concept_id) - 2**63
