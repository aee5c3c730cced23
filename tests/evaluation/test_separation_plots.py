import re

import numpy as np
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.figures import save_both
from spacy_sapbert.evaluation.separation import NamePairs
from spacy_sapbert.evaluation.separation_plots import (
    MOST_PAIRS_OF_A_HEAT_MAP,
    check_heat_map,
    draw_clusters,
    draw_heat_maps,
    draw_histograms,
    names_of_largest_concepts,
)
from spacy_sapbert.metrics.separation import equal_error, measure_separation

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


def test_each_concept_looks_different_in_grey():
    figure = cluster_figure(20)
    handles = figure.axes[0].collections
    hollow = [not len(handle.get_facecolor()) for handle in handles]
    shapes = [(handle.get_paths()[0].vertices.tobytes(), one) for handle, one in zip(handles, hollow, strict=True)]
    assert len(set(shapes)) == 20


def test_long_labels_are_wrapped():
    long = "/a/folder/" * 20
    figure = draw_histograms({long: separations()["x"]})
    assert max(map(len, titles(figure)[0].split("\n"))) <= 70


def test_a_heat_map_of_many_pairs_is_refused():
    check_heat_map(named(*map(str, range(MOST_PAIRS_OF_A_HEAT_MAP))))
    with pytest.raises(SapbertError, match=r"E546.* 41 pairs.* at most 40"):
        check_heat_map(named(*map(str, range(MOST_PAIRS_OF_A_HEAT_MAP + 1))))


def test_concepts_with_most_names_are_chosen():
    pairs = named(*"ABCBA")._replace(left=["a", "b", "c", "b", "a"])  # 3, 3 and 2 names
    assert names_of_largest_concepts(pairs, 2) == {"A": ["a", "r0", "r4"], "B": ["b", "r1", "r3"]}
    assert list(names_of_largest_concepts(pairs, 9)) == ["A", "B", "C"]
