import json

import pytest
import spacy
from typer.testing import CliRunner

from spacy_sapbert.cli.evaluate import evaluate
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record

PUBTATOR = """\
1|t|Cystic fibrosis (CF) and asthma
1|a|CF patients with breast and ovarian cancer.
1\t0\t15\tCystic fibrosis\tDisease\tC3
1\t25\t31\tasthma\tDisease\tC4
1\t32\t34\tCF\tDisease\tC3
1\t49\t74\tbreast and ovarian cancer\tDisease\tC1|C2

2|t|asthma attack
2|a|
2\t0\t13\tasthma attack\tPhenotype\tC1
"""
NAMES = {"C1": "breast cancer", "C2": "ovarian cancer", "C3": "cystic fibrosis", "C4": "asthma"}


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(PUBTATOR)
    return path


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory):
    """Saved pipelines: the linker alone, and with the components that prepare mentions for it."""
    folder = tmp_path_factory.mktemp("pipelines")
    records = [Record(concept_id, (Name(name, "preferred", "test"),)) for concept_id, name in NAMES.items()]
    kb = build_knowledge_base(records, folder / "test.kb")
    for name, components in {"bare": [], "full": ["abbreviation_resolver", "composite_splitter"]}.items():
        nlp = spacy.blank("en")
        for component in components:
            nlp.add_pipe(component)
        nlp.add_pipe("sapbert_linker", config={"kb": str(kb.path)})
        nlp.to_disk(folder / name)
    return folder


def run(*arguments):
    result = CliRunner().invoke(evaluate, [str(argument) for argument in arguments])
    if isinstance(result.exception, SapbertError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_linking_prints_json_and_a_table(pipelines, corpus):
    result = run("linking", pipelines / "full", corpus, "--format", "pubtator")
    measures = json.loads(result.stdout)
    assert measures["mentions"] == measures["covered"] == 5
    assert measures["strict"]["acc@1"] == 80.0
    assert measures["slices"]["abbreviation"]["n"] == 1
    assert "covered" in result.stderr
    assert "80.00" in result.stderr


def test_json_goes_to_a_file(pipelines, corpus, tmp_path):
    result = run("linking", pipelines / "full", corpus, "--output", tmp_path / "linking.json")
    assert result.stdout == ""
    assert json.loads((tmp_path / "linking.json").read_text()) == json.loads(
        run("linking", pipelines / "full", corpus).stdout
    )


def test_an_output_that_is_the_corpus_is_refused(corpus, tmp_path):
    (tmp_path / "link.txt").symlink_to(corpus)
    with pytest.raises(SapbertError, match=r"E533.*--output .*also read"):
        run("linking", tmp_path / "no_pipeline", corpus, "--output", tmp_path / "link.txt")
    assert corpus.read_text() == PUBTATOR


def test_a_terminal_gets_json_only_if_asked(command, tmp_path, monkeypatch):
    path = tmp_path / "med1250.txt"
    path.write_text(MED1250)
    assert json.loads(command("evaluate", "components", "abbreviations", path).out)["pairs"] == 3
    monkeypatch.setattr("spacy_sapbert.files.console.sys.stdout.isatty", lambda: True)
    finished = command("evaluate", "components", "abbreviations", path)
    assert (finished.out, "cystic" not in finished.err) == (b"", True)
    assert json.loads(command("evaluate", "components", "abbreviations", path, "--json").out)["pairs"] == 3


def test_linking_says_what_is_wrong(pipelines, corpus, tmp_path):
    result = run("linking", pipelines / "bare", corpus, "--errors", tmp_path / "errors.tsv")
    measures = json.loads(result.stdout)
    n_errors = round(measures["covered"] * (1 - measures["lenient"]["acc@1"] / 100))
    assert sum(row["n"] for row in measures["errors"].values()) == n_errors > 0
    assert measures["errors"]["incomplete synset"] == {"n": 1, "share": 100.0}
    assert len((tmp_path / "errors.tsv").read_text().splitlines()) == n_errors + 1
    assert "errors incomplete synset 1 100.00" in " ".join(result.stderr.replace("│", " ").split())
    assert "no is_a relations" in result.stderr


def test_compare_takes_what_linking_writes(pipelines, corpus, tmp_path):
    for name in ("bare", "full"):
        run("linking", pipelines / name, corpus, "--predictions", tmp_path / f"{name}.jsonl")
    result = run("compare", tmp_path / "bare.jsonl", tmp_path / "full.jsonl")
    compared = json.loads(result.stdout)
    assert (compared["mentions"], compared["documents"]) == (5, 2)
    assert compared["strict"]["acc@1"]["b"] == 80.0
    assert compared["strict"]["acc@1"]["difference"] > 0
    assert "strict acc@1 60.00 80.00 20.00" in " ".join(result.stderr.replace("│", " ").split())


def test_training_is_shown_by_epoch(tmp_path):
    scores = {"link_strict": 0.5, "link_recall": None, "link_lambda": 0.25}
    found = [{"id": "C4", "name": "asthma", "score": 0.75}, {"id": "C1", "name": "breast cancer", "score": 0.5}]
    lines = [
        {"step": step, "epoch": step // 4, "link_acc": accuracy, **scores, "candidates": {"wheeze": found[: 1 + step]}}
        for step, accuracy in ((0, 0.125), (2, 0.625), (3, 0.5), (4, 0.5))
    ]
    log, other = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = run("components", "training", log)
    shown = json.loads(result.stdout)
    assert shown["evaluations"] == 4
    assert shown["best"] == {"step": 2, "epoch": 0, "link_acc": 0.625, **scores}
    assert shown["epochs"] == [lines[0], lines[2], lines[3]]
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert "0 0 0.125 0.5 – 0.25 wheeze id C4, name asthma, score 0.75" in shown
    other.write_text("no JSON\n")
    with pytest.raises(SapbertError, match="E105"):
        run("components", "training", other)


MED1250 = """\
1
Cystic fibrosis (CF)
The tumor growth factor (TGF) and the alpha thing (XQZ).

  CF|Cystic fibrosis
  TGF|tumor growth factor
  XQZ|alpha thing

"""


def test_abbreviations_are_scored_with_causes(tmp_path):
    path = tmp_path / "med1250.txt"
    path.write_text(MED1250)
    result = run("components", "abbreviations", path)
    scores = json.loads(result.stdout)
    assert (scores["p"], scores["r"], scores["f1"], scores["pairs"]) == (100.0, 66.67, 80.0, 3)
    assert scores["lenient"]["f1"] == 80.0
    assert scores["errors"] == {"missed": [{"pmid": "1", "short": "xqz", "long": "alpha thing"}]}
    assert "missed" in result.stderr


COMPOSITES = """\
1|t|Breast and ovarian cancer, asthma/attack.
1|a|Old and new fever, hot ovarian cancer.
1\t0\t25\tBreast and ovarian cancer\tDisease\tC1|C2\tBreast cancer|ovarian cancer
1\t27\t40\tasthma/attack\tDisease\tC4
1\t42\t59\tOld and new fever\tDisease\tC9
1\t61\t79\thot ovarian cancer\tOther\tC8|C2\thot|ovarian cancer

"""


def test_composites_are_scored_by_the_words_and_by_the_linker(pipelines, tmp_path):
    path = tmp_path / "composites.txt"
    path.write_text(COMPOSITES)
    scores = json.loads(run("components", "composites", path).stdout)
    assert scores["connector"] == {"n": 1, "exact": 100.0, "part_p": 100.0, "part_r": 100.0, "part_f1": 100.0}
    assert scores["no_connector"]["n"] == 1
    assert scores["wrong_splits"] == {"n": 2, "of": 2}
    assert "decided" not in scores
    result = run("components", "composites", path, "--type", "Disease", "--kb", pipelines / "test.kb")
    scores = json.loads(result.stdout)
    assert scores["no_connector"]["n"] == 0
    assert scores["decided"]["exact"] == 100.0
    assert "decided" in result.stderr


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("E50", ["linking", "nothing", "corpus.txt"]),
        ("E503", ["linking", "blank", "corpus.txt"]),
        ("E105", ["components", "abbreviations", "empty.txt"]),
        ("E105", ["components", "composites", "corpus.txt", "--type", "Phenotype"]),
        ("E504", ["components", "composites", "corpus.txt", "--kb", "nothing.kb"]),
        (r"E507.*scores\.json", ["linking", "nothing", "no_corpus", "-o", "none/scores.json"]),
    ],
)
@pytest.mark.usefixtures("corpus")
def test_errors_are_reported_as_such(tmp_path, monkeypatch, code, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("")
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(SapbertError, match=code):
        run(*arguments)


@pytest.mark.parametrize(("old", "group"), [("belb", "corpus"), ("folds", "corpus"), ("separation", "components")])
def test_a_command_of_1_1_says_where_it_is_now(command, old, group):
    assert f"`evaluate {old}` is now `evaluate {group} {old}`." in " ".join(command("evaluate", old, "x").err.split())
