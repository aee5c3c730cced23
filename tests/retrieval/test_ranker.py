import numpy as np
import pytest
import spacy

from spacy_sapbert.retrieval.ranker import ConceptRanker
from spacy_sapbert.retrieval.signal_weights import SignalWeights

NLP = spacy.blank("en")


class TableSignal:
    """Says of the concepts of a text what a table has: id → features."""

    threshold = 0.4

    def __init__(self, name, features, concepts, table):
        self.name = name
        self.features = features
        self.places = {one: concepts.places_of(one)[0] for of_text in table.values() for one in of_text}
        self.table = table
        self.given = []

    def read(self, docs, own=None):
        self.given.append(own)
        return [TableView(self, self.table.get(doc.text, {})) for doc in docs]


class TableView:
    def __init__(self, signal, seen):
        self.signal = signal
        self.seen = {signal.places[one]: values for one, values in seen.items()}

    def nearest(self, n):
        return np.array(list(self.seen)[:n], dtype=np.int64)

    def features(self, places):
        nothing = [0.0] * len(self.signal.features)
        return np.array([self.seen.get(int(place), nothing) for place in places], np.float32).reshape(-1, len(nothing))

    def evidence(self, place):
        return [(0, 3), (0, 3), (4, 5)] if place in self.seen and self.signal.name == "b" else []


@pytest.fixture
def signals(concepts):
    first = {"one": {"D003139": [0.5], "D001943": [0.5], "D010051": [3.0], "D009369": [2.0], "D003550": [-1.0]}}
    second = {"one": {"D003550": [1.0, 0.0], "D003139": [0.0, 1.0]}}
    return [TableSignal("a", ("x",), concepts, first), TableSignal("b", ("y", "z"), concepts, second)]


@pytest.fixture
def concepts(small_kb):
    from spacy_sapbert.retrieval.concept_set import ConceptSet

    return ConceptSet(small_kb)


def ids(concepts, ranked):
    return [concepts.ids[one.place] for one in ranked]


def test_without_weights_the_first_signal_ranks(signals, concepts):
    ranker = ConceptRanker(concepts, signals)
    ranked, none = ranker.rank([NLP.make_doc("one"), NLP.make_doc("two")], 9)
    assert ids(concepts, ranked) == [
        "D010051",
        "D009369",
        "D001943",
        "D003139",
        "D003550",
    ]  # of equal ones, by the number of names
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
    assert [concepts.ids[place] for place in found.places] == ["D001943", "D003550", "D003139"]
    assert found.features.tolist() == [[0.5, 0, 0], [-1, 1, 0], [0.5, 0, 1]]
    assert [signal.given for signal in signals] == [[own], [own]]


def test_no_document(signals, concepts):
    assert ConceptRanker(concepts, signals).rank([], 5) == []
