import re
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.normalize import (
    _AMERICAN,
    _HINTS,
    TEXT_NORMALIZERS,
    american,
    biosyn,
    lower,
    normal_forms,
    plain,
    plain_with_offsets,
    spell_out_greek,
    unchanged,
    unpunctuated,
)

from ..cases import cases


@pytest.mark.parametrize("part", _AMERICAN)
def test_each_british_part_is_noticed(part):
    assert any(hint in part for hint in _HINTS)


texts = st.text(st.sampled_from("aB-,.(1) \t\nßİΣé\u00a0")) | st.text()


@pytest.mark.parametrize(*cases(__file__, "normal_forms"))
def test_normal_forms(normalize, text, expected):
    form = {**TEXT_NORMALIZERS, "spell_out_greek": spell_out_greek}[normalize]
    assert form(text) == expected
    assert form(expected) == expected


@pytest.mark.parametrize(*cases(__file__, "plain_characters"))
def test_plain_characters(text, expected):
    assert plain(text) == expected


@given(text=st.text(st.sampled_from("ab1é\u0301ﬁ²™’ß\u00ad-")) | st.text())
def test_offsets_of_plain_characters(text):
    changed, starts, ends = plain_with_offsets(text)
    assert changed == plain(text) == plain(changed)
    assert len(changed) == len(starts) == len(ends)
    assert [*starts] == sorted(starts)
    assert all(0 <= start < end <= len(text) for start, end in zip(starts, ends, strict=True))
    pairs = [(char, text[start:end]) for char, start, end in zip(changed, starts, ends, strict=True)]
    assert all(char == written for char, written in pairs if written.isascii())


def test_no_british_part_begins_another():
    """So their order does not matter."""
    assert [(a, b) for a in _AMERICAN for b in _AMERICAN if a != b and b.startswith(a)] == []


@pytest.mark.parametrize("part", _AMERICAN)
@given(before=st.text("hnrtx "), after=st.text("hnrtx "))
def test_american_spelling_stays(part, before, after):
    once = american(before + part + after)
    assert american(once) == once


@given(text=texts)
def test_case_and_punctuation_together_are_biosyn(text):
    assert unpunctuated(text.lower()) == biosyn(text)


def test_unchanged():
    assert unchanged(" A-b ") == " A-b "
    forms = ["none", "lower", "unpunctuated", "biosyn", "unaccented", "american"]
    assert list(TEXT_NORMALIZERS) == [*forms, *(f"{form}+greek" for form in forms)]


@pytest.mark.parametrize("normalize", TEXT_NORMALIZERS.values())
@given(text=texts)
def test_a_normal_form_is_its_own(normalize, text):
    assert normalize(normalize(text)) == normalize(text)


@given(text=texts)
def test_what_a_normal_form_holds(text):
    assert lower(text) == " ".join(lower(text).split())
    assert not set(biosyn(text)) & set(string.punctuation)
    assert biosyn(text) == " ".join(biosyn(text).split())
    assert biosyn(lower(text)) == biosyn(text) == biosyn(text.lower())


ALPHABET = "αβγδεζηθικλμνξοπρστυφχψω"


@pytest.mark.parametrize(*cases(__file__, "variants_are_one"))
def test_variants_are_one(variants, name):
    for variant in variants:
        assert spell_out_greek(f"x-{variant}1") == f"x-{name}1"
        for form in ("NFC", "NFD"):
            assert spell_out_greek(unicodedata.normalize(form, f"x-{variant}1")) == f"x-{name}1"


def test_every_letter_has_a_name_of_its_own():
    names = [spell_out_greek(letter) for letter in ALPHABET]
    assert len(set(names)) == 24
    assert all(re.fullmatch("[a-z]+", name) for name in names)
    assert [spell_out_greek(letter) for letter in ALPHABET.upper()] == [name.capitalize() for name in names]


@given(st.text(st.sampled_from("αΒς-1aé \u0301µ")) | st.text())
def test_spelling_out_twice_changes_nothing(text):
    once = spell_out_greek(text)
    assert spell_out_greek(once) == once


@given(
    st.text(st.characters(blacklist_characters="µΩ∆ɑ", max_codepoint=0x36F)) | st.text(st.characters(max_codepoint=127))
)
def test_text_without_greek_stays(text):
    assert spell_out_greek(text) == text


@given(st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=5))
def test_letters_apart_become_words(letters):
    assert spell_out_greek(" ".join(letters)) == " ".join(map(spell_out_greek, letters))


@given(st.text())
def test_forms_with_greek_are_the_forms_of_what_is_spelled_out(text):
    for name in ("none", "lower", "unpunctuated", "biosyn", "american"):
        assert TEXT_NORMALIZERS[f"{name}+greek"](text) == TEXT_NORMALIZERS[name](spell_out_greek(plain(text)))


@given(st.lists(texts), st.sampled_from(sorted(TEXT_NORMALIZERS)))
def test_many_texts_at_once(texts, text_normalizer):
    assert normal_forms(texts, text_normalizer) == [TEXT_NORMALIZERS[text_normalizer](text) for text in texts]


def test_all_ascii_characters_at_once():
    texts = [f"A{chr(code)}b{chr(code)} " for code in range(128)]
    assert normal_forms(texts, "biosyn") == [biosyn(text) for text in texts]
    texts.remove("A\nb\n ")
    assert normal_forms(texts, "biosyn") == [biosyn(text) for text in texts]
