import numpy as np
import pytest
import spacy

from spacy_sapbert.retrieval.signals.near_names import NearNames
from spacy_sapbert.retrieval.signals.sentences import SentencesSignal

TABLE = {
    "It was a chill.": {"cold": 0.6, "fits": 0.2},
    "Spasms were seen": {"fits": 0.7, "cold": 0.3, "Lithium": 0.1},
}


def test_the_best_sentence_and_the_best_name(table_index, concepts):
    nlp = spacy.blank("en")
    docs = [nlp.make_doc(text) for text in ("It was a chill. Spasms were seen", "It was a chill.", "")]
    both, one, none = SentencesSignal(NearNames(table_index(TABLE), concepts)).read(docs)
    place = {name: concepts.places_of(one)[0] for name, one in (("fits", "D012640"), ("lithium", "D008094"))}
    first, *colds = (concepts.ids[i] for i in both.nearest(3))
    assert (first, set(colds)) == ("D012640", {"D003080", "D003139"})
    wanted = np.array([place["fits"], place["lithium"], concepts.places_of("D009369")[0]])
    assert both.features(wanted) == pytest.approx(np.array([[0.7], [0.1], [0.0]]))
    assert one.features(wanted) == pytest.approx(np.array([[0.2], [0.0], [0.0]]))
    assert both.evidence(place["fits"]) == [(16, 32)]
    assert one.evidence(place["fits"]) == [(0, 15)]
    assert one.evidence(place["lithium"]) == []
    assert len(none.nearest(3)) == 0
    assert none.features(wanted).tolist() == [[0.0]] * 3
    assert none.features(wanted[:0]).shape == (0, 1)
