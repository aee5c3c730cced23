import re
import sys
from pathlib import Path

import numpy as np
import pytest

from spacy_sapbert.errors import LimitError, SapbertError
from spacy_sapbert.evaluation.plots import (
    MOST_PAIRS_OF_A_HEAT_MAP,
    check_ending,
    check_heat_map,
    curve_style,
    draw_clusters,
    draw_heat_maps,
    draw_histograms,
    draw_linking_scores,
    draw_reliability,
    in_style,
    names_of_largest_concepts,
    new_figure,
    prepare_folder,
    save_both,
    save_figure,
)
from spacy_sapbert.evaluation.separation import NamePairs
from spacy_sapbert.metrics.separation import equal_error, measure_separation

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
    with pytest.raises(SapbertError, match=r"\.txt.*picture format.*\.svg"):
        check_ending(tmp_path / "log.txt")
    with pytest.raises(SapbertError, match="E507"):
        save_figure(draw(), tmp_path / "no" / "a.svg")
    with pytest.raises(SapbertError, match="E507"):
        prepare_folder(tmp_path / "file" / "plots")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SapbertError, match=r"E542.*matplotlib"):
        prepare_folder(tmp_path / "plots")
    with pytest.raises(SapbertError, match=r"E542.*matplotlib"):
        draw()


LONG = "hereditary motor and sensory neuropathy, type two"


def named(*concept_ids):
    n = len(concept_ids)
    places = [np.array([place]) for place in range(n)]
    return NamePairs([f"l{place}" for place in range(n)], [f"r{place}" for place in range(n)], concept_ids, places, 0)


def vectors(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)


def histogram_figure():
    return draw_histograms(separations())


def separations():
    pairs = named(*"ABCD")
    return {label: measure_separation(vectors(4, i), vectors(4, 9), pairs.synonyms) for i, label in enumerate("xy")}


def heat_map_figure():
    pairs = named(*"ABC")._replace(left=["asthma", LONG, "ms"])
    return draw_heat_maps(pairs, {label: vectors(3, i)[:, :3] for i, label in enumerate("xy")})


def cluster_figure(n=15):
    names = {f"C{i}": [f"name {i} {j}" for j in range(2)] for i in range(n)}
    return draw_clusters(names, {label: vectors(2 * n, i) for i, label in enumerate("xy")})


def titles(figure):
    return [panel.get_title(loc="left") for panel in figure.axes]


@pytest.mark.parametrize(
    ("draw", "texts"),
    [
        (histogram_figure, ["x", "synonyms", "different concepts", "threshold of equal error rates"]),
        (heat_map_figure, ["y", "3 pairs", "asthma", "hereditary motor and sensory …", "r2"]),
        (cluster_figure, ["x", "30 names of 15 concepts", "name 0 0 (2)", "name 14 0 (2)"]),
    ],
)
def test_pictures_are_the_same_when_drawn_twice(tmp_path, draw, texts):
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
        save_both(draw(), folder / "picture")
    for ending in (".svg", ".png"):
        one, other = ((folder / f"picture{ending}").read_bytes() for folder in folders)
        assert one == other
    marks = re.findall("<!-- (.*?) -->", (folders[0] / "picture.svg").read_text(), flags=re.DOTALL)
    lines = {line for mark in marks for line in mark.split("\n")}
    assert set(texts) <= lines


def test_histograms_show_counts_and_thresholds():
    figure, measured = histogram_figure(), separations()
    for panel, title, separation in zip(figure.axes, titles(figure), measured.values(), strict=True):
        threshold, error = equal_error(separation)
        counts = "4 pairs of synonyms, 12 pairs of different concepts"
        assert title.endswith(counts)
        assert panel.texts[0].get_text() == f"{threshold:.3f}: error rate {100 * error:.1f} %"
        assert panel.lines[0].get_xdata()[0] == threshold


def test_a_heat_map_of_many_pairs_is_refused():
    check_heat_map(named(*map(str, range(MOST_PAIRS_OF_A_HEAT_MAP))), Path("plot.txt"))
    with pytest.raises(LimitError, match=r"plot\.txt has 41 pairs.* at most 40"):
        check_heat_map(named(*map(str, range(MOST_PAIRS_OF_A_HEAT_MAP + 1))), Path("plot.txt"))


def test_concepts_with_most_names_are_chosen():
    pairs = named(*"ABCBA")._replace(left=["a", "b", "c", "b", "a"])  # 3, 3 and 2 names
    assert names_of_largest_concepts(pairs, 2) == {"A": ["a", "r0", "r4"], "B": ["b", "r1", "r3"]}
    assert list(names_of_largest_concepts(pairs, 9)) == ["A", "B", "C"]


# --- calibration

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


# --- training


def evaluations(n, per_epoch=2):
    scores = {"link_acc": 0.5, "link_strict": None, "link_recall": 0.9}
    return [{"step": 100 * i, "epoch": i // per_epoch, **scores} for i in range(n)]


@pytest.mark.parametrize(("n", "epochs"), [(1, ["0"]), (4, ["0", "1"]), (60, [str(2 * i) for i in range(15)])])
def test_linking_scores_are_drawn_with_their_epochs(n, epochs):
    figure = draw_linking_scores(evaluations(n))
    assert labels(figure) == ["accuracy", "strict accuracy", "candidate recall@20"]
    panel = figure.axes[0]
    assert [text.get_text() for text in panel.get_xticklabels()] == epochs
    assert panel.get_title(loc="left") == ("1 evaluation" if n == 1 else f"{n} evaluations")
