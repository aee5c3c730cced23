import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.retrieval.signal_weights import SignalWeights, best_threshold

WEIGHTS = SignalWeights((("phrases", 2), ("prior", 1)), (1.0, -2.0, 0.5), (0.5, 0.0, 1.0), -1.0, 0.4)
KEPT = json.loads(json.dumps(WEIGHTS._asdict()))


def f1(scores, right, missed, threshold):
    named = scores > threshold
    return 2 * (named & right).sum() / max(1, named.sum() + right.sum() + missed)


def test_scores_by_hand():
    (score,) = WEIGHTS.scores(np.array([[1.5, 0.25, 3.0]]))
    # −1 + 1·(1.5 − 0.5) − 2·0.25 + 0.5·(3 − 1)
    assert score == pytest.approx(1 / (1 + np.exp(-0.5)))
    assert WEIGHTS.contributions(np.array([[1.5, 0.25, 3.0]])) == [(("phrases", 0.5), ("prior", 1.0))]


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.floats(-5, 5)] * 3), min_size=1, max_size=5))
def test_contributions_add_up_to_the_score(rows):
    features = np.array(rows)
    for score, told in zip(WEIGHTS.scores(features), WEIGHTS.contributions(features), strict=True):
        logit = WEIGHTS.bias + sum(value for _, value in told)
        assert score == pytest.approx(1 / (1 + np.exp(-logit)))


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=1, max_size=30), st.integers(0, 5))
def test_no_other_threshold_is_better(pairs, missed):
    scores, right = np.array([n / 20 for n, _ in pairs]), np.array([is_right for _, is_right in pairs])
    best = max(f1(scores, right, missed, threshold) for threshold in np.arange(0, 21) / 20 - 1 / 40)
    assert f1(scores, right, missed, best_threshold(scores, right, missed)) == pytest.approx(best)


def test_the_threshold_lies_half_way():
    assert best_threshold(np.array([0.9, 0.8, 0.2]), np.array([True, True, False]), 0) == pytest.approx(0.5)
    assert best_threshold(np.array([0.2, 0.8]), np.array([True, True]), 0) == pytest.approx(0.1)


def test_fitted_weights_tell_right_from_wrong():
    random = np.random.default_rng(0)
    right = [random.random(20) < 0.3 for _ in range(4)]
    features = [
        np.stack([one + random.normal(0, 0.3, 20), random.normal(0, 1, 20)], axis=1).astype(np.float32) for one in right
    ]
    weights = SignalWeights.fit({"phrases": 1, "prior": 1}, features, right, 1)
    assert weights.signals == (("phrases", 1), ("prior", 1))
    assert weights.weights[0] > 5 * abs(weights.weights[1])
    found = np.concatenate([weights.scores(one) > weights.threshold for one in features])
    assert (found == np.concatenate(right)).mean() > 0.9
    assert weights.means == pytest.approx(tuple(np.concatenate(features).mean(axis=0)), abs=1e-5)


@pytest.mark.parametrize("right", [True, False])
def test_nothing_to_tell_apart(right):
    assert SignalWeights.fit({"prior": 1}, [np.zeros((3, 1), np.float32)], [np.full(3, right)], 0) is None


def test_weights_survive_as_json():
    assert SignalWeights.from_json(KEPT) == WEIGHTS


@pytest.mark.parametrize(
    "change",
    [
        {"weights": [1.0, 2.0]},
        {"means": [1.0, 2.0, 3.0, 4.0]},
        {"signals": [["phrases", 3], ["prior", 1]]},
        {"signals": [["phrases"]]},
        {"signals": None},
        {"bias": "much"},
        {"threshold": None},
    ],
)
def test_broken_weights_are_told(change):
    with pytest.raises((ValueError, TypeError)):
        SignalWeights.from_json({**KEPT, **change})
    for name in change:
        with pytest.raises(KeyError):
            SignalWeights.from_json({key: value for key, value in KEPT.items() if key != name})
