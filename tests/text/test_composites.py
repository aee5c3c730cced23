import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.composites import MAX_CONJUNCTS, MAX_WORDS, composite_splits, differ_in_numbers
from spacy_sapbert.text.languages import ENGLISH

from ..cases import cases


@pytest.mark.parametrize(*cases(__file__, "first_reading"))
def test_first_reading(text, expected):
    assert composite_splits(text)[0] == expected


@pytest.mark.parametrize(*cases(__file__, "no_reading_without_a_connector"))
def test_no_reading_without_a_connector(text):
    assert composite_splits(text) == []


def test_a_coordination_in_another_one():
    failures = tuple(f"{course} {organ} failure" for course in ("acute", "chronic") for organ in ("liver", "kidney"))
    assert set(failures) in map(set, composite_splits("acute or chronic liver and kidney failure"))
    assert composite_splits("acute or chronic and or kidney failure")  # no connector has an empty side


def test_further_readings_follow_the_best():
    assert ("breast", "ovarian cancer") in composite_splits("breast and ovarian cancer")
    assert ("cancer of the renal pelvis", "cancer of the renal bladder") in composite_splits(
        "cancer of the renal pelvis and bladder"
    )


def test_the_noun_of_numbers_is_shared():
    assert composite_splits("type 1/2 diabetes") == [("type 1 diabetes", "type 2 diabetes")]
    assert composite_splits("MPS I, II and III") == [("MPS I", "MPS II", "MPS III")]


@pytest.mark.parametrize(*cases(__file__, "parts_that_differ_in_numbers"))
def test_parts_that_differ_in_numbers(parts, expected):
    assert differ_in_numbers(parts) == expected


def test_implausible_readings_are_not_offered():
    assert composite_splits("pleural and pericardial effusion") == [("pleural effusion", "pericardial effusion")]
    assert composite_splits("N, N'-dimethylurea and atropine") == [("N, N'-dimethylurea", "atropine")]


def test_max_splits_keeps_the_best():
    text = "impairment of left renal and right hepatic vein function in women"
    everything = composite_splits(text, max_splits=100)
    assert len(everything) > 6
    assert composite_splits(text) == everything[:6]
    assert composite_splits(text, max_splits=1) == everything[:1]


def test_number_of_conjuncts_is_bounded():
    organs = [f"organ{number}" for number in range(MAX_CONJUNCTS + 1)]
    assert len(composite_splits(f"{', '.join(organs[1:-1])} and {organs[-1]} pain")[0]) == MAX_CONJUNCTS
    assert composite_splits(f"{', '.join(organs[:-1])} and {organs[-1]} pain") == []


def test_number_of_words_is_bounded():
    assert composite_splits("very " * (MAX_WORDS - 3) + "bad and worse")
    assert composite_splits("very " * (MAX_WORDS - 2) + "bad and worse") == []


SMALL_WORDS = ["and", "or", "but", "not", "as", "well", "/", "&", ",", "and/or", "of", "the", "both", "other", "type"]
LARGE_WORDS = [
    "renal", "hepatic", "cancer", "acute", "left", "head", "neck", "II", "2", "C6", "(VSD)", "(a", "b)", "N,",
]  # fmt: skip
WORDS = st.sampled_from([*SMALL_WORDS, *LARGE_WORDS, "a/b", "breast/ovarian", "pain,", "µ", "b,f"])
ELLIPSES = st.sampled_from(["hyper-", "-related", "drug-induced", "hypotension", "-", "--", "T-"])
MENTIONS = st.lists(WORDS, max_size=14).map(" ".join)


@given(st.one_of(st.text(max_size=60), MENTIONS, st.lists(st.one_of(WORDS, ELLIPSES), max_size=10).map(" ".join)))
def test_readings_are_well_formed(text):
    offered = composite_splits(text)
    assert offered == composite_splits(text)
    assert len(offered) <= 6
    assert len(set(offered)) == len(offered)
    for reading in offered:
        assert len(set(reading)) == len(reading) >= 2
        assert all(part == " ".join(part.split()) != "" for part in reading)
        assert " ".join(text.split()) not in reading


@given(MENTIONS)
def test_parts_hold_only_words_of_the_whole(text):
    pieces = {*text.replace("/", " ").replace(",", " ").split(), "C2"}  # of "C6 and 2"
    for reading in composite_splits(text):
        for part in reading:
            assert set(part.replace("/", " ").replace(",", " ").split()) <= pieces


@pytest.mark.parametrize("connector", sorted(ENGLISH.composites.connectors - {","}))
def test_no_connector_is_overlooked(connector):
    for written in (connector, connector.upper(), connector.replace(" ", "\n")):
        assert composite_splits(f"breast {written} ovarian cancer")[0] == ("breast cancer", "ovarian cancer")
