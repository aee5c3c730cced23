import pytest

from spacy_sapbert.augmentation.annotations import Annotation, FalseAbbreviations, InvertedNames, Overlaps, Verbs
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record

from ..cases import cases


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    def record(concept_id, names, **others):
        return Record(concept_id, tuple(Name(name, "exact", "s") for name in names.split("|")), **others)

    records = [
        record("D1", "Acquired Immunodeficiency Syndrome|AIDS"),
        record("D2", "Heart Failure|Failure, Heart"),
        record("D3", "Kidney Failure|Failure, Kidney|Failure, Kidney, Chronic"),
        record("D4", "GOUT|Gout", parents=("D6",)),
        record("D5", "gouty state", alternative_ids=("X5",), parents=("D7",)),
        record("D6", "arthritis", parents=("X5",)),
        record("D7", "disease", parents=("D6", "gone")),  # a circle
    ]
    return build_knowledge_base(records, tmp_path_factory.mktemp("filters") / "small.kb")


def at(text, mention, *ids, name=""):
    start = text.index(mention)
    return Annotation(start, start + len(mention), ids, name)


@pytest.mark.parametrize(*cases(__file__, "words_that_were_taken_for_abbreviations"))
def test_words_that_were_taken_for_abbreviations(kb, text, mention, concept_id, name, kept):
    found = [at(text, mention, concept_id, name=name)]
    assert FalseAbbreviations(kb)(text, found) == (found if kept else [])


@pytest.mark.parametrize(*cases(__file__, "names_that_are_verbs"))
def test_names_that_are_verbs(text, mention, kept):
    found = [at(text, mention, "D1")]
    assert Verbs()(text, found) == (found if kept else [])


@pytest.mark.parametrize(*cases(__file__, "enumerations_that_were_taken_for_inverted_names"))
def test_enumerations_that_were_taken_for_inverted_names(kb, mention, concept_id, kept):
    text = f"Liver {mention} disease"
    found = [at(text, mention, concept_id)]
    assert InvertedNames(kb)(text, found) == (found if kept else [])


def test_the_longer_of_two_spans_is_kept(kb):
    text = "chronic kidney failure, heart"
    found = [at(text, "kidney failure", "D3"), at(text, "failure, heart", "D2"), at(text, "kidney", "D6")]
    assert Overlaps(kb)(text, found) == [found[0]]
    found.append(at(text, "chronic", "D7"))
    assert Overlaps(kb)(text, found) == [found[3], found[0]]


@pytest.mark.parametrize(*cases(__file__, "of_equal_spans_the_lower_concept_is_kept"))
def test_of_equal_spans_the_lower_concept_is_kept(kb, ids, kept):
    found = [at("gout", "gout", one) for one in ids]
    assert {one.ids for one in Overlaps(kb)("gout", found)} == {(kept,)}
    assert len(Overlaps(kb)("gout", found[::-1])) == 1
