import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.retrieval.concept_texts import concept_text, normal_name

part = st.text(st.characters(exclude_characters=",", codec="ascii"), min_size=1).filter(str.strip)


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("Neoplasm, Breast", "breast neoplasm"),
        ("Carcinoma, Ductal, Breast", "carcinoma ductal breast"),
        ("N,N-Dimethyl", "n n dimethyl"),
        ("Non-Small-Cell  Lung\tCancer", "non small cell lung cancer"),
        ("1,2-Dithiol, Sodium", "sodium 1 2 dithiol"),
        ("Fever, ", "fever"),
        (" - ", ""),
    ],
)
def test_normal_name(name, normal):
    assert normal_name(name) == normal


@given(part, part)
def test_an_inversion_is_turned_round(head, rest):
    assert normal_name(f"{head}, {rest}") == normal_name(f"{rest} {head}")


@settings(max_examples=50)
@given(st.text(max_size=20))
def test_what_is_normal_stays(name):
    normal = normal_name(name)
    assert normal == normal_name(normal)
    assert not set("-,") & set(normal)


def test_names_come_once_and_then_the_definition():
    names = ["Breast Neoplasms", "breast-neoplasms", "Neoplasms, Breast", "breast cancer", "-"]
    assert concept_text(names, "Tumors, of the breast.") == "breast neoplasms; breast cancer; Tumors, of the breast."
    assert concept_text(names[:3]) == concept_text(names[:1], "") == "breast neoplasms"
