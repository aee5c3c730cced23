import re

import numpy as np
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.separation import NamePairs
from spacy_sapbert.evaluation.separation_plots import (
    MOST_PAIRS_OF_A_HEAT_MAP,
    check_heat_map,
    names_of_largest_concepts,
    plot_clusters,
    plot_heat_maps,
    plot_histograms,
)
from spacy_sapbert.metrics.separation import measure_separation

LONG = "hereditary motor and sensory neuropathy, type two"


def named(*concept_ids):
    n = len(concept_ids)
    places = [np.array([place]) for place in range(n)]
    return NamePairs([f"l{place}" for place in range(n)], [f"r{place}" for place in range(n)], concept_ids, places, 0)


def vectors(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)


def draw_histograms(folder):
    pairs = named(*"ABCD")
    found = {label: measure_separation(vectors(4, i), vectors(4, 9), pairs.synonyms) for i, label in enumerate("xy")}
    plot_histograms(found, folder)


def draw_heat_maps(folder):
    pairs = named(*"ABC")._replace(left=["asthma", LONG, "ms"])
    plot_heat_maps(pairs, {label: vectors(3, i)[:, :3] for i, label in enumerate("xy")}, folder)


def draw_clusters(folder):
    names = {f"C{i}": [f"name {i} {j}" for j in range(2)] for i in range(12)}
    plot_clusters(names, {label: vectors(24, i) for i, label in enumerate("xy")}, folder)


@pytest.mark.parametrize(
    ("draw", "name", "texts"),
    [
        (draw_histograms, "separation", ["synonyms", "different concepts"]),
        (draw_heat_maps, "heat_map", ["asthma", "hereditary motor and sensory …", "r2"]),
        (draw_clusters, "clusters", ["name 0 0", "name 11 0"]),
    ],
)
def test_pictures_are_the_same_when_drawn_twice(tmp_path, draw, name, texts):
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
        draw(folder)
    for ending, beginning in ((".svg", b"<?xml"), (".png", b"\x89PNG")):
        one, other = ((folder / f"{name}{ending}").read_bytes() for folder in folders)
        assert one == other
        assert one.startswith(beginning)
    marks = re.findall("<!-- (.*?) -->", (folders[0] / f"{name}.svg").read_text())
    assert {"x", "y", *texts} <= set(marks)


def test_a_heat_map_of_many_pairs_is_refused():
    check_heat_map(named(*map(str, range(MOST_PAIRS_OF_A_HEAT_MAP))))
    with pytest.raises(SapbertError, match=r"E546.* 41 pairs.* at most 40"):
        check_heat_map(named(*map(str, range(MOST_PAIRS_OF_A_HEAT_MAP + 1))))


def test_concepts_with_most_names_are_chosen():
    pairs = named(*"ABCBA")._replace(left=["a", "b", "c", "b", "a"])  # 3, 3 and 2 names
    assert names_of_largest_concepts(pairs, 2) == {"A": ["a", "r0", "r4"], "B": ["b", "r1", "r3"]}
    assert list(names_of_largest_concepts(pairs, 9)) == ["A", "B", "C"]
