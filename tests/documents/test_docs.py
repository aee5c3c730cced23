import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span

from spacy_sapbert.documents.docs import (
    annotated_labels,
    documents_by_concept,
    from_doc,
    gold_of,
    is_named,
    primary_id,
    set_annotated,
    to_doc,
    unsure_spans,
)
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mentions import add_mentions
from spacy_sapbert.types import NIL, Document, Mention, Name, Record

NLP = spacy.blank("en")
OTHER_VOCAB = spacy.blank("en").vocab
UNUSUAL = "a \t\r\x00\x1c\u00ad\u200b\u2028\u3000\ufeff\u0301ßµ漢🧬"


def document(text, *mentions, doc_id="1"):
    return Document(
        doc_id,
        text,
        tuple(Mention(start, end, text[start:end], "Disease", tuple(ids)) for start, end, *ids in mentions),
    )


def spans(doc):
    return [(span.text, span.label_, span.kb_id_) for span in doc.spans["gold"]]


def test_aligned_mentions_become_spans_and_entities():
    gold = Document("7", "The colon cancers grew.", (Mention(4, 17, "colon cancers", "DiseaseClass", ("D1", "D2")),))
    doc = to_doc(NLP, gold)
    assert spans(doc) == [("colon cancers", "DiseaseClass", "D1|D2")]
    assert [(ent.text, ent.label_, ent.kb_id_) for ent in doc.ents] == [("colon cancers", "DiseaseClass", "D1|D2")]
    assert doc.user_data["doc_id"] == "7"
    assert doc.user_data["gold_mentions"] == [[4, 17, "colon cancers", "DiseaseClass", ["D1", "D2"], []]]


def test_overlapping_mentions_are_all_spans_and_the_longest_is_the_entity():
    report = Report()
    doc = to_doc(NLP, document("breast and ovarian cancer", (0, 6), (0, 25), (11, 25)), report=report)
    assert [text for text, _, _ in spans(doc)] == ["breast", "breast and ovarian cancer", "ovarian cancer"]
    assert [ent.text for ent in doc.ents] == ["breast and ovarian cancer"]
    assert (report.misaligned, report.overlapping) == (0, 2)


def test_mention_that_cuts_a_token_is_counted_or_the_token_is_split():
    gold = document(
        "Lithium-induced seizures in pre-APC/TCF cells", (0, 7, "D008094"), (30, 34, "D1"), (32, 35, "D011125")
    )
    report = Report()
    doc = to_doc(NLP, gold, report=report)
    assert report.misaligned == 3 - len(doc.spans["gold"]) > 0
    assert from_doc(doc) == gold

    report = Report()
    split = to_doc(NLP, gold, split_tokens=True, report=report)
    assert [text for text, _, _ in spans(split)] == ["Lithium", "e-AP", "APC"]
    assert (report.misaligned, report.overlapping) == (0, 1)
    assert split.text == gold.text
    assert from_doc(split) == gold


def test_blanks_at_the_ends_of_a_mention_do_not_count_for_its_tokens():
    gold = document("a  flu  season", (1, 8, "D1"))
    doc = to_doc(NLP, gold)
    assert spans(doc) == [("flu", "Disease", "D1")]
    assert from_doc(doc).mentions[0].text == "  flu  "


def test_splitting_leaves_the_other_tokens_alone():
    doc = to_doc(NLP, document("don't APCx now", (6, 9)), split_tokens=True)
    tokens = [("do", ""), ("n't", " "), ("APC", ""), ("x", " "), ("now", "")]
    assert [(token.text, token.whitespace_) for token in doc] == tokens
    assert doc[1].norm_ == "not"
    assert not doc.has_annotation("DEP")


def test_tokenizer_that_changes_the_text_is_an_error():
    nlp = spacy.blank("en")
    nlp.tokenizer = lambda text: Doc(nlp.vocab, words=text.split())
    with pytest.raises(SapbertError, match=r"\[E208\].*document 1"):
        to_doc(nlp, document("two  blanks"))


def test_documents_of_others_are_read_from_spans_or_entities():
    doc = NLP("flu and cold")
    doc.ents = [Span(doc, 2, 3, label="Disease", kb_id="D2"), Span(doc, 0, 1, label="Disease", kb_id="NIL")]
    expected = Document("", doc.text, (Mention(0, 3, "flu", "Disease"), Mention(8, 12, "cold", "Disease", ("D2",))))
    assert from_doc(doc) == expected
    doc.spans["sc"] = [Span(doc, 0, 3, label="Disease", kb_id="D1|MESH:D2")]
    assert from_doc(doc, spans_key="sc").mentions == (Mention(0, 12, "flu and cold", "Disease", ("D1", "D2")),)


@st.composite
def annotated_documents(draw):
    text = draw(st.text(alphabet="abC-/'. \n\u00a0é(1", max_size=40) | st.text(alphabet=UNUSUAL, max_size=20))
    mentions = []
    for _ in range(draw(st.integers(0, 4)) if text else 0):
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, len(text)))
        ids = tuple(draw(st.lists(st.sampled_from(["D1", "C0000001", "OMIM:145250"]), unique=True, max_size=2)))
        parts = tuple(draw(st.lists(st.sampled_from(["breast cancer", "ovarian cancer"]), max_size=2)))
        mentions.append(
            Mention(start, end, text[start:end], draw(st.sampled_from(["Disease", "Chemical"])), ids, parts)
        )
    return Document(draw(st.sampled_from(["1", "PMC2", ""])), text, tuple(mentions))


@settings(max_examples=50, deadline=None)
@given(st.lists(annotated_documents(), max_size=2), st.booleans())
def test_documents_come_back_exactly_from_a_docbin(documents, split_tokens):
    packed = DocBin(store_user_data=True)
    for gold in documents:
        packed.add(to_doc(NLP, gold, split_tokens=split_tokens))
    unpacked = DocBin(store_user_data=True).from_bytes(packed.to_bytes())
    assert [from_doc(doc) for doc in unpacked.get_docs(OTHER_VOCAB)] == documents


@settings(deadline=None)
@given(annotated_documents())
def test_splitting_loses_no_mention_and_changes_no_text(gold):
    report = Report()
    doc = to_doc(NLP, gold, split_tokens=True, report=report)
    assert doc.text == gold.text
    only_blanks = sum(not mention.text.strip() for mention in gold.mentions)
    assert report.misaligned == only_blanks
    found = [(span.text, span.label_, span.kb_id_) for span in doc.spans["gold"]]
    stripped = [mention for mention in gold.mentions if mention.text.strip()]
    assert found == [(mention.text.strip(), mention.label, "|".join(mention.ids)) for mention in stripped]


# --- annotated types


def make_doc():
    doc = spacy.blank("en").make_doc("Patients and mice had asthma , and mice died")
    doc.ents = [Span(doc, 2, 3, label="Species"), Span(doc, 4, 5, label="Disease")]
    return doc


def unsure_places(doc):
    return [(span.start, span.end, span.label_) for span in unsure_spans(doc)]


def test_a_document_annotates_all_types_unless_it_says_otherwise():
    doc = make_doc()
    assert annotated_labels(doc) is None
    assert unsure_places(doc) == []
    set_annotated(doc, None)
    assert annotated_labels(doc) is None


def test_unsure_words_are_those_outside_of_entities():
    doc = make_doc()
    set_annotated(doc, ["Species"], {"Species": {"patients", "mice"}})
    (saved,) = DocBin().from_bytes(DocBin(docs=[doc], store_user_data=True).to_bytes()).get_docs(doc.vocab)
    for each in (doc, saved):
        assert list(annotated_labels(each)) == ["Species"]
        assert unsure_places(each) == [(0, 1, "Species"), (7, 8, "Species")]


# --- the gold concepts of documents


def gold(text, *ids, label="Disease"):
    return Mention(0, len(text), text, label, ids)


def gold_document(*mentions):
    return Document("1", "", mentions)


@pytest.fixture
def primary(small_kb):
    return lambda concept_id: primary_id(concept_id, small_kb)


def test_primary_ids(primary):
    ids = {"D001943": "D001943", "OMIM:114480": "D001943", "X2": "D001241", "D999999": "D999999"}
    assert {concept_id: primary(concept_id) for concept_id in ids} == ids


def test_each_concept_has_its_mentions_and_its_number_of_documents(primary):
    composite, single = (gold("breast and lung cancer", "OMIM:114480", "Q1"), gold("Breast cancer", "D001943"))
    drug, unlinked = (gold("aspirin", "X1", "D001241", label="Chemical"), [gold("it"), gold("that", NIL)])
    found = gold_document(composite, single, drug, *unlinked)
    assert gold_of(found, primary) == {"D001943": [composite, single], "Q1": [composite], "D001241": [drug]}
    assert gold_of(found, primary, "Chemical") == {"D001241": [drug]}
    assert gold_of(gold_document(*unlinked), primary) == {}
    assert documents_by_concept([found, found, gold_document(drug)], primary) == {"D001943": 2, "Q1": 2, "D001241": 3}


def test_names_that_only_a_corpus_gave_are_none(tmp_path):
    with new_knowledge_base(tmp_path / "test.kb") as builder:
        for concept_id, name in (("C1", "Asthma"), ("C2", "Bronchitis")):
            builder.add(Record(concept_id, (Name(name, "preferred", "test"),)))
        annotated = [gold("wheeze", "C1"), gold("asthma", "C1"), gold("asthma", "C2")]
        add_mentions(builder, [gold_document(*annotated)], "train")
        builder.finish({})
    kb = KnowledgeBase(tmp_path / "test.kb")
    assert is_named("C1", [gold("x"), gold("ASTHMA")], kb)
    assert not is_named("C1", [gold("wheeze"), gold("bronchitis")], kb)
    assert not is_named("C2", [gold("Asthma")], kb)
    assert not is_named("C1", [], kb)
    assert not is_named("Q1", [gold("Asthma")], kb)
