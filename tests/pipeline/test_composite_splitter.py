import pytest
import spacy
from spacy.tokens import Span

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.pipeline.attributes import set_abbreviation_occurrences
from spacy_sapbert.text.abbreviations import AbbreviationOccurrence
from spacy_sapbert.text.composites import composite_splits

TEXT = "They had breast and ovarian cancer, then flu."
EXPECTED = [("breast cancer", "ovarian cancer"), ("breast", "ovarian cancer")]


@pytest.fixture
def nlp():
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [
            {"label": "DISEASE", "pattern": text}
            for text in ("breast and ovarian cancer", "flu", "AF and flutter", "CLP", "renal or hepatic failure")
        ]
    )
    nlp.add_pipe("composite_splitter")
    return nlp


def check(doc):
    composite, single = doc.ents
    assert composite._.composite_splits == EXPECTED
    assert single._.composite_splits == []


def test_readings_of_entities(nlp):
    check(nlp(TEXT))


def test_readings_of_a_span_group():
    nlp = spacy.blank("en")
    nlp.add_pipe("composite_splitter", config={"spans_key": "found", "max_splits": 1})
    doc = nlp.make_doc(TEXT)
    doc.ents = [Span(doc, 9, 10, label="DISEASE")]
    doc.spans["found"] = [Span(doc, 2, 6, label="DISEASE"), Span(doc, 2, 3, label="ORGAN")]
    nlp(doc)
    assert [span._.composite_splits for span in doc.spans["found"]] == [EXPECTED[:1], []]
    assert nlp("no such group here").spans == {}


def test_document_without_mentions_stays_as_it_is(nlp):
    doc = nlp("nothing and nobody")
    assert not doc.user_data


def test_readings_of_the_expanded_mention_come_first(nlp):
    doc = nlp.make_doc("Atrial fibrillation (AF) is common. AF and flutter are not.")
    start = doc.text.index("AF and")
    set_abbreviation_occurrences(doc, [AbbreviationOccurrence(start, start + 2, "Atrial fibrillation", 0, 19)])
    mention = nlp(doc).ents[0]
    whole = mention._.composite_splits
    assert whole[0] == ("Atrial fibrillation", "Atrial flutter")
    assert set(composite_splits("AF and flutter")) <= set(whole)
    assert len(set(whole)) == len(whole)


def test_an_abbreviation_can_stand_for_a_composite(nlp):
    doc = nlp.make_doc("CLP was seen.")
    set_abbreviation_occurrences(doc, [AbbreviationOccurrence(0, 3, "cleft lip and palate", None, None)])
    assert nlp(doc).ents[0]._.composite_splits[0] == ("cleft lip", "cleft palate")


def test_max_splits_counts_for_each_form(nlp):
    nlp.get_pipe("composite_splitter").max_splits = 1
    doc = nlp.make_doc("AF and flutter")
    set_abbreviation_occurrences(doc, [AbbreviationOccurrence(0, 2, "atrial fibrillation", None, None)])
    assert len(nlp(doc).ents[0]._.composite_splits) == 2


def test_running_again_replaces_the_readings(nlp):
    doc = nlp(TEXT)
    nlp.get_pipe("composite_splitter").max_splits = 1
    assert nlp.get_pipe("composite_splitter")(doc).ents[0]._.composite_splits == EXPECTED[:1]
    doc.ents[0]._.composite_splits = []
    assert doc.ents[0]._.composite_splits == []


def test_max_splits_must_be_positive():
    with pytest.raises(SapbertError, match=r"E406.*max_splits"):
        spacy.blank("en").add_pipe("composite_splitter", config={"max_splits": 0})


def test_disk_round_trip(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("composite_splitter", config={"spans_key": "found", "max_splits": 2})
    nlp.to_disk(tmp_path)
    for max_splits, config in ((2, {}), (4, {"components.composite_splitter.max_splits": 4})):
        splitter = spacy.load(tmp_path, config=config).get_pipe("composite_splitter")
        assert (splitter.spans_key, splitter.max_splits) == ("found", max_splits)
