import pytest

from spacy_sapbert.documents.docs import documents_by_concept, gold_of, is_named, primary_id
from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mentions import add_mentions
from spacy_sapbert.types import NIL, Document, Mention, Name, Record


def mention(text, *ids, label="Disease"):
    return Mention(0, len(text), text, label, ids)


def document(*mentions):
    return Document("1", "", mentions)


@pytest.fixture
def primary(small_kb):
    return lambda concept_id: primary_id(concept_id, small_kb)


@pytest.mark.parametrize(
    ("concept_id", "expected"),
    [("D001943", "D001943"), ("OMIM:114480", "D001943"), ("X2", "D001241"), ("D999999", "D999999")],
)
def test_primary_ids(small_kb, concept_id, expected):
    assert primary_id(concept_id, small_kb) == expected


def test_each_concept_has_its_mentions(primary):
    composite, single = mention("breast and lung cancer", "OMIM:114480", "Q1"), mention("Breast cancer", "D001943")
    drug, unlinked = mention("aspirin", "X1", "D001241", label="Chemical"), [mention("it"), mention("that", NIL)]
    found = document(composite, single, drug, *unlinked)
    assert gold_of(found, primary) == {"D001943": [composite, single], "Q1": [composite], "D001241": [drug]}
    assert gold_of(found, primary, "Chemical") == {"D001241": [drug]}
    assert gold_of(document(*unlinked), primary) == {}


def test_documents_are_counted_not_mentions(primary):
    one = document(mention("a", "D001943"), mention("b", "OMIM:114480"))
    assert documents_by_concept([one, one, document(mention("c", "Q1"))], primary) == {"D001943": 2, "Q1": 1}


def test_names_that_only_a_corpus_gave_are_none(tmp_path):
    with new_knowledge_base(tmp_path / "test.kb") as builder:
        for concept_id, name in (("C1", "Asthma"), ("C2", "Bronchitis")):
            builder.add(Record(concept_id, (Name(name, "preferred", "test"),)))
        annotated = [mention("wheeze", "C1"), mention("asthma", "C1"), mention("asthma", "C2")]
        add_mentions(builder, [document(*annotated)], "train")
        builder.finish({})
    kb = KnowledgeBase(tmp_path / "test.kb")
    assert is_named("C1", [mention("x"), mention("ASTHMA")], kb)
    assert not is_named("C1", [mention("wheeze"), mention("bronchitis")], kb)
    assert not is_named("C2", [mention("Asthma")], kb)
    assert not is_named("C1", [], kb)
    assert not is_named("Q1", [mention("Asthma")], kb)
