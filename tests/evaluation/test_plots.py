import re
import sys

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.plots import (
    curve_style,
    draw_reliability,
    in_style,
    new_figure,
    prepare_folder,
    save_figure,
)

BEGINNINGS = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


@in_style()
def draw():
    figure = new_figure(3, 2)
    figure.subplots().plot([0, 1], [0, 1], label="a", **curve_style(1))
    return figure


@pytest.mark.parametrize(("ending", "beginning"), BEGINNINGS.items())
def test_the_same_figure_gives_the_same_file(tmp_path, ending, beginning):
    paths = [tmp_path / folder / f"a{ending.upper()}" for folder in ("one", "other")]
    for path in paths:
        path.parent.mkdir()
        save_figure(draw(), path)
    one, other = (path.read_bytes() for path in paths)
    assert one == other
    assert one.startswith(beginning)


def test_what_cannot_be_written_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(SapbertError, match="E507"):
        save_figure(draw(), tmp_path / "no" / "a.svg")
    with pytest.raises(SapbertError, match="E507"):
        prepare_folder(tmp_path / "file" / "plots")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SapbertError, match=r"E542.*matplotlib"):
        prepare_folder(tmp_path / "plots")
    with pytest.raises(SapbertError, match=r"E542.*matplotlib"):
        draw()


BINS = [
    {"mean": 0.0, "right": 0.0, "n": 4},
    {"mean": 0.7, "right": 0.5, "n": 8},
    {"mean": 1.0, "right": 1.0, "n": 1200},
]
REPORT = {
    "threshold": {"before": 0.5, "after": 0.8},
    "before": {"links": 1212, "reliability": BINS, "threshold_probability": 0.5},
    "after": {"links": 1212, "reliability": BINS, "threshold_probability": 0.66},
}


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_reliability_shows_counts_intervals_and_thresholds(tmp_path):
    figure = draw_reliability(REPORT)
    assert set(labels(figure)) == {
        "calibrated",
        "before: 1,212 links",
        "after: 1,212 links",
        "threshold before: 0.500",
        "threshold after: 0.660 (score 0.800)",
    }
    panel, below = figure.axes
    lines = {line.get_label(): line for line in panel.lines}
    assert lines["threshold after: 0.660 (score 0.800)"].get_xdata()[0] == 0.66
    assert len(panel.containers) == 2  # the intervals
    assert [4, 8, 1200] in [list(line.get_ydata()) for line in below.lines]
    save_figure(figure, tmp_path / "a.svg")
    marks = set(re.findall("<!-- (.*?) -->", (tmp_path / "a.svg").read_text()))
    assert {"after: 1,212 links", "threshold before: 0.500", "links in the bin"} <= marks
