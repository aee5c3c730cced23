import re

import pytest

from spacy_sapbert.evaluation.calibration_plots import draw_reliability, draw_risk_coverage, measured_in
from spacy_sapbert.evaluation.figures import save_figure

BINS = [
    {"mean": 0.0, "right": 0.0, "n": 4},
    {"mean": 0.7, "right": 0.5, "n": 8},
    {"mean": 1.0, "right": 1.0, "n": 1200},
]
POINTS = [{"coverage": 0.5, "risk": 0.0}, {"coverage": 1.0, "risk": 0.25}]


def report(p=90.0):
    shared = {"links": 1212, "reliability": BINS, "risk_coverage": POINTS}
    return {
        "threshold": {"before": 0.5, "after": 0.8},
        "before": {**shared, "threshold_probability": 0.5, "coverage": 80.0, "p": 85.0},
        "after": {**shared, "threshold_probability": 0.66, "coverage": 60.0 if p else 0.0, "p": p},
    }


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def lines(panel):
    return {line.get_label(): line for line in panel.lines}


def test_reliability_shows_counts_intervals_and_thresholds():
    figure = draw_reliability(measured_in(report()))
    assert set(labels(figure)) == {
        "calibrated",
        "before: 1,212 links",
        "after: 1,212 links",
        "threshold before: 0.500",
        "threshold after: 0.660 (score 0.800)",
    }
    panel, below = figure.axes
    assert lines(panel)["threshold after: 0.660 (score 0.800)"].get_xdata()[0] == 0.66
    assert len(panel.containers) == 2  # the intervals
    assert [4, 8, 1200] in [list(line.get_ydata()) for line in below.lines]


def test_nothing_at_the_edge_is_clipped():
    panel = draw_reliability(measured_in(report())).axes[0]
    for line in panel.lines:
        if "links" in line.get_label():
            assert not line.get_clip_on()
    low, high = panel.get_ylim()
    assert low < 0 < 1 < high


def test_risk_coverage_marks_what_the_threshold_keeps():
    figure = draw_risk_coverage(measured_in(report()))
    name = "threshold after: score 0.800, coverage 0.600, risk 0.100"
    assert name in labels(figure)
    found = lines(figure.axes[0])
    assert found[name].get_xydata().tolist() == [[0.6, pytest.approx(0.1)]]
    assert [0.6, pytest.approx(0.1)] in found["after: 1,212 links"].get_xydata().tolist()


def test_a_threshold_that_keeps_no_link_is_not_marked():
    found = labels(draw_risk_coverage(measured_in(report(p=None))))
    assert found[-1] == "after: 1,212 links"
    assert not any(label.startswith("threshold after") for label in found)


def test_the_texts_are_in_the_file(tmp_path):
    save_figure(draw_reliability(measured_in(report())), tmp_path / "a.svg")
    marks = set(re.findall("<!-- (.*?) -->", (tmp_path / "a.svg").read_text()))
    assert {"after: 1,212 links", "threshold before: 0.500", "links in the bin"} <= marks
