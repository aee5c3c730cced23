"""Other words for the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.derivations import other_words
from spacy_sapbert.text.languages import rules_of


@pytest.mark.parametrize(
    ("language", "text", "other"),
    [
        ("en", "renal cysts", "kidney cysts"),
        ("en", "cutaneous tumours", "skin neoplasm"),  # two words
        ("en", "nosebleed", "epistaxis"),
        ("en", "hypertensive", "hypertension"),
        ("en", "Epileptic", "epilepsy"),
        ("en", "anemic", "anemia"),
        ("en", "cell dividing", "cell division"),
        ("en", "febrile", "fever"),
        ("en", "McLeod", "McLeod syndrome"),
        ("en", "Leucocytopenia", "leukocytopenia"),
        ("en", "splenic dysfunction", "splenic disease"),
        ("en", "itchy", "itching"),
        ("en", "cardiac", "heart"),
        ("en", "retinal toxicities", "retinal disease"),
        ("en", "impairment of learning", "learning disorder"),
        ("en", "impaired thymic function", "thymus disease"),
        ("en", "hematological symptoms", "hematologic symptoms"),
        ("es", "isquémico", "isquemia"),
        ("es", "hipertensa", "hipertensión"),
        ("es", "epiléptica", "epilepsia"),
        ("es", "cáncer pulmonar", "cáncer de pulmón"),
        ("de", "asthmatisch", "asthma"),
        ("fr", "hypertendu", "hypertension"),
        ("fr", "anémique", "anémie"),
        ("fr", "diabétique", "diabète"),
        ("de", "ischämisch", "ischämie"),
        ("de", "Herzinfarkt", "myokardinfarkt"),
        ("fr", "abcès hépatique", "abcès du foie"),
    ],
)
def test_other_words_are_proposed(language, text, other):
    assert other in dict(other_words(text, rules_of(language)))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("hyperkeratosis", "keratosis"),
        ("idiopathic", "systemic"),
        ("angina", "disease"),
        ("ovarian", "ovarian disease"),
        ("retinal disease", "retinal toxicity"),
    ],
)
def test_different_words_are_not_proposed(text, other):
    assert other not in dict(other_words(text))


@given(st.text(alphabet="renalkidy tumor-ic", max_size=200))
def test_any_text_has_a_bounded_number_of_others(text):
    proposed = list(other_words(text))
    assert len(proposed) < 500
    assert all(other and reason for other, reason in proposed)
