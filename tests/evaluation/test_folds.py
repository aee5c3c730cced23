from contextlib import contextmanager
from pathlib import Path

import pytest

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation import linking
from spacy_sapbert.evaluation.linking import Fold, draw_folds, evaluate_folds, fold_files, read_folds, trained_pipeline

from .conftest import ASPIRIN, CANCER, CF, document

RIGHT = document("aspirin", ("aspirin", ASPIRIN, "Chemical"))
WRONG = document("cancer", ("cancer", CF))
FOLDS = [Fold(0, [], [RIGHT]), Fold(1, [], [RIGHT, WRONG]), Fold(2, [], [RIGHT, WRONG, WRONG, WRONG])]


@pytest.fixture
def folder(tmp_path):
    """A folder with the file names of AskAPatient, and others beside them. All content is invented."""
    for number in (0, 10, 9):
        for part in ("train", "validation", "test"):
            row = f"{part} {number} ümmy\tSNOMEDCT:900000{number}\n"
            (tmp_path / f"AskAPatient.fold-{number}.{part}.tsv").write_text(row, encoding="utf-8")
    (tmp_path / "AskAPatient.fold-0.test.preprocessed_query.txt").write_text("9000000||x\n")
    (tmp_path / "AskAPatient.dict.txt").write_text("9000000||x\n")
    return tmp_path


def read(path):
    return read_corpus(path, "names")


def test_the_folds_of_a_folder(folder):
    files = fold_files(folder, ["validation", "train"])
    assert list(files) == [0, 9, 10]
    assert [path.name for path in files[9]] == ["AskAPatient.fold-9.validation.tsv", "AskAPatient.fold-9.train.tsv"]
    last = list(read_folds(files, read))[-1]
    assert last.number == 10
    assert [one.text for one in last.training] == ["train 10 ümmy"]
    assert [one.text for one in last.measured] == ["validation 10 ümmy"]
    assert last.measured[0].mentions[0].ids == ("SNOMEDCT:90000010",)
    assert [fold.training for fold in read_folds(fold_files(folder, ["test"]), read)] == [[], [], []]


def test_folders_without_folds(folder, tmp_path):
    with pytest.raises(SapbertError, match=r"E125.*'dev'.*fold 0.*test, train, validation"):
        fold_files(folder, ["dev"])
    (folder / "TwADR-L.fold-9.test.tsv").write_text("ache\tC0000001\n")
    with pytest.raises(SapbertError, match=r"E305.*AskAPatient.fold-9.test.tsv and TwADR-L.fold-9.test.tsv"):
        fold_files(folder, ["test"])
    with pytest.raises(SapbertError, match=r"E504.*--folds"):
        fold_files(folder / "AskAPatient.dict.txt", ["test"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(SapbertError, match=r"E105.*fold-0.train.txt"):
        fold_files(tmp_path / "empty", ["test"])


def test_documents_are_drawn_into_folds():
    documents = [document(f"text {number}", doc_id=str(number // 2)) for number in range(14)]
    drawn = list(draw_folds(documents, 3))
    assert sorted(one.text for fold in drawn for one in fold.measured) == sorted(one.text for one in documents)
    for fold in drawn:
        ids = [{one.doc_id for one in part} for part in (fold.training, fold.measured)]
        assert ids[0].isdisjoint(ids[1])
        assert len(fold.training) + len(fold.measured) == 14
        assert len(ids[1]) in (2, 3)
    assert list(draw_folds(documents, 3)) == drawn
    with pytest.raises(SapbertError, match=r"E533.*--folds 8.*7 documents"):
        next(draw_folds(documents, 8))


def test_folds_are_averaged(linking_nlp, tmp_path):
    result = evaluate_folds(FOLDS, linking_nlp, folder=tmp_path / "all")
    assert [run["measures"]["lenient"]["acc@1"] for run in result["runs"]] == [100.0, 50.0, 25.0]
    # the mean of 100, 50 and 25; squares of 41.67, 8.33 and 33.33 over 2 and 3
    assert (result["mean"]["lenient"]["acc@1"], result["se"]["lenient"]["acc@1"]) == (58.3333, 22.0479)
    assert result["mean"]["mentions"] == pytest.approx(7 / 3, abs=1e-4)
    assert "sd" not in result
    result = evaluate_folds(FOLDS, linking_nlp, folder=tmp_path / "chemicals", type="Chemical")
    assert result["mean"]["lenient"]["acc@1"] == 100.0


@pytest.fixture
def trainings(linking_nlp, monkeypatch):
    """What was trained, as fold and seed."""
    seen = []

    @contextmanager
    def train(config, overrides, fold, seed):
        seen.append((fold.number, seed))
        assert all(mention.label == "Chemical" for one in fold.measured for mention in one.mentions)
        if overrides.get("stop") == len(seen):
            raise KeyboardInterrupt
        yield linking_nlp

    monkeypatch.setattr(linking, "trained_pipeline", train)
    monkeypatch.setattr(linking, "evaluate_linking", lambda nlp, documents, type: {"x": float(next(values)), "se": 1.0})
    values = iter([10, 12, 20, 22, 36, 44])
    return seen


def test_seeds_and_folds_are_averaged(trainings, tmp_path):
    result = evaluate_folds(FOLDS, Path("a.cfg"), folder=tmp_path, seeds=2, type="Chemical")
    assert trainings == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert result["runs"][-1] == {"fold": 2, "seed": 1, "measures": {"x": 44.0}}
    # folds: 11, 21, 40; seeds: 22, 26
    assert result["mean"] == {"x": 24.0}
    assert result["se"] == {"x": 8.5049}
    assert result["sd"] == {"x": 2.8284}


def test_a_run_that_was_stopped_goes_on(trainings, tmp_path):
    options = {"folder": tmp_path / "kept", "seeds": 2, "type": "Chemical"}
    with pytest.raises(KeyboardInterrupt):
        evaluate_folds(FOLDS, Path("a.cfg"), overrides={"stop": 4}, **options)
    result = evaluate_folds(FOLDS, Path("a.cfg"), **options)
    assert trainings == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 1), (2, 0), (2, 1)]
    assert [run["measures"]["x"] for run in result["runs"]] == [10, 12, 20, 22, 36, 44]


CONFIG = """\
[paths]
train = null
dev = null

[system]
seed = 0

[nlp]
lang = "en"
pipeline = ["sapbert_linker"]

[components]

[components.sapbert_linker]
factory = "sapbert_linker"
kb = "{kb}"
encoder = "{encoder}"

[components.sapbert_linker.training]
@misc = "spacy-sapbert.BioSyn.v1"

[components.sapbert_linker.training.loss]
@losses = "spacy-sapbert.MarginalLikelihood.v1"

[corpora]

[corpora.train]
@readers = "spacy-sapbert.MentionCorpus.v1"
path = ${{paths.train}}

[corpora.dev]
@readers = "spacy-sapbert.MentionCorpus.v1"
path = ${{paths.dev}}

[training]
seed = 0
gpu_allocator = null
max_steps = 9
"""


def test_a_pipeline_is_trained_on_the_other_folds(small_kb, tiny_encoder, tmp_path, capfd):
    config = tmp_path / "linker.cfg"
    config.write_text(CONFIG.format(kb=small_kb.path, encoder=tiny_encoder))
    training = [document(f"sticky lungs {number}", (f"sticky lungs {number}", CF)) for number in range(4)]
    fold = Fold(0, training, [document("growth", ("growth", CANCER))])
    with trained_pipeline(config, {"training.max_steps": 1}, fold, 3) as nlp:
        assert (nlp.config["training"]["seed"], nlp.config["training"]["max_steps"]) == (3, 1)
        assert nlp.config["training"]["patience"] == 0
        kb = nlp.get_pipe("sapbert_linker").kb
        assert [kb.find_name(name) for name in ("sticky lungs 1", "growth")] == [(CF,), ()]
    assert capfd.readouterr().out == ""
