import pytest

from spacy_sapbert.text.modifiers import ALL, CHOICES, KIND, LONGEST, OUTSIDE, modifiers_of, start_with_modifiers


def widened(text, name, words=("severe", "x-linked"), barred=()):
    return text[start_with_modifiers(text, text.rindex(name), words, barred) :]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gout", "gout"),
        ("severe gout", "severe gout"),
        ("A Severe X-linked gout", "Severe X-linked gout"),
        ("a (severe gout", "severe gout"),
        ("severe (severe gout", "severe gout"),
        ("severe\tgout", "gout"),
        ("severe\nsevere gout", "severe gout"),
        ("not severe big gout", "gout"),
        ("insevere gout", "gout"),
        (" gout", "gout"),
        ("a" * 100 + "severe gout", "gout"),
        ("severe " * 1000 + "gout", "severe " * 1000 + "gout"),
    ],
)
def test_modifiers_before_a_name(text, expected):
    assert widened(text, "gout") == expected


def test_no_modifier_where_another_name_ends():
    assert widened("severe severe gout", "gout", barred={6}) == "severe gout"
    assert widened("severe severe gout", "gout", barred={13}) == "gout"


def test_the_choices_grow():
    words = [set(modifiers_of(choice, "en")) for choice in CHOICES]
    assert words[0] == set() < words[1] < words[2]
    assert {"familial", "x-linked"} <= words[1]
    assert {"severe", "acute", "bilateral", "recurrent"} <= words[2] - words[1]


@pytest.mark.parametrize("choice", [OUTSIDE, KIND, ALL])
def test_the_words_fit_the_search(choice):
    for word in modifiers_of(choice, "en"):
        assert word == word.lower().strip()
        assert 0 < len(word) <= LONGEST
        assert widened(f"{word} gout", "gout", modifiers_of(choice, "en")) == f"{word} gout"


def test_other_languages_and_choices_have_none():
    assert modifiers_of(ALL, "de") == modifiers_of("inside", "en") == frozenset()
