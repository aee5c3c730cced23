import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text import long_forms
from spacy_sapbert.text.long_forms import PRECISIONS, STRATEGIES, find_joint_forms, find_long_form, short_form_class

from ..cases import cases


def long_form(short: str, words: str, min_precision: float = 0.0) -> "tuple[str, str] | None":
    match = find_long_form(short, words, min_precision)
    return (words[match.start :], match.strategy) if match else None


@pytest.mark.parametrize(
    ("short", "expected"),
    [("T", "Al1"), ("TNF", "Al3"), ("COMMIT", "Al5"), ("IL-2", "Num4"), ("GC-MS", "Spec5"), ("5HT", "Num3")],
)
def test_class_of_a_short_form(short, expected):
    assert short_form_class(short) == expected


def test_table_names_known_strategies_with_probabilities():
    assert len(PRECISIONS) == 13
    for strategies in PRECISIONS.values():
        assert all(name in STRATEGIES and 0 < precision <= 1 for name, precision in strategies)


# One long form for each strategy, after words that do not belong to it.
@pytest.mark.parametrize(*cases(__file__, "strategies"))
def test_strategies(short, words, expected, strategy):
    match = long_form(short, words)
    assert match is not None
    assert match[0] == expected
    assert strategy is None or match[1] == strategy


@pytest.mark.parametrize(*cases(__file__, "where_a_long_form_begins"))
def test_where_a_long_form_begins(short, words, expected):
    assert long_form(short, words)[0] == expected


def test_word_in_lower_case_leaves_over_no_word():
    assert long_form("age", "antibody-negative children", 0.9) is None
    assert long_form("cod", "a cyclooctadiene", 0.9)[0] == "cyclooctadiene"


@pytest.mark.parametrize(*cases(__file__, "no_long_form"))
def test_no_long_form(short, words):
    assert long_form(short, words) is None


@pytest.mark.parametrize(*cases(__file__, "initials_in_another_order"))
def test_initials_in_another_order(short, words, expected):
    assert long_form(short, words) == (expected, "FirstLetReordered")
    assert find_long_form(short, words, 0.96) is None


def test_min_precision_leaves_strategies_out():
    assert find_long_form("CF", "cystic fibrosis", 0.998) is not None
    assert find_long_form("CF", "cystic fibrosis", 0.999) is None


ALPHABET = "abcABC12 -/()[]s.İα"


SHORTS = st.text("abcABC12-sα", min_size=1, max_size=8).filter(lambda short: any(map(str.isalpha, short)))


@given(SHORTS, st.text(ALPHABET, max_size=60), st.floats(0, 1))
def test_long_form_is_plausible_whatever_the_text(short, words, min_precision):
    words = words.strip()
    match = find_long_form(short, words, min_precision)
    if match is not None:
        long = words[match.start :]
        assert 0 <= match.start < len(words)
        assert match.start == 0 or not words[match.start].isspace()
        assert len(long) > len(short)
        assert long.count("(") == long.count(")")
        assert long.count("[") == long.count("]")
        assert match.precision >= min_precision
        assert match.precision == dict(PRECISIONS[short_form_class(short)])[match.strategy]


@given(SHORTS, st.text(ALPHABET, max_size=60))
def test_long_form_holds_its_own_long_form(short, words):
    words = words.strip()
    match = find_long_form(short, words, 0.0)
    if match is not None:
        again = find_long_form(short, words[match.start :], 0.0)
        assert again is not None
        assert again.start == 0


@given(SHORTS, st.text(ALPHABET, max_size=60), st.sampled_from(["gamma ", "the x-ray ", "of "]))
def test_words_further_left_do_not_matter(short, words, further):
    words = f"x {words.strip()}"
    match = find_long_form(short, words, 0.0)
    if match is not None and match.start > 2:
        farther = find_long_form(short, further + words, 0.0)
        assert farther is not None
        assert farther == match._replace(start=match.start + len(further))


def test_work_is_bounded_on_text_that_is_not_language():
    def steps(length: int) -> int:
        counted = 0

        def count(*arguments: object) -> "tuple[int, int, bool, bool] | None":
            nonlocal counted
            counted += 1
            return step(*arguments)

        step = long_forms._step
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(long_forms, "_step", count)
            find_long_form("abababab", "ab-" * length + "c", 0.0)
        return counted

    assert 0 < steps(4000) == steps(500)


def joint_pairs(shorts, words):
    return [(form.short, form.long) for form in find_joint_forms(shorts, words, 0.9)]


@pytest.mark.parametrize(*cases(__file__, "long_forms_in_the_order_of_the_short_forms"))
def test_long_forms_in_the_order_of_the_short_forms(shorts, words, expected):
    assert joint_pairs(shorts, words) == expected


def test_places_are_those_of_forms_in_one_piece():
    first, second = find_joint_forms("DMD/BMD", "with Duchenne or Becker muscular dystrophy", 0.9)
    assert first[2:6] == (0, 3, None, None)
    assert second[2:6] == (4, 7, 17, 42)


def test_least_precision():
    words = "acute and chronic renal failure"
    assert find_joint_forms("ARF/CRF", words, 0.9)
    assert find_joint_forms("ARF/CRF", words, 0.99999) == []


WORDS = st.sampled_from(["acute", "chronic", "renal", "failure", "and", "or", "/", "left,", "liver", "disease"])
JOINT_SHORTS = st.lists(st.sampled_from(["ARF", "CRF", "LD", "RD", "/", " and ", ", "]), max_size=6).map("".join)


@given(JOINT_SHORTS, st.lists(WORDS, max_size=8).map(" ".join))
def test_forms_stand_where_they_say(shorts, words):
    for form in find_joint_forms(shorts, words, 0.9):
        assert shorts[form.short_start : form.short_end] == form.short
        assert form.long_start is None or words[form.long_start : form.long_end] == form.long
