import spacy
from spacy.tokens import DocBin, Span

from spacy_sapbert.documents.docs import annotated_labels, set_annotated, unsure_spans


def make_doc():
    doc = spacy.blank("en").make_doc("Patients and mice had asthma , and mice died")
    doc.ents = [Span(doc, 2, 3, label="Species"), Span(doc, 4, 5, label="Disease")]
    return doc


def places(doc):
    return [(span.start, span.end, span.label_) for span in unsure_spans(doc)]


def test_a_document_annotates_all_types_unless_it_says_otherwise():
    doc = make_doc()
    assert annotated_labels(doc) is None
    assert places(doc) == []
    set_annotated(doc, None)
    assert annotated_labels(doc) is None


def test_unsure_words_are_those_outside_of_entities():
    doc = make_doc()
    set_annotated(doc, ["Species"], {"Species": {"patients", "mice"}})
    assert list(annotated_labels(doc)) == ["Species"]
    assert places(doc) == [(0, 1, "Species"), (7, 8, "Species")]


def test_both_are_saved_with_the_document():
    doc = make_doc()
    set_annotated(doc, ["Species"], {"Species": {"patients"}})
    saved = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (read,) = DocBin().from_bytes(saved).get_docs(doc.vocab)
    assert list(annotated_labels(read)) == ["Species"]
    assert places(read) == [(0, 1, "Species")]
