import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.joint_forms import find_joint_forms


def pairs(shorts, words):
    return [(form.short, form.long) for form in find_joint_forms(shorts, words, 0.9)]


@pytest.mark.parametrize(
    ("shorts", "words", "expected"),
    [
        (
            "DMD/BMD",
            "boys with Duchenne and Becker muscular dystrophy",
            [("DMD", "Duchenne muscular dystrophy"), ("BMD", "Becker muscular dystrophy")],
        ),
        (
            "ARF and CRF",
            "acute or chronic renal failure",
            [("ARF", "acute renal failure"), ("CRF", "chronic renal failure")],
        ),
        (
            "ALD / AMN",
            "seen in adrenoleukodystrophy/adrenomyeloneuropathy",
            [("ALD", "adrenoleukodystrophy"), ("AMN", "adrenomyeloneuropathy")],
        ),
        (
            "LRF, RRF, and BRF",
            "left, right, and bilateral renal failure",
            [("LRF", "left renal failure"), ("RRF", "right renal failure"), ("BRF", "bilateral renal failure")],
        ),
        ("DMD", "Duchenne and Becker muscular dystrophy", []),
        ("DMD/BMD/XYZ", "Duchenne and Becker muscular dystrophy", []),
        ("BMD/DMD", "Duchenne and Becker muscular dystrophy", []),
        ("GC/ECD", "gas chromatography employing an electron capture detector", []),
        ("A and B", "alpha and beta", []),
        ("for DMD and BMD", "Duchenne and Becker muscular dystrophy", []),
    ],
)
def test_long_forms_in_the_order_of_the_short_forms(shorts, words, expected):
    assert pairs(shorts, words) == expected


def test_places_are_those_of_forms_in_one_piece():
    first, second = find_joint_forms("DMD/BMD", "with Duchenne or Becker muscular dystrophy", 0.9)
    assert (first.start, first.long_start) == (0, None)
    assert (second.start, second.long_start) == (4, 17)


def test_least_precision():
    words = "acute and chronic renal failure"
    assert find_joint_forms("ARF/CRF", words, 0.9)
    assert find_joint_forms("ARF/CRF", words, 0.99999) == []


WORDS = st.sampled_from(["acute", "chronic", "renal", "failure", "and", "or", "/", "left,", "liver", "disease"])
SHORTS = st.lists(st.sampled_from(["ARF", "CRF", "LD", "RD", "/", " and ", ", "]), max_size=6).map("".join)


@given(SHORTS, st.lists(WORDS, max_size=8).map(" ".join))
def test_forms_stand_where_they_say(shorts, words):
    for form in find_joint_forms(shorts, words, 0.9):
        assert shorts[form.start :].startswith(form.short)
        assert form.long_start is None or words[form.long_start :].startswith(form.long)
