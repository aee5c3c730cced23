"""spaCy's own commands on a pipeline of ours."""

import json

import pytest
import spacy
import spacy.cli
from spacy.tokens import DocBin
from typer.testing import CliRunner

TEXT = "He has CF."


@pytest.fixture(scope="module")
def folder(linking_nlp, linking_folder, tmp_path_factory):
    """A folder with the pipeline, its config, an annotated document and a text."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "pipeline").symlink_to(linking_folder)
    linking_nlp.config.to_disk(folder / "all.cfg")
    (folder / "some.cfg").write_text('[nlp]\nlang = "en"\npipeline = ["sapbert_linker"]\n[components]\n'
        '[components.sapbert_linker]\nfactory = "sapbert_linker"\nencoder = "none"\n')  # fmt: skip
    DocBin(docs=[linking_nlp(TEXT)], store_user_data=True).to_disk(folder / "gold.spacy")
    (folder / "texts.jsonl").write_text(json.dumps({"text": TEXT}))
    (folder / "packages").mkdir()
    return folder


PATHS = "--paths.train gold.spacy --paths.dev gold.spacy"
COMMANDS = {
    "info pipeline": "composite_splitter",
    "evaluate pipeline gold.spacy --output scores.json": "NER F",
    "apply pipeline texts.jsonl linked.spacy --force": "Loaded model",
    "benchmark accuracy pipeline gold.spacy": "NER F",
    "find-threshold pipeline gold.spacy sapbert_linker threshold span_id_f --n_trials 3": "Best threshold: 0.0",
    "find-threshold pipeline gold.spacy sapbert_linker selection.split_margin span_id_f --n_trials 2": "identical",
    "init fill-config some.cfg filled.cfg": "Auto-filled",
    f"debug config all.cfg {PATHS}": "Config is valid",
    f"debug data all.cfg {PATHS}": "1 training docs",
    "debug diff-config all.cfg": "split_margin",
    "debug profile pipeline texts.jsonl": "sapbert_linker",
    "assemble all.cfg assembled": "Created output directory",
    "package pipeline packages --build none": "Successfully created package directory",
}
SLOW = {"benchmark speed pipeline gold.spacy --batches 30 --warmup 1": "words/s"}
FINDS_FAULTS = ("debug data",)  # too few documents


@pytest.mark.parametrize(
    ("command", "output"), [*COMMANDS.items(), *(pytest.param(*slow, marks=pytest.mark.slow) for slow in SLOW.items())]
)
def test_commands(folder, monkeypatch, command, output):
    monkeypatch.chdir(folder)
    run(command, output)


def run(command, output):
    done = CliRunner().invoke(spacy.cli.app, command.split())
    assert done.exit_code == command.startswith(FINDS_FAULTS), (done.output, done.exception)
    assert output in done.output


def test_what_the_commands_wrote(folder, linking_nlp, monkeypatch):
    monkeypatch.chdir(folder)
    for command, output in COMMANDS.items():
        if command.startswith(("evaluate", "apply")):
            run(command, output)
    assert json.loads((folder / "scores.json").read_text())["span_id_f"] == 1.0
    (doc,) = DocBin().from_disk(folder / "linked.spacy").get_docs(linking_nlp.vocab)
    assert [ent.kb_id_ for ent in doc.ents] == ["D003550"]


@pytest.mark.parametrize("name", ["composite_splitter", "spelling_corrector", "sapbert_linker", "assertion_detector"])
def test_a_component_before_its_mentions_is_reported(name):
    nlp = spacy.blank("en")
    nlp.add_pipe(name)
    nlp.add_pipe("concept_matcher")
    assert nlp.analyze_pipes()["problems"][name] == ["doc.ents"]
    nlp.add_pipe(name, "after")
    assert not nlp.analyze_pipes()["problems"]["after"]
