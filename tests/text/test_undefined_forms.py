import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.text.undefined_forms import MAX_CHARS, MOST_TEXTS, likely_long_forms


@pytest.mark.parametrize(
    ("short", "text"),
    [
        ("ALF", "acute liver failure"),
        ("OAB", "overactive bladder"),
        ("DEN", "diethylnitrosamine"),
        ("BZDs", "benzodiazepines"),
        ("ICH", "intracerebral hemorrhage"),
        ("HPD", "hereditary progressive dystonia"),
    ],
)
def test_a_text_that_fits(short, text):
    assert likely_long_forms([short], ["fever", text, "cold"]) == {short: text}


@pytest.mark.parametrize(
    ("short", "text"),
    [
        ("ALF", "renal failure"),
        ("ALF", "severe acute liver failure"),  # the whole text must be the long form
        ("ALF", "ALF"),
        ("APC", "attenuated APC"),
        ("OAB", "absence"),
        ("HIV", ""),
        ("", "acute liver failure"),
    ],
)
def test_a_text_that_does_not_fit(short, text):
    assert likely_long_forms([short], [text]) == {}


def test_a_long_text_is_not_a_long_form():
    end = " liver failure"
    longest = "a".ljust(MAX_CHARS - len(end), "c") + end
    assert likely_long_forms(["ALF"], [longest]) == {"ALF": longest}
    assert likely_long_forms(["ALF"], ["a" + longest]) == {}


def test_the_most_precise_strategy():
    assert likely_long_forms(["ALF"], ["acute nonliver failure", "acute liver failure"]) == {
        "ALF": "acute liver failure"
    }
    assert likely_long_forms(["ALF"], ["Acute liver failures", "acute liver failure"]) == {
        "ALF": "Acute liver failures"
    }


def test_several_texts_fit_equally_well():
    assert likely_long_forms(["PD"], ["panic disorder", "Parkinson disease"]) == {}


def test_a_long_text_is_no_long_form():
    assert likely_long_forms(["ALF"], ["acute liver failure" + " of" * 100]) == {}


def test_the_rules_of_the_language():
    assert likely_long_forms(["HI"], ["Herzinfarkt"], rules_of("de")) == {"HI": "Herzinfarkt"}


def test_the_work_on_many_texts_is_bounded():
    texts = [f"acute x{n}" for n in range(MOST_TEXTS)]
    assert likely_long_forms(["ALF"], [*texts, "acute liver failure"]) == {}
    assert likely_long_forms(["ALF"], ["acute liver failure", *texts]) == {"ALF": "acute liver failure"}


@settings(max_examples=50)
@given(st.lists(st.text(max_size=6), max_size=5), st.lists(st.text(max_size=20), max_size=5))
def test_any_text(short_forms, texts):
    found = likely_long_forms(short_forms, texts)
    assert set(found) <= set(short_forms)
    assert set(found.values()) <= set(texts)
