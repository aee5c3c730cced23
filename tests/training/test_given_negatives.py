"""Runs on pairs and triples, with the parts that go with each."""

from __future__ import annotations

import itertools

import pytest

from spacy_sapbert.training.losses import multiple_negatives_ranking, triplet
from spacy_sapbert.training.mining import given_triplets, in_batch_negatives
from spacy_sapbert.training.pair_table import PairWithNegatives


@pytest.fixture(scope="session")
def pairs_with_negatives(synonym_pairs):
    """Each pair with three names of the next three concepts."""
    names = {pair.concept_id: pair.name1 for pair in synonym_pairs}
    others = itertools.cycle(names.items())
    return [
        PairWithNegatives(
            *pair, tuple((name, (key,)) for key, name in itertools.islice(others, 4) if key != pair[0])[:3]
        )
        for pair in synonym_pairs
    ]


@pytest.mark.parametrize(
    ("given", "miner", "loss"),
    [
        (False, in_batch_negatives, multiple_negatives_ranking),
        (True, in_batch_negatives, multiple_negatives_ranking),
        (True, given_triplets, triplet),
    ],
)
def test_a_run_lowers_the_loss(make_run, read_curve, synonym_pairs, pairs_with_negatives, tmp_path, given, miner, loss):
    pairs = pairs_with_negatives if given else synonym_pairs
    make_run(pairs, miner=miner(), loss=loss(), max_epochs=6, dropout=False).train(tmp_path)
    curve = [line["loss"] for line in read_curve(tmp_path)]
    assert sum(curve[-5:]) < 0.8 * sum(curve[:5])
