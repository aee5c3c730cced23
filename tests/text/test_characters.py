from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.characters import CODE_POINTS, MAX_SIZE, code_points, ngrams, slices

TEXTS = st.lists(st.text(max_size=8), max_size=6)


@given(TEXTS)
def test_code_points_of_texts(texts):
    codes, starts = code_points(texts)
    assert codes.tolist() == [ord(character) for text in texts for character in text]
    assert [codes[start:end].tolist() for start, end in pairwise(starts)] == [list(map(ord, text)) for text in texts]
    assert (codes.dtype, starts.dtype) == (np.uint32, np.int64)


def test_half_a_surrogate_pair_is_a_character():
    codes, starts = code_points(["a\ud800", "\udfff"])
    assert codes.tolist() == [ord("a"), 0xD800, 0xDFFF]
    assert starts.tolist() == [0, 2, 3]


@given(TEXTS, st.integers(1, MAX_SIZE))
def test_ngrams_are_those_of_each_text(texts, size):
    codes, starts = code_points(texts)
    keys, inside = ngrams(codes, starts, size, CODE_POINTS)
    found = [tuple(key // CODE_POINTS**power % CODE_POINTS for power in reversed(range(size))) for key in keys.tolist()]
    expected = [tuple(map(ord, text[i : i + size])) for text in texts for i in range(len(text) - size + 1)]
    assert [ngram for ngram, is_inside in zip(found, inside, strict=True) if is_inside] == expected


def test_the_largest_ngram_fits():
    codes, starts = code_points([chr(0x10FFFF) * MAX_SIZE])
    keys, inside = ngrams(codes, starts, MAX_SIZE, CODE_POINTS)
    assert inside.tolist() == [True, *[False] * (MAX_SIZE - 1)]
    assert int(keys[0]) == sum(0x10FFFF * CODE_POINTS**power for power in range(MAX_SIZE))


def test_other_numbers_and_another_base():
    keys, inside = ngrams(np.array([1, 2, 3, 4]), np.array([0, 3, 4]), 2, 10)
    assert keys[inside].tolist() == [12, 23]


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 5)), max_size=8))
def test_slices(pairs):
    starts, lengths = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    expected = [start + i for start, length in pairs for i in range(length)]
    assert slices(starts, lengths).tolist() == expected


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_nothing(texts):
    codes, starts = code_points(texts)
    assert starts.tolist() == [0] * (len(texts) + 1)
    for size in range(1, MAX_SIZE + 1):
        keys, inside = ngrams(codes, starts, size, CODE_POINTS)
        assert keys.tolist() == inside.tolist() == []
    assert slices(starts[:-1], np.diff(starts)).tolist() == []
