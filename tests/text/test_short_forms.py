import csv
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text import short_forms as module
from spacy_sapbert.text.abbreviations import find_definitions, find_occurrences
from spacy_sapbert.text.short_forms import CONTEXTS, WIDE, find_short_forms, short_forms

ROWS = [*csv.reader(Path(__file__).with_suffix(".tsv").read_text().splitlines()[1:], delimiter="\t")]


def senses(sentence: str, form: str) -> "tuple[str, ...]":
    """RETURNS: the names of the sense of a form, "-" if it is not clear, and nothing if the form was not found."""
    found = [short for short in find_short_forms(sentence) if sentence[short.start : short.end] == form]
    return (found[0].names if found[0].is_clear else ("-",)) if found else ()


def test_senses_of_sentences():
    wrong = [
        (form, sense) for form, sense, sentence in ROWS if sense.lower() not in map(str.lower, senses(sentence, form))
    ]
    assert len(ROWS) >= 100
    assert len(wrong) <= 0.1 * len(ROWS), wrong


def test_the_list_is_complete_and_plain():
    table = short_forms()
    assert all(form.strip() == form and senses for form, senses in table.items())
    shares = [sum(sense.share for sense in senses) for senses in table.values()]
    assert max(shares) <= 1.2  # percentages are rounded, and a sense may have been rare in one of two inventories
    assert all(
        name and name == " ".join(name.split()) for senses in table.values() for sense in senses for name in sense.names
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("htn, Htn and HTN", ["htn", "Htn", "HTN"]),
        ("two PVCs, no DVTs", ["PVCs", "DVTs"]),
        ("He was sad and as good as all.", []),
        ("PATIENT HAD PAIN AS BEFORE", []),  # not aortic stenosis
        ("HE HAS NO ALLERGIES", []),  # not hepatic encephalopathy
        ("ST-elevation, XCHF, CHFx, pes planus", []),
    ],
)
def test_how_short_forms_are_written(text, expected):
    found = [text[short.start : short.end] for short in find_short_forms(text) if short.is_clear]
    assert found == expected


def test_a_word_in_capitals_is_no_short_form():
    (plan,) = find_short_forms("PLAN\nRest.")
    assert plan == (0, 4, ("plan",), False)


def test_long_forms_elsewhere_in_the_text_decide():
    assert senses("CA today.", "CA") == ("-",)
    assert senses("Calcium is low. CA today.", "CA") == ("calcium",)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # CA is calcium (0.55), cancer (0.4) or carcinoma (0.05). e × 0.4 is 0.64 of all, e² × 0.4 is 0.83
        ("Bone", ("-",)),
        ("Bone, no bones", ("-",)),  # each word counts once
        ("Bone and biopsy", ("cancer", "neoplasms")),
        ("Bone" + " " * WIDE + "biopsy", ("-",)),  # too far
        ("Bone, biopsy, blood", ("-",)),  # speaks against it
    ],
)
def test_learned_words_nearby_decide(monkeypatch, words, expected):
    monkeypatch.setattr(module, "_learned", lambda: {"cancer": {"bone": 1.0, "biopsy": 1.0, "blood": -1.0}})
    assert senses(f"{words}: CA.", "CA") == expected


def test_the_learned_words_belong_to_senses_and_are_plain():
    shared = {sense.names[0] for some in short_forms().values() if len(some) > 1 for sense in some}
    names = [line.split("\t")[0] for line in CONTEXTS.read_text(encoding="utf-8").splitlines()]
    assert len(names) == len(set(names)) >= 200
    assert shared.issuperset(names)
    for words in module._learned().values():
        assert all(words.values())
        assert all(word.isalnum() and word == word.lower() for word in words)


def test_definitions_take_precedence():
    text = "Polyethylene (PE) bags. PE and HTN."
    occurrences = find_occurrences(text, find_definitions(text), {}, [*find_short_forms(text)])
    assert [occurrence.long for occurrence in occurrences] == ["Polyethylene", "Polyethylene", "hypertension"]


PIECES = ["PE", "RA", "MS", " ", ":", "\n", "lungs", "on", "PLAN", "s", "-", "İ", "12", "chest", "("]


@given(st.one_of(st.lists(st.sampled_from(PIECES)).map("".join), st.text()))
def test_occurrences_are_ordered_and_inside_the_text(text):
    places = [short[:2] for short in find_short_forms(text)]
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert all(first[1] <= second[0] for first, second in pairwise(places))
