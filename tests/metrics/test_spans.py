import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.metrics.counts import SetCounts
from spacy_sapbert.metrics.linking_accuracy import Comparison, places, single_id
from spacy_sapbert.types import Document, Mention

CANCER, BREAST, OVARIAN, CF, ASPIRIN, LITHIUM = "D009369", "D001943", "D010051", "D003550", "D001241", "D008094"
UNKNOWN = "D999999"


def document(text, *mentions, doc_id="1"):
    """A document whose mentions are given as (text, ids) or (text, ids, label)."""
    found = []
    for surface, ids, *label in mentions:
        start = text.index(surface)
        kept = tuple(ids.split("|")) if ids else ()
        found.append(Mention(start, start + len(surface), surface, *(label or ["Disease"]), ids=kept))
    return Document(doc_id, text, tuple(found))


TEXT = "aspirin for breast and ovarian cancer, a growth in CF"


@pytest.fixture(scope="module")
def compare(small_kb):
    return Comparison(small_kb.find_id, small_kb.ids)


def counts(compare, gold, found):
    return compare(document(TEXT, *gold), document(TEXT, *found))


def test_mentions_by_characters_and_label(compare):
    gold = ("aspirin", "", "Chemical"), ("ovarian cancer", ""), ("growth", "")
    found = ("aspirin", "", "Disease"), ("ovarian cancer", ""), ("cancer", ""), ("CF", "")
    of = counts(compare, gold, found)
    assert of["ner"] == SetCounts(1, 4, 3)
    assert of["ner_untyped"] == SetCounts(2, 4, 3)


def test_what_is_annotated_twice_and_blanks_at_the_ends_do_not_count():
    twice = document(TEXT, (" growth ", ""), ("growth", CANCER), ("growth", "", "Phenotype")).mentions
    assert places(twice) == {(41, 47, "Disease"), (41, 47, "Phenotype")}


@pytest.mark.parametrize(
    ("gold", "found", "expected"),
    [
        (ASPIRIN, ASPIRIN, (1, 1, 1)),
        (ASPIRIN, CF, (0, 1, 1)),
        ("X2", ASPIRIN, (1, 1, 1)),  # an alternative id of it
        (f"X2|{ASPIRIN}", ASPIRIN, (1, 1, 1)),  # one concept, named twice
        (f"{BREAST}|{OVARIAN}", f"{OVARIAN}|{BREAST}", (1, 1, 1)),
        (f"{BREAST}|{OVARIAN}", BREAST, (0, 1, 1)),
        (BREAST, f"{BREAST}|{OVARIAN}", (0, 1, 1)),
        (UNKNOWN, ASPIRIN, (0, 1, 1)),
        (ASPIRIN, "", (0, 0, 1)),
        ("", ASPIRIN, (0, 1, 0)),
        ("", "", (0, 0, 0)),
    ],
)
def test_a_link_is_right_with_exactly_the_gold_concepts(compare, gold, found, expected):
    of = counts(compare, [("growth", gold)], [("growth", found, "Another")])
    assert of["span_id"] == SetCounts(*expected)
    composite = "|" in gold
    assert of["span_id_single"] == (SetCounts(0, 0, 0) if composite else SetCounts(*expected))


def test_a_link_has_the_characters_of_the_gold_mention(compare):
    of = counts(compare, [("ovarian cancer", OVARIAN)], [("cancer", OVARIAN)])
    assert of["span_id"] == SetCounts(0, 1, 1)
    assert of["document_id"] == SetCounts(1, 1, 1)


def test_two_annotations_of_one_place_are_two_links(compare):
    twice = ("growth", CANCER), ("growth", OVARIAN), ("growth", CANCER, "Phenotype")
    assert counts(compare, twice, [("growth", OVARIAN)])["span_id"] == SetCounts(1, 1, 2)
    assert counts(compare, twice, twice)["span_id"] == SetCounts(2, 2, 2)


def test_composites_are_left_out_with_what_is_found_there(compare):
    whole = "breast and ovarian cancer"
    gold = document(TEXT, (whole, f"{BREAST}|{OVARIAN}"), ("CF", CF)).mentions
    found = document(TEXT, (whole, BREAST), ("ovarian cancer", OVARIAN), ("CF", CF)).mentions
    assert single_id(gold, found) == (list(gold[1:]), list(found[1:]))
    assert compare.linked(*single_id(gold, found)) == SetCounts(1, 2, 1)


def test_concepts_of_documents_are_counted_once(compare):
    gold = ("breast and ovarian cancer", f"{BREAST}|{OVARIAN}"), ("ovarian cancer", OVARIAN), ("aspirin", "X2")
    found = ("ovarian cancer", OVARIAN), ("breast", OVARIAN), ("CF", CF), ("aspirin", ASPIRIN)
    assert counts(compare, gold, found)["document_id"] == SetCounts(2, 3, 3)


words = st.sampled_from(["aspirin", "breast", "ovarian cancer", "cancer", "growth", "CF"])
ids = st.sampled_from(["", ASPIRIN, "X2", OVARIAN, f"{BREAST}|{OVARIAN}", UNKNOWN])
labels = st.sampled_from(["Disease", "Chemical"])
annotations = st.lists(st.tuples(words, ids, labels), max_size=6)


@given(annotations, annotations)
def test_precision_of_one_is_recall_of_the_other(compare, gold, found):
    there, back = counts(compare, gold, found), counts(compare, found, gold)
    for measure in ("ner", "ner_untyped", "span_id", "document_id"):
        hits, predicted, wanted = there[measure]
        assert 0 <= hits <= min(predicted, wanted)
        assert back[measure] == (hits, wanted, predicted)
        assert len(set(counts(compare, gold, gold)[measure])) == 1
