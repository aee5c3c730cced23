import json
from pathlib import Path

import pytest

from spacy_sapbert.cli.evaluate_pipeline import _mapping

from .conftest import shown

CORPUS = """\
1|t|Breast cancer and aspirin
1|a|
1\t0\t13\tBreast cancer\tDisease\tD001943
1\t18\t25\taspirin\tChemical\tX2

2|t|Zebra and breast and ovarian cancer
2|a|
2\t0\t5\tZebra\tDisease\t-1
2\t10\t35\tbreast and ovarian cancer\tDisease\tD001943|D010051
2\t21\t35\tovarian cancer\tDisease\tD999999
"""


@pytest.fixture
def workplace(tmp_path, monkeypatch, linking_nlp):
    """The pipeline finds, of these mentions, aspirin and the composite, both with the label Entity."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("spacy_sapbert.pipeline.tokenizer.load_pipeline", lambda name: linking_nlp)
    (tmp_path / "corpus.txt").write_text(CORPUS)
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "bad.txt").write_text("1 is no title\n")


def test_a_pipeline_is_measured(workplace, command):
    finished = command("evaluate", "pipeline", "PIPELINE", "corpus.txt", "--format", "pubtator")
    assert finished.status == 0, finished.err
    result = json.loads(finished.out)
    assert (result["documents"], result["without_a_name"], result["other_labels"]) == (2, 1, {"Entity": 2})
    assert (result["ner"]["p"], result["ner"]["r"], result["ner"]["f1"]) == (None, None, None)
    untyped = {"gold": 5, "found": 2, "right": 2, "p": 100.0, "r": 40.0, "f1": 57.14}
    assert result["ner_untyped"] == untyped
    assert {name: value for name, value in result["span_id"].items() if name != "types"} == {
        **untyped,
        "gold": 4,
        "r": 50.0,
        "f1": 66.67,
    }
    assert (result["document_id"]["gold"], result["document_id"]["right"]) == (5, 3)
    assert "ner 5 2 0 – – – ner types Chemical 1 0 0 – – –" in shown(finished)
    assert "ner untyped 5 2 2 100.00 40.00 57.14 span id 4 2 2" in shown(finished)
    assert "documents 2 without a name 1" in shown(finished)
    advice = "map those that mean the same with --label PIPELINE=CORPUS"
    assert f"labels that the corpus does not have: Entity (2); {advice}" in shown(finished)


def test_labels_that_differ_only_in_case_are_named_with_their_option(workplace, command):
    corpus = CORPUS.replace("\tDisease\t", "\tENTITY\t")
    Path("upper.txt").write_text(corpus)
    finished = command("evaluate", "pipeline", "PIPELINE", "upper.txt")
    assert "map them with --label Entity=ENTITY" in shown(finished)
    mapped = command("evaluate", "pipeline", "PIPELINE", "upper.txt", "--label", "Entity=ENTITY")
    assert json.loads(mapped.out)["ner"]["right"] == 1
    # what was never found has no precision, and what was never annotated has no recall
    assert "ner types Chemical 1 0 0 – 0.00 0.00" in shown(mapped)


def test_a_corpus_with_ids_of_another_vocabulary_is_reported_before_anything_is_linked(workplace, command, monkeypatch):
    Path("doid.txt").write_text(CORPUS.replace("D0", "DOID:").replace("X2", "DOID:9").replace("D999999", "DOID:8"))
    monkeypatch.setattr("spacy_sapbert.pipeline.sapbert_linker.SapbertLinker.predict", None)
    for measure in ("pipeline", "linking"):
        finished = command("evaluate", measure, "PIPELINE", "doid.txt", "--format", "pubtator")
        assert finished.status == 1
        assert "[E572] None of the 4 concept ids" in finished.err
        assert "The corpus has ids such as DOID:01943, DOID:9, DOID:10051" in finished.err
        assert "The vocabulary has ids such as D009369, D001943, D010051" in finished.err


def test_labels_are_mapped(workplace, command):
    finished = command("evaluate", "pipeline", "PIPELINE", "corpus.txt", "--label", "Entity=Disease")
    result = json.loads(finished.out)
    assert (result["ner"]["right"], result["other_labels"]) == (1, {})
    assert "labels that the corpus" not in shown(finished)
    alone = command("evaluate", "pipeline", "PIPELINE", "corpus.txt", "--label", "Entity=Disease", "--type", "Disease")
    assert json.loads(alone.out)["ner"]["types"] == {"Disease": result["ner"]["types"]["Disease"]}


def test_predictions_are_compared(workplace, command):
    given = "evaluate", "pipeline", "PIPELINE", "corpus.txt", "--predictions"
    assert command(*given, "a.jsonl").status == 0
    assert command(*given, "b.jsonl", "--gold-mentions").status == 0
    finished = command("evaluate", "compare", "a.jsonl", "b.jsonl")
    result = json.loads(finished.out)
    assert list(result) == ["documents", "ner", "span_id", "document_id"]
    assert (result["ner"]["a"], result["ner"]["b"]) == (0.0, 100.0)
    assert "span id 66.67 75.00 8.33" in shown(finished)


@pytest.mark.parametrize(
    ("corpus", "options", "code"),
    [
        ("empty.txt", ["--format", "pubtator"], "E105"),
        ("empty.txt", [], "E124"),
        ("missing.txt", ["--format", "pubtator"], "E120"),
        ("corpus.txt", ["--type", "Gene"], "E105"),
        ("corpus.txt", ["--label", "Entity"], "E533"),
        ("corpus.txt", ["--format", "conll"], "E125"),
        ("corpus.txt", ["--predictions", "nowhere/out.jsonl"], "E507"),
    ],
)
def test_what_cannot_be_done_is_reported(workplace, command, corpus, options, code):
    finished = command("evaluate", "pipeline", "PIPELINE", corpus, *options)
    assert finished.status == 1
    assert f"[{code}]" in finished.err


PASSAGES = """\
1|t|Aspirin and breast and ovarian cancer (BOC).
1|a|
1\t12\t37\tbreast and ovarian cancer\tDisease\tD001943|D010051

1|t|BOC again
1|a|
1\t0\t3\tBOC\tDisease\tD001943|D010051
"""


@pytest.mark.parametrize("measure", ["pipeline", "linking"])
def test_passages_are_one_document(workplace, command, measure):
    Path("passages.txt").write_text(PASSAGES)
    joined = command("evaluate", measure, "PIPELINE", "passages.txt")
    assert "2 records are passages of 1 documents" in shown(joined)
    result = json.loads(joined.out)
    if measure == "pipeline":
        assert (result["documents"], result["ner_untyped"]["gold"]) == (1, 2)
    else:  # only in the whole article, the short form has a long form
        assert result["strict_all"]["acc@1"] == 100.0


def test_types_of_the_corpus_can_be_renamed(workplace, command):
    names = "--rename", "Disease=Entity", "--rename", "Chemical=Entity"
    finished = command("evaluate", "pipeline", "PIPELINE", "corpus.txt", *names)
    result = json.loads(finished.out)
    assert result["other_labels"] == {}
    assert result["ner"]["types"] == {"Entity": {"gold": 5, "found": 2, "right": 2, "p": 100.0, "r": 40.0, "f1": 57.14}}
    alone = command("evaluate", "pipeline", "PIPELINE", "corpus.txt", *names, "--type", "Entity")
    assert json.loads(alone.out)["ner"]["f1"] == 57.14


def test_a_renamed_type_that_is_not_there_is_reported(workplace, command):
    with pytest.warns(UserWarning, match=r"W202.*type Gene.*Chemical, Disease"):
        command("evaluate", "pipeline", "PIPELINE", "corpus.txt", "--rename", "Gene=Entity")


def test_a_type_that_no_label_has_gives_no_figures(workplace, command):
    """All found mentions have another label, so a recall of 0 would say nothing about the pipeline."""
    finished = command("evaluate", "pipeline", "PIPELINE", "corpus.txt", "--type", "Disease")
    result = json.loads(finished.out)
    for measure in ("ner", "ner_untyped", "span_id", "span_id_single", "document_id"):
        assert [result[measure][name] for name in ("p", "r", "f1")] == [None] * 3, measure
    assert "0.00" not in shown(finished)


def test_ids_that_are_numbers_get_a_prefix(workplace, command):
    Path("numbers.txt").write_text(CORPUS.replace("D0", "").replace("X2", "7").replace("D999999", "8"))
    finished = command("evaluate", "pipeline", "PIPELINE", "numbers.txt", "--id-prefix", "Disease=DOID")
    assert "The corpus has ids such as DOID:01943, 7, DOID:10051" in finished.err


def test_advice_on_labels():
    types = {"Chemical": {"gold": 9, "found": 0}, "Disease": {"gold": 9, "found": 9}}
    advice = _mapping({"ner": {"types": types}, "other_labels": {"DRUG": 9, "CHEMICAL": 1}})
    assert advice == "--label CHEMICAL=Chemical"
