import pickle
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.text.spelling import LONG, MIN_LETTERS, CorrectionList, KnownWords, edit_distance, is_word

from ..cases import cases

NAMES = [
    "Breast Neoplasms", "Carcinoma of the breast", "Tumor", "Hemorrhage", "Hyperkalemia", "Diarrhea",
    "Sjögren Syndrome", "Dystonia 12", "Diabetes insipidus", "Macrosomia",
]  # fmt: skip
KNOWN = KnownWords.of_names(NAMES)
words = st.text(string.ascii_lowercase, min_size=1, max_size=14)
known_words = st.sampled_from(["breast", "carcinoma", "hemorrhage", "dystonia", "diabetes", "syndrome"])


@st.composite
def misspelt(draw):
    """A known word with one edit."""
    word = draw(known_words)
    position, letter = draw(st.integers(1, len(word) - 1)), draw(st.sampled_from(string.ascii_lowercase))
    rest = {
        "insert": letter + word[position:],
        "delete": word[position + 1 :],
        "replace": letter + word[position + 1 :],
        "swap": word[position : position + 2][::-1] + word[position + 2 :],
    }
    return word[:position] + draw(st.sampled_from(sorted(rest.values())))


texts = st.lists(words | misspelt() | known_words | st.sampled_from(["of", "ALS", "B12", "Sjögren"])).map(" ".join)


# --- by the words of a vocabulary


@pytest.mark.parametrize(*cases(__file__, "misspelt_words_are_corrected"))
def test_misspelt_words_are_corrected(text, expected):
    assert KNOWN(text) == expected


@pytest.mark.parametrize(*cases(__file__, "what_stays"))
def test_what_stays(text):
    assert KNOWN(text) == text


def test_the_nearer_one_then_the_clearly_more_frequent():
    assert KnownWords.of_names(["carcinoma", "carcinoids", "carcinoids 2"]).nearest("carcinomd") == "carcinoma"
    assert KnownWords.of_names(["carcinoma", "carcinomx"]).nearest("carcinomd") is None
    frequent = [f"carcinoma {number}" for number in range(10)]
    assert KnownWords.of_names([*frequent, "carcinomx"]).nearest("carcinomd") == "carcinoma"
    assert KnownWords.of_names([*frequent[:9], "carcinomx"]).nearest("carcinomd") is None


def test_numbers_of_one_word_are_not_rivals():
    assert KnownWords.of_names(["neoplasm", "neoplasms", "neoplasms 2"]).nearest("neoplams") == "neoplasms"


def test_without_names():
    assert KnownWords.of_names([])("brest cancer") == "brest cancer"
    assert KnownWords.of_names(["", "12", "?"])("brest") == "brest"


def test_it_can_be_pickled():
    assert pickle.loads(pickle.dumps(KNOWN))("brest carcinoma") == "breast carcinoma"


@given(text=texts)
def test_what_is_corrected_is_final(text):
    assert KNOWN(KNOWN(text)) == KNOWN(text)


@given(text=texts)
def test_known_words_stay_and_others_change_by_the_allowed_edits(text):
    before, after = text.split(" "), KNOWN(text).split(" ")
    assert len(before) == len(after)
    for word, right in zip(before, after, strict=True):
        if word != right:
            assert not KNOWN.knows(word)
            assert KNOWN.knows(right)
            assert len(word) >= MIN_LETTERS
            assert edit_distance(word, right, 9) <= (2 if len(word) >= LONG else 1)
            assert word[0] == right[0]


@settings(max_examples=50)
@given(names=st.lists(texts))
def test_a_name_is_never_corrected(names):
    known = KnownWords.of_names(names)
    assert [known(name) for name in names] == names
    assert [known(name.upper()) for name in names] == [name.upper() for name in names]


@given(names=st.lists(words, min_size=1), word=words)
def test_nearest_is_what_comparing_with_all_gives(names, word):
    limit = 2 if len(word) >= LONG else 1
    distances = {name: edit_distance(word, name, limit) for name in names if name[0] == word[0]}
    near = {name for name, distance in distances.items() if distance == min(distances.values()) <= limit}
    found = KnownWords.of_names(names).nearest(word)
    assert found in near | {None}
    if len(near) == 1 and not word.startswith(("hyp", "ma", "mi", "int", "ant")):
        assert found in near


def test_a_list():
    right = CorrectionList({"hemmorhage": "haemorrhage", "smallbowel": "small bowel", "le": "leg"})
    assert right("Hemmorhage of the smallbowel") == "Haemorrhage of the small bowel"
    assert right("hemmorhages") == "hemmorhages"
    assert right("left le, LE") == "left leg, LE"
    assert right("") == ""


# --- edit distance


@pytest.mark.parametrize(*cases(__file__, "edit_distance"))
def test_edit_distance(a, b, distance):
    assert edit_distance(a, b, 9) == edit_distance(b, a, 9) == distance
    for limit in range(4):
        assert edit_distance(a, b, limit) == min(distance, limit + 1)


@given(a=st.text("ab", max_size=8), b=st.text("ab", max_size=8), limit=st.integers(0, 4))
def test_the_limit_changes_no_distance_below_it(a, b, limit):
    assert edit_distance(a, b, limit) == min(edit_distance(a, b, 99), limit + 1)
    assert (edit_distance(a, b, 99) == 0) == (a == b)


def test_one_word():
    assert is_word("abc")
    assert is_word("é2")
    assert not any(map(is_word, ["", "a b", "a-b", "a_b", " a"]))
