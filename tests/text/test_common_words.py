from pathlib import Path

import pytest

from spacy_sapbert.text import common_words as lists
from spacy_sapbert.text.common_words import (
    LISTED_LANGUAGES,
    body_words,
    common_keys,
    common_nouns,
    common_words,
    general_names,
    general_words,
)
from spacy_sapbert.text.languages import LANGUAGES


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


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("es", "derecha leve TAC"),
        ("de", "rechts leicht MRT"),
        ("fr", "droite IRM"),
        ("nl", "rechts licht MRI"),
        ("pt", "direita leve TC"),
    ],
)
def test_lists_of_other_languages(language, words):
    assert language in LISTED_LANGUAGES
    assert common_words(language).issuperset(words.split())
    assert general_words(language) == {word for word in common_words(language) if word == word.lower()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_keys_are_those_that_the_rules_give_now(script, language):
    written = Path(lists.__file__).with_name(f"{language}_keys.txt").read_text(encoding="utf-8")
    assert written == script("word_classes").everyday_keys(language)
    assert common_keys(language) == frozenset(written.split())


def test_places_of_the_body():
    assert {"knee", "left", "extremities"} <= body_words()
    assert body_words().isdisjoint({"heart", "breast", "pain", "small"})


def test_names_of_some_kinds_of_vocabularies():
    kinds = {kind: general_names(kind) for kind in ("foods", "analytes", "phrases")}
    assert {"chicken", "hemoglobin", "signs and symptoms"} <= set().union(*kinds.values())
    assert sum(map(len, kinds.values())) == len(set().union(*kinds.values()))
    assert not set().union(*kinds.values()) & {"aspirin", "insulin", "iron", "caffeine", "alcohol", "pain", "cough"}


def test_other_languages_have_no_list():
    assert common_words("xx") == frozenset()
    assert common_nouns("xx") == {}
    assert common_keys("xx") == frozenset()
