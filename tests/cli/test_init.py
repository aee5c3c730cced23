import re
import shutil
from pathlib import Path

import pytest
import spacy
import spacy.cli
from spacy.util import load_config
from typer.testing import CliRunner

import spacy_sapbert
from spacy_sapbert.cli.configs import KINDS, config_name, read_config

ROOT = Path(__file__).parents[2]
CHOICES = [*((kind, False) for kind in KINDS), ("linker", True), ("ner", True), ("retriever", True)]
CORPUS = "{0}|t|A cardiac infarct in diabetes\n{0}|a|\n{0}\t2\t17\tcardiac infarct\tDisease\tD009203\n\n"


@pytest.fixture
def place(tmp_path, monkeypatch, command, tiny_encoder):
    """A folder with a vocabulary, pairs, an encoder and documents."""
    monkeypatch.chdir(tmp_path)
    Path("medic.txt").write_text("D003920||Diabetes Mellitus|Diabetes\nD009203||Myocardial Infarction|Heart Attack\n")
    Path("corpus.pubtator").write_text("".join(map(CORPUS.format, range(6))))
    shutil.copytree(tiny_encoder, "base")
    for line in (
        "kb build medic.txt --format medic -o medic.kb",
        "convert corpus.pubtator -o corpus.spacy --tokenizer spacy-sapbert.BiomedicalTokenizer.v1",
        "pairs medic.kb -o pairs.txt",
    ):
        assert command(*line.split()).status == 0
    return tmp_path


@pytest.mark.parametrize(("kind", "gpu"), CHOICES)
def test_the_config_is_that_of_the_package_with_its_comments(kind, gpu, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    finished = command("init", "config", kind, "-o", "mine.cfg", *(["--gpu"] if gpu else []))
    assert finished.status == 0, finished.err
    written, original = Path("mine.cfg").read_text(), (ROOT / "configs" / config_name(kind, gpu=gpu)).read_text()
    own = load_config("mine.cfg")
    theirs = load_config(ROOT / "configs" / config_name(kind, gpu=gpu))
    if gpu:
        assert (own["system"]["gpu_allocator"], theirs["system"]["gpu_allocator"]) == ("pytorch", None)
        own["system"]["gpu_allocator"] = None
    assert own == theirs
    assert written.count("\n#") == original.count("\n#") > 0
    assert "mine.cfg" in written
    assert "configs/" not in written
    for page in re.findall(r"spacy-sapbert/([\w-]+)/", written):
        assert (ROOT / "docs" / f"{page}.md").is_file()


@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        ("linker", ["--paths.kb", "medic.kb", "--paths.encoder", "base"]),
        ("ner", ["--paths.kb", "medic.kb"]),
        ("retriever", ["--paths.kb", "medic.kb", "--paths.encoder", "base"]),
    ],
)
def test_spacy_train_takes_the_config_as_it_is(place, command, kind, paths):
    assert command("init", "config", kind).status == 0
    given = ["--paths.train", "corpus.spacy", "--paths.dev", "corpus.spacy", *paths]
    short = ["--training.max_steps", "2", "--training.eval_frequency", "1"]
    finished = CliRunner().invoke(spacy.cli.app, ["train", f"{kind}.cfg", "--output", "out", *given, *short])
    assert finished.exit_code == 0, finished.output
    trained = spacy.load("out/model-last")
    assert trained.pipe_names == load_config(f"{kind}.cfg")["nlp"]["pipeline"]


def test_the_transformer_config_is_valid(place, command):
    assert command("init", "config", "ner", "--gpu").status == 0
    config = load_config("ner.cfg", overrides={"paths.encoder": "base", "paths.train": "corpus.spacy"})
    nlp = spacy.util.load_model_from_config(config, auto_fill=True, validate=True)
    assert nlp.pipe_names == ["abbreviation_resolver", "concept_matcher", "transformer", "ner"]


def test_pretrain_takes_the_config_as_it_is(place, command):
    assert command("init", "config", "pretrain").status == 0
    given = ["--paths.pairs", "pairs.txt", "--paths.encoder", "base", "--pretrain.max_steps", "1"]
    finished = command("pretrain", "pretrain.cfg", "--output", "run", *given)
    assert finished.status == 0, finished.err
    assert Path("run/model-last").is_dir()


def test_a_config_on_standard_output(command):
    finished = command("init", "config", "linker", "-o", "-")
    assert finished.status == 0
    assert "spacy train linker.cfg" in finished.out.decode()
    assert finished.out.decode().splitlines()[5:] == read_config("linker").splitlines()[5:]


def test_a_file_is_not_replaced(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("ner.cfg").write_text("mine")
    finished = command("init", "config", "ner")
    assert finished.status == 1
    assert "[E507] Cannot write ner.cfg (it already exists)" in finished.err
    assert Path("ner.cfg").read_text() == "mine"


def test_what_cannot_be_done_is_told(tmp_path, command):
    assert "[E507]" in command("init", "config", "ner", "-o", tmp_path / "no" / "ner.cfg").err
    assert "chooses the device by itself" in command("init", "config", "pretrain", "--gpu").err
    refused = command("init", "config", "parser").err
    assert all(kind in refused for kind in KINDS)


def test_the_package_has_the_configs_of_the_repository():
    """An installed package has them in its own folder. A checkout has them in one place."""
    packaged = Path(spacy_sapbert.__file__).parent / "configs"
    if (ROOT / "spacy_sapbert").is_dir():
        assert not packaged.exists()
    else:
        assert {path.name for path in packaged.iterdir()} == {path.name for path in (ROOT / "configs").glob("*.cfg")}
    for kind in KINDS:
        assert read_config(kind) == (ROOT / "configs" / config_name(kind)).read_text(encoding="utf8")
