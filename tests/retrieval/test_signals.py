from collections import Counter

import numpy as np
import pytest
import spacy
from spacy.tokens import Span

from spacy_sapbert.pipeline.attributes import register
from spacy_sapbert.retrieval.concepts import ConceptSet, ConceptVectors, build_concept_vectors
from spacy_sapbert.retrieval.signals import LINK_WEIGHT, DocumentSignal, MentionsSignal, PriorSignal
from spacy_sapbert.retrieval.training_counts import DocumentCounts, TrainingCounts


class Corners:
    """Gives each concept of a set the vector of a corner."""

    dim = 15

    def encode(self, texts, *, fast):
        return np.eye(self.dim, dtype=np.float32)[: len(texts)]


@pytest.fixture(scope="module")
def vectors(small_kb, tmp_path_factory):
    concepts, folder = ConceptSet(small_kb), tmp_path_factory.mktemp("corners")
    build_concept_vectors(concepts, Corners(), "packed", folder)
    return ConceptVectors(folder, concepts)


def test_the_nearest_segment_counts(vectors):
    segments = np.zeros((2, 15), dtype=np.float32)
    segments[0, [3, 5]] = 0.8, 0.6
    segments[1, [5, 7]] = 0.96, 0.28
    (view,) = DocumentSignal(lambda docs: [segments], vectors).read([spacy.blank("en").make_doc("x")])
    assert view.nearest(3).tolist() == [5, 3, 7]
    assert view.nearest(1).tolist() == [5]
    assert view.features(np.array([7, 3, 0])) == pytest.approx(
        np.array([[0.28, 0.28 - 0.96], [0.8, 0.8 - 0.96], [0.0, -0.96]]), abs=1e-6
    )
    assert view.evidence(5) == []


# --- linked mentions


TEXT = "A cold was seen. Cold and fits. Spasm or colds"


@pytest.fixture
def doc():
    """A cold is linked twice, fits once; each mention has further candidates."""
    register()
    doc = spacy.blank("en").make_doc(TEXT)
    found = []
    for surface, kb_id, candidates in (
        ("cold", "D003139", [("D003139", 0.5), ("D003080", 0.4)]),
        ("Cold", "D003139|HP:0001250", [("D003139", 1.0), ("HP:0001250", 0.25)]),
        ("fits", "", [("D012640", 0.3)]),
        ("Spasm", "D999", [("D999", 1.0)]),
    ):
        start = TEXT.index(surface)
        span = doc.char_span(start, start + len(surface), label="X", kb_id=kb_id)
        span._.kb_ents = candidates
        found.append(span)
    doc.ents = found
    return doc


def view_of(doc, concepts, spans_key=None):
    (view,) = MentionsSignal(concepts, spans_key).read([doc])
    return view


def test_features_by_hand(doc, concepts):
    ids = ["D003139", "D003080", "HP:0001250", "D012640", "D009369"]
    features = view_of(doc, concepts).features(np.array([concepts.positions_of(one)[0] for one in ids]))
    assert features == pytest.approx(
        np.array(
            [
                [1 - (1 - LINK_WEIGHT * 0.5) * (1 - LINK_WEIGHT), 1.0, np.log(3), 1],
                [0, 0.4, 0, 0],
                [LINK_WEIGHT * 0.25, 0.25, np.log(2), 0],
                [0, 0.3, 0, 0],
                [0, 0, 0, 0],
            ]
        ),
        abs=1e-6,
    )


def test_linked_ones_go_first(doc, concepts):
    view = view_of(doc, concepts)
    assert [concepts.ids[position] for position in view.nearest(9)] == ["D003139", "HP:0001250", "D003080", "D012640"]
    assert len(view.nearest(2)) == 2


def test_evidence_is_what_is_linked(doc, concepts):
    view = view_of(doc, concepts)
    evidence = {one: view.evidence(concepts.positions_of(one)[0]) for one in ("D003139", "D003080", "D009369")}
    assert evidence == {"D003139": [(17, 21), (2, 6)], "D003080": [], "D009369": []}


def test_only_concepts_of_the_set_count(doc, small_kb):
    concepts = ConceptSet(small_kb, ["D012640"])
    assert view_of(doc, concepts).nearest(9).tolist() == [0]


def test_mentions_of_a_span_group(doc, concepts):
    assert len(view_of(doc, concepts, "mine").nearest(9)) == 0
    doc.spans["mine"] = [Span(doc, ent.start, ent.end, ent.label_, ent.kb_id_) for ent in doc.ents[:1]]
    assert len(view_of(doc, concepts, "mine").nearest(9)) == 2


def test_a_document_without_mentions(concepts):
    register()
    view = view_of(spacy.blank("en").make_doc(""), concepts)
    assert view.nearest(9).shape == (0,)
    assert view.features(np.array([0])).tolist() == [[0, 0, 0, 0]]


# --- prior


@pytest.fixture
def docs():
    return [spacy.blank("en").make_doc("anything")]


def test_frequent_concepts_go_first(docs, concepts):
    # a concept is annotated by its ids, alternative ones included; D999 is none of the vocabulary
    counts = TrainingCounts({"D003139": 2, "X1": 2, "D001241": 3, "D999": 9}, {}, {}, 0.1)
    (view,) = PriorSignal(concepts, counts).read(docs)
    assert [concepts.ids[position] for position in view.nearest(5)] == ["D001241", "D003139"]
    assert len(view.nearest(1)) == 1
    positions = np.array([concepts.positions_of(one)[0] for one in ("D001241", "D003139", "D009369")])
    assert view.features(positions) == pytest.approx(np.array([[np.log(6), 0], [np.log(3), 0], [0, 1]]))
    assert view.evidence(0) == []


def test_the_document_itself_does_not_count(docs, concepts):
    counts = TrainingCounts({"D003139": 2, "D001241": 1}, {}, {}, 0.1)
    own = DocumentCounts(frozenset({"D003139", "D001241"}), Counter(), Counter())
    (view,) = PriorSignal(concepts, counts).read(docs, [own])
    positions = np.array([concepts.positions_of(one)[0] for one in ("D003139", "D001241")])
    assert view.features(positions) == pytest.approx(np.array([[np.log(2), 0], [0, 1]]))


def test_without_training_data(docs, concepts):
    (view,) = PriorSignal(concepts).read(docs)
    assert len(view.nearest(5)) == 0
    assert view.features(np.array([0])).tolist() == [[0, 1]]
