from __future__ import annotations

import pytest

from spacy_sapbert.text.common_words import common_nouns, common_words


@pytest.mark.parametrize("word", ["into", "all", "chronic", "severe", "left", "bilateral", "onset", "was", "position"])
def test_words_that_mean_no_concept(word):
    assert word in common_words()


@pytest.mark.parametrize(
    "word", ["cancer", "pain", "asthma", "human", "vomiting", "heart", "cold", "itching", "mouse", "insulin", "steroid"]
)
def test_words_that_may_mean_a_concept(word):
    assert word not in common_words()


def test_the_lists_have_each_word_once_in_lower_case():
    nouns = common_nouns()
    assert common_words().isdisjoint(nouns)
    assert sorted(nouns.values()) == list(range(len(nouns)))
    assert all(word.isascii() and word == word.lower() for word in [*common_words(), *nouns])


def test_other_languages_have_no_list():
    assert common_words("xx") == frozenset()
    assert common_nouns("xx") == {}
