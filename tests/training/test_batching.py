from __future__ import annotations

import numpy as np
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.batching import shuffled_batches
from spacy_sapbert.training.pair_files import Pair
from spacy_sapbert.training.pair_table import PairTable

PAIRS = PairTable(Pair(f"C{number}", f"a{number}", f"b{number}") for number in range(23))


def batches(seed, size=5):
    return [batch.tolist() for batch in shuffled_batches(size)(PAIRS, np.random.default_rng(seed))]


def test_every_pair_comes_once_an_epoch():
    found = batches(0)
    assert [len(batch) for batch in found] == [5, 5, 5, 5, 3]
    assert sorted(number for batch in found for number in batch) == list(range(23))


def test_chance_decides_the_order():
    assert batches(0) == batches(0)
    assert batches(0) != batches(1)
    assert batches(0, size=23)[0] != list(range(23))


def test_few_pairs_are_one_batch():
    assert len(batches(0, size=256)) == 1


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_has_to_be_above_0(size):
    with pytest.raises(SapbertError, match=rf"E335.*size.*{size}"):
        shuffled_batches(size)
