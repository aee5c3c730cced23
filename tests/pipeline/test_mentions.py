import pytest
import spacy

from spacy_sapbert.pipeline.mentions import linked_occurrences


@pytest.fixture(scope="module")
def nlp(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("spelling_corrector", config={"kb": kb})
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none", "threshold": 0.5})
    return nlp


@pytest.fixture
def occurrences(nlp, mark):
    """A function that returns the linked occurrences of the mentions of a text."""

    def find(text, *mentions, **settings):
        selection = nlp.get_pipe("sapbert_linker").selection
        before = {name: getattr(selection, name) for name in settings}
        for name, value in settings.items():
            setattr(selection, name, value)
        doc = nlp(mark(nlp, text, *mentions))
        for name, value in before.items():
            setattr(selection, name, value)
        return [occurrence for mention in doc.ents for occurrence in linked_occurrences(mention)]

    return find


def test_what_was_linked_is_seen_in_its_context(occurrences):
    (seen,) = occurrences("A severe cystic fibrosis.", "severe cystic fibrosis")
    assert seen[:3] == ("severe cystic fibrosis", "D003550", "Cystic Fibrosis")
    assert seen.example == "A [severe cystic fibrosis]."
    assert not seen.written
    assert not seen.short_form
    assert occurrences("A zebra.", "zebra") == []


def test_of_a_composite_its_parts_are_seen(occurrences):
    seen = occurrences("The breast and ovarian cancer.", "breast and ovarian cancer")
    assert [(one.text, one.concept_id) for one in seen] == [("breast cancer", "D001943"), ("ovarian cancer", "D010051")]


def test_of_an_abbreviation_the_long_form_is_seen(occurrences):
    text = "Mild cystic fibrosis (MCF). No MCF."
    (seen,) = occurrences(text, "MCF")
    assert (seen.text, seen.written, seen.short_form) == ("Mild cystic fibrosis", "", False)


def test_a_short_form_that_is_linked_as_it_stands_is_marked(occurrences, nlp, monkeypatch):
    monkeypatch.setattr(nlp.get_pipe("sapbert_linker"), "threshold", 0.95)  # which the long form does not reach
    (seen,) = occurrences("Amyotrophic ligament syndrome (ALS).", "ALS")
    assert (seen.text, seen.concept_id, seen.short_form) == ("ALS", "D000690", True)
    assert [one.short_form for one in occurrences("ALS again", "ALS")] == [False]


def test_a_correction_tells_what_was_written(occurrences):
    (seen,) = occurrences("A severe cystic fibrosys.", "severe cystic fibrosys")
    assert (seen.text, seen.written) == ("severe cystic fibrosis", "severe cystic fibrosys")
