import pytest
from sklearn.metrics import cohen_kappa_score

from spacy_sapbert.review.corrections import Correction
from spacy_sapbert.review.export import _kappa, review_report


def correction(action, key, text, start, *ids, author="Ann", scope="occurrence"):
    return Correction(action, scope, key, start, start + len(text), text, ids, author=author)


@pytest.mark.parametrize(
    ("ours", "theirs", "wanted"),
    [
        ("AABB", "AABB", 1.0),
        ("AABB", "ABAB", 0.0),
        ("AABB", "BBAA", -1.0),
        ("AAAB", "AABB", 0.5),  # 3 of 4 agree; by chance (3 · 2 + 1 · 2) / 16 = 0.5
        ("ABCAB", "ABCCC", None),
    ],
)
def test_kappa(ours, theirs, wanted):
    assert _kappa(ours, theirs) == pytest.approx(cohen_kappa_score(list(ours), list(theirs)), abs=1e-4)
    if len(ours) == 4:
        assert _kappa(ours, theirs) == wanted


def test_kappa_that_is_not_defined():
    assert _kappa("", "") is None
    assert _kappa("AA", "AA") is None


def test_the_report_of_a_review(file, proposed):
    key = proposed(
        "1",
        "cold flu gout fits lump",
        ("cold", ("D1",), 0.995),
        ("flu", ("D1",), 0.6),
        ("gout", ("D2",), 0.6),
        ("fits", ("D3",), None, -0.5),
        ("lump", (), 0.2),
    )
    file.add(
        [
            correction("accept", key, "cold", 0, "D1"),
            correction("replace", key, "flu", 5, "D9"),
            correction("accept", key, "gout", 9, "D2"),
            correction("no_mention", key, "fits", 14),
        ]
    )
    found = review_report(file)
    assert (found["mentions"], found["decided"]) == (5, 4)
    assert found["corrections"]["action"] == {"accept": 2, "replace": 1, "no_mention": 1}
    bands = [(row["from"], row["n"], row["p"]) for row in found["precision"]]
    assert bands == [(0, 1, 0), (0.5, 2, 50), (0.99, 1, 100)]
    assert all(row["low"] <= row["p"] <= row["high"] for row in found["precision"])
    assert found["most_corrected"] == [
        {"id": "D1", "wrong": 1, "links": 2, "instead": {"D9": 1}},
        {"id": "D3", "wrong": 1, "links": 1, "instead": {"no mention": 1}},
    ]
    assert found["agreement"] == []


def test_the_agreement_of_reviewers(file, proposed):
    texts = ("cold", "flu", "gout", "fits", "lump")
    key = proposed("1", " ".join(texts), *((text, ("D1",)) for text in texts))
    (other,) = file.add_documents([("2", "a cold")], "notes")
    # "lump" is Ann's alone, and she decided "cold" in another document of the corpus
    file.add([correction("accept", other, "cold", 2, "D1", scope="corpus")])
    file.add([correction("accept", key, text, at, "D1") for text, at in (("flu", 5), ("gout", 9), ("lump", 19))])
    file.add(
        [
            correction("accept", key, "cold", 0, "D1", author="Bob"),
            correction("accept", key, "flu", 5, "D1", author="Bob"),
            correction("no_mention", key, "gout", 9, author="Bob"),
            correction("reject", key, "fits", 14, "D1", author="Bob"),
        ]
    )
    (found,) = review_report(file)["agreement"]
    # by chance 2/3 agree as well
    assert found == {"reviewers": ["Ann", "Bob"], "texts": 3, "agree": pytest.approx(66.67, abs=0.05), "kappa": 0.0}


def test_an_empty_report(file):
    found = review_report(file)
    assert (found["mentions"], found["precision"], found["most_corrected"], found["agreement"]) == (0, [], [], [])
