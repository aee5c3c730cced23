import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import spacy

from spacy_sapbert.documents.docbin import write_docbin
from spacy_sapbert.documents.docs import to_doc

RECORD = """\
{id}|t|breast cancer, mucoviscidosis and ovarian cancers
{id}|a|gastric cancerous, lithiums or epileptic
{id}\t0\t13\tbreast cancer\tDisease\tD001943
{id}\t15\t29\tmucoviscidosis\tDisease\tD003550
{id}\t34\t49\tovarian cancers\tDisease\tD010051
{id}\t50\t67\tgastric cancerous\tDisease\tD015179
{id}\t69\t77\tlithiums\tDisease\t-1
{id}\t81\t90\tepileptic\tOther\tD012640

"""


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.pubtator"
    path.write_text("".join(RECORD.format(id=number) for number in range(1, 21)))
    return path


def test_a_calibrated_pipeline_is_saved(command, dense_folder, corpus, tmp_path):
    output, plots = tmp_path / "calibrated", tmp_path / "new" / "plots"
    finished = command("calibrate", dense_folder, corpus, "-o", output, "--type", "Disease", "--plots", plots)
    assert finished.status == 0, finished.err
    result = json.loads(finished.out)
    assert result["documents"] == {"fitted": 14, "held_out": 6}
    assert result["after"]["links"] == 30
    assert spacy.load(output).meta["performance"]["link_acc"] == result["after"]["lenient"] / 100
    assert result["before"]["ece"] >= result["after"]["ece"]  # too few texts to train the ranker
    assert "ece" in finished.err
    assert "after reliability" in finished.err
    linker = spacy.load(output).get_pipe("sapbert_linker").linker
    assert linker.threshold == result["threshold"]["after"]
    svg = (plots / "reliability.svg").read_bytes()
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert b"<!-- after: 30 links -->" in svg
    assert (plots / "reliability.png").read_bytes().startswith(b"\x89PNG")
    assert 0 < result["after"]["coverage"] <= 100
    assert 0 <= result["after"]["threshold_probability"] <= 1
    again = command("calibrate", dense_folder, corpus, "-o", output, "--type", "Disease", "--plots", tmp_path / "2")
    assert again.out == finished.out
    for path in plots.iterdir():
        assert (tmp_path / "2" / path.name).read_bytes() == path.read_bytes()


def test_a_ranker(command, numbered_kb, numbered_documents, tmp_path):
    pytest.importorskip("lightgbm")
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": str(numbered_kb.path), "encoder": "none"})
    nlp.to_disk(tmp_path / "pipeline")
    write_docbin((to_doc(nlp, one, split_tokens=True) for one in numbered_documents), tmp_path / "corpus.spacy")
    finished = command("calibrate", tmp_path / "pipeline", tmp_path / "corpus.spacy", "-o", tmp_path / "ranked")
    assert finished.status == 0, finished.err
    assert "ranker texts" in finished.err
    assert json.loads(finished.out)["after"]["lenient"] == 100


def test_a_precision_platt_and_the_prior(command, dense_folder, corpus, tmp_path):
    options = ("--precision", "0.6", "--method", "platt", "--prior")
    finished = command("calibrate", dense_folder, corpus, "-o", tmp_path / "calibrated", *options)
    assert finished.status == 0, finished.err
    result = json.loads(finished.out)
    assert (result["method"], result["documents"]["held_out"]) == ("platt", 6)
    assert result["after"]["p"] >= 60
    assert result["prior_weights"]


def test_ids_of_another_vocabulary_are_reported_before_anything_is_linked(
    command, dense_folder, corpus, tmp_path, monkeypatch
):
    corpus.write_text(corpus.read_text().replace("\tD0", "\tDOID:"))
    monkeypatch.setattr("spacy_sapbert.pipeline.sapbert_linker.SapbertLinker.predict", None)
    finished = command("calibrate", dense_folder, corpus, "-o", tmp_path / "calibrated")
    assert finished.status == 1
    assert "[E572] None of the 5 concept ids" in finished.err
    assert [path.name for path in tmp_path.iterdir()] == [corpus.name]


def test_the_share_of_unknown_ids_is_reported(command, dense_folder, corpus, tmp_path):
    corpus.write_text(corpus.read_text().replace("\tD003550", "\tDOID:1485"))
    with pytest.warns(UserWarning, match=r"W571\] 20 of the 100 .*\(20\.0 %\), such as DOID:1485\."):
        finished = command("calibrate", dense_folder, corpus, "-o", tmp_path / "calibrated")
    assert finished.status == 0, finished.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--precision", "0.999"], "[E520]"),
        (["--type", "Chemical"], "[E105]"),
        (["--format", "csv"], "[E125]"),
        (["--precision", "1"], "between 0 and 1"),
        (["--precision", "0"], "between 0 and 1"),
        (["--method", "histogram"], "isotonic"),
        (["--plots", "{tmp}/corpus.pubtator/plots"], "[E507]"),
    ],
)
def test_errors_leave_nothing(command, dense_folder, corpus, tmp_path, options, message):
    options = [option.format(tmp=tmp_path) for option in options]
    finished = command("calibrate", dense_folder, corpus, "-o", tmp_path / "calibrated", *options)
    assert finished.status != 0
    assert finished.out == b""
    assert message in finished.err
    assert [path.name for path in tmp_path.iterdir()] == [corpus.name]


def test_a_wrong_type_is_found_before_the_pipeline_is_loaded(command, dense_folder, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.pipeline.tokenizer.load_pipeline", None)
    finished = command("calibrate", dense_folder, corpus, "-o", tmp_path / "calibrated", "--type", "Diseas")
    assert "[E105] There is no mention of type Diseas" in finished.err


def test_what_is_not_a_pipeline_is_not_overwritten(command, dense_folder, corpus, tmp_path):
    (tmp_path / "notes").mkdir()
    assert "[E507]" in command("calibrate", dense_folder, corpus, "-o", tmp_path / "notes").err
    assert "[E533]" in command("calibrate", dense_folder, corpus, "-o", corpus).err
    assert corpus.is_file()


def test_the_commands_of_the_pages_run(run_page, dense_folder, corpus, tmp_path, monkeypatch):
    """They name pipelines, corpora and texts, which stand here under these names."""
    monkeypatch.chdir(tmp_path)
    Path("medic_linker").symlink_to(dense_folder)
    Path("abstracts.txt").write_text("breast cancer")
    # of four names that are mentions, one is not annotated
    lower = {"--precision 0.9": "--precision 0.7"}
    run_page("evaluating", lower, section="Calibrate")
    header, row = (line.split("\t") for line in Path("links.tsv").read_text().splitlines())
    assert 0.7 < float(row[header.index("probability")]) <= 1
    assert spacy.load("calibrated").get_pipe("sapbert_linker").linker.threshold is not None
    assert Path("plots/reliability.svg").is_file()
