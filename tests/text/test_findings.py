"""Names of findings that are too high or too low."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.findings import findings
from spacy_sapbert.text.languages import rules_of


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("en", "low sodium", "hyponatremia"), ("en", "elevated serum magnesium levels", "hypermagnesemia"),
        ("en", "fast heart rate", "tachycardia"), ("en", "reduction in platelets", "thrombocytopenia"),
        ("en", "tiny jaw", "micrognathia"), ("en", "raised GGT", "elevated serum gamma-glutamyltransferase"),
        ("en", "low level of xyz in urine", "decreased level of xyz in urine"),
        ("es", "potasio bajo", "hipopotasemia"), ("es", "aumento de la frecuencia cardíaca", "taquicardia"),
        ("fr", "taux de sodium élevé", "hypernatrémie"), ("fr", "grosse langue", "macroglossie"),
        ("de", "erhöhtes Kalium", "hyperkaliämie"), ("de", "niedriger Blutzucker", "hypoglykämie"),
    ],
)  # fmt: skip
def test_a_direction_and_a_quantity_are_a_finding(language, text, name):
    assert name in [name.lower() for name, _ in findings(text, rules_of(language))]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("low sodium", "hypernatremia"),
        ("large heart", "tachycardia"),
        ("large platelets", "thrombocytosis"),  # a size is no level
        ("sodium", "hyponatremia"),
        ("low or high sodium", "hyponatremia"),
    ],
)
def test_another_finding_is_not_proposed(text, name):
    assert name not in dict(findings(text))


@given(st.text(alphabet="low highserumcalcium -", max_size=200))
def test_any_text_has_a_bounded_number_of_names(text):
    assert len(list(findings(text))) < 200
