import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.notes.sections import LANGUAGES, find_sections, read_headings

from ...cases import cases


@pytest.mark.parametrize(*cases(__file__, "headings"))
def test_headings(text, labels):
    assert [section.label for section in find_sections(text, "en")] == labels


@pytest.mark.parametrize(
    ("language", "text", "label"),
    [
        ("de", "Familienanamnese: Gicht", "family history"),
        ("es", "ANTECEDENTES FAMILIARES\nGota", "family history"),
        ("fr", "Antécédents familiaux : goutte", "family history"),
        ("nl", "Familieanamnese: jicht", "family history"),
        ("pt", "ANTECEDENTES FAMILIARES\nGota", "family history"),
    ],
)
def test_languages(language, text, label):
    assert [section.label for section in find_sections(text, language)] == [label]
    assert find_sections(text, "it") == []


@pytest.mark.parametrize(
    "list_of_drugs",
    ["Allergic to\npenicillin", "1. Penicillin\n2. Sulfa", "Penicillin - rash\n   Sulfa - hives", "penicillin,\nsulfa"],
)
def test_allergies_end_where_their_list_does(list_of_drugs):
    text = f"ALLERGIES: {list_of_drugs}\nHe is well."
    sections = find_sections(text, "en")
    assert [section.label for section in sections] == ["allergies", "other"]
    assert text[sections[1].start :].strip() == "He is well."


def test_every_language_has_the_same_sections():
    kinds = {language: {*read_headings(language)[0].values()} for language in LANGUAGES}
    assert all(of_language == kinds["en"] for of_language in kinds.values())
    assert all(read_headings(language)[1] == read_headings("en")[1] for language in LANGUAGES)


@given(
    st.lists(st.sampled_from(["PLAN:", "Family history", "\n", ".", ",", " ", "  ", "a", "X:", "- ", "1. "])).map(
        "".join
    )
)
def test_sections_follow_one_another(text):
    sections = find_sections(text, "en")
    assert all(section.heading_start <= section.start <= section.end for section in sections)
    assert [section.end for section in sections[:-1]] == [section.heading_start for section in sections[1:]]
    assert not sections or sections[-1].end == len(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("BP 120/80 PMH: gout - FH: cancer", ["past medical history", "family history"]),
        ("ASSESSMENT: gout\n- Medical Treatment: none", ["assessment"]),
        ("RESULTS\nX-ray shows fluid.\nHemoglobin 9.", ["laboratory", "imaging", "laboratory"]),
        ("ALLERGIES: codeine,\nsulfa\nShe is well.", ["allergies", "other"]),
        ("ALLERGIES\ncodeine\nsulfa", ["allergies"]),
    ],
)
def test_sections_inside_lines_and_of_lines(text, wanted):
    sections = find_sections(text, "en")
    assert [section.label for section in sections] == wanted
    assert not any("sulfa" in text[section.start :] for section in sections if section.label == "other")
