"""Symbols."""

import pytest

from spacy_sapbert.text.normalize import symbol_runs
from spacy_sapbert.text.symbols import are_other_symbols


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
        ("STAT5", "STAT5A", False),
        ("SH2B1a", "SH2B1", False),
        ("hSERCA2", "SERCA2", False),
        ("miR-21", "hsa-mir-21", False),
        ("IL-1β", "IL1-beta", False),
        ("IFNbeta", "IFNB1", False),
        ("hOGG1", "HOGG1", False),
        ("HNRNPAB1", "RNPAB1", False),  # too long to tell
        ("NH4Ac", "AcONH4", False),  # the same formula
        ("leukemia", "leukaemia", False),
        ("SH2B adaptor", "2B adaptor", False),
        ("Impb/7", "Imp7", False),  # two of them
    ],
)
def test_similar_symbols(text, name, other):
    assert are_other_symbols(text, name) == other
