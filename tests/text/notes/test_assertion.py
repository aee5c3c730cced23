from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.notes.assertion import FLAGS, CueMatcher, matcher_of, read_cues, scope_bounds

from ...cases import cases

WORDS = [
    "no",
    "denies",
    "but",
    "possible",
    "history of",
    "mother",
    "fever",
    ",",
    "if",
    "is ruled out",
    ":",
    "none",
    "PLAN:",
]


def flags(matcher, text, mention):
    start = text.index(mention)
    return matcher.flags_of(text, (0, len(text)), [(start, start + len(mention))])[0]


def test_the_longest_cue_wins_and_words_behind_a_tilde_are_not_part_of_it():
    cues = {"negated": {"before": ["no", "no a b"]}, "any": {"pseudo": ["no a", "x ~ no"], "end": ["but"]}}
    matcher = CueMatcher(cues)
    assert matcher.flags == ("negated",)
    texts = {"no m": True, "no a m": False, "no a b m": True, "x no m": True, "no but m": False, "no but no m": True}
    assert {text: flags(matcher, text, "m") == ("negated",) for text in texts} == texts


def test_a_disease_of_the_past_is_present_in_a_note_if_it_is_chronic():
    matcher = CueMatcher({"past": {"before": ["history of"]}, "chronic": {"any": ["asthma"]}})
    for text, in_note, expected in (
        ("history of asthma", True, ()),
        ("history of asthma", False, ("historical",)),
        ("history of stroke", True, ("historical",)),
    ):
        assert matcher.flags_of(text, (0, len(text)), [(11, len(text))], in_note=in_note) == [expected]


@pytest.mark.parametrize(*cases(__file__, "boxes_behind_a_mention_answer_it"))
def test_boxes_behind_a_mention_answer_it(answer, expected):
    assert flags(matcher_of("en"), f"Fever {answer}", "Fever") == expected


def test_alternatives_and_classes_are_expanded():
    cues = read_cues("en")
    assert {"denies", "denied", "no evidence of", "no signs of"} <= {*cues["negated"]["before"]}
    assert "in his mother" in cues["family"]["after"]
    assert "father" in cues["same"]["mother"]
    assert not any(sign in cue for cue in cues["negated"]["before"] for sign in "<>|_;")


@pytest.mark.parametrize(*cases(__file__, "scopes"))
def test_scopes(text, scopes):
    sentences = [index for index in range(2, len(text)) if text[index - 2 : index] == ". " and text.startswith("V")]
    bounds = scope_bounds(text, sentences)
    assert [text[start:end] for start, end in pairwise(bounds)] == scopes


@given(st.lists(st.sampled_from(WORDS), min_size=1), st.data())
def test_every_mention_has_flags_whatever_the_words(words, data):
    text = " ".join(words)
    ends = st.integers(0, len(text))
    mentions = data.draw(st.lists(st.tuples(ends, ends).filter(lambda span: span[0] < span[1])))
    found = matcher_of("en").flags_of(text, (0, len(text)), mentions)
    assert len(found) == len(mentions)
    assert all(flag in FLAGS for of_mention in found for flag in of_mention)
