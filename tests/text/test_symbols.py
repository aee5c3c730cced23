"""Other ways to write symbols and names with accents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.normalize import symbol_runs
from spacy_sapbert.text.symbols import MAX_LETTERS, are_other_symbols, letter_rewrites


def rewrites(text):
    return [rewrite for rewrite, _ in letter_rewrites(text)]


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("VEGF-C", ["VEGFC"]),
        ("k-ras", ["kras"]),
        ("COVID19", ["COVID-19"]),
        ("IL 6", ["IL6", "IL-6"]),
        ("TNFα", ["TNFA", "TNF-A", "TNFalpha", "TNF-alpha"]),
        ("TNF-ALPHA", ["TNFA", "TNF-A", "TNFalpha", "TNF-alpha"]),
        ("TNFA", ["TNFalpha", "TNF-alpha"]),
        ("GSK3ß", ["GSK3B", "GSK-3B", "GSK3-B", "GSK-3-B", "GSK3beta", "GSK-3beta", "GSK3-beta", "GSK-3-beta"]),
        ("ERα", ["ERalpha", "ER-alpha"]),  # ERA is another gene
        ("Ménière", ["Meniere"]),
        ("Sjo\u0308gren syndrome", ["Sjogren syndrome", "Sjoegren syndrome"]),
        *((text, []) for text in ("", "A", "type 2", "hepatitis B", "cancer", "breast-cancer", "A, B", "α" * 6)),
        ("IL-1/2", []),
    ],
)
def test_other_ways_to_write_a_symbol(text, others):
    assert rewrites(text) == others


def test_a_latin_letter_that_stands_for_kappa():
    assert {"NFkappaB", "NF-kappaB"} <= set(rewrites("NF-kB"))


@pytest.mark.parametrize(
    ("text", "runs"),
    [("TNFalpha", "TNF α"), ("IL-1BETA", "IL 1 β"), ("alphafetoprotein", "alphafetoprotein"), ("CYP2D6", "CYP 2 D 6")],
)
def test_runs_of_a_symbol(text, runs):
    assert symbol_runs(text) == runs.split()


@given(st.text(st.sampled_from("aBα1-/ é")) | st.text())
def test_other_ways_are_bounded_and_have_the_same_letters(text):
    others = [other for other in rewrites(text) if other.isascii()]
    assert len(others) <= 3 * (MAX_LETTERS + 1)
    assert text not in others


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
