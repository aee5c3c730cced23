import pytest
import spacy
from spacy import displacy
from spacy.tokens import Span

import spacy_sapbert
from spacy_sapbert.pipeline.attributes import set_links
from spacy_sapbert.types import Link

NLP = spacy.blank("en")


@pytest.fixture
def doc():
    doc = NLP("breast and ovarian cancer, a rare thing and a zebra")
    doc.ents = [
        Span(doc, 0, 4, "Disease", kb_id="D001943|D010051"),
        Span(doc, 6, 8, "X<", kb_id="Q:<1>"),
        Span(doc, 10, 11, "A", kb_id="NIL"),
    ]
    set_links(doc.ents[0], [Link("a", "D001943", 1.0, "a", None, True), Link("b", "D010051", 1.0, "b", None, True)])
    doc.spans["all"] = [*doc.ents, Span(doc, 2, 4, "Disease", kb_id="HP:0000118")]
    return doc


def test_entities_have_links_where_the_vocabulary_is_known(doc):
    url = "https://meshb.nlm.nih.gov/record/ui?ui=D001943"
    assert spacy_sapbert.to_displacy(doc)["ents"] == [
        {"start": 0, "end": 25, "label": "Disease", "kb_id": "D001943|D010051", "kb_url": url},
        {"start": 29, "end": 39, "label": "X&lt; Q:&lt;1&gt;", "kb_id": "", "kb_url": "#"},
        {"start": 46, "end": 51, "label": "A", "kb_id": "", "kb_url": "#"},
    ]


def test_displacy_draws_entities_and_overlapping_spans(doc):
    ents = displacy.render(spacy_sapbert.to_displacy(doc), style="ent", manual=True, jupyter=False)
    assert ents.count("<mark") == 3
    assert 'href="https://meshb.nlm.nih.gov/record/ui?ui=D001943"' in ents
    assert 'href="#"' not in ents
    shown = spacy_sapbert.to_displacy(doc, spans_key="all")
    assert len(shown["ents"]) == 3
    spans = displacy.render(shown, style="span", manual=True, jupyter=False)
    assert 'href="https://hpo.jax.org/browse/term/HP:0000118"' in spans
    assert "<1>" not in ents + spans
