"""What must agree between a text and a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.critical_parts import contradictions
from spacy_sapbert.text.languages import LANGUAGES, rules_of
from spacy_sapbert.text.words import read_words

from ..cases import cases


def differences(text, name, language="en"):
    rules = rules_of(language)
    return list(contradictions(read_words(text, rules).critical, read_words(name, rules).critical))


@pytest.mark.parametrize(*cases(__file__, "what_differs_is_named"))
def test_what_differs_is_named(text, name, reason):
    assert differences(text, name) == [reason]
    assert len(differences(name, text)) == 1


@pytest.mark.parametrize(*cases(__file__, "what_only_one_has_does_not_differ"))
def test_what_only_one_has_does_not_differ(text, name):
    assert differences(text, name) == []
    assert differences(name, text) == []


@pytest.mark.parametrize(*cases(__file__, "every_language_has_opposites"))
def test_every_language_has_opposites(language, text, name):
    assert len(differences(text, name, language)) == 1
    assert differences(text, text, language) == []


def test_a_name_with_all_parts_of_a_text_includes_it():
    parts = read_words("left factor VII deficiency").critical
    assert read_words("Deficiency of factor 7 and 8 (left)").critical.include(parts)
    assert not read_words("7 (left)").critical.include(parts)
    assert not read_words("factor 7 deficiency").critical.include(parts)
    assert not read_words("left factor deficiency").critical.include(parts)
    assert not read_words("Fever").critical.include(read_words("no fever").critical)
    assert read_words("non-obstructive fever").critical.include(read_words("non-obstructive fever").critical)


def test_a_word_is_negated_in_several_ways():
    assert differences("non-febrile seizures", "afebrile seizures", "en") == []
    assert differences("not symmetric", "asymmetric", "en") == []


@pytest.mark.parametrize(*cases(__file__, "numerals_have_other_spellings"))
def test_numerals_have_other_spellings(text, spellings):
    assert read_words(text).numeral_spellings == spellings


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=st.text(max_size=40), name=st.text(max_size=40))
def test_no_text_contradicts_itself(language, text, name):
    assert differences(text, text, language) == []
    assert bool(differences(text, name, language)) == bool(differences(name, text, language))
