import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.metrics.calibration import (
    brier_score,
    calibration_error,
    reliability,
    threshold_curve,
    wilson_interval,
)


def test_the_curve_of_a_few_links():
    scores, right = np.array([0.9, 0.5, 0.7, 0.7]), np.array([True, False, True, False])
    curve = threshold_curve(scores, right, np.array([0.9, 0.7, -np.inf, -np.inf]))
    assert list(curve.thresholds) == [0, 0.5, 0.7]
    assert list(curve.n) == [4, 3, 1]
    assert curve.precision == pytest.approx([1 / 2, 2 / 3, 1])
    assert curve.recall == pytest.approx([1 / 2, 1 / 2, 1 / 4])
    assert curve.f1 == pytest.approx([1 / 2, 4 / 7, 2 / 5])


def test_nothing_right_has_no_f1():
    curve = threshold_curve(np.array([0.5, 0.6]), np.array([False, False]), np.array([-np.inf]))
    assert list(curve.f1) == [0, 0]
    assert list(threshold_curve(np.array([0.5]), np.array([False]), np.array([])).recall) == [0]


def test_bins_of_equal_mass():
    probabilities = np.array([0.1, 0.9, 0.3, 0.7])
    right = np.array([False, True, True, True])
    table = reliability(probabilities, right, bins=2)
    assert table == [{"mean": 0.2, "right": 0.5, "n": 2}, {"mean": 0.8, "right": 1.0, "n": 2}]
    # (2 · |0.2 - 0.5| + 2 · |0.8 - 1|) / 4
    assert calibration_error(table) == pytest.approx(0.25)
    assert brier_score(probabilities, right) == pytest.approx((0.01 + 0.01 + 0.49 + 0.09) / 4)


def test_links_of_equal_probability_stay_together():
    table = reliability(np.array([0.2] * 3 + [0.8] * 7), np.array([True] + [False] * 2 + [True] * 7))
    assert [(row["mean"], row["n"]) for row in table] == [(pytest.approx(0.2), 3), (pytest.approx(0.8), 7)]
    assert calibration_error(table) == pytest.approx(0.3 * (1 / 3 - 0.2) + 0.7 * 0.2)


links = st.lists(st.tuples(st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9, 1.0]), st.booleans()), min_size=1, max_size=40)


@given(links, st.randoms(use_true_random=False))
def test_no_measure_depends_on_the_order_of_links(some, random):
    shuffled = random.sample(some, len(some))
    measured = []
    for one in (some, shuffled):
        scores, right = np.array([score for score, _ in one]), np.array([is_right for _, is_right in one])
        table = reliability(scores, right)
        assert sum(row["n"] for row in table) == len(one)
        assert 0 <= calibration_error(table) <= 1
        assert [row["mean"] for row in table] == sorted(row["mean"] for row in table)
        measured.append((calibration_error(table), brier_score(scores, right)))
    assert measured[0] == pytest.approx(measured[1])


def test_wilson_intervals_are_those_of_scipy():
    binomtest = pytest.importorskip("scipy.stats").binomtest
    right, n = np.array([0, 5, 30, 8]), np.array([4, 8, 30, 1000])
    low, high = wilson_interval(right / n, n)
    expected = [
        binomtest(k, of).proportion_ci(method="wilson") for k, of in zip(right.tolist(), n.tolist(), strict=True)
    ]
    assert low == pytest.approx([one.low for one in expected], abs=1e-6)
    assert high == pytest.approx([one.high for one in expected], abs=1e-6)
