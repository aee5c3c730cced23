import pytest
import spacy

from spacy_sapbert.pipeline.linked_occurrences import MARGIN, linked_occurrences


@pytest.fixture(scope="module")
def nlp(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("spelling_corrector", config={"kb": kb})
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none", "threshold": 0.5})
    return nlp


@pytest.fixture
def found(nlp, mark):
    """A function that tells what is seen of the mentions of a text."""

    def find(text, *mentions, **settings):
        selection = nlp.get_pipe("sapbert_linker").selection
        before = {name: getattr(selection, name) for name in settings}
        for name, value in settings.items():
            setattr(selection, name, value)
        doc = nlp(mark(nlp, text, *mentions))
        for name, value in before.items():
            setattr(selection, name, value)
        return [seen for mention in doc.ents for seen in linked_occurrences(mention)]

    return find


def test_what_was_linked_is_seen_in_its_context(found):
    (seen,) = found("A severe cystic fibrosis.", "severe cystic fibrosis")
    assert seen[:3] == ("severe cystic fibrosis", "D003550", "Cystic Fibrosis")
    assert seen.example == "A **severe cystic fibrosis**."
    assert not seen.written
    assert not seen.short_form
    assert found("A zebra.", "zebra") == []


def test_of_a_composite_its_parts_are_seen(found):
    seen = found("The breast and ovarian cancer.", "breast and ovarian cancer")
    assert [(one.text, one.concept_id) for one in seen] == [
        ("breast cancer", "D001943"),
        ("ovarian cancer", "D010051"),
    ]


def test_of_an_abbreviation_the_long_form_is_seen(found):
    text = "Mild cystic fibrosis (MCF). No MCF."
    (seen,) = found(text, "MCF")
    assert (seen.text, seen.written, seen.short_form) == ("Mild cystic fibrosis", "", False)


def test_a_short_form_that_is_linked_as_it_stands_is_marked(found):
    text = "Amyotrophic lateral sclerosis syndrome (ALS)."
    (seen,) = found(text, "ALS", short_form_margin=0.0)
    assert (seen.text, seen.concept_id, seen.short_form) == ("ALS", "D000690", True)
    assert [one.short_form for one in found("ALS again", "ALS")] == [False]


def test_a_correction_tells_what_was_written(found):
    (seen,) = found("A severe cystic fibrosys.", "severe cystic fibrosys")
    assert (seen.text, seen.written) == ("severe cystic fibrosis", "severe cystic fibrosys")


def test_an_example_has_whole_words_and_says_where_it_is_cut(found):
    around = "word " * 40
    (seen,) = found(f"{around}cystic fibrosis {around}", "cystic fibrosis")
    assert seen.example.startswith("… word ")
    assert seen.example.endswith(" word …")
    assert "word **cystic fibrosis** word" in seen.example
    assert len(seen.example) <= 2 * MARGIN + len("cystic fibrosis") + 8
