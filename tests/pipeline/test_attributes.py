import pickle

import pytest
import spacy
import srsly
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span

from spacy_sapbert.pipeline.attributes import (
    get_abbreviation_occurrences,
    get_abbreviations,
    get_assertion,
    get_composite_splits,
    get_concepts,
    get_kb_ents,
    get_links,
    get_long_form,
    register,
    set_abbreviation_occurrences,
    set_abbreviations,
    set_assertion,
    set_composite_splits,
    set_kb_ents,
    set_links,
    set_matched_name,
)
from spacy_sapbert.text.abbreviations import AbbreviationOccurrence
from spacy_sapbert.types import Alternative, DocumentConcept, Link

TEXT = "Atrial fibrillation (AF) is common. AF and AFs differ."
DEFINED, LATER, INSIDE = (
    AbbreviationOccurrence(21, 23, TEXT[:19], 0, 19),
    AbbreviationOccurrence(36, 38, TEXT[:19], 0, 19),
    AbbreviationOccurrence(43, 45, TEXT[:19], 0, 19),
)
VOCAB = spacy.blank("en").vocab


@pytest.fixture
def doc():
    register()
    return spacy.blank("en").make_doc(TEXT)


def span_of(doc, text):
    start = doc.text.index(text)
    return doc.char_span(start, start + len(text))


def test_uses_read_as_spans_and_long_forms(doc):
    set_abbreviation_occurrences(doc, [DEFINED, LATER])
    assert [(span.text, span.start_char) for span in doc._.abbreviations] == [("AF", 21), ("AF", 36)]
    assert [span._.long_form.text for span in doc._.abbreviations] == ["Atrial fibrillation"] * 2
    assert span_of(doc, "common")._.long_form is None


def test_a_short_form_inside_a_token_has_its_own_characters(doc):
    set_abbreviation_occurrences(doc, [INSIDE])
    (short,) = doc._.abbreviations
    assert (short.text, doc[short.start : short.end].text) == ("AF", "AFs")
    assert short._.long_form.text == "Atrial fibrillation"


def test_a_long_form_that_the_text_does_not_hold_is_a_string(doc):
    set_abbreviation_occurrences(doc, [AbbreviationOccurrence(36, 38, "auricular fibrillation", None, None)])
    assert doc._.abbreviations[0]._.long_form == "auricular fibrillation"


def test_long_forms_can_be_set_replaced_and_removed(doc):
    last, first = doc[8:9], doc[3:4]
    last._.long_form = doc[0:2]
    first._.long_form = "auricular fibrillation"
    assert get_abbreviation_occurrences(doc) == [
        AbbreviationOccurrence(21, 23, "auricular fibrillation", None, None),
        LATER,
    ]
    first._.long_form = doc[0:2]
    assert get_abbreviation_occurrences(doc) == [DEFINED, LATER]
    last._.long_form = None
    assert get_abbreviation_occurrences(doc) == [DEFINED]


def test_assigning_abbreviations_forgets_the_others(doc):
    set_abbreviation_occurrences(doc, [DEFINED, LATER])
    set_abbreviations(doc, [doc[8:9]])
    assert get_abbreviation_occurrences(doc) == [LATER]
    set_abbreviations(doc, [])
    assert get_abbreviations(doc) == []


def test_values_of_a_mention(doc):
    span = span_of(doc, "AF")
    link = Link("Atrial fibrillation", "D3", 0.9, "Atrial Fibrillation", "Atrial fibrillation", False, None)
    span._.links, span._.kb_ents, span._.composite_splits = [link], [("D3", 0.9)], [("a", "b")]
    assert (span._.links, span._.kb_ents, span._.composite_splits) == ([link], [("D3", 0.9)], [("a", "b")])
    assert isinstance(span._.links[0], Link)


def test_what_was_never_set_is_empty(doc):
    assert get_concepts(doc) == []
    span = doc[0:2]
    assert doc._.abbreviations == []
    assert (span._.links, span._.kb_ents, span._.composite_splits, span._.long_form) == ([], [], [], None)
    assert doc.user_data == {}


def test_concepts_of_a_document_read_the_same_from_bytes(doc):
    concepts = [
        DocumentConcept(
            "D001281", 0.9, "Atrial Fibrillation", (span_of(doc, "AF"),), (("mentions", 1.5), ("prior", -0.1))
        ),
        DocumentConcept("D006333", 0.25, "Heart Failure"),
    ]
    doc._.concepts = concepts
    assert doc._.concepts == concepts
    read = Doc(doc.vocab).from_bytes(doc.to_bytes())
    assert [(*one[:3], one.contributions) for one in read._.concepts] == [
        (*one[:3], one.contributions) for one in concepts
    ]
    assert [span.text for span in read._.concepts[0].evidence] == ["AF"]
    assert doc.copy()._.concepts[0].concept_id == "D001281"


def test_the_lists_that_are_read_are_copies(doc):
    doc[0:2]._.kb_ents.append(("D3", 1.0))
    assert doc[0:2]._.kb_ents == []


def test_registering_again_changes_nothing(doc):
    doc[0:2]._.kb_ents = [("D3", 1.0)]
    register()
    assert doc[0:2]._.kb_ents == [("D3", 1.0)]
    assert Span.get_extension("kb_ents")[2] is get_kb_ents


def test_registering_takes_the_place_of_bare_defaults(doc):
    Span.set_extension("kb_ents", default=[], force=True)
    doc[0:2]._.kb_ents = [("D3", 1.0)]  # under the other plugin's attribute
    register()
    assert doc[0:2]._.kb_ents == [("D3", 1.0)]


def test_entries_of_other_kinds_are_read(doc):
    doc.user_data["._.", "abbreviations", None, None] = [
        {"short_text": "AF", "short_start": 8, "short_end": 9, "long_text": TEXT[:19], "long_start": 0, "long_end": 2},
        doc[3:4],
    ]
    doc.user_data["._.", "long_form", 21, 23] = doc[0:2]
    assert get_abbreviation_occurrences(doc) == [DEFINED, LATER]
    assert get_long_form(doc[8:9]).text == "Atrial fibrillation"


def test_links_that_were_written_without_the_later_fields_are_read(doc):
    doc[0:2]._.links = []
    (key,) = (key for key in doc.user_data if key[1] == "links")
    doc.user_data[key] = [["a", "D1", 1.0, "A", None, False, None]]
    assert doc[0:2]._.links == [Link("a", "D1", 1.0, "A")]


def test_spans_at_one_place_keep_their_own_links(doc):
    gene, drug = (Span(doc, 3, 4, label=label, kb_id=kb_id) for label, kb_id in (("GENE", "G:1"), ("DRUG", "D:1")))
    other = Span(doc, 3, 4, label="DRUG", kb_id="D:2")  # of another linker
    for span in (gene, drug, other):
        set_matched_name(span, f"name of {span.kb_id_}")
        set_kb_ents(span, [(span.kb_id_, 1.0)])
        set_links(span, [Link("AF", span.kb_id_, 1.0, "AF")])
    bin_ = DocBin(docs=[doc], store_user_data=True)
    copies = (doc, pickle.loads(pickle.dumps(doc)), *DocBin().from_bytes(bin_.to_bytes()).get_docs(doc.vocab))
    for copy in (*copies, Doc(doc.vocab).from_bytes(doc.to_bytes())):
        for span in (gene, drug, other):
            again = Span(copy, 3, 4, label=span.label_, kb_id=span.kb_id_)
            assert [link.concept_id for link in again._.links] == [span.kb_id_]
            assert again._.kb_ents == [(span.kb_id_, 1.0)]
            assert again._.matched_name == f"name of {span.kb_id_}"
        assert Span(copy, 3, 4, label="DISEASE")._.links == []
        # without a label, or with an id that was set by hand: what was stored last
        assert copy[3:4]._.kb_ents == Span(copy, 3, 4, label="DRUG", kb_id="D:3")._.kb_ents == [("D:2", 1.0)]


def test_values_without_labels_are_read(doc):
    doc.user_data["._.", "kb_ents", 21, 23] = [["D3", 1.0]]
    doc.user_data["._.", "matched_name", 21, 23] = "AF"
    mention = Span(doc, 3, 4, label="DISEASE", kb_id="D3")
    assert (mention._.kb_ents, mention._.matched_name) == ([("D3", 1.0)], "AF")
    set_kb_ents(mention, [("D4", 1.0)])
    assert mention._.kb_ents == [("D4", 1.0)]
    set_kb_ents(doc[8:9], [("D3", 1.0)])  # a span without a label stands for all labels
    assert Span(doc, 8, 9, label="DISEASE")._.kb_ents == [("D3", 1.0)]


texts = st.text(max_size=8)
scores = st.none() | st.floats(0, 1)
named = (texts, st.none() | texts, scores, st.none() | texts, st.none() | texts)
alternatives = st.builds(Alternative, texts, st.floats(0, 1), texts, scores)
others = st.none() | alternatives
links = st.builds(
    Link,
    *named,
    st.booleans(),
    texts,
    scores,
    texts,
    others,
    others,
    st.just(()),
    st.lists(texts).map(tuple),
    missing=scores,
    candidates=st.lists(alternatives, max_size=2).map(tuple),
)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(links, max_size=3),
    st.lists(texts),
    st.lists(st.tuples(texts, st.floats(0, 1))),
    st.lists(st.lists(texts).map(tuple)),
)
def test_all_is_plain_data_that_reads_the_same_from_bytes(some_links, flags, kb_ents, composite_splits):
    register()
    doc = Doc(VOCAB, TEXT.split(" "))
    set_assertion(doc[0:2], flags)
    some_links = [link._replace(assertion=tuple(flags)) for link in some_links]
    set_links(doc[0:2], some_links)
    set_kb_ents(doc[0:2], kb_ents)
    set_composite_splits(doc[0:2], composite_splits)
    set_abbreviation_occurrences(doc, [DEFINED])
    for value in doc.user_data.values():
        assert srsly.msgpack_loads(srsly.msgpack_dumps(value)) == value
    again = Doc(doc.vocab).from_bytes(doc.to_bytes())
    assert get_links(again[0:2]) == some_links
    assert get_assertion(again[0:2]) == tuple(flags)
    assert get_kb_ents(again[0:2]) == kb_ents
    assert get_composite_splits(again[0:2]) == composite_splits
    assert get_abbreviation_occurrences(again) == [DEFINED]


def test_values_move_with_their_mention(doc):
    set_kb_ents(doc[8:9], [("D3", 1.0)])
    sentence = doc[8:].as_doc(copy_user_data=True)
    assert sentence[0:1]._.kb_ents == [("D3", 1.0)]
    twice = Doc.from_docs([doc, doc])
    assert twice[len(doc) + 8 : len(doc) + 9]._.kb_ents == [("D3", 1.0)]
