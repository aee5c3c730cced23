import pytest

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.evaluation.composites import decide_by, evaluate_composites
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Mention, Name, Record


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
    return evaluate_composites(mentions, lambda text: next(iter(GIVEN[text]), ()), **settings)


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


def test_what_is_decided_is_counted_apart():
    mentions = [
        mention("nausea and vomiting", "A"),
        mention("renal and liver failure", "AB", ["renal failure", "liver failure"]),
        mention("sore eye", "AB", ["sore", "eye"]),
    ]
    result = evaluate(mentions, decide=lambda text: [])
    assert result["wrong_splits"] == {"n": 0, "of": 1}
    assert result["connector"]["exact"] == result["no_connector"]["exact"] == 100.0
    assert result["decided"] == {"n": 1, "exact": 0.0, "part_p": 0.0, "part_r": 0.0, "part_f1": 0.0}


@pytest.fixture(scope="module")
def decide(tmp_path_factory):
    names = {"C1": "breast cancer", "C2": "ovarian cancer", "C3": "head and neck cancer", "C4": "neck cancer"}
    records = [Record(concept_id, (Name(name, "preferred", "test"),)) for concept_id, name in names.items()]
    kb = build_knowledge_base(records, tmp_path_factory.mktemp("kb") / "test.kb")
    return decide_by(str(kb.path))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("breast and ovarian cancer", ["breast cancer", "ovarian cancer"]),
        ("Head and Neck Cancer", []),
        ("breast cancer", []),
    ],
)
def test_the_linker_decides(decide, text, parts):
    assert decide(text) == parts


@pytest.mark.parametrize(("part", "n", "exact"), [("Training", 51, 90), ("Development", 36, 88)])
def test_bc5cdr_diseases(data_dir, part, n, exact):
    documents = read_corpus(data_dir / f"corpora/bc5cdr/CDR_{part}Set.PubTator.txt.gz", "pubtator")
    diseases = [m for document in documents for m in document.mentions if m.label == "Disease"]
    result = evaluate_composites(diseases)["connector"]
    assert result["n"] == n
    assert result["exact"] >= exact
    assert result["part_f1"] >= 92


@pytest.mark.slow
@pytest.mark.parametrize(("part", "wrong", "of"), [("Training", 6, 37), ("Development", 3, 13)])
def test_few_single_mentions_of_bc5cdr_are_split(data_dir, tmp_path, part, wrong, of):
    report = ReadReport()
    medic = read_vocabulary(data_dir / "dictionaries/medic/medic_06Jul2012.txt.gz", "medic", report=report)
    kb = build_knowledge_base(medic, tmp_path / "medic.kb")
    documents = read_corpus(data_dir / f"corpora/bc5cdr/CDR_{part}Set.PubTator.txt.gz", "pubtator")
    diseases = [m for document in documents for m in document.mentions if m.label == "Disease"]
    result = evaluate_composites(diseases, decide=decide_by(str(kb.path)))
    assert result["wrong_splits"]["of"] == of
    assert result["wrong_splits"]["n"] <= wrong
    assert result["decided"]["part_p"] >= 90
