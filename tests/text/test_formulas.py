"""Names of chemical formulas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.formulas import MAX_LENGTH, formula_name

from ..cases import cases


@pytest.mark.parametrize(*cases(__file__, "formulas_have_names"))
def test_formulas_have_names(formula, name):
    assert formula_name(formula) == name


NO_FORMULAS = ["", "na", "Nausea", "Cancer", "NaX", "Ca3+-", "2", "+", "H5N1", "T-cell", "Na-", "O2-", "Co I", "3H"]
DRUGS = ["DOX", "AZT", "S-1", "W-7", "H-7", "C-3", "K-2"]
SHORT_FORMS = ["KS", "US", "VI", "UI", "HF", "K S"]
RIBOSOMES = ["16S", "18S", "28S", "40S", "5S", "2B"]


@pytest.mark.parametrize("text", [*NO_FORMULAS, *DRUGS, *SHORT_FORMS, *RIBOSOMES])
def test_other_texts_have_none(text):
    assert formula_name(text) is None


@given(st.text(alphabet="NaClSO4(2+)-H ", max_size=2 * MAX_LENGTH))
def test_any_text_has_a_name_of_letters_or_none(text):
    name = formula_name(text)
    assert name is None or (name.replace(" ", "").isalpha() and len(text) <= MAX_LENGTH)
