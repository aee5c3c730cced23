import pytest

from spacy_sapbert.documents.pubtator import AbbreviationRecord, read_med1250
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.evaluation.components import decide_by, evaluate_abbreviations, evaluate_composites
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Mention, Name, Record


def evaluate(gold, found, text="", synonyms=()):
    record = AbbreviationRecord("1", text, tuple(gold), tuple(synonyms))
    return evaluate_abbreviations([record], lambda _: found)


def test_percentages_over_all_records():
    gold = [[("A", "a one"), ("B", "b two")], [("C", "c three")], []]
    found = {"0": [("A", "a one")], "1": [], "2": [("D", "d four")]}
    records = [AbbreviationRecord(str(n), str(n), tuple(pairs), ()) for n, pairs in enumerate(gold)]
    scores = evaluate_abbreviations(records, found.__getitem__)
    assert (scores["p"], scores["r"], scores["f1"], scores["pairs"]) == (50.0, 33.33, 40.0, 3)
    assert scores["lenient"] == {"p": 50.0, "r": 33.33, "f1": 40.0, "pairs": 3}


def test_pairs_are_unique_and_folded():
    scores = evaluate([("CF", "Cystic  Fibrosis"), ("cf", "cystic fibrosis")], [("CF", "cystic\nfibrosis")] * 2)
    assert (scores["p"], scores["r"], scores["pairs"]) == (100.0, 100.0, 1)


def test_synonyms_count_neither_way():
    scores = evaluate(
        [("CF", "cystic fibrosis")], [("whelk", "Buccinum undatum")], synonyms=[("Whelk", "Buccinum undatum")]
    )
    assert (scores["p"], scores["r"]) == (0.0, 0.0)
    assert "not defined there" not in scores["errors"]


def test_nothing_to_divide_by():
    scores = evaluate_abbreviations([])
    assert (scores["p"], scores["r"], scores["f1"], scores["pairs"]) == (0.0, 0.0, 0.0, 0)


@pytest.mark.parametrize(
    ("gold", "found", "alike"),
    [
        (("IL-2", "interleukin 2"), ("IL2", "interleukin 2"), True),
        (("IL-2", "interleukin 2"), ("IL3", "interleukin 2"), False),
        (("CF", "cystic-fibrosis"), ("CF", "the cystic fibrosis"), True),
        (("CF", "cystic fibrosis"), ("CF", "cystic fibrosis gene product"), True),
        (("CF", "cystic fibrosis"), ("CF", "cystic disease of fibrosis"), True),
        (("CF", "cystic fibrosis"), ("CF", "cystic disease of the lung"), False),
    ],
)
def test_lenient(gold, found, alike):
    scores = evaluate([gold], [found])
    assert scores["r"] == 0.0
    assert scores["lenient"]["r"] == (100.0 if alike else 0.0)


def test_lenient_finds_each_gold_pair_once():
    scores = evaluate([("CF", "cystic fibrosis")], [("CF", "the cystic fibrosis"), ("CF", "a cystic fibrosis")])
    assert (scores["lenient"]["p"], scores["lenient"]["r"]) == (50.0, 100.0)


def test_errors_by_cause():
    text = "Pump inhibitor (PPI), heat (E2), acute big bad lymph node (AL), and TLR of a toll-like receptor."
    gold = [
        ("PPI", "proton pump inhibitor"),
        ("E2", "heat"),
        ("AL", "acute big bad lymph node"),
        ("TLR", "toll-like receptor"),
        ("XY", "x-linked y"),
    ]
    errors = evaluate(gold, [("PPI", "pump inhibitor"), ("QQ", "quiet quest")], text)["errors"]
    assert {cause: [error["short"] for error in found] for cause, found in errors.items()} == {
        "wrong long form": ["ppi"],
        "not defined there": ["qq"],
        "missed": ["al", "e2", "tlr", "xy"],
    }
    assert errors["wrong long form"][0]["found"] == "pump inhibitor"


def test_published_output_of_ab3p_on_the_development_records(data_dir):
    """Its figures show that the corpus is read and counted as others do: 98.1, 83.7, 90.4."""
    folder = data_dir / "corpora" / "med1250"
    published = {record.pmid: record.pairs for record in read_med1250(folder / "ab3p_output_dev.txt")}
    gold = list(read_med1250(folder / "MED1250_labeled_dev.txt"))
    # the text of a record is all that `find` gets, so the PMID has to take its place
    scores = evaluate_abbreviations([record._replace(text=record.pmid) for record in gold], published.__getitem__)
    assert (scores["p"], scores["r"], scores["f1"], scores["pairs"]) == (98.11, 83.74, 90.36, 621)


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


def evaluate_splits(mentions, **settings):
    return evaluate_composites(mentions, lambda text: next(iter(GIVEN[text]), ()), **settings)


def test_connector_group_scores_the_first_reading():
    result = evaluate_splits(
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
    result = evaluate_splits([mention("sore eye", "AB", ["sore", "eye"])])
    assert result["no_connector"] == {"n": 1, "exact": 100.0, "part_p": 100.0, "part_r": 100.0, "part_f1": 100.0}
    assert result["connector"] == {"n": 0, "exact": 0.0, "part_p": 0.0, "part_r": 0.0, "part_f1": 0.0}


def test_wrong_splits_are_of_single_mentions_with_a_connector():
    result = evaluate_splits(
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
    result = evaluate_splits(mentions, decide=lambda text: [])
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
