import numpy as np
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.separation import evaluate_separation, read_name_pairs
from spacy_sapbert.metrics.separation import as_measures

PAIRS = "A||a1||a2\nB||b1||b2\nC||c1||c2\n"
VECTORS = {"a1": (1, 0), "a2": (0.6, 0.8), "b1": (0, 2), "b2": (4, 3), "c1": (-1, 0), "c2": (0, 1)}


class Given:
    """An encoder with given vectors."""

    def encode(self, texts):
        return np.array([VECTORS[text] for text in texts], dtype=np.float32)


def write(folder, pairs, shared="", name="pairs.txt", shared_name="pairs.shared.txt"):
    (folder / name).write_text(pairs)
    if shared:
        (folder / shared_name).write_text(shared)
    return folder / name


def test_measures_by_hand(tmp_path):
    pairs = read_name_pairs(write(tmp_path, PAIRS))
    # synonyms 0.6, 0.6, 0; the others 0.8, 0, 0.8, 1, -0.6, -0.8
    assert as_measures(evaluate_separation(Given(), pairs)) == {
        "positive": {"n": 3, "mean": 0.4, "sd": 0.2828},
        "negative": {"n": 6, "mean": 0.2, "sd": 0.7118},
        "difference": 0.2,
        "overlap": 16.67,  # of the synonyms a third and of the others a sixth lie at 0
        "auc": 47.22,  # (3 + 3 + 2.5) / 18
        "threshold_eer": pytest.approx(0.3, abs=1e-3),  # from 0 to 0.6 it is all the same
        "eer": 41.67,  # a third of the synonyms is missed, half of the others is taken for synonyms
    }


def test_names_of_one_concept_are_not_negatives(tmp_path):
    text = "A||cold||coryza\nA||common cold||head cold\nB||cold||chill\nC||rhinitis||nasal catarrh\nC||x||x\n"
    pairs = read_name_pairs(write(tmp_path, text, "chill||B||D\nnasal catarrh||C||D\nunused||A||C\n"))
    assert pairs.same_name == 1
    # "cold" is a name of A and B; "chill" and "nasal catarrh" are both of D
    assert [list(places) for places in pairs.synonyms] == [[0, 1, 2], [0, 1], [0, 1, 2], [3]]
    other = read_name_pairs(write(tmp_path, "B||chill||cold\nC||catarrh||nasal catarrh\nE||e||f\n"))
    assert [list(places) for places in other.synonyms] == [[0, 1], [1], [2]]


@pytest.mark.parametrize("name", ["eval.txt", "plot.txt"])
def test_pairs_set_aside_have_the_shared_names_of_those_to_train_on(tmp_path, name):
    pairs = read_name_pairs(write(tmp_path, PAIRS, "a1||A||B\n", name, "train.shared.txt"))
    assert [list(places) for places in pairs.synonyms] == [[0, 1], [1], [2]]


@pytest.mark.parametrize("pairs", ["", "A||a||b\n", "A||a||a\nB||b||c\n", "A||a||b\nA||c||d\n", "A||a||b\nB||a||b\n"])
def test_pairs_that_do_not_differ_are_reported(tmp_path, pairs):
    with pytest.raises(SapbertError, match=r"E105.*pairs.txt"):
        read_name_pairs(write(tmp_path, pairs))
