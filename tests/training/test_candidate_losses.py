import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_sapbert.training.losses import (
    hard_em,
    make_hard_em,
    make_marginal_likelihood,
    make_pairwise,
    marginal_likelihood,
    pairwise,
)

LOSSES = [marginal_likelihood, hard_em, pairwise]
# e^0 : e^log2 : e^log5 = 1 : 2 : 5, so the softmax is 1/8, 2/8, 5/8
SCORES = np.array([[0.0, math.log(2), math.log(5)]])
RIGHT = np.array([[True, True, False]])


def test_marginal_likelihood_by_hand():
    losses, gradients = marginal_likelihood(SCORES, RIGHT)
    assert losses == pytest.approx([-math.log(3 / 8)])
    # softmax less its share among the right ones, which are 1/3 and 2/3
    assert gradients == pytest.approx(np.array([[1 / 8 - 1 / 3, 2 / 8 - 2 / 3, 5 / 8]]))


def test_hard_em_by_hand():
    losses, gradients = hard_em(SCORES, RIGHT)
    assert losses == pytest.approx([-math.log(2 / 8)])
    assert gradients == pytest.approx(np.array([[1 / 8, 2 / 8 - 1, 5 / 8]]))


def test_pairwise_by_hand():
    losses, gradients = pairwise(SCORES, RIGHT)
    # log(1 + 5/1) and log(1 + 5/2), each with half the weight; slopes 5/6 and 5/7
    assert losses == pytest.approx([(math.log(6) + math.log(3.5)) / 2])
    assert gradients == pytest.approx(np.array([[-5 / 12, -5 / 14, 5 / 12 + 5 / 14]]))


def test_hard_em_takes_the_first_of_equal_ones():
    _, gradients = hard_em(np.zeros((1, 3)), np.array([[False, True, True]]))
    assert gradients == pytest.approx(np.array([[1 / 3, -2 / 3, 1 / 3]]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("right", [False, True])
def test_a_mention_without_right_or_without_wrong_candidates_teaches_nothing(loss, right):
    losses, gradients = loss(np.concatenate([SCORES, SCORES]), np.concatenate([RIGHT, np.full((1, 3), right)]))
    assert losses[1] == 0
    assert not gradients[1].any()
    assert losses[0] > 0
    assert gradients[0].any()


@pytest.mark.parametrize("loss", LOSSES)
@given(
    scores=arrays(np.float64, (2, 4), elements=st.floats(-30, 30)),
    right=arrays(np.bool_, (2, 4)),
)
def test_gradients_are_slopes_of_the_loss(loss, scores, right):
    step = 1e-5
    if loss is hard_em:  # it has a kink where the best right candidate changes
        scores = scores + np.arange(4) * 1e-2
    _, gradients = loss(scores, right)
    for place in np.ndindex(scores.shape):
        moved = np.zeros_like(scores)
        moved[place] = step
        slope = (loss(scores + moved, right)[0].sum() - loss(scores - moved, right)[0].sum()) / (2 * step)
        if loss is hard_em and _is_near_a_kink(scores, right, step):
            continue
        assert gradients[place] == pytest.approx(slope, abs=1e-4)
    assert np.isfinite(gradients).all()
    assert gradients.sum(axis=1) == pytest.approx(np.zeros(2), abs=1e-9)


def _is_near_a_kink(scores, right, step):
    for row, which in zip(scores, right, strict=True):
        best = np.sort(row[which])[-2:]
        if len(best) == 2 and best[1] - best[0] <= 2 * step:
            return True
    return False


@pytest.mark.parametrize("loss", LOSSES)
def test_huge_scores_overflow_nowhere(loss):
    with np.errstate(over="raise", invalid="raise"):
        losses, gradients = loss(np.array([[1e4, -1e4, 0.0]]), np.array([[False, True, False]]))
    assert np.isfinite(losses).all()
    assert np.isfinite(gradients).all()


def test_registered_functions_make_them():
    assert (make_marginal_likelihood(), make_hard_em(), make_pairwise()) == (marginal_likelihood, hard_em, pairwise)
