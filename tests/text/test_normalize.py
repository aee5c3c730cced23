import re
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.normalize import (
    _AMERICAN,
    TEXT_NORMALIZERS,
    american,
    biosyn,
    lower,
    spell_out_greek,
    unchanged,
    unpunctuated,
)

texts = st.text(st.sampled_from("aB-,.(1) \t\nßİΣé\u00a0")) | st.text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Breast  Cancer", "breast cancer"),
        (" Cancer,\tBreast\n", "cancer, breast"),
        ("ÉPILEPSIE", "épilepsie"),
        ("a\u00a0b\u2009c", "a b c"),
        (" ", ""),
    ],
)
def test_lower(text, expected):
    assert lower(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Non-Hodgkin's  lymphoma, (B-cell)", "non hodgkin s lymphoma b cell"),
        ("-x-", "x"),
        ("IL-2/IL_4", "il 2 il 4"),
        ("β–α", "β–α"),
        ("?!", ""),
        ("", ""),
    ],
)
def test_biosyn(text, expected):
    assert biosyn(text) == expected


def test_no_british_part_begins_another():
    """So their order does not matter."""
    assert [(a, b) for a in _AMERICAN for b in _AMERICAN if a != b and b.startswith(a)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Acute lymphoblastic  leukaemia", "acute lymphoblastic leukemia"),
        ("oedema; lymphoedema; myxoedema", "edema; lymphedema; myxedema"),
        ("angioedema", "angioedema"),
        ("Oesophageal tumours", "esophageal tumors"),
        ("gastro-oesophageal reflux", "gastro-esophageal reflux"),
        ("gastroesophageal reflux", "gastroesophageal reflux"),
        ("oestrogen, prooestrus", "estrogen, prooestrus"),
        ("Leucocytoclastic vasculitis and leucopenia", "leukocytoclastic vasculitis and leukopenia"),
        ("leucovorin", "leucovorin"),
        ("ischaemic heart disease, haematuria, glycaemia", "ischemic heart disease, hematuria, glycemia"),
        ("diarrhoea, gonorrhoea, dyspnoea, apnoea", "diarrhea, gonorrhea, dyspnea, apnea"),
        ("paraesthesia after anaesthesia", "paresthesia after anesthesia"),
        ("phaeochromocytoma of unknown aetiology", "pheochromocytoma of unknown etiology"),
        ("coeliac disease", "celiac disease"),
        ("sulphasalazine sensitisation", "sulfasalazine sensitization"),
        ("aerobic poem, Noonan, shoe, coenzyme, Baer", "aerobic poem, noonan, shoe, coenzyme, baer"),
    ],
)
def test_american(text, expected):
    assert american(text) == expected
    assert american(expected) == expected


@pytest.mark.parametrize("part", _AMERICAN)
@given(before=st.text("hnrtx "), after=st.text("hnrtx "))
def test_american_spelling_stays(part, before, after):
    once = american(before + part + after)
    assert american(once) == once


def test_unpunctuated():
    assert unpunctuated("Non-Hodgkin's  lymphoma, (B-cell)") == "Non Hodgkin s lymphoma B cell"


@given(text=texts)
def test_case_and_punctuation_together_are_biosyn(text):
    assert unpunctuated(text.lower()) == biosyn(text)


def test_unchanged():
    assert unchanged(" A-b ") == " A-b "
    forms = ["none", "lower", "unpunctuated", "biosyn", "american"]
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


# --- Greek letters

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
