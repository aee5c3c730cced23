import json
from pathlib import Path

import pytest
import spacy
from spacy.util import load_config, registry

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.candidate_log import best, by_epoch, candidate_log, read_candidate_log

ROOT = Path(__file__).parents[2]
SCORES = {"link_acc": 0.5, "link_strict": 0.25, "link_recall": None, "link_lambda": 0.2}


class OtherLogger:
    """A logger that remembers what it gets."""

    def __init__(self):
        self.logged = []
        self.closed = False

    def __call__(self, nlp, stdout, stderr):
        return self.logged.append, self.close

    def close(self):
        self.closed = True


@pytest.fixture
def nlp(small_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    return nlp


def info(step, epoch=0):
    return {"step": step, "epoch": epoch, "score": 0.5, "other_scores": {**SCORES, "speed": 7.0}}


def line(step, epoch=0, accuracy=0.5, **others):
    return {"step": step, "epoch": epoch, **SCORES, "link_acc": accuracy, "candidates": {}, **others}


def test_each_evaluation_is_written_in_addition_to_another_logger(nlp, tmp_path):
    path, other = tmp_path / "log.jsonl", OtherLogger()
    path.write_text("of an earlier run")
    log_step, finalize = candidate_log(str(path), ["breast tumor", "fit"], k=2, other_logger=other)(nlp)
    assert path.read_text() == ""
    for step in (info(0), None, info(2, epoch=1)):
        log_step(step)
    finalize()
    assert other.logged == [info(0), None, info(2, epoch=1)]
    assert other.closed
    first, second = read_candidate_log(path)
    assert {name: first[name] for name in SCORES} == SCORES
    assert (second["step"], second["epoch"]) == (2, 1)
    assert list(first["candidates"]) == ["breast tumor", "fit"]
    assert [len(found) for found in first["candidates"].values()] == [2, 2]
    assert first["candidates"]["fit"][0]["id"] == "D012640"
    assert first["candidates"]["fit"][0]["name"] == "fits"
    assert first["candidates"]["breast tumor"] == second["candidates"]["breast tumor"]


def test_without_a_file_it_is_the_other_logger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = OtherLogger()
    log_step, _ = candidate_log(other_logger=other)(spacy.blank("en"))
    log_step(info(0))
    assert other.logged == [info(0)]
    assert list(tmp_path.iterdir()) == []


def test_a_log_of_a_run_that_was_killed_is_read(nlp, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(line(0)) + "\n" + json.dumps(line(1))[:-9])
    assert [found["step"] for found in read_candidate_log(path)] == [0]


@pytest.mark.parametrize(
    "text", ["", "{", "nothing\n", "[1]\n", json.dumps(line(0)) + "\n{}\n", '{"step": 1, "loss": 2.5}\n']
)
def test_what_is_not_a_log(tmp_path, text):
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    with pytest.raises(SapbertError, match="no evaluation"):
        read_candidate_log(path)


def test_settings_and_places_that_cannot_be(nlp, tmp_path):
    with pytest.raises(SapbertError, match=r"E406.*k of .* is 0"):
        candidate_log("log.jsonl", k=0)
    with pytest.raises(SapbertError, match=r"path of CandidateLog is None"):
        candidate_log(mentions=["a"])
    with pytest.raises(SapbertError, match="E503"):
        candidate_log(str(tmp_path / "log.jsonl"), other_logger=OtherLogger())(spacy.blank("en"))
    with pytest.raises(SapbertError, match="E507"):
        candidate_log(str(tmp_path / "no" / "log.jsonl"), other_logger=OtherLogger())(nlp)
    log_step, _ = candidate_log(str(tmp_path / "log.jsonl"), other_logger=OtherLogger())(nlp)
    (tmp_path / "log.jsonl").unlink()
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(SapbertError, match="E507"):
        log_step(info(0))
    with pytest.raises(SapbertError, match="E120"):
        read_candidate_log(tmp_path / "nothing.jsonl")


def test_the_first_evaluation_and_the_last_of_each_epoch():
    lines = [line(0), line(2), line(4, 1), line(6, 1), line(8, 2)]
    assert [found["step"] for found in by_epoch(lines)] == [0, 2, 6, 8]
    assert [found["step"] for found in by_epoch(lines[:1])] == [0]


def test_the_best_evaluation():
    assert (
        best([line(0, accuracy=None), line(1, accuracy=0.4), line(2, accuracy=0.6), line(3, accuracy=0.6)])["step"] == 2
    )
    assert best([line(0, accuracy=None), line(1, accuracy=None)])["step"] == 0


def test_the_config_file_names_the_logger():
    settings = load_config(ROOT / "configs" / "linker.cfg", interpolate=True)["training"]["logger"]
    logger = registry.resolve({"logger": settings})["logger"]
    assert callable(logger)
    assert settings["path"] is None
