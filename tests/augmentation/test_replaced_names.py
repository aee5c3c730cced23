import random

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.training import Example

from spacy_sapbert.augmentation.replaced_names import replaced_names
from spacy_sapbert.documents.docs import annotated_labels, set_annotated, unsure_spans
from spacy_sapbert.errors import TrainingDataError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record

NAMES = {
    "Chemical": ("rituximab", "Lorlatinib", "acetic acid", "AZD-9291", "of"),  # a stop name is never drawn
    "Gene": ("BRCA2", "Cd44", "insulin receptor"),
}
WORDS = ("Aspirin", "aspirin", "sodium chloride", "TP53", "tp53", "5-HT", "we", "saw", "(", ").")


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    names = [(text, label) for label, texts in NAMES.items() for text in texts]
    records = [
        Record(f"X:{row}", (Name(text, "preferred", "X"),), types=(label,)) for row, (text, label) in enumerate(names)
    ]
    return str(build_knowledge_base(records, tmp_path_factory.mktemp("names") / "names.kb").path)


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "spacy-sapbert.BiomedicalTokenizer.v1"}}})


@pytest.fixture(scope="module")
def augment(kb, nlp):
    """A function that returns the copy of a document, and checks that the document itself comes first, unchanged."""
    copies = replaced_names(dict.fromkeys(NAMES, kb))

    def of_doc(doc, seed=0):
        random.seed(seed)
        example = Example(nlp.make_doc(doc.text), doc)
        first, second = copies(nlp, example)
        assert first is example
        assert second.predicted.text == second.reference.text
        return second.reference

    return of_doc


def annotated(nlp, text, *mentions):
    doc = nlp.make_doc(text)
    doc.ents = [doc.char_span(text.index(words), text.index(words) + len(words), label) for words, label in mentions]
    return doc


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(["", "Chemical", "Gene", "Disease"]))), st.integers())
def test_only_the_names_change(nlp, augment, parts, seed):
    text, mentions = "", []
    for words, label in parts:
        mentions += [(len(text), len(text) + len(words), label)] if label else []
        text += words + " "
    doc = nlp.make_doc(text)
    spans = [doc.char_span(*mention) for mention in mentions]
    doc.ents = [span for span in spans if span is not None]
    copy = augment(doc, seed)

    # what is not in an entity is the same, and each entity is where it was
    assert [entity.label_ for entity in copy.ents] == [entity.label_ for entity in doc.ents]
    assert outside(copy) == outside(doc)
    new = {}
    for old_entity, entity in zip(doc.ents, copy.ents, strict=True):
        key = old_entity.label_, old_entity.text[0].lower() + old_entity.text[1:]
        assert new.setdefault(key, entity.text.lower()) == entity.text.lower()  # the same for the same
        assert entity.text[0].isupper() == old_entity.text[0].isupper()
        if entity.text != old_entity.text:
            assert entity.text.lower() in {name.lower() for name in NAMES[entity.label_]}
    assert augment(doc, seed).to_json() == copy.to_json()  # the seed decides


def outside(doc):
    """The text of a document with a mark for each entity."""
    text = doc.text
    for entity in reversed(doc.ents):
        text = f"{text[: entity.start_char]}<>{text[entity.end_char :]}"
    return text


def test_a_name_replaces_one_of_its_shape(nlp, augment):
    mentions = ("Metformin", "Chemical"), ("sodium chloride", "Chemical"), ("TP53", "Gene"), ("asthma", "Disease")
    doc = annotated(nlp, "Metformin and sodium chloride in TP53-positive asthma.", *mentions)
    texts = {augment(doc, seed).text for seed in range(20)}
    assert texts == {f"{name} and acetic acid in BRCA2-positive asthma." for name in ("Rituximab", "Lorlatinib")}


@pytest.mark.parametrize("name", ["Ca2+", "Pb"])
def test_a_name_without_another_of_its_shape_stays(nlp, augment, name):
    doc = annotated(nlp, f"{name} rose.", (name, "Chemical"))
    assert augment(doc).text == doc.text


def test_the_copy_teaches_the_types_that_the_document_teaches(nlp, augment):
    doc = annotated(nlp, "Patients took metformin.", ("metformin", "Chemical"))
    set_annotated(doc, ["Chemical", "Species"], {"Species": ["patients"]})
    copy = augment(doc)
    assert annotated_labels(copy) == ["Chemical", "Species"]
    assert [(span.text, span.label_) for span in unsure_spans(copy)] == [("Patients", "Species")]


def test_what_is_not_annotated_stays_so(nlp, augment):
    doc = nlp.make_doc("We took metformin.")
    assert not augment(doc).has_annotation("ENT_IOB")
    doc.set_ents([doc.char_span(8, 17, "Chemical")], missing=[doc[:2]])
    assert [token.ent_iob_ for token in augment(doc)] == ["", "", "B", "O"]


def test_a_vocabulary_without_names_of_the_type_is_reported(kb):
    with pytest.raises(TrainingDataError, match=r"E644.*'Species'.*Chemical, Gene"):
        replaced_names({"Species": kb})


def test_capitals_alone_stay(nlp, augment):
    doc = annotated(
        nlp, "Zolpidem (ZLP) and AZD-1234.", ("Zolpidem", "Chemical"), ("ZLP", "Chemical"), ("AZD-1234", "Chemical")
    )
    assert [str(entity) for entity in augment(doc).ents][1:] == ["ZLP", "AZD-9291"]
