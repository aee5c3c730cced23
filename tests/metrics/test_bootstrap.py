from math import comb

import numpy as np
import pytest

from spacy_sapbert.metrics.bootstrap import describe_difference, f1_of_all, resample_f1, resample_means


def test_documents_are_drawn_with_all_their_items():
    """One document gains ten items, the other loses one: a draw holds the first, the second, or both."""
    gains, sizes = np.array([[10.0], [-1.0]]), np.array([10, 1])
    drawn = resample_means(gains, sizes, resamples=400)
    assert drawn.shape == (400, 1)
    values, counts = np.unique(drawn.round(6), return_counts=True)
    assert values == pytest.approx([-100, 900 / 11, 100])
    assert counts[1] == pytest.approx(200, abs=60)  # of the draws every second holds both


def test_a_gain_follows_the_binomial_law():
    """Of 20 documents of one item 10 gain: the gains in a draw follow a binomial law of 20 and 1/2."""
    gains = np.array([[1.0]] * 10 + [[0.0]] * 10)
    drawn = resample_means(gains, np.ones(20))[:, 0]
    expected = sum(comb(20, i) for i in range(8)) / 2**20
    assert (drawn < 37.5).mean() == pytest.approx(expected, abs=0.02)


def test_the_same_seed_draws_the_same():
    gains, sizes = np.arange(30.0)[:, None], np.ones(30)
    assert np.array_equal(resample_means(gains, sizes), resample_means(gains, sizes))
    assert not np.array_equal(resample_means(gains, sizes), resample_means(gains, sizes, seed=1))


def test_f1_is_of_all_documents_together():
    counts = np.array([[[8, 8, 8]], [[0, 0, 1]], [[0, 0, 0]]], dtype=float)
    assert f1_of_all(counts) == pytest.approx([1600 / 17])
    assert f1_of_all(counts[2:]) == [0]
    more = np.array([[[8, 8, 8]], [[0, 15, 1]], [[0, 0, 0]]], dtype=float)
    drawn = resample_f1(counts, more, resamples=400)
    # the first and the third alone are the same in both; the second alone has no hit in either
    assert drawn.max() == 0
    assert drawn.min() < -44


def test_a_difference_in_numbers():
    resampled = np.array([-1.0, *[2.0] * 39])
    figures = describe_difference(50.0, 52.004, resampled)
    assert (figures["a"], figures["b"], figures["difference"]) == (50.0, 52.0, 2.0)
    assert figures["p"] == round(2 * 2 / 41, 4)  # one of 40 draws, and the observed difference itself
    assert figures["high"] == 2.0
    same = describe_difference(50.0, 50.0, np.zeros(40))
    assert same == {"a": 50.0, "b": 50.0, "difference": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}
