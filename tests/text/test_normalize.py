import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.normalize import _AMERICAN, TEXT_NORMALIZERS, american, biosyn, lower, unchanged, unpunctuated

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
