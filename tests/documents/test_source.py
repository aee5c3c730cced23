import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.documents.source import NEAR, locate
from spacy_sapbert.types import Mention


def located(text, start, end, surface):
    span = locate(text, Mention(start, end, surface, "Disease"))
    return span and text[slice(*span)]


def test_offsets_that_agree_count_even_where_the_text_repeats():
    assert locate("flu and flu", Mention(8, 11, "flu", "Disease")) == (8, 11)


def test_text_close_to_wrong_offsets_is_found():
    assert located("The patient had hepatic failure.", 14, 29, "hepatic failure") == "hepatic failure"
    assert located("had flu", 5, 8, "flu") == "flu"


def test_offsets_count_where_the_text_is_found_twice_or_not_at_all():
    assert located("flu, flu and colds", 2, 5, "flu") == "u, "
    assert located('seizures "plus"', 0, 15, 'seizures " plus "') == 'seizures "plus"'


def test_text_far_from_its_offsets_is_not_taken():
    assert located("x" * 10 + " " * (NEAR + 10) + "flu", 0, 3, "flu") == "xxx"


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (3, 2), (0, 99), (99, 102)])
def test_offsets_that_are_no_part_of_the_text_give_nothing(start, end):
    assert locate("a short text", Mention(start, end, "flu", "Disease")) is None


@given(st.text("ab ", max_size=60), st.integers(-5, 70), st.integers(-5, 70), st.text("ab ", max_size=5))
def test_located_spans_are_never_empty_nor_outside(text, start, end, surface):
    span = locate(text, Mention(start, end, surface, "Disease"))
    assert span is None or 0 <= span[0] < span[1] <= len(text)
