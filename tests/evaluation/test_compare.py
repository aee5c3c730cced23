import json
from math import comb

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.compare import compare_predictions


def line(doc_id, start, right, **changes):
    """A line of a predictions file whose four measures are all right or all wrong."""
    scores = {measure: {"acc@1": right, "acc@5": right} for measure in ("lenient", "strict")}
    return {"doc_id": doc_id, "start": start, "end": start + 3, "label": "Disease", "gold": ["D1"], **scores, **changes}


@pytest.fixture
def write(tmp_path):
    def write_file(name, lines):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in lines))
        return path

    return write_file


def test_figures_of_a_hand_made_case(write):
    a = write("a", [line("1", 0, True), line("1", 5, False), line("2", 0, False), line("2", 5, False)])
    b = write("b", [line("1", 0, True), line("1", 5, True), line("2", 0, True), line("2", 5, False)])
    result = compare_predictions(a, b)
    assert result["mentions"] == 4
    assert result["documents"] == 2
    figures = result["lenient"]["acc@1"]
    assert (figures["a"], figures["b"], figures["difference"]) == (25.0, 75.0, 50.0)
    # whichever documents are drawn, b is ahead by one mention of two
    assert (figures["low"], figures["high"]) == (50.0, 50.0)
    assert figures["p"] == pytest.approx(2 / 10_001, abs=1e-4)


def test_each_measure_has_its_own_figures(write):
    wrong = {"acc@1": False, "acc@5": True}
    a = write("a", [line(str(doc), 0, True) for doc in range(4)])
    b = write("b", [line(str(doc), 0, True, strict=wrong) for doc in range(4)])
    result = compare_predictions(a, b)
    assert result["strict"]["acc@1"]["difference"] == -100.0
    for same in (result["strict"]["acc@5"], result["lenient"]["acc@1"], result["lenient"]["acc@5"]):
        assert (same["difference"], same["low"], same["high"], same["p"]) == (0.0, 0.0, 0.0, 1.0)


def test_the_interval_is_that_of_the_binomial_law(write):
    """Of 20 documents of one mention b wins 10 and loses none: wins in a draw follow a binomial law of 20 and 1/2."""
    a = write("a", [line(str(doc), 0, False) for doc in range(20)])
    b = write("b", [line(str(doc), 0, doc < 10) for doc in range(20)])
    figures = compare_predictions(a, b)["strict"]["acc@5"]
    cumulated = [sum(comb(20, i) for i in range(wins + 1)) / 2**20 for wins in range(21)]
    assert figures["low"] == 5 * next(wins for wins in range(21) if cumulated[wins] > 0.025)
    assert figures["high"] == 5 * next(wins for wins in range(21) if cumulated[wins] > 0.975)


def test_documents_are_drawn_not_mentions(write):
    """One document wins ten mentions, the other loses ten: nothing is sure, however many the mentions."""
    a = write("a", [line(doc, place, doc == "1") for doc in "12" for place in range(10)])
    b = write("b", [line(doc, place, doc == "2") for doc in "12" for place in range(10)])
    figures = compare_predictions(a, b)["lenient"]["acc@1"]
    assert (figures["low"], figures["high"], figures["p"]) == (-100.0, 100.0, 1.0)


def test_the_order_of_the_lines_changes_nothing_and_neither_does_a_second_run(write):
    rows = [line(str(doc), place, (doc * place) % 3 == 0) for doc in range(30) for place in range(5)]
    other = [line(str(doc), place, (doc + place) % 2 == 0) for doc in range(30) for place in range(5)]
    a, b, shuffled = write("a", rows), write("b", other), write("c", [*other[70:], *other[:70]])
    assert compare_predictions(a, b) == compare_predictions(a, b) == compare_predictions(a, shuffled)
    turned = compare_predictions(b, a)["lenient"]["acc@1"]
    assert turned["difference"] == -compare_predictions(a, b)["lenient"]["acc@1"]["difference"]


def test_documents_that_come_twice_count_twice(write):
    a = write("a", [line("1", 0, True), line("1", 0, True), line("2", 0, False)])
    b = write("b", [line("1", 0, False), line("1", 0, False), line("2", 0, False)])
    assert compare_predictions(a, b)["lenient"]["acc@1"]["a"] == 66.67
    with pytest.raises(SapbertError, match=r"E514.*1 are only in the first, 0 only in the second.*document 1, 0-3"):
        compare_predictions(a, write("c", [line("1", 0, False), line("2", 0, False)]))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("{", "E127.*line 2"),
        ("[" * 100_000, "E127.*line 2.*too deeply"),
        ("[1]", "E127.*line 2.*not a JSON object"),
        ('{"doc_id": "1"}', "E127.*line 2.*start"),
    ],
)
def test_a_broken_line(write, tmp_path, broken, reason):
    a = write("a", [line("1", 0, True)])
    a.write_text(a.read_text() + broken + "\n")
    with pytest.raises(SapbertError, match=reason):
        compare_predictions(a, a)


def test_too_few_documents(write):
    a = write("a", [line("1", 0, True), line("1", 5, True)])
    with pytest.raises(SapbertError, match=r"no second document"):
        compare_predictions(a, a)


def ranking(doc_id, r, ap):
    return {"doc_id": str(doc_id), "gold": ["C1"], "ranked": [], "r@10": r, "r@5": 0.25, "ap": ap}


def test_rankings_of_documents(write):
    a = write("a", [ranking(i, 0.5, 0.5) for i in range(30)])
    b = write("b", [ranking(i, 1.0, 0.5 + 0.4 * (i % 2)) for i in reversed(range(30))])
    result = compare_predictions(a, b, resamples=200)
    assert list(result) == ["documents", "r@10", "r@5", "map"]
    row = result["r@10"]
    assert (row["a"], row["b"], row["difference"], row["low"], row["high"]) == (50.0, 100.0, 50.0, 50.0, 50.0)
    assert result["r@5"]["p"] == 1.0
    assert result["map"]["difference"] == 20.0
    assert result["map"]["low"] < 20.0 < result["map"]["high"]


def measured(doc_id, right, found, gold, ids=("C1",)):
    """A line that has the same counts for all three measures."""
    mentions = [{"start": 0, "end": 3, "text": "flu", "label": "Disease", "ids": [one]} for one in ids]
    counts = {"right": right, "found": found, "gold": gold}
    measures = dict.fromkeys(("ner", "span_id", "document_id"), counts)
    return {"doc_id": str(doc_id), "gold": mentions, "found": [], **measures}


def test_pipelines(write):
    a = write("a", [measured(i, 1, 2, 2) for i in range(30)])
    b = write("b", [measured(i, 1 + i % 2, 2, 2) for i in reversed(range(30))])
    result = compare_predictions(a, b, resamples=200)
    assert list(result) == ["documents", "ner", "span_id", "document_id"]
    assert result["documents"] == 30
    row = result["span_id"]
    assert row == result["ner"] == result["document_id"]
    assert (row["a"], row["b"], row["difference"], row["p"]) == (50.0, 75.0, 25.0, 0.01)
    assert 10 < row["low"] < 25 < row["high"] < 40
    same = compare_predictions(a, a, resamples=200)["ner"]
    assert (same["difference"], same["low"], same["high"], same["p"]) == (0.0, 0.0, 0.0, 1.0)


def test_f1_is_that_of_all_documents_together(write):
    """One document has many mentions, all found, the other one that is missed, and a third nothing at all."""
    many, nothing = measured(1, 8, 8, 8), measured(3, 0, 0, 0, ids=())
    a = write("a", [many, measured(2, 0, 0, 1), nothing])
    b = write("b", [many, measured(2, 0, 15, 1), nothing])
    row = compare_predictions(a, b, resamples=400)["ner"]
    assert (row["a"], row["b"]) == (round(1600 / 17, 2), 50.0)
    # a draw may hold the first document alone, or the third alone
    assert (row["high"], row["low"] < -44) == (0.0, True)


def test_pipelines_that_cannot_be_compared(write):
    rows = [measured(i, 1, 1, 1) for i in range(3)]
    others = [
        ("E514", rows[:2]),
        ("E514", [*rows[:2], measured(2, 1, 1, 1, ids=("C2",))]),
        (r"E127.*line 4", [*rows, {"doc_id": "4", "gold": ["C1"], "found": []}]),
        (r"E127.*other, line 1", [ranking(1, 0.5, 0.5)]),
    ]
    a = write("a", rows)
    for message, lines in others:
        with pytest.raises(SapbertError, match=message):
            compare_predictions(a, write("other", lines))
    one = write("one", rows[:1])
    with pytest.raises(SapbertError, match="no second document"):
        compare_predictions(one, one)
