import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.plots import POINTS, _means, plot_learning_curve

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
