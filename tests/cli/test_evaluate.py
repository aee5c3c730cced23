import json

import pytest
import spacy
from typer.testing import CliRunner

from spacy_sapbert.cli.evaluate import evaluate
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_store
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
    store = build_store(records, folder / "test.kb")
    for name, components in {"bare": [], "full": ["abbreviation_resolver", "composite_splitter"]}.items():
        nlp = spacy.blank("en")
        for component in components:
            nlp.add_pipe(component)
        nlp.add_pipe("sapbert_linker", config={"kb": str(store.path)})
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


def test_linking_of_one_type(pipelines, corpus):
    measures = json.loads(run("linking", pipelines / "full", corpus, "--type", "Disease").stdout)
    assert measures["mentions"] == 4
    assert measures["strict"]["acc@1"] == 100.0


def test_compare_takes_what_linking_writes(pipelines, corpus, tmp_path):
    for name in ("bare", "full"):
        run("linking", pipelines / name, corpus, "--predictions", tmp_path / f"{name}.jsonl")
    result = run("compare", tmp_path / "bare.jsonl", tmp_path / "full.jsonl")
    compared = json.loads(result.stdout)
    assert (compared["mentions"], compared["documents"]) == (5, 2)
    assert compared["strict"]["acc@1"]["b"] == 80.0
    assert compared["strict"]["acc@1"]["difference"] > 0
    assert "5 mentions in 2 documents" in result.stderr


def test_errors_are_told_as_such(corpus, tmp_path):
    with pytest.raises(SapbertError, match="E50"):
        run("linking", tmp_path / "nothing", corpus)
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(SapbertError, match="E510"):
        run("linking", tmp_path / "blank", corpus)
