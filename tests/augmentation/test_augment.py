from collections import defaultdict

import pytest
import spacy

from spacy_sapbert.augmentation.annotations import Annotation, IdMapping, Overlaps
from spacy_sapbert.augmentation.augment import (
    RuleAnnotation,
    Segment,
    TrainingDocs,
    count_documents,
    segments_of,
    shuffled,
    without_irrelevant,
)
from spacy_sapbert.augmentation.documents import spacy_tokens
from spacy_sapbert.augmentation.search import Choice
from spacy_sapbert.documents.docs import from_doc
from spacy_sapbert.types import Document, Mention

ONE = Document("one", "Breast cancer hurts. Aspirin helps.", meta={"pmid": 11}, position="notes/a.jsonl, line 1")
TWO = Document("two", "Aspirin.")


class Given:
    """An annotator whose answers are given."""

    name = "given"

    def __init__(self, answers):
        self.answers = answers

    def annotate(self, texts):
        return [self.answers.get(text) for text in texts]


@pytest.fixture
def annotation(small_kb):
    answers = {
        "Breast cancer hurts.": [
            Annotation(0, 13, ("OMIM:114480", "D009369")),
            Annotation(7, 13, ("D009369",)),
            Annotation(14, 19, ("C0000001",)),
        ],
        "Aspirin helps.": [Annotation(0, 7, ("D001241",))],
        "Aspirin.": [Annotation(0, 7, ("X1",))],
    }
    filters = {"overlaps": Overlaps(small_kb)}
    return RuleAnnotation(Given(answers), IdMapping(small_kb), filters, ["D001943", "D001241"])


@pytest.fixture
def segments():
    concepts = defaultdict(list, {"1": ["D001943"], "2": ["D009020"], "4": ["D001943"]})
    documents = {"1": ONE, "2": TWO, "3": TWO, "4": Document("four", "Unknown.")}
    return list(segments_of(Choice(documents, concepts), spacy_tokens(), 4))


def test_documents_that_were_taken_are_cut(segments):
    assert [(segment.document.doc_id, segment.number, segment.text) for segment in segments] == [
        ("one", 0, "Breast cancer hurts."),
        ("one", 1, "Aspirin helps."),
        ("two", 0, "Aspirin."),
        ("four", 0, "Unknown."),
    ]


def test_what_is_left_after_each_step_is_counted(segments, annotation):
    annotated = list(annotation(segments))
    assert [segment.ids for segment in annotated] == [{"D001943"}, {"D001241"}, {"D001241"}, set()]
    assert annotation.left == {"found": 5, "mapped": 4, "after_overlaps": 3, "of_labels": 3}
    assert annotation.without_answer == 1
    # the other document was taken for another concept
    assert [segment.text for segment in without_irrelevant(annotated)] == ["Breast cancer hurts.", "Aspirin helps."]
    assert count_documents(annotated) == {"D001943": 1, "D001241": 2}


def test_training_documents_say_where_they_come_from(segments, annotation, small_kb):
    nlp = spacy.blank("en")
    make = TrainingDocs(nlp, small_kb, 0.2, annotation)
    doc = make.make(next(iter(annotation(segments))))
    assert [(ent.text, ent.label_, ent.kb_id_) for ent in doc.ents] == [("Breast cancer", "Disease", "D001943")]
    assert doc.user_data["weight"] == 0.2
    assert doc.user_data["provenance"] == {
        "document": "one",
        "pmid": "11",
        "source": "a.jsonl",
        "segment": 0,
        "concepts": ["D001943"],
        "annotator": "given",
        "filters": ["overlaps"],
    }
    document = from_doc(doc)
    assert document.doc_id == "one:0"
    assert document.mentions == (Mention(0, 13, "Breast cancer", "Disease", ("D001943",)),)


def test_a_mention_that_cuts_a_token_is_an_entity(small_kb, annotation):
    make = TrainingDocs(spacy.blank("en"), small_kb, 0.3, annotation)
    segment = Segment(ONE, (), 0, "anticancer", (Annotation(4, 10, ("D009369",)),))
    assert [ent.text for ent in make.make(segment).ents] == ["cancer"]


def test_the_seed_decides_on_the_order(small_kb, annotation):
    nlp = spacy.blank("en")
    make = TrainingDocs(nlp, small_kb, 0.3, annotation)
    texts = [f"text {number}" for number in range(9)]
    segments = [Segment(TWO, (), 0, text) for text in texts[:5]]

    def order(seed):
        weighted = nlp(texts[8])
        weighted.user_data["weight"] = 0.7
        docs = list(shuffled(segments, make, [*map(nlp, texts[5:8]), weighted], seed))
        return [(doc.text, doc.user_data["weight"]) for doc in docs]

    assert order(1) == order(1) != order(2)
    weights = [0.3] * 5 + [1.0] * 3 + [0.7]
    assert sorted(order(1)) == list(zip(texts, weights, strict=True))
