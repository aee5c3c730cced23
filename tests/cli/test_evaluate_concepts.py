import json
from pathlib import Path

import pytest

from .conftest import shown

PAGE = Path(__file__).parents[2] / "docs" / "documents.md"

CORPUS = """\
1|t|Breast cancer and aspirin
1|a|
1\t0\t13\tBreast cancer\tDisease\tD001943
1\t18\t25\taspirin\tChemical\tD001241

2|t|Lithium
2|a|
2\t0\t7\tLithium\tChemical\tD008094
"""


@pytest.fixture
def workplace(tmp_path, monkeypatch, ranking_nlp):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("spacy_sapbert.pipeline.tokenizer.load_pipeline", lambda name: ranking_nlp)
    (tmp_path / "corpus.txt").write_text(CORPUS)
    (tmp_path / "labels.txt").write_text("D001943\nD001241\nD008094\nD999999\n")
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "bad.txt").write_text("D001943 breast cancer\n")
    ranking_nlp.get_pipe("retriever").rankings = {
        "Breast cancer and aspirin": [("D003550", 0.9), ("D001943", 0.8)],
        "Lithium": [("D008094", 0.7)],
    }


def test_a_ranking_is_measured(workplace, command):
    arguments = "concepts", "PIPELINE", "corpus.txt", "--labels", "labels.txt", "--k", "2", "--train", "corpus.txt"
    finished = command("evaluate", *arguments)
    assert finished.status == 0, finished.err
    result = json.loads(finished.out)
    assert (result["labels"], result["labels_without_a_name"]) == (4, 1)
    assert result["all"] == {"n": 3, "p@2": 50.0, "r@2": 75.0, "f1@2": 60.0, "r@5": 75.0, "map": 75.0}
    assert result["rare"] == result["all"]
    assert result["non_canonical"] == {"n": 0, "p@2": None, "r@2": None, "f1@2": None, "r@5": None, "map": None}
    assert set(result["types"]) == {"Chemical", "Disease"}
    assert "all 3 50.00 75.00 60.00 75.00 75.00" in shown(finished)
    assert "non canonical 0 – – – – –" in shown(finished)
    assert "shares rare 100.00 100.00 100.00" in shown(finished)
    assert "threshold value 0.5 threshold macro p 100.00" in shown(finished)
    assert "best possible 75.00 100.00 85.71" in shown(finished)


def test_a_split_is_measured(workplace, command):
    Path("ids.txt").write_text("2\n")
    finished = command("evaluate", "concepts", "PIPELINE", "corpus.txt", "--k", "2", "--ids", "ids.txt")
    assert finished.status == 0, finished.err
    assert json.loads(finished.out)["all"]["n"] == 1


def test_predictions_are_compared(workplace, command, ranking_nlp):
    assert command("evaluate", "concepts", "PIPELINE", "corpus.txt", "--predictions", "a.jsonl").status == 0
    rankings = ranking_nlp.get_pipe("retriever").rankings
    rankings["Breast cancer and aspirin"] = [("D001943", 0.9), ("D001241", 0.8)]
    assert command("evaluate", "concepts", "PIPELINE", "corpus.txt", "--predictions", "b.jsonl").status == 0
    finished = command("evaluate", "compare", "a.jsonl", "b.jsonl")
    result = json.loads(finished.out)
    assert result["documents"] == 2
    assert (result["r@10"]["a"], result["r@10"]["b"], result["r@10"]["difference"]) == (75.0, 100.0, 25.0)
    assert result["map"]["difference"] == 37.5
    assert "map 62.50 100.00 37.50" in shown(finished)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--labels", "empty.txt"], "E105"),
        (["--labels", "bad.txt"], "E127"),
        (["--labels", "missing.txt"], "E120"),
        (["--type", "Gene"], "E105"),
    ],
)
def test_what_cannot_be_done_is_reported(workplace, command, options, code):
    finished = command("evaluate", "concepts", "PIPELINE", "corpus.txt", *options)
    assert finished.status == 1
    assert f"[{code}]" in finished.err


def test_the_commands_of_the_page_run(workplace, run_page):
    """Its pipelines and files stand here under the names that it gives them."""
    for name in ("dev.txt", "train.txt"):
        Path(name).write_text(CORPUS)
    run_page("documents", section="Measuring", commands_only=True)
