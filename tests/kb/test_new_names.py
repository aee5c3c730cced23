from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.kb.new_names import Discovery, LinkedOccurrence, rank, table_lines
from spacy_sapbert.kb.readers.known_tables import DISCOVERED_COLUMNS
from spacy_sapbert.text.words import word_keys

# of concepts of the small vocabulary; the last two texts are names of their concepts
TEXTS = ["mammary cancer", "Mammary  cancers", "MAMMARY CANCER", "cold", "chill", "Chills", "of the", "breast cancer"]
CONCEPTS = ["D001943", "D003080", "D003139"]
SIGHTINGS = st.builds(
    LinkedOccurrence,
    st.sampled_from(TEXTS),
    st.sampled_from(CONCEPTS),
    st.just("a name"),
    st.sampled_from([0.701, 0.704, 0.9]),
    short_form=st.booleans(),
)
DOCUMENTS = st.lists(st.lists(SIGHTINGS, max_size=4), max_size=6)


def discover(kb, documents):
    discovery = Discovery(kb)
    for number, linked_occurrences in enumerate(documents):
        discovery.add(str(number), linked_occurrences)
    return discovery


def seen(text, concept_id="D001943", similarity=0.9, **others):
    return LinkedOccurrence(text, concept_id, "a name", similarity, **others)


@pytest.mark.parametrize(
    "text", ["Breast Cancers", "cancer of the breast", "breast  neoplasm", "carcinoma of Breast", "breast tumours"]
)
def test_a_name_is_known_but_for_case_number_spelling_and_word_order(small_kb, text):
    counts = discover(small_kb, [[seen(text)]]).counts
    assert counts["known_names"] == (text != "breast tumours")
    assert counts["candidates"] == (text == "breast tumours")


def test_texts_of_the_same_words_are_one_name_as_it_is_written_most(small_kb):
    first = seen("Mammary cancer", similarity=0.8, example="first")
    more = [seen("mammary cancers", similarity=0.7, example=example) for example in ("second", "third")]
    (found,) = discover(small_kb, [[first, more[0]], [], [more[1]]]).ranked()
    assert (found.name, found.first.similarity, found.first.example, found.doc_id) == (
        "mammary cancers",
        0.7,
        "second",
        "0",
    )
    assert (found.occurrences, found.documents) == (3, 2)


def test_of_two_ways_to_write_it_the_one_with_fewer_capitals_is_shown(small_kb):
    documents = [[seen("Mammary Cancer"), seen("mammary cancer"), seen("MAMMARY CANCER")]]
    assert discover(small_kb, documents).ranked()[0].name == "mammary cancer"


def test_other_concepts_that_have_the_name_are_told(small_kb):
    (found,) = discover(small_kb, [[seen("Colds", "D001943")]]).ranked()
    assert set(found.other_concepts) == {"D003080", "D003139"}


def test_a_short_form_is_no_new_name_but_may_be_a_known_one(small_kb):
    documents = [[seen("CF", "D003550", short_form=True), seen("CFX", "D003550", short_form=True)]]
    counts = discover(small_kb, documents).counts
    assert (counts["known_names"], counts["short_forms"], counts["candidates"]) == (1, 1, 0)


def test_twice_as_many_documents_count_as_much_as_some_similarity(small_kb):
    documents = [[seen("a", similarity=0.9), seen("b", similarity=0.919), seen("c", similarity=0.921)]]
    documents += [[seen("a", similarity=0.9)], [seen("d", similarity=0.6)], [seen("d", similarity=0.6)]]
    found = discover(small_kb, documents)
    assert [one.name for one in found.ranked()] == ["c", "a", "b", "d"]
    assert [one.name for one in found.ranked(min_documents=2)] == ["a", "d"]


@settings(max_examples=30)
@given(documents=DOCUMENTS)
def test_every_sighting_counts_once_and_their_order_for_nothing(small_kb, documents):
    discovery = discover(small_kb, documents)
    found, counts = discovery.ranked(), discovery.counts
    kinds = ("known_names", "short_forms", "without_words", "occurrences")
    assert sum(counts[kind] for kind in kinds) == sum(map(len, documents))
    assert sum(one.occurrences for one in found) == counts["occurrences"]
    assert len({(word_keys(new.name), new.first.concept_id) for new in found}) == len(found) == counts["candidates"]
    in_documents = defaultdict(set)
    for number, linked_occurrences in enumerate(documents):
        for one in linked_occurrences:
            if not one.short_form:
                in_documents[word_keys(one.text), one.concept_id].add(number)
    for new in found:
        assert new.documents == len(in_documents[word_keys(new.name), new.first.concept_id])
        assert new.first.concept_id not in new.other_concepts
    assert rank(reversed(found)) == found
    for better, worse in pairwise(found):
        assert better.first.similarity >= worse.first.similarity or better.documents > worse.documents
    again = discover(small_kb, documents[::-1]).ranked()
    assert {(new.name, new.first.concept_id, *new[3:]) for new in again} == {
        (new.name, new.first.concept_id, *new[3:]) for new in found
    }


def test_a_line_has_all_columns_whatever_the_texts_hold(small_kb):
    odd = seen("mammary\tcancer", example="a\nb\x85c", written="mamary\ncancer")
    header, line = table_lines(discover(small_kb, [[odd]]).ranked(), small_kb)
    assert tuple(header.rstrip("\n").split("\t")) == DISCOVERED_COLUMNS
    row = dict(zip(DISCOVERED_COLUMNS, line.rstrip("\n").split("\t"), strict=True))
    assert row["keep"] == ""
    assert row["name"] == "mammary cancer"
    assert (row["preferred_name"], row["similarity"]) == ("Breast Neoplasms", "0.9000")
    assert (row["corrected_from"], row["example"]) == ("mamary cancer", "a b c")
