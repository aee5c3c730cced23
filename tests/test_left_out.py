"""benchmarks/left_out.py: which names are asked; and the lists of phrases of benchmarks/extra_words.py."""

import csv
import importlib
from pathlib import Path

import pytest

from spacy_sapbert.text.words import read_words
from spacy_sapbert.types import Link, Name, Record

TESTS = Path(__file__).parent
LISTS = [TESTS / "linking" / f"phrases_{kind}.tsv" for kind in ("unexplained", "general")]


@pytest.fixture
def left_out(monkeypatch):
    monkeypatch.syspath_prepend(TESTS.parent / "benchmarks")
    return importlib.import_module("left_out")


def record(number, *names):
    return Record(f"T:{number}", tuple(Name(name, "exact", "test") for name in names))


def test_the_names_that_are_asked_are_not_in_the_vocabulary(left_out):
    records = [record(number, f"alpha{number}", f"Beta-{number}", f"two words {number}") for number in range(90)]
    # other spellings of names of other concepts
    records += [record(number, f"ALPHA-{number - 90}", f"{number - 90} beta") for number in range(90, 180)]
    part = left_out.left_out(records, 20, 0)
    remaining = {form for one in part.records for name in one.names for form in left_out.spellings(name.text)}
    kept = {one.concept_id for one in part.records}
    assert (len(kept), len(part.concepts), len(part.names)) == (120, 20, 20)
    for questions, stays in ((part.concepts, False), (part.names, True)):
        for question in questions:
            assert remaining.isdisjoint(left_out.spellings(question.text))
            assert (question.concept_id in kept) is stays
            assert left_out.is_one_word(question.text)
    assert all(one.names for one in part.records)
    assert left_out.left_out(records, 20, 0) == part


def test_the_standard_error_is_over_concepts(left_out):
    outcome = left_out.Outcome()
    for number, linked in enumerate(["T:1", "T:9", "T:9", None]):
        outcome.add(left_out.Question("x", f"T:{1 if number < 2 else 2}", ""), Link("x", linked, 0.9, "x"))
    values = outcome.values()
    assert values == {"asked": 4, "right": 1, "others": 2, "nil": 1, "others %": 50.0, "se": 0.0}


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_a_phrase_is_a_name_with_other_words(path):
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert sum(row["vocabulary"] != "tiny" for row in rows) == 200
    assert len({(row["vocabulary"], row["phrase"]) for row in rows}) == len(rows)
    for row in rows:
        phrase, name = (read_words(row[column]).written for column in ("phrase", "name"))
        assert row["ids"]
        assert set(name) < set(phrase), row
