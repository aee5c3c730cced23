import numpy as np
import pytest

from spacy_sapbert.metrics.uncertainty import describe_difference, deviation_of, error_of, mean_of, resample_means


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


RESULTS = [
    {"n": 3, "acc": {"@1": 80.0, "@5": None}, "name": "a", "rows": [1], "is_best": True},
    {"n": 3, "acc": {"@1": 90.0, "@5": 95.0}, "name": "b", "rows": [2], "is_best": True},
    {"n": 6, "acc": {"@1": 85.0, "@5": 97.0}, "name": "b", "rows": [2], "is_best": True, "skipped": 1},
]


def test_numbers_are_averaged_where_they_stand():
    assert mean_of(RESULTS) == {"n": 4, "acc": {"@1": 85.0, "@5": 96.0}}


def test_deviations_and_errors():
    # squares of 80, 90 and 85: 25 + 25 + 0, over 2
    assert deviation_of(RESULTS) == {"n": pytest.approx(3**0.5, abs=1e-4), "acc": {"@1": 5.0, "@5": 1.4142}}
    assert error_of(RESULTS) == {"n": 1.0, "acc": {"@1": 2.8868, "@5": 1.0}}


def test_a_single_result_has_no_deviation():
    assert mean_of(RESULTS[:1]) == {"n": 3, "acc": {"@1": 80.0, "@5": None}}
    assert deviation_of(RESULTS[:1]) == error_of(RESULTS[:1]) == {"n": None, "acc": {"@1": None, "@5": None}}
