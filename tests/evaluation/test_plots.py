import re
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.plots import POINTS, TICKS, _means, plot_learning_curve, plot_linking_scores

STEPS = [{"step": step, "loss": 1 / step, "mined_pairs": 100.0 - step} for step in range(1, 21)]


@pytest.mark.parametrize("name", ["curve.svg", "curve.png"])
@pytest.mark.parametrize("evaluations", [[], [{"step": 0, "acc@1": 10.0}, {"step": 20, "acc@1": 50.0}]])
def test_a_run_is_drawn(tmp_path, name, evaluations):
    plot_learning_curve([*evaluations, *STEPS], tmp_path / name)
    content = (tmp_path / name).read_bytes()
    if name.endswith(".png"):
        assert content.startswith(b"\x89PNG")
    else:
        panels = [name for one in ElementTree.fromstring(content).iter() if "axes_" in (name := one.get("id") or "")]
        assert len(panels) == 2 + bool(evaluations)


def test_a_run_that_was_stopped_at_once_is_drawn(tmp_path):
    plot_learning_curve([], tmp_path / "curve.svg")
    plot_learning_curve(STEPS[:1], tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").is_file()


def test_a_plot_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(SapbertError, match="E507"):
        plot_learning_curve(STEPS, tmp_path / "nowhere" / "curve.svg")


def test_long_runs_are_averaged():
    steps, values = _means([{"step": step, "loss": float(step % 2)} for step in range(2 * POINTS)], "loss")
    assert len(steps) == POINTS
    assert list(steps[:2]) == [0.5, 2.5]
    assert np.allclose(values, 0.5)


def evaluations(n, per_epoch=2):
    scores = {"link_acc": 0.5, "link_strict": None, "link_recall": 0.9}
    return [{"step": 100 * i, "epoch": i // per_epoch, **scores} for i in range(n)]


@pytest.mark.parametrize(("n", "labels"), [(1, ["0"]), (4, ["0", "1"]), (3 * TICKS, None)])
def test_linking_scores_are_drawn_with_their_epochs(tmp_path, n, labels):
    plot_linking_scores(evaluations(n), tmp_path / "log.SVG")
    content = (tmp_path / "log.SVG").read_text()
    marks = re.findall("<!-- (.*?) -->", content)  # each text as it was before it became a path
    assert {"accuracy", "candidate recall@20"} <= set(marks)
    drawn = [mark for mark in marks if mark.isdigit()]
    if labels:
        assert drawn[: len(labels)] == labels
    else:
        assert "28" in drawn
        assert "29" not in drawn


def test_other_kinds_of_pictures_are_told(tmp_path):
    with pytest.raises(SapbertError, match=r"E523.*log\.txt.*\.svg"):
        plot_linking_scores(evaluations(2), tmp_path / "log.txt")
    with pytest.raises(SapbertError, match="E507"):
        plot_linking_scores(evaluations(2), tmp_path / "no" / "log.svg")


def test_a_missing_matplotlib_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SapbertError, match=r"E542.*matplotlib"):
        plot_linking_scores(evaluations(2), tmp_path / "log.svg")
