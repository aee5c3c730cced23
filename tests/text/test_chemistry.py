"""Other names of the same chemical."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.chemistry import MAX_LENGTH, chemical_rewrites, other_names_than_the_plural

PROPOSED = [
    # an acid and its anion
    ("pyruvate", "pyruvic acid"), ("Pyruvic acid", "Pyruvate"), ("sulfate", "sulfuric acid"),
    ("tartaric acid", "tartrate"),
    # a drug and its salt
    ("lidocaine hydrochloride", "lidocaine"), ("atropine sulfate", "atropine"), ("naproxen sodium", "naproxen"),
    ("potassium clavulanate", "clavulanic acid"), ("imatinib", "imatinib mesylate"),
    # formulas as they are printed
    ("CaCl(2)", "calcium chloride"), ("SO(4)(2-)", "sulfate"), ("IP(3)", "IP3"), ("C02", "carbon dioxide"),
    # ions and radicals
    ("Ca +2", "calcium"), ("calcium (2+)", "calcium"), ("zinc ions", "zinc"), ("OH•", "hydroxyl radical"),
    ("O2·−", "superoxide"),
    # isotopes and labels
    ("C-14", "carbon-14"), ("carbon 14", "14C"), ("99mTc", "technetium-99m"), ("(125)I", "iodine"), ("3H", "tritium"),
    ("Tc99m", "technetium-99m"), ("[18F]FDG", "FDG"), ("14C-urea", "urea"), ("[(3)H]thymidine", "thymidine"),
    # usual abbreviations
    ("THF", "tetrahydrofuran"), ("DMF", "dimethylformamide"), ("formalin", "formaldehyde"),
    ("b-carotene", "beta-carotene"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name"), PROPOSED)
def test_other_names_of_a_chemical(text, name):
    assert name in dict(chemical_rewrites(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("estrone sulfate", "estrone"), ("cortisone acetate", "cortisone"), ("creatine phosphate", "creatine"),
        ("nickel chloride", "nickel"), ("16S", "sulfur"), ("H-7", "hydrogen"), ("C14", "carbon"),
        ("thf", "tetrahydrofuran"), ("3H", "hydrogen"), ("2H", "tritium"), ("OH", "hydroxyl radical"),
        ("2H-chromene", "chromene"), ("Scion", "scandium"),
    ],
)  # fmt: skip
def test_another_substance_is_not_proposed(text, name):
    assert name not in dict(chemical_rewrites(text))


def test_the_anion_rather_than_its_class():
    assert [name for name, _ in other_names_than_the_plural("lactate")] == ["lactic acid"]
    assert list(other_names_than_the_plural("gentamicin")) == []


@given(st.text(alphabet="CaHOI 0123(+-)[]ateicd·", max_size=2 * MAX_LENGTH))
def test_any_text_has_few_other_names_each_with_a_reason(text):
    proposed = list(chemical_rewrites(text))
    assert len(proposed) < 30
    assert all(name and reason for name, reason in proposed)
    assert not proposed or len(text) <= MAX_LENGTH
