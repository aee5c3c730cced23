import numpy as np
import pytest
import torch
from pytorch_metric_learning.miners import TripletMarginMiner
from pytorch_metric_learning.utils.loss_and_miner_utils import get_all_triplets_indices

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.mining import given_triplets, hard_triplets, in_batch_negatives
from spacy_sapbert.training.pair_table import Batch

SEEDS = range(12)


def random_names(seed, n=40, n_labels=12, dim=6):
    """RETURNS: unit vectors that lie closer where the labels are the same, the labels, and who is a synonym of whom."""
    rng = np.random.default_rng(seed)
    labels = torch.from_numpy(rng.integers(0, n_labels, n))
    centres, noise = rng.normal(size=(n_labels, dim)), rng.normal(size=(n, dim))
    vectors = torch.nn.functional.normalize(torch.from_numpy(centres[labels] + noise).float(), dim=1)
    synonyms = labels[:, None] == labels[None, :]
    return vectors, labels, synonyms.fill_diagonal_(False)


def batch_of(synonyms):
    return Batch([], np.empty((0, 2), dtype=np.int64), synonyms.numpy())


def triplets(columns):
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def at(*degrees):
    """RETURNS (Tensor): unit vectors at these angles, in the plane."""
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float32))
    return torch.stack((angles.cos(), angles.sin()), dim=1)


def synonyms_of(n, *pairs):
    synonyms = torch.zeros((n, n), dtype=torch.bool)
    for left, right in pairs:
        synonyms[left, right] = synonyms[right, left] = True
    return synonyms


@pytest.mark.parametrize("margin", [0.2, 0.0, 0.7])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_mined_is_what_the_published_miner_takes(seed, margin):
    vectors, labels, synonyms = random_names(seed)
    expected = triplets(TripletMarginMiner(margin=margin, type_of_triplets="all")(vectors, labels))
    everything = get_all_triplets_indices(labels)[0]
    assert 0 < len(expected) < len(everything)
    mined = hard_triplets(margin)(vectors, batch_of(synonyms))
    assert triplets(mined.triplets.T) == expected
    assert {tuple(pair) for pair in mined.positives.nonzero().tolist()} == {(a, p) for a, p, _ in expected}
    assert {tuple(pair) for pair in mined.negatives.nonzero().tolist()} == {(a, n) for a, _, n in expected}


@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_margin_all_triplets_are_taken(seed):
    vectors, labels, synonyms = random_names(seed)
    assert triplets(hard_triplets(None)(vectors, batch_of(synonyms)).triplets.T) == triplets(
        get_all_triplets_indices(labels)
    )


def test_a_margin_by_hand():
    """Chords: 2 sin 5° = 0.174 to the synonym; to the others 2 sin 10° = 0.347, from the synonym 2 sin 15° = 0.518."""
    vectors, synonyms = at(0, 10, -20), synonyms_of(3, (0, 1))
    assert triplets(hard_triplets(0.2)(vectors, batch_of(synonyms)).triplets.T) == [(0, 1, 2)]
    assert triplets(hard_triplets(0.35)(vectors, batch_of(synonyms)).triplets.T) == [(0, 1, 2), (1, 0, 2)]
    assert triplets(hard_triplets(0.1)(vectors, batch_of(synonyms)).triplets.T) == []


def test_a_name_between_two_concepts_is_a_positive_of_both_and_a_negative_of_neither():
    """0 is a synonym of 1 and of 2, which are none of each other: overlaps that labels cannot tell."""
    mined = hard_triplets(None)(at(0, 10, 20), batch_of(synonyms_of(3, (0, 1), (0, 2))))
    assert triplets(mined.triplets.T) == [(1, 0, 2), (2, 0, 1)]
    assert mined.positives.nonzero().tolist() == [[1, 0], [2, 0]]
    assert mined.negatives.nonzero().tolist() == [[1, 2], [2, 1]]


@pytest.mark.parametrize("margin", [0.2, None])
def test_nothing_may_be_found(margin):
    """All names are synonyms: there is no negative."""
    synonyms = ~torch.eye(4, dtype=torch.bool)
    mined = hard_triplets(margin)(at(0, 10, 20, 30), batch_of(synonyms))
    assert mined.triplets.shape == (0, 3)
    assert not mined.positives.any()
    assert not mined.negatives.any()
    assert synonyms.sum() == 12  # and what was given is as it was


def test_mining_lets_no_gradient_through():
    vectors, _, synonyms = random_names(0)
    vectors.requires_grad_()
    mined = hard_triplets()(vectors, batch_of(synonyms))
    assert not any(part.requires_grad for part in (mined.triplets, mined.positives, mined.negatives))


def batch_of_pairs(n, pairs, triplets=(), others=()):
    """others: synonyms that are no pairs of the batch."""
    synonyms = synonyms_of(n, *pairs, *others).numpy()
    return Batch([], np.array(pairs), synonyms, np.array(triplets, dtype=np.int64).reshape(-1, 3))


def test_given_triplets_are_taken_as_they_are():
    """Whether they are hard or not, and nothing beside them; names 4 and 5 are the negatives."""
    batch = batch_of_pairs(6, [(0, 1), (2, 3)], [(0, 1, 4), (2, 3, 5), (2, 3, 0)])
    mined = given_triplets()(at(0, 1, 180, 90, 200, 10), batch)
    assert triplets(mined.triplets.T) == [(0, 1, 4), (2, 3, 0), (2, 3, 5)]
    assert mined.positives.nonzero().tolist() == [[0, 1], [2, 3]]
    assert mined.negatives.nonzero().tolist() == [[0, 4], [2, 0], [2, 5]]


def test_a_given_negative_that_is_a_synonym_after_all_is_left_out():
    batch = batch_of_pairs(5, [(0, 1)], [(0, 1, 2), (0, 1, 3), (0, 1, 4)], others=[(0, 2), (1, 3)])
    assert given_triplets()(at(0, 1, 2, 3, 4), batch).triplets.tolist() == [[0, 1, 4]]


def test_pairs_without_given_negatives_are_reported():
    with pytest.raises(SapbertError, match=r"E347.*spacy-sapbert mine.*TripleFile"):
        given_triplets()(at(0, 1), batch_of_pairs(2, [(0, 1)]))


def test_the_second_names_of_other_pairs_are_negatives():
    """Each pair in one direction; 4 and 2 are synonyms of each other, and 5 is a given negative of the first pair."""
    batch = batch_of_pairs(6, [(0, 1), (2, 3), (4, 3)], [(0, 1, 5)], others=[(4, 2)])
    mined = in_batch_negatives()(at(0, 1, 2, 3, 4, 5), batch)
    assert triplets(mined.triplets.T) == [(0, 1, 3), (0, 1, 5), (2, 3, 1), (2, 3, 5), (4, 3, 1), (4, 3, 5)]
    assert mined.positives.nonzero().tolist() == [[0, 1], [2, 3], [4, 3]]


def test_known_synonyms_are_not_negatives_of_a_pair():
    """Two pairs of one concept, the second of them the other way round, and a shared name (5)."""
    concept = [(0, 2), (0, 3), (1, 2), (1, 3), (0, 5)]
    mined = in_batch_negatives()(at(0, 1, 2, 3, 4, 5), batch_of_pairs(6, [(0, 1), (2, 3), (4, 5)], others=concept))
    assert triplets(mined.triplets.T) == [(2, 3, 5), (4, 5, 1), (4, 5, 3)]
