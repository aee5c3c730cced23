import pytest
import spacy
from spacy.training import Example

from spacy_sapbert.documents.docs import set_annotated
from spacy_sapbert.pipeline.scorers import score_annotated_types

NLP = spacy.blank("en")
TEXT = "asthma and fever in mice and men"


def marked(*mentions):
    doc = NLP.make_doc(TEXT)
    spans = [(TEXT.find(word), TEXT.find(word) + len(word), label) for word, label in mentions]
    doc.set_ents([doc.char_span(start, end, label=label) for start, end, label in spans])
    return doc


def score(predicted, gold, **annotated):
    reference = marked(*gold)
    set_annotated(reference, **{"labels": None, **annotated})
    return score_annotated_types([Example(marked(*predicted), reference)])


FOUND = [("asthma", "Disease"), ("fever", "Disease"), ("mice", "Species"), ("men", "Species")]


def test_precision_and_recall():
    scores = score(FOUND, [("asthma", "Disease"), ("mice", "Species"), ("in", "Species")])
    assert scores["ents_p"] == pytest.approx(2 / 4)
    assert scores["ents_r"] == pytest.approx(2 / 3)
    assert scores["ents_per_type"]["Disease"] == {"p": 0.5, "r": 1.0, "f": pytest.approx(2 / 3)}


def test_types_that_are_not_annotated_do_not_count():
    scores = score(FOUND, [("asthma", "Disease"), ("fever", "Disease")], labels=["Disease"])
    assert scores["ents_f"] == 1
    assert list(scores["ents_per_type"]) == ["Disease"]


def test_unsure_mentions_do_not_count_unless_they_are_annotated():
    gold = [("asthma", "Disease"), ("fever", "Disease"), ("mice", "Species")]
    assert score(FOUND, gold, unsure={"Species": ["men", "mice"]})["ents_f"] == 1
    assert score(FOUND, gold)["ents_p"] == pytest.approx(3 / 4)
    missed = score(FOUND[:2], gold, unsure={"Species": ["men", "mice"]})
    assert missed["ents_per_type"]["Species"]["r"] == 0


def test_without_annotation_there_are_no_scores():
    plain = Example(marked(*FOUND), NLP.make_doc(TEXT))
    assert score_annotated_types([plain])["ents_f"] is None
