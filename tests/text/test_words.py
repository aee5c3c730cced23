import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.languages import ENGLISH
from spacy_sapbert.text.normalize import plain, spell_out_greek
from spacy_sapbert.text.words import (
    acronym_of,
    case_counts,
    has_same_letters,
    is_acronym,
    joined_letters,
    read_words,
    word_keys,
)

from ..cases import cases

singular, spell = ENGLISH.words.singular, ENGLISH.words.spell


def keys(text):
    return list(read_words(text).keys)


def broken(text):
    """The words before which a name ends."""
    columns = read_words(text)
    return [word for word, is_broken in zip(columns.written, columns.broken, strict=True) if is_broken]


def words(text):
    columns = read_words(text)
    return list(zip(columns.starts, columns.ends, columns.keys, columns.broken, columns.commas, strict=True))


def test_words_and_what_stands_between_them():
    assert words("Cancer, Breast") == [(0, 6, "cancer", False, False), (8, 14, "breast", False, True)]
    assert words("IL-2 (of mice)") == [
        (0, 2, "il", False, False), (3, 4, "2", False, False), (6, 8, "", True, False), (9, 13, "mice", False, False),
    ]  # fmt: skip
    assert words("") == words(" ,;_-") == []


def test_case_function_words_and_letters_of_any_script():
    found = ["carcinoma", "", "", "breast", "", "", "beta", "amyloid"]
    assert keys("Carcinoma of the BREAST, due to β-Amyloid") == found
    assert keys("hepatitis A and no fever") == ["hepatitis", "a", "and", "no", "fever"]
    assert keys("snake_case x²") == ["snak", "case", "x2"]


@pytest.mark.parametrize(*cases(__file__, "what_ends_a_name"))
def test_what_ends_a_name(text, after):
    assert broken(text) == after


@given(st.text(st.sampled_from("aB1é.,;() -_\n\"'<²"), max_size=30) | st.text(max_size=20))
def test_words_are_all_letters_and_digits_of_a_text(text):
    text = plain(text)
    columns = read_words(text)
    written = [text[start:end] for start, end in zip(columns.starts, columns.ends, strict=True)]
    assert "".join(written) == "".join(filter(str.isalnum, text))
    assert columns.starts == sorted(columns.starts)
    for word, key in zip(written, columns.keys, strict=True):
        assert key == "" or key == singular(spell(spell_out_greek(word)))
        assert (key == "") == (word.lower() in ENGLISH.words.function_words)


@pytest.mark.parametrize(*cases(__file__, "plurals"))
def test_plurals(plural, single):
    assert singular(plural) == singular(single)


@pytest.mark.parametrize(
    ("first", "second"),
    [("aids", "aid"), ("als", "al"), ("virus", "viru"), ("mass", "mas"), ("pelvis", "pelvi"), ("cd4s", "cd4")],
)
def test_words_that_are_not_plurals(first, second):
    assert singular(first) != singular(second)


def test_british_spelling_is_folded():
    assert keys("Ischaemic heart disease, leukaemias") == keys("ischemic heart disease, leukemia")


def test_short_words_and_those_with_digits_stay():
    for word in ("aids", "lens", "mass", "il2rs", "h1n1s", "gas", ""):
        assert singular(word) == word


@pytest.mark.parametrize(*cases(__file__, "acronyms"))
def test_acronyms(text, expected):
    assert is_acronym(text) == expected


@pytest.mark.parametrize(
    ("letters", "names"),
    [("α-thalassemia", "alpha thalassemia"), ("TNFα", "TNFalpha"), ("IL-1β", "IL-1beta"), ("µ opioid", "mu opioid")],
)
def test_greek_letters_are_their_names(letters, names):
    assert word_keys(letters) == word_keys(names)
    assert read_words(letters).ends[-1] == len(letters)  # places are those of the text as it stands


def test_a_word_with_a_greek_letter_is_not_an_acronym():
    assert not any(map(is_acronym, ("TNFα", "Aβ", "ΔF", "TCRαβ")))
    assert is_acronym("TNF")


@pytest.mark.parametrize(("text", "single"), [("UTIs", "UTI"), ("ACCS", "ACCS"), ("SAMe", "SAMe"), ("ALs", "ALs")])
def test_the_singular_of_an_acronym(text, single):
    assert acronym_of(text) == single
    assert word_keys(text) == word_keys(single)


def test_the_case_of_short_symbols_counts():
    assert all(map(case_counts, ("dC", "DC", "Er", "ACCs", "PreP")))
    assert not any(map(case_counts, ("Mice", "mice", "p53", "neurotensin", "A", "")))


@given(*[st.text(st.sampled_from("aAbs1 -/,αβß\u0301\u00ad"), max_size=6)] * 2)
def test_the_first_letters_tell_only_texts_apart_that_differ_in_their_letters(text, name):
    assert has_same_letters(text, name) == (joined_letters(text) == joined_letters(name))
