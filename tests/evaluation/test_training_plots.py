import numpy as np
import pytest

from spacy_sapbert.evaluation.figures import save_both
from spacy_sapbert.evaluation.training_plots import POINTS, TICKS, _means, draw_learning_curve, draw_linking_scores

STEPS = [{"step": step, "loss": 1 / step, "mined_pairs": 100.0 - step} for step in range(1, 21)]


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("evaluations", [[], [{"step": 0, "acc@1": 10.0}, {"step": 20, "acc@1": 50.0}]])
def test_a_run_is_drawn_with_its_counts(evaluations):
    figure = draw_learning_curve([*evaluations, *STEPS])
    assert len(figure.axes) == 2 + bool(evaluations)
    assert figure.axes[0].get_title(loc="left") == f"20 steps; {len(evaluations)} evaluations"
    if evaluations:
        assert labels(figure) == ["acc@1"]


def test_a_run_that_was_stopped_at_once_is_drawn(tmp_path):
    save_both(draw_learning_curve([]), tmp_path / "empty")
    assert (tmp_path / "empty.png").is_file()
    assert draw_learning_curve(STEPS[:1]).axes[0].lines[0].get_marker() == "o"  # a line of one point is not seen


def test_long_runs_are_averaged():
    steps = [{"step": step, "loss": float(step % 2), "mined_pairs": 1} for step in range(2 * POINTS)]
    places, values = _means(steps, "loss")
    assert len(places) == POINTS
    assert list(places[:2]) == [0.5, 2.5]
    assert np.allclose(values, 0.5)
    title = draw_learning_curve(steps).axes[0].get_title(loc="left")
    assert title == "400 steps, mean of up to 2 at each point; 0 evaluations"


def evaluations(n, per_epoch=2):
    scores = {"link_acc": 0.5, "link_strict": None, "link_recall": 0.9}
    return [{"step": 100 * i, "epoch": i // per_epoch, **scores} for i in range(n)]


@pytest.mark.parametrize(("n", "epochs"), [(1, ["0"]), (4, ["0", "1"]), (3 * TICKS, [str(2 * i) for i in range(15)])])
def test_linking_scores_are_drawn_with_their_epochs(n, epochs):
    figure = draw_linking_scores(evaluations(n))
    assert labels(figure) == ["accuracy", "strict accuracy", "candidate recall@20"]
    panel = figure.axes[0]
    assert [text.get_text() for text in panel.get_xticklabels()] == epochs
    assert panel.get_title(loc="left") == ("1 evaluation" if n == 1 else f"{n} evaluations")


def test_equal_scores_stay_visible():
    """A later curve is thinner, and its marker smaller."""
    lines = [{**line, "link_strict": line["link_acc"]} for line in evaluations(4)]
    wide, narrow, _ = draw_linking_scores(lines).axes[0].lines
    assert wide.get_linewidth() > narrow.get_linewidth()
    assert wide.get_markersize() > narrow.get_markersize()
    assert wide.get_zorder() < narrow.get_zorder()
