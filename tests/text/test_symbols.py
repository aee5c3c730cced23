"""Symbols."""

import pytest

from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.text.normalize import symbol_runs
from spacy_sapbert.text.symbols import why_another


@pytest.mark.parametrize(
    ("text", "runs"),
    [("TNFalpha", "TNF α"), ("IL-1BETA", "IL 1 β"), ("alphafetoprotein", "alphafetoprotein"), ("CYP2D6", "CYP 2 D 6")],
)
def test_runs_of_a_symbol(text, runs):
    assert symbol_runs(text) == runs.split()


@pytest.mark.parametrize(
    ("text", "name", "other"),
    [
        ("SEPN1", "EPN1", True),
        ("RABL2", "ABL2", True),
        ("KRT8P10", "KRT8", True),
        ("CPEB4", "CPEB", True),
        ("COQ10B", "COQ10BP2", True),
        ("SK-LC-17", "SK-RC 17", True),
        ("EDIT-101", "ACT 101", True),
        ("H-1870", "H", True),
        ("VEGFR-II", "VEGFR-2", False),
        ("STAT5", "STAT5A", False),
        ("SH2B1a", "SH2B1", False),
        ("FLNBv4", "FLNB", False),
        ("GSTA4-4", "GSTA4", False),
        ("NCI-H1155", "H1155", False),
        ("hSERCA2", "SERCA2", False),
        ("miR-21", "hsa-mir-21", False),
        ("IL-1β", "IL1-beta", False),
        ("IFNbeta", "IFNB1", False),
        ("hOGG1", "HOGG1", False),
        ("NH4Ac", "AcONH4", False),  # the same formula
        ("SH2B adaptor", "2B adaptor", False),
        ("Impb/7", "Imp7", False),  # two of them
    ],
)
def test_similar_symbols(text, name, other):
    assert why_another(text, name) == ("it is another symbol" if other else None)


@pytest.mark.parametrize(
    ("text", "name", "other"),
    [
        ("procalcitonin", "calcitonin", True),
        ("burosumab", "Adalimumab", True),
        ("Celiprolol", "Metoprolol", True),
        ("norpethidine", "Pethidine", True),
        ("Prednisolone", "Prednicarbate", True),
        ("Venlafaxina", "Toludesvenlafaxine", True),
        ("somnolence", "Hypersomnolence", False),  # a finding
        ("Midazolan", "Midazolam", False),
        ("tobramicyn", "Tobramycin", False),
        ("Aciclovirum", "acyclovir", False),
        ("leukemia", "leukaemia", False),
        ("cataractous", "Cataract", False),
        ("neurodegeneration", "Neurodegenerative Disorder", False),
        ("adriamycin", "Doxorubicin", False),  # only knowledge says so
        ("toxicity", "Toxicity, Drug", False),
        ("beta-thalassemic", "beta-Thalassemia", False),
        ("8-bromotheophylline", "Theophylline", True),
        ("NG,NG-dimethyl-L-arginine", "L-arginine", True),
        ("gammaIP-10", "IP-10", False),  # the name is a symbol
        ("4-methylcoumarins", "Coumarin", True),
        ("(R)-verapamil", "Verapamil", False),
        ("dl-2-aminophenol", "2-Aminophenol", False),
        ("3-methylcholanthrene", "Methylcholanthrene", False),
        ("renal calcitonin", "procalcitonin", False),  # two words
        ("crack", "Cocaine, Crack", False),
    ],
)
def test_similar_words(text, name, other):
    assert why_another(text, name) == ("it is another word" if other else None)
    assert why_another(text, name, rules_of("de")) is None


@pytest.mark.parametrize(
    ("text", "name", "word"),
    [
        ("holiday kidney failure recipe", "Kidney Failure", "holiday"),
        ("kidney failure recipe", "Kidney Failure", "recipe"),
        ("severe kidney failure", "Kidney Failure", None),
        ("heparin-induced thrombocytopenia", "Thrombocytopenia", None),
        ("holiday heart", "Holiday heart syndrome", None),
        ("opioid addicts", "Opiate Addiction", None),  # another word of the family
    ],
)
def test_words_that_no_name_explains(text, name, word):
    assert why_another(text, name) == (word and f"no name explains “{word}”")
