import numpy as np
import pytest

from spacy_sapbert.metrics.bootstrap import describe_difference, resample_means


def test_documents_are_drawn_with_all_their_items():
    """One document gains ten items, the other loses one: a draw holds the first, the second, or both."""
    gains, sizes = np.array([[10.0], [-1.0]]), np.array([10, 1])
    drawn = resample_means(gains, sizes, resamples=400)
    assert drawn.shape == (400, 1)
    values, counts = np.unique(drawn.round(6), return_counts=True)
    assert values == pytest.approx([-100, 900 / 11, 100])
    assert counts[1] == pytest.approx(200, abs=60)  # of the draws every second holds both


def test_the_same_seed_draws_the_same():
    gains, sizes = np.arange(30.0)[:, None], np.ones(30)
    assert np.array_equal(resample_means(gains, sizes), resample_means(gains, sizes))
    assert not np.array_equal(resample_means(gains, sizes), resample_means(gains, sizes, seed=1))


def test_a_difference_in_numbers():
    resampled = np.array([-1.0, *[2.0] * 39])
    figures = describe_difference(50.0, 52.004, resampled)
    assert (figures["a"], figures["b"], figures["difference"]) == (50.0, 52.0, 2.0)
    assert figures["p"] == round(2 * 2 / 41, 4)  # one of 40 draws, and the observed difference itself
    assert figures["high"] == 2.0
    same = describe_difference(50.0, 50.0, np.zeros(40))
    assert same == {"a": 50.0, "b": 50.0, "difference": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}
