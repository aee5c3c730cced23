"""The rules of each language, by examples and by properties that hold for all."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.text.abbreviations import expand, find_definitions, find_occurrences
from spacy_sapbert.text.composites import composite_splits
from spacy_sapbert.text.languages import ENGLISH, LANGUAGES, rules_of
from spacy_sapbert.text.normalize import plain
from spacy_sapbert.text.words import read_words, word_keys

from ..cases import cases

LETTERS = "abcdefghijklmnopqrstuvwxyzáàâäçéèêëíîïñóôöúùûüßœ"
WORDS = st.text(st.sampled_from(LETTERS + LETTERS.upper()), min_size=1, max_size=15)
CONNECTORS = ["y", "e", "o", "u", "et", "ou", "und", "oder", ",", "/", "."]
SOME = [
    *CONNECTORS, "de", "del", "la", "l'", "der", "cáncer", "côté", "Brust-", "-krebs", "Nierenkrebs", "(EA)", "tipo",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(SOME) | WORDS, max_size=12).map(" ".join)


def same(code, first, second):
    return word_keys(first, rules_of(code)) == word_keys(second, rules_of(code))


def defined(code, text):
    return [(definition.short, definition.long) for definition in find_definitions(text, rules=rules_of(code))]


# --- the rules as objects


def test_english_is_the_default_and_each_language_has_one_object():
    assert rules_of("en") is ENGLISH
    assert [rules_of(code).code for code in LANGUAGES] == list(LANGUAGES)
    assert all(pickle.loads(pickle.dumps(rules_of(code))) is rules_of(code) for code in LANGUAGES)


@pytest.mark.parametrize("code", ["fi", "", "rules", "../en", "EN"])
def test_a_language_without_rules(code):
    with pytest.raises(SapbertError, match=r"E125.*de, en, es, fr, nl, pt"):
        rules_of(code)


@pytest.mark.parametrize("code", LANGUAGES)
def test_words_that_change_the_meaning_distinguish_names(code):
    negations = {
        "de": "und oder nicht ohne kein keine",
        "en": "and or not no without",
        "es": "y e o u no sin ni",
        "fr": "et ou non sans pas ni",
        "nl": "en of niet geen zonder",
        "pt": "e ou nem não sem",
    }
    words = rules_of(code).words
    assert words.function_words.isdisjoint(negations[code].split())
    assert words.open_words <= words.function_words


# --- words


@pytest.mark.parametrize(*cases(__file__, "forms_of_one_word"))
def test_forms_of_one_word(code, first, second):
    assert same(code, first, second)


@pytest.mark.parametrize(*cases(__file__, "different_words"))
def test_different_words(code, first, second):
    assert not same(code, first, second)


def test_elided_words_are_words_of_their_own():
    found = read_words("l'ovaire d’Anne aujourd'hui", rules_of("fr"))
    assert list(found.written) == ["l'", "ovaire", "d'", "Anne", "aujourd", "hui"]
    assert [bool(key) for key in found.keys] == [False, True, False, True, True, True]


@pytest.mark.parametrize("code", LANGUAGES)
@given(word=WORDS)
def test_spelling_is_folded_once(code, word):
    words = rules_of(code).words
    form = words.spell(word)
    assert words.spell(form) == form
    if "ß" not in word:  # its capital is "SS"
        assert words.spell(word.upper()) == words.spell(word)
    assert words.singular(form)  # no word becomes empty


@pytest.mark.parametrize("code", LANGUAGES)
@given(text=TEXTS)
def test_words_and_keys_are_parallel(code, text):
    text = plain(text)
    found = read_words(text, rules_of(code))
    pieces = [text[start:end] for start, end in zip(found.starts, found.ends, strict=True)]
    assert pieces == list(found.written)
    assert len(found.keys) == len(found.hashes) == len(found.written)
    assert [bool(key) for key in found.hashes] == [bool(key) for key in found.keys]


# --- abbreviations


@pytest.mark.parametrize(*cases(__file__, "definitions"))
def test_definitions(code, text, expected):
    assert defined(code, text) == expected


def test_a_repeated_head_appears_once():
    text = "virus de la inmunodeficiencia humana (VIH): el virus VIH"
    occurrences = find_occurrences(text, find_definitions(text, rules=rules_of("es")))
    start = text.rindex("virus")
    assert expand(text, start, len(text), occurrences, rules_of("es")) == "virus de la inmunodeficiencia humana"
    assert expand(text, start, len(text), occurrences) == "virus virus de la inmunodeficiencia humana"


# --- composite mentions


@pytest.mark.parametrize(*cases(__file__, "first_split"))
def test_first_split(code, text, expected):
    assert composite_splits(text, rules=rules_of(code))[0] == expected


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("es", "cáncer de cabeza y cuello"),
        ("es", "vitamina E"),
        ("es", "edema"),
        ("de", "Wunde"),
        ("fr", "bouche"),
        ("nl", "kanker van hoofd en hals"),
        ("pt", "câncer de cabeça e pescoço"),
        ("pt", "vitamina E"),
    ],
)
def test_single_mentions(code, text):
    assert composite_splits(text, rules=rules_of(code)) == []


@pytest.mark.parametrize("code", LANGUAGES)
@given(text=TEXTS)
def test_splits_and_definitions_of_any_text(code, text):
    rules = rules_of(code)
    for split in composite_splits(text, rules=rules):
        assert len(split) > 1
        assert all(split)
    for definition in find_definitions(text, rules=rules):
        assert text[definition.short_start : definition.short_end] == definition.short
        if definition.long_start is not None:
            assert text[definition.long_start : definition.long_end] == definition.long
