"""The rows of words and character n-grams: what they are, and that they do not depend on other texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.encoders.static import Subwords

MANY = Subwords(2**40, 2**40, (3, 4, 5))  # so many rows that two words hardly share one


def rows_of(text, subwords=MANY):
    return sorted(subwords([text])[0].tolist())


@pytest.mark.parametrize(
    ("text", "words", "ngrams"), [("ab", 1, 2 + 1), ("gout", 1, 4 + 3 + 2), ("a b", 2, 2), ("", 0, 0)]
)
def test_a_word_is_one_row_and_so_is_each_ngram_with_its_blanks(text, words, ngrams):
    rows = np.array(rows_of(text))
    assert (rows < 2**40).sum() == words
    assert (rows >= 2**40).sum() == ngrams


def test_equal_ngrams_have_equal_rows():
    # " ab", "aba", "bab", "aba", "bab", "ab " and so on: "aba" and "bab" occur twice
    rows = rows_of("ababab", Subwords(2**40, 2**40, (3,)))
    assert len(rows) == 1 + 6
    assert len(set(rows)) == 1 + 4


@pytest.mark.parametrize(
    ("one", "other", "are_equal"),
    [
        ("heart attack", "attack heart", True),
        ("heart attack", "  heart\n\tattack ", True),
        ("heart attack", "heart attacks", False),
        ("heart attack", "heartattack", False),
        ("a b", "b b", False),
        ("ab", "ba", False),
    ],
)
def test_the_order_of_words_does_not_matter_but_their_letters_do(one, other, are_equal):
    assert (rows_of(one) == rows_of(other)) == are_equal


@given(st.lists(st.text(alphabet="ab é\n中", max_size=12), max_size=6))
def test_the_rows_of_a_text_do_not_depend_on_other_texts(texts):
    subwords = Subwords(50, 70, (2, 3, 6))
    rows, starts = subwords([*texts, "many words " * 20])  # more than are read word by word
    assert starts.tolist()[-1] == len(rows)
    assert ((rows >= 0) & (rows < 120)).all()
    for text, begin, end in zip(texts, starts, starts[1:], strict=False):
        assert rows[begin:end].tolist() == subwords([text])[0].tolist()


def test_the_hashes_are_the_same_everywhere():
    assert Subwords(1000, 1000, (3,))(["gout"])[0].tolist() == [94, 1314, 1763, 1114, 1295]
