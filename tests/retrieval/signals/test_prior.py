from collections import Counter

import numpy as np
import pytest
import spacy

from spacy_sapbert.retrieval.signals.prior import PriorSignal
from spacy_sapbert.retrieval.training_counts import DocumentCounts, TrainingCounts


@pytest.fixture
def docs():
    return [spacy.blank("en").make_doc("anything")]


def test_frequent_concepts_go_first(docs, concepts):
    # a concept is annotated by its ids, alternative ones included; D999 is none of the vocabulary
    counts = TrainingCounts({"D003139": 2, "X1": 2, "D001241": 3, "D999": 9}, {}, {}, 0.1)
    (view,) = PriorSignal(concepts, counts).read(docs)
    assert [concepts.ids[place] for place in view.nearest(5)] == ["D001241", "D003139"]
    assert len(view.nearest(1)) == 1
    places = np.array([concepts.places_of(one)[0] for one in ("D001241", "D003139", "D009369")])
    assert view.features(places) == pytest.approx(np.array([[np.log(6), 0], [np.log(3), 0], [0, 1]]))
    assert view.evidence(0) == []


def test_the_document_itself_does_not_count(docs, concepts):
    counts = TrainingCounts({"D003139": 2, "D001241": 1}, {}, {}, 0.1)
    own = DocumentCounts(frozenset({"D003139", "D001241"}), Counter(), Counter())
    (view,) = PriorSignal(concepts, counts).read(docs, [own])
    places = np.array([concepts.places_of(one)[0] for one in ("D003139", "D001241")])
    assert view.features(places) == pytest.approx(np.array([[np.log(2), 0], [0, 1]]))


def test_without_training_data(docs, concepts):
    (view,) = PriorSignal(concepts).read(docs)
    assert len(view.nearest(5)) == 0
    assert view.features(np.array([0])).tolist() == [[0, 1]]
