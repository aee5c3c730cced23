import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from spacy_sapbert.metrics import separation
from spacy_sapbert.metrics.separation import as_measures, equal_error, histograms, measure_separation


def signs(n, seed=0):
    """Unit vectors whose cosines are exact, with many ties."""
    return np.random.default_rng(seed).choice(np.float32([-0.5, 0.5]), size=(2, n, 4))


def alone(n):
    return [np.array([place]) for place in range(n)]


def test_measures_are_those_of_the_whole_matrix():
    left, right = signs(50)
    cosines = left @ right.T
    off_diagonal = ~np.eye(50, dtype=bool)
    found = measure_separation(3 * left, right, alone(50))
    measures = as_measures(found)
    assert measures["negative"]["mean"] == pytest.approx(cosines[off_diagonal].mean(), abs=1e-4)
    assert measures["negative"]["sd"] == pytest.approx(cosines[off_diagonal].std(), abs=1e-4)
    assert measures["auc"] == pytest.approx(100 * roc_auc_score(~off_diagonal.ravel(), cosines.ravel()), abs=0.01)


def test_no_threshold_makes_errors_more_equal():
    rng = np.random.default_rng(0)
    right = rng.normal(size=(80, 5)).astype(np.float32)
    found = measure_separation(right + rng.normal(size=right.shape), right, alone(80))
    positives, negatives = found.positives, np.repeat(found.thresholds[:-1], np.diff(found.below))
    threshold, errors = equal_error(found)

    def difference(at):
        return abs((positives < at).mean() - (negatives >= at).mean())

    assert difference(threshold) == pytest.approx(min(map(difference, found.thresholds)), abs=1e-9)
    assert errors == pytest.approx(((positives < threshold).mean() + (negatives >= threshold).mean()) / 2)


def test_names_that_are_fully_apart():
    points = np.eye(4, dtype=np.float32)
    found = measure_separation(points, points, alone(4))
    measures = as_measures(found)
    assert (measures["auc"], measures["overlap"], measures["eer"]) == (100, 0, 0)
    assert measures["threshold_eer"] == pytest.approx(0.5, abs=1e-3)
    bounds, positives, negatives = histograms(found)
    assert (bounds[0], bounds[-1]) == (-1, 1)
    assert positives[-1] == negatives.sum() == 1


def test_parts_of_the_matrix_give_what_the_whole_gives(monkeypatch):
    left, right = signs(30)
    whole = measure_separation(left, right, alone(30))
    monkeypatch.setattr(separation, "_COSINES_AT_ONCE", 100)
    parts = measure_separation(left, right, alone(30))
    assert np.array_equal(whole.below, parts.below)
    assert whole[3:] == pytest.approx(parts[3:])
