import sys
from itertools import pairwise

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.text.repeats import LONGEST, TokenNames

from ..cases import cases

TOKENIZER = spacy.blank("en").tokenizer


def find(text, *known, rules=None):
    """Return the places of texts whose first places are known, as texts with offsets."""
    doc = TOKENIZER(text)
    spans = [doc.char_span(text.index(one), text.index(one) + len(one)) for one in known]
    names = TokenNames([t.text for t in doc], [bool(t.whitespace_) for t in doc], *([rules] if rules else []))
    found = names.find([names.name(span.start, span.end) for span in spans], [(span.start, span.end) for span in spans])
    assert all(names.name(start, end) == name for start, end, name in found)
    return [(doc[start:end].start_char, doc[start:end].text) for start, end, _ in found]


@pytest.mark.parametrize(*cases(__file__, "repeated_names"))
def test_repeated_names(text, known, expected):
    assert find(text, *known.split("|")) == expected


def test_rules_of_a_language():
    assert find("ein Tumor, zwei Tumoren", "Tumor", rules=rules_of("de")) == [(16, "Tumoren")]


def test_the_longest_name_counts():
    text = "breast cancer, cancer; the cancer or the breast cancer."
    assert [found for _, found in find(text, "breast cancer", "cancer")][-2:] == ["cancer", "breast cancer"]


@pytest.mark.parametrize(
    ("before", "after"),
    [("", "-9"), ("", " 9"), ("", "9"), ("", " alpha"), ("", "-β"), ("", " II"), ("", "-A"), ("A-", ""), ("x", "")],
)
def test_a_part_of_a_longer_name_is_left_out(before, after):
    """The name stands between two pieces. A hyphen is a token of its own."""
    pieces = [("the", True), *split(before), ("MMP", after.startswith(" ")), *split(after.strip())]
    tokens, spaces = zip(*pieces, strict=True)
    assert TokenNames(tokens, spaces).find([("MMP",)], []) == []


def split(piece):
    return [(part, False) for part in piece.replace("-", " - ").split()]


@pytest.mark.parametrize("text", ["the MMP-treated", "the MMP, 9", "an anti-MMP", "(MMP)", "9 MMP", "MMP/PGE"])
def test_a_whole_name_is_found(text):
    tokens = [t.text for t in TOKENIZER(text)]
    spaces = [bool(t.whitespace_) for t in TOKENIZER(text)]
    assert [name for *_, name in TokenNames(tokens, spaces).find([("MMP",)], [])] == [("MMP",)]


def test_known_places_are_left_out():
    names = TokenNames(["heart", "attack"] * 2, [True] * 4)
    assert names.find([("attack",)], [(0, 2)]) == [(3, 4, ("attack",))]
    assert names.find([("heart", "attack")], [(3, 4)]) == [(0, 2, ("heart", "attack"))]


def test_what_is_never_a_name():
    words = ["x"] * (LONGEST + 1)
    names = TokenNames([*words, "p", "-", ",", *words, "p", "-", ","], [True] * (2 * LONGEST + 8))
    n = len(words)
    searched = [names.name(0, n), ("p",), ("-",), (",",), ("-", ","), ("p", "-"), ()]
    assert names.find(searched, [(0, n + 3)]) == []


def test_an_empty_token_is_not_a_name():
    assert TokenNames(["", ""], [False, False]).find([("",), ("", "")], []) == []


TOKENS = st.lists(st.sampled_from(["a", "ab", "Abs", "AB", "-", "9", "(", "α", " "]), max_size=30)


@given(TOKENS, st.data())
@settings(max_examples=150, deadline=None)
def test_places_are_free_and_do_not_overlap(tokens, data):
    names = TokenNames(tokens, data.draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens))))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(tokens)), max_size=8)))
    taken = [*pairwise(cuts)][::2]
    searched = {names.name(*span) for span in taken}
    repeats = names.find(searched, taken)
    assert {name for *_, name in repeats} <= searched
    spans = sorted([*taken, *(span[:2] for span in repeats)])
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


def work(n):
    """Count the calls of Python functions for a text in which each token may begin a name of every length."""
    names = TokenNames(["aa"] * n, [True] * n)
    searched = [("aa",) * length + ("end",) for length in range(1, LONGEST)]
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        assert names.find(searched, []) == []
    finally:
        sys.setprofile(None)
    return calls


def test_the_work_grows_with_the_text():
    assert work(4000) < 2.2 * work(2000)
