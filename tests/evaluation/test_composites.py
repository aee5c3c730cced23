import pytest

from spacy_sapbert.corpora.reader import read_corpus
from spacy_sapbert.evaluation.composites import evaluate_composites
from spacy_sapbert.types import Mention


def mention(text, ids, parts=()):
    return Mention(0, len(text), text, "Disease", tuple(ids), tuple(parts))


GIVEN = {
    "renal and liver failure": [("renal failure", "liver failure"), ("renal", "liver failure")],
    "heart and lung pain": [("heart", "lung pain")],
    "lung, skin": [],
    "sore eye": [("sore", "eye")],
    "nausea and vomiting": [("nausea", "vomiting")],
    "cough or cold": [],
}


def evaluate(mentions, **settings):
    return evaluate_composites(mentions, GIVEN.__getitem__, **settings)


def test_connector_group_scores_the_first_reading():
    result = evaluate(
        [
            mention("renal and liver failure", "AB", ["Renal  failure", "liver failure"]),
            mention("heart and lung pain", "AB", ["heart pain", "lung pain"]),
            mention("lung, skin", "AB", ["lung", "skin"]),
        ]
    )
    # 3 of 4 predicted parts are right, of 6 gold parts
    assert result["connector"] == {"n": 3, "exact": 33.33, "part_p": 75.0, "part_r": 50.0, "part_f1": 60.0}
    assert result["no_connector"]["n"] == 0
    assert result["wrong_splits"] == {"n": 0, "of": 0}
    assert result["errors"]["connector"] == [
        {"text": "heart and lung pain", "gold": ["heart pain", "lung pain"], "predicted": ["heart", "lung pain"]},
        {"text": "lung, skin", "gold": ["lung", "skin"], "predicted": []},
    ]


def test_parts_without_a_connector_are_apart():
    result = evaluate([mention("sore eye", "AB", ["sore", "eye"])])
    assert result["no_connector"] == {"n": 1, "exact": 100.0, "part_p": 100.0, "part_r": 100.0, "part_f1": 100.0}
    assert result["connector"] == {"n": 0, "exact": 0.0, "part_p": 0.0, "part_r": 0.0, "part_f1": 0.0}


def test_wrong_splits_are_of_single_mentions_with_a_connector():
    result = evaluate(
        [
            mention("nausea and vomiting", "A"),
            mention("cough or cold", []),
            mention("renal and liver failure", "AB"),  # a composite without gold parts is neither right nor wrong
            mention("sore eye", "A"),
        ]
    )
    assert result["wrong_splits"] == {"n": 1, "of": 2}
    assert [error["text"] for error in result["errors"]["wrong_splits"]] == ["nausea and vomiting"]


def test_whole_names_are_not_split():
    mentions = [
        mention("nausea and vomiting", "A"),
        mention("renal and liver failure", "AB", ["renal failure", "liver failure"]),
    ]
    result = evaluate(mentions, whole_names={"nausea and vomiting", "renal and liver failure"}.__contains__)
    assert result["wrong_splits"] == {"n": 0, "of": 1}
    assert result["connector"]["exact"] == 0.0


@pytest.mark.parametrize(("part", "n", "exact"), [("Training", 51, 90), ("Development", 36, 88)])
def test_bc5cdr_diseases(data_dir, part, n, exact):
    documents = read_corpus(data_dir / f"corpora/bc5cdr/CDR_{part}Set.PubTator.txt.gz", "pubtator")
    diseases = [m for document in documents for m in document.mentions if m.label == "Disease"]
    result = evaluate_composites(diseases)["connector"]
    assert result["n"] == n
    assert result["exact"] >= exact
    assert result["part_f1"] >= 92
