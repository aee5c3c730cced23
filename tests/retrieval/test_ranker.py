import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.retrieval.signals import ConceptRanker, SignalWeights, best_threshold

NLP = spacy.blank("en")


class TableSignal:
    """Says of the concepts of a text what a table has: id → features."""

    threshold = 0.4

    def __init__(self, name, features, concepts, table):
        self.name = name
        self.features = features
        self.positions = {one: concepts.positions_of(one)[0] for of_text in table.values() for one in of_text}
        self.table = table
        self.given = []

    def read(self, docs, own=None):
        self.given.append(own)
        return [TableView(self, self.table.get(doc.text, {})) for doc in docs]


class TableView:
    def __init__(self, signal, seen):
        self.signal = signal
        self.seen = {signal.positions[one]: values for one, values in seen.items()}

    def nearest(self, n):
        return np.array(list(self.seen)[:n], dtype=np.int64)

    def features(self, positions):
        nothing = [0.0] * len(self.signal.features)
        return np.array([self.seen.get(int(position), nothing) for position in positions], np.float32).reshape(
            -1, len(nothing)
        )

    def evidence(self, position):
        return [(0, 3), (0, 3), (4, 5)] if position in self.seen and self.signal.name == "b" else []


@pytest.fixture
def signals(concepts):
    first = {"one": {"D003139": [0.5], "D001943": [0.5], "D010051": [3.0], "D009369": [2.0], "D003550": [-1.0]}}
    second = {"one": {"D003550": [1.0, 0.0], "D003139": [0.0, 1.0]}}
    return [TableSignal("a", ("x",), concepts, first), TableSignal("b", ("y", "z"), concepts, second)]


def ids(concepts, ranked):
    return [concepts.ids[one.position] for one in ranked]


def test_without_weights_the_first_signal_ranks(signals, concepts):
    ranker = ConceptRanker(concepts, signals)
    ranked, none = ranker.rank([NLP.make_doc("one"), NLP.make_doc("two")], 9)
    # of equal ones, by the number of names
    assert ids(concepts, ranked) == ["D010051", "D009369", "D001943", "D003139", "D003550"]
    assert [one.score for one in ranked] == [1.0, 1.0, 0.5, 0.5, 0.0]
    assert all(one.contributions == () and one.evidence == () for one in ranked)
    assert none == []
    assert signals[1].given == []  # it was not asked
    assert ranker.threshold == 0.4
    assert ids(concepts, ranker.rank([NLP.make_doc("one")], 2)[0]) == ["D010051", "D009369"]


def test_weighed_signals(signals, concepts):
    weights = SignalWeights((("a", 1), ("b", 2)), (1.0, 2.0, 4.0), (0.0, 0.0, 0.0), -2.0, 0.7)
    ranker = ConceptRanker(concepts, signals, weights)
    (ranked,) = ranker.rank([NLP.make_doc("one")], 2)
    assert ids(concepts, ranked) == ["D003139", "D010051"]
    assert ranked[0].score == pytest.approx(1 / (1 + np.exp(-2.5)), abs=1e-5)
    assert ranked[0].contributions == (("a", 0.5), ("b", 4.0))
    assert ranked[0].evidence == ((0, 3), (4, 5))
    assert ranker.threshold == 0.7


def test_candidates_of_all_signals(signals, concepts):
    own = ["what the document itself gave"]
    (found,) = ConceptRanker(concepts, signals).candidates([NLP.make_doc("one")], own, n=2)
    assert [concepts.ids[position] for position in found.positions] == ["D001943", "D003550", "D003139"]
    assert found.features.tolist() == [[0.5, 0, 0], [-1, 1, 0], [0.5, 0, 1]]
    assert [signal.given for signal in signals] == [[own], [own]]


WEIGHTS = SignalWeights((("phrases", 2), ("prior", 1)), (1.0, -2.0, 0.5), (0.5, 0.0, 1.0), -1.0, 0.4)


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
    for score, contributions in zip(WEIGHTS.scores(features), WEIGHTS.contributions(features), strict=True):
        logit = WEIGHTS.bias + sum(value for _, value in contributions)
        assert score == pytest.approx(1 / (1 + np.exp(-logit)))


@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=1, max_size=30), st.integers(0, 5))
def test_no_other_threshold_is_better(pairs, missed):
    scores, right = np.array([n / 20 for n, _ in pairs]), np.array([is_right for _, is_right in pairs])
    best = max(f1(scores, right, missed, threshold) for threshold in np.arange(0, 21) / 20 - 1 / 40)
    assert f1(scores, right, missed, best_threshold(scores, right, missed)) == pytest.approx(best)


def test_the_threshold_lies_half_way():
    assert best_threshold(np.array([0.9, 0.8, 0.2]), np.array([True, True, False]), 0) == pytest.approx(0.5)
    assert best_threshold(np.array([0.2, 0.8]), np.array([True, True]), 0) == pytest.approx(0.1)


def test_fitted_weights_separate_right_from_wrong():
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
def test_nothing_to_separate(right):
    assert SignalWeights.fit({"prior": 1}, [np.zeros((3, 1), np.float32)], [np.full(3, right)], 0) is None
