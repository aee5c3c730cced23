import pytest
import spacy
from spacy.tokens import Span

from spacy_sapbert.errors import SapbertError

NOTE = """CHIEF COMPLAINT: cystic fibrosis.
Allergies: aspirin
FAMILY HISTORY
Aspirin was given."""


def texts(doc):
    return [ent.text for ent in doc.ents]


@pytest.fixture
def nlp():
    nlp = spacy.blank("en")
    names = ("Allergies", "aspirin", "FAMILY HISTORY", "cystic fibrosis", "CHIEF")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": name} for name in names])
    return nlp


def test_mentions_have_sections_and_headings_are_no_mentions(nlp):
    nlp.add_pipe("note_sections")
    doc = nlp(NOTE)
    assert [(ent.text, ent._.section) for ent in doc.ents] == [
        ("cystic fibrosis", "chief complaint"),
        ("aspirin", "allergies"),
    ]
    assert [doc.text[section.heading_start : section.start] for section in doc._.sections] == [
        "CHIEF COMPLAINT:", "Allergies:", "FAMILY HISTORY",
    ]  # fmt: skip
    assert "".join(doc.text[section.heading_start : section.end] for section in doc._.sections) == NOTE
    assert nlp("aspirin").ents[0]._.section is None


@pytest.mark.parametrize("order", [("note_sections", "concept_matcher"), ("concept_matcher", "note_sections")])
def test_a_matcher_finds_nothing_in_headings(small_kb, order):
    nlp = spacy.blank("en")
    for name in order:
        nlp.add_pipe(name, config={"kb": str(small_kb.path)} if name == "concept_matcher" else {})
    assert texts(nlp("Breast cancer: aspirin")) == ["Breast cancer", "aspirin"]
    # a name of the vocabulary that is a heading, too
    doc = nlp.make_doc("PLAN: aspirin\nSEIZURES: aspirin\n")
    assert texts(nlp(doc)) == ["aspirin", "SEIZURES", "aspirin"]


def test_given_mentions_stay():
    nlp = spacy.blank("en")
    nlp.add_pipe("note_sections")
    doc = nlp.make_doc("PLAN: rest")
    doc.spans["gold"] = [Span(doc, 0, 1, label="X")]
    assert len(nlp(doc).spans["gold"]) == 1


def test_a_language_without_headings_is_an_error():
    with pytest.raises(SapbertError, match=r"\[E125\] 'it' is not a language with headings of notes"):
        spacy.blank("it").add_pipe("note_sections")
