import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation import separation
from spacy_sapbert.evaluation.separation import (
    as_measures,
    cosines_of_pairs,
    equal_error,
    evaluate_separation,
    histograms,
    measure_separation,
    read_name_pairs,
)

PAIRS = "A||a1||a2\nB||b1||b2\nC||c1||c2\n"
VECTORS = {"a1": (1, 0), "a2": (0.6, 0.8), "b1": (0, 2), "b2": (4, 3), "c1": (-1, 0), "c2": (0, 1)}


class Given:
    """An encoder whose vectors are told."""

    def encode(self, texts):
        return np.array([VECTORS[text] for text in texts], dtype=np.float32)


def write(folder, pairs, shared="", name="pairs.txt", shared_name="pairs.shared.txt"):
    (folder / name).write_text(pairs)
    if shared:
        (folder / shared_name).write_text(shared)
    return folder / name


def signs(n, seed=0):
    """Unit vectors whose cosines are exact, with many ties."""
    return np.random.default_rng(seed).choice(np.float32([-0.5, 0.5]), size=(2, n, 4))


def alone(n):
    return [np.array([place]) for place in range(n)]


def test_measures_by_hand(tmp_path):
    pairs = read_name_pairs(write(tmp_path, PAIRS))
    # synonyms 0.6, 0.6, 0; the others 0.8, 0, 0.8, 1, -0.6, -0.8
    assert as_measures(evaluate_separation(Given(), pairs)) == {
        "positive": {"n": 3, "mean": 0.4, "sd": 0.2828},
        "negative": {"n": 6, "mean": 0.2, "sd": 0.7118},
        "difference": 0.2,
        "overlap": 16.67,  # of the synonyms a third and of the others a sixth lie at 0
        "auc": 47.22,  # (3 + 3 + 2.5) / 18
        "threshold_eer": pytest.approx(0.3, abs=1e-3),  # from 0 to 0.6 it is all the same
        "eer": 41.67,  # a third of the synonyms is missed, half of the others is taken for synonyms
    }
    assert np.allclose(cosines_of_pairs(Given(), pairs), [[0.6, 0.8, 0], [0.8, 0.6, 1], [-0.6, -0.8, 0]])


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


def test_how_the_originals_table_is_to_be_read():
    n = 100
    left, right = signs(n)
    lower = np.tril(left @ right.T + 0.3, k=-1)  # most of the published means lie far above 0
    true = lower[np.tril_indices(n, k=-1)]
    p = (n - 1) / (2 * n)
    assert lower.mean() / p == pytest.approx(true.mean())
    assert (lower.std() ** 2 + lower.mean() ** 2) / p - (lower.mean() / p) ** 2 == pytest.approx(true.var())


def test_names_of_one_concept_are_no_negatives(tmp_path):
    text = "A||cold||coryza\nA||common cold||head cold\nB||cold||chill\nC||rhinitis||nasal catarrh\nC||x||x\n"
    pairs = read_name_pairs(write(tmp_path, text, "chill||B||D\nnasal catarrh||C||D\nunused||A||C\n"))
    assert pairs.same_name == 1
    # "cold" is a name of A and B; "chill" and "nasal catarrh" are both of D
    assert [list(places) for places in pairs.synonyms] == [[0, 1, 2], [0, 1], [0, 1, 2], [3]]
    other = read_name_pairs(write(tmp_path, "B||chill||cold\nC||catarrh||nasal catarrh\nE||e||f\n"))
    assert [list(places) for places in other.synonyms] == [[0, 1], [1], [2]]


@pytest.mark.parametrize("name", ["eval.txt", "plot.txt"])
def test_pairs_set_aside_have_the_shared_names_of_those_to_train_on(tmp_path, name):
    pairs = read_name_pairs(write(tmp_path, PAIRS, "a1||A||B\n", name, "train.shared.txt"))
    assert [list(places) for places in pairs.synonyms] == [[0, 1], [1], [2]]


@pytest.mark.parametrize("pairs", ["", "A||a||b\n", "A||a||a\nB||b||c\n", "A||a||b\nA||c||d\n", "A||a||b\nB||a||b\n"])
def test_pairs_that_do_not_differ_are_told(tmp_path, pairs):
    with pytest.raises(SapbertError, match=r"E545.*pairs.txt"):
        read_name_pairs(write(tmp_path, pairs))
