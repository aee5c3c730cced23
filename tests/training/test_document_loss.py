import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.training.retriever_trainer import DocumentLoss
from spacy_sapbert.training.settings import ConceptRetrieval

N, DIM = 30, 8


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


class Vectors:
    """Of 30 concepts, at random."""

    def __init__(self, n=N):
        self.vectors = unit(np.random.default_rng(1).normal(size=(n, DIM)))
        self.concepts = range(n)

    def nearest(self, queries, n):
        cosines = queries @ self.vectors.T
        positions = np.argsort(-cosines, axis=1, kind="stable")[:, :n]
        return np.take_along_axis(cosines, positions, axis=1), positions


def segments(seed=0, n=3):
    return unit(np.random.default_rng(seed).normal(size=(n, DIM)))


def make(n=N, **others):
    return DocumentLoss(Vectors(n), ConceptRetrieval(**others))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 1000),
    st.integers(1, 4),
    st.sets(st.integers(0, N - 1), min_size=1, max_size=4),
    st.sampled_from([0.05, 1.0]),
)
def test_loss_and_gradient_are_those_of_the_formula(seed, n_segments, right, temperature):
    """−log of the share of each right concept beside the wrong ones, averaged; a cosine is that of the best segment."""
    vectors, right = segments(seed, n_segments), sorted(right)
    loss, gradient = make(temperature=temperature)(vectors, right)
    wrong = make().wrong(vectors, right).tolist()
    given_ = torch.tensor(vectors, dtype=torch.float64, requires_grad=True)
    concepts = torch.tensor(Vectors().vectors, dtype=torch.float64)
    scores = (given_ @ concepts.T).max(dim=0).values / temperature
    of_each = [torch.logsumexp(scores[[one, *wrong]], 0) - scores[one] for one in right]
    expected = sum(of_each) / len(right)
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-4, abs=1e-6)
    assert gradient == pytest.approx(given_.grad.numpy(), rel=1e-3, abs=1e-4)
    assert gradient.dtype == np.float32


def test_wrong_ones_are_the_nearest_and_some_at_random():
    vectors, right = segments(), [4, 9]
    drawn = make(hard=6, random=5).wrong(vectors, right).tolist()
    best = (vectors @ Vectors().vectors.T).max(axis=0)
    assert drawn[:6] == [position for position in np.argsort(-best) if position not in right][:6]
    assert len(drawn) == len(set(drawn)) == 11
    assert not set(drawn) & set(right)


def test_they_are_drawn_anew_and_by_the_seed():
    one, same, other = make(seed=1), make(seed=1), make(seed=2)
    draws = [[which.wrong(segments(), [4]).tolist() for _ in range(3)] for which in (one, same, other)]
    assert draws[0] == draws[1] != draws[2]
    assert draws[0][0] != draws[0][1]
    assert draws[0][0][:20] == draws[0][1][:20]


@pytest.mark.parametrize(("hard", "random", "n"), [(0, 5, 5), (20, 0, 20), (28, 5, 28), (3, 100, 28), (100, 5, 28)])
def test_as_many_as_there_are(hard, random, n):
    drawn = make(hard=hard, random=random).wrong(segments(), [4, 9]).tolist()
    assert len(drawn) == len(set(drawn)) == n
    assert not {4, 9} & set(drawn)


def test_where_every_concept_is_right_there_is_no_loss():
    loss, gradient = make(n=2)(segments(), [0, 1])
    assert loss == 0
    assert not gradient.any()


def test_places_that_an_index_did_not_find_are_left_out():
    loss = make(hard=5, random=0)
    loss.vectors.nearest = lambda queries, n: (np.array([[0.9, 0.5, -np.inf]]), np.array([[3, 4, -1]]))
    assert loss.wrong(segments(n=1), [3]).tolist() == [4]
