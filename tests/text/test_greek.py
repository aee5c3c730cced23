import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.greek import spell_out_greek
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS

ALPHABET = "αβγδεζηθικλμνξοπρστυφχψω"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("α-thalassemia", "alpha-thalassemia"),
        ("TNFα", "TNFalpha"),
        ("α1-antitrypsin", "alpha1-antitrypsin"),
        ("IL-1β", "IL-1beta"),
        ("Δ9-THC", "Delta9-THC"),
        ("αβ T cells", "alpha-beta T cells"),
        ("Gβγ", "Gbeta-gamma"),
        ("α/β hydrolase", "alpha/beta hydrolase"),
        ("ω-3", "omega-3"),
        ("no Greek: é, ß, ñ, 日本", "no Greek: é, ß, ñ, 日本"),
        ("alpha", "alpha"),
        ("", ""),
    ],
)
def test_letters_are_spelled_out(text, expected):
    assert spell_out_greek(text) == expected


@pytest.mark.parametrize(
    ("variants", "name"),
    [
        ("σς", "sigma"),
        ("μµ", "mu"),  # the letter, the micro sign
        ("βϐ𝛃𝜷ᵝᵦ", "beta"),
        ("αάἀᾳ𝛼𝝰ɑ", "alpha"),
        ("φϕ𝜙", "phi"),
        ("θϑ𝜃", "theta"),
        ("εϵ𝜖", "epsilon"),
        ("Δ∆𝚫", "Delta"),
        ("ΩΩ", "Omega"),
    ],
)
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


@pytest.mark.parametrize("text", ["θαλασσαιμία", "σύνδρομο Down", "ΙΝΣΟΥΛΙΝΗ"])
def test_greek_words_stay(text):
    assert spell_out_greek(text) == text


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
        assert TEXT_NORMALIZERS[f"{name}+greek"](text) == TEXT_NORMALIZERS[name](spell_out_greek(text))


@pytest.mark.parametrize("text", ["α" * 300_000, "α " * 150_000, "α" + "\u0301" * 300_000, "αα\u0301-" * 100_000])
def test_long_texts(text):
    """Linear: with a quadratic pattern these would take hours."""
    assert len(spell_out_greek(text)) >= 5
