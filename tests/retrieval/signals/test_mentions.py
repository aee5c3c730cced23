import numpy as np
import pytest
import spacy
from spacy.tokens import Span

from spacy_sapbert.pipeline.attributes import register
from spacy_sapbert.retrieval.concept_set import ConceptSet
from spacy_sapbert.retrieval.signals.mentions import LINK_WEIGHT, MentionsSignal

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
    features = view_of(doc, concepts).features(np.array([concepts.places_of(one)[0] for one in ids]))
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
    assert [concepts.ids[place] for place in view.nearest(9)] == ["D003139", "HP:0001250", "D003080", "D012640"]
    assert len(view.nearest(2)) == 2


def test_evidence_is_what_is_linked(doc, concepts):
    view = view_of(doc, concepts)
    evidence = {one: view.evidence(concepts.places_of(one)[0]) for one in ("D003139", "D003080", "D009369")}
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
