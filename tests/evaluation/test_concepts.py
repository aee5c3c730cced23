import json

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.pipeline import evaluate_concepts

from .conftest import ASPIRIN, BREAST, CANCER, CF, LITHIUM, OVARIAN, UNKNOWN, document

FIRST = "aspirin for breast and ovarian cancer, a growth"
SECOND = "lithium and x"


@pytest.fixture
def documents():
    return [
        document(
            FIRST,
            ("aspirin", "X2", "Chemical"),
            ("breast and ovarian cancer", f"{BREAST}|{OVARIAN}"),
            ("ovarian cancer", OVARIAN),
            ("growth", CANCER),
        ),
        document(SECOND, ("lithium", LITHIUM, "Chemical"), ("x", UNKNOWN), doc_id="2"),
        document("nothing", doc_id="3"),
    ]


@pytest.fixture
def retriever(ranking_nlp):
    retriever = ranking_nlp.get_pipe("retriever")
    retriever.rankings = {
        FIRST: [(BREAST, 0.9), (CF, 0.8), (ASPIRIN, 0.7), (CANCER, 0.6)],
        SECOND: [(CANCER, 0.4), (LITHIUM, 0.3)],
    }
    return retriever


@pytest.fixture
def result(ranking_nlp, retriever, documents):
    train = [document("growth", ("growth", CANCER))] * 10 + [document("lithium", ("lithium", LITHIUM))] * 9
    return evaluate_concepts(ranking_nlp, documents, train=train, k=4)


def test_counts(result):
    counts = {name: result[name] for name in ("documents", "without_gold", "concepts", "without_a_name")}
    assert counts == {"documents": 2, "without_gold": 1, "concepts": 6, "without_a_name": 1}


def test_all_concepts(result):
    ap = ((1 + 2 / 3 + 3 / 4) / 4 + (1 / 2) / 2) / 2
    expected = {"n": 6, "p@4": 50.0, "r@4": 62.5, "f1@4": 55.56, "r@5": 62.5, "map": round(100 * ap, 2)}
    assert result["all"] == expected
    assert result["micro"] == {"p@4": 50.0, "r@4": 66.67, "f1@4": 57.14}
    assert result["best_possible"] == {"p@4": 75.0, "r@4": 100.0, "f1@4": 85.71}


def test_subsets(result):
    # no name stands for breast cancer, as it is written in a composite, and for cancer ("growth"); UNKNOWN has no name
    # 1st: 2 of 3 places (aspirin's does not count), 2 of 2; 2nd: 0 of 3, 0 of 1
    non_canonical = result["non_canonical"]
    assert non_canonical["n"] == 3
    assert (non_canonical["p@4"], non_canonical["r@4"]) == (33.33, 50.0)
    # 1st: breast cancer, ovarian cancer, aspirin: 2 of 3 places, 2 of 3; 2nd: lithium and UNKNOWN: 1 of 4, 1 of 2
    rare = result["rare"]
    assert rare["n"] == 5
    assert (rare["p@4"], rare["r@4"]) == (45.83, 58.33)
    # 2nd: UNKNOWN; 1st: aspirin and two kinds of cancer
    untrained = result["untrained"]
    assert (untrained["n"], untrained["r@4"]) == (4, 33.33)
    chemicals, diseases = result["types"]["Chemical"], result["types"]["Disease"]
    # 1st: aspirin in one of 2 places; 2nd: lithium in one of 4
    assert (chemicals["n"], chemicals["p@4"], chemicals["r@4"]) == (2, 37.5, 100.0)
    assert chemicals["map"] == 50.0
    # 1st: 2 of 3 places, 2 of 3; 2nd: 0 of 3, 0 of 1
    assert (diseases["n"], diseases["p@4"], diseases["r@4"]) == (4, 33.33, 33.33)


def test_shares(ranking_nlp, documents, result):
    # 6 pairs, 6 concepts and 7 mentions: ovarian cancer has two
    assert result["shares"] == {
        "non_canonical": {"pairs": 50.0, "concepts": 50.0, "mentions": 42.86},
        "rare": {"pairs": 83.33, "concepts": 83.33, "mentions": 85.71},
        "untrained": {"pairs": 66.67, "concepts": 66.67, "mentions": 71.43},
    }
    # ovarian cancer again, without its name: it is non-canonical in one of two documents, and there are 8 mentions
    documents.append(document("an ovary", ("ovary", OVARIAN), doc_id="4"))
    shares = evaluate_concepts(ranking_nlp, documents, train=[])["shares"]
    assert shares["non_canonical"] == {"pairs": 57.14, "concepts": 66.67, "mentions": 50.0}
    assert shares["untrained"] == {"pairs": 100.0, "concepts": 100.0, "mentions": 100.0}


def test_the_threshold_goes_by_the_components_own_number(result):
    # of the first three only: breast cancer, cystic fibrosis, aspirin; none in the second
    assert result["threshold"] == {
        "value": 0.5,
        "macro": {"p": 33.33, "r": 25.0, "f1": 28.57},
        "micro": {"p": 66.67, "r": 33.33, "f1": 44.44},
    }


def test_labels_limit_what_is_named_and_not_what_is_gold(ranking_nlp, retriever, documents):
    result = evaluate_concepts(ranking_nlp, documents, labels=[BREAST, "OMIM:114480", "X1", UNKNOWN])
    assert (result["labels"], result["labels_without_a_name"], result["concepts"]) == (3, 1, 6)
    assert retriever.calls[0][2] == {BREAST, ASPIRIN}
    assert result["all"]["r@10"] == 25.0
    assert {"rare", "untrained", "shares"}.isdisjoint(result)
    evaluate_concepts(ranking_nlp, documents)
    assert retriever.calls[1][1:] == (100, None)
    assert "labels" not in evaluate_concepts(ranking_nlp, documents)


def test_concepts_of_one_label(ranking_nlp, retriever, documents):
    result = evaluate_concepts(ranking_nlp, documents, type="Chemical", k=4)
    assert (result["concepts"], result["documents"], list(result["types"])) == (2, 2, ["Chemical"])
    assert result["all"]["p@4"] == 25.0


def test_rankings_are_as_long_as_the_longest_that_is_measured(ranking_nlp, retriever, documents):
    retriever.k = 300
    evaluate_concepts(ranking_nlp, documents, k=200)
    retriever.k = 3
    evaluate_concepts(ranking_nlp, documents, k=200)
    assert [k for _, k, _ in retriever.calls] == [300, 200]


def test_the_components_before_are_run(ranking_nlp, retriever, documents):
    ranking_nlp.add_pipe("sentencizer")
    evaluate_concepts(ranking_nlp, documents)
    first = retriever.calls[0][0][0]
    assert [(ent.text, ent.kb_id_) for ent in first.ents] == [("aspirin", ASPIRIN)]
    assert not first.has_annotation("SENT_START")
    assert ranking_nlp.pipe_names == ["entity_ruler", "sapbert_linker", "retriever", "sentencizer"]


def test_gold_mentions_can_be_given_but_not_their_ids(ranking_nlp, retriever, documents):
    ranking_nlp.get_pipe("sapbert_linker").spans_key = "other"
    documents[0] = document(FIRST, ("spirin", OVARIAN), ("growth", CANCER))
    evaluate_concepts(ranking_nlp, documents, gold_mentions=True)
    first = retriever.calls[0][0][0]
    assert [ent.text for ent in first.ents] == ["spirin", "growth"]
    assert CANCER not in str(first.user_data["gold_mentions"])
    assert all(ent.kb_id_ in (ASPIRIN, "NIL") for ent in first.ents)  # what the linker says
    assert retriever.spans_key == "mine"
    assert ranking_nlp.get_pipe("sapbert_linker").spans_key == "other"


def test_predictions(ranking_nlp, retriever, documents, tmp_path):
    path = tmp_path / "out.jsonl"
    evaluate_concepts(ranking_nlp, documents, predictions=path)
    first, second = map(json.loads, path.read_text().splitlines())
    assert first["gold"] == sorted([BREAST, OVARIAN, ASPIRIN, CANCER])
    assert first["ranked"][0] == {"id": BREAST, "score": 0.9}
    assert len(first["ranked"]) == 4
    assert second == {
        "doc_id": "2",
        "gold": [LITHIUM, UNKNOWN],
        "ranked": [{"id": CANCER, "score": 0.4}, {"id": LITHIUM, "score": 0.3}],
        "r@10": 0.5,
        "r@5": 0.5,
        "ap": 0.25,
    }


def test_what_cannot_be_measured(ranking_nlp, documents, tmp_path):
    with pytest.raises(SapbertError, match=r"E305.*Q1"):
        evaluate_concepts(ranking_nlp, documents, labels=["Q1"])
    with pytest.raises(SapbertError, match=r"E105.*with the label Gene"):
        evaluate_concepts(ranking_nlp, documents, type="Gene", predictions=tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []
    ranking_nlp.remove_pipe("retriever")
    with pytest.raises(SapbertError, match=r"E503.*entity_ruler, sapbert_linker"):
        evaluate_concepts(ranking_nlp, documents)
