"""Losses of few vectors in the plane, beside what the formulas of the papers give."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from pytorch_metric_learning.losses import NCALoss, NTXentLoss

from spacy_sapbert.training import losses
from spacy_sapbert.training.mining import hard_triplets, in_batch_negatives
from spacy_sapbert.training.pair_table import Batch

# two synonyms, and two others that are synonyms of each other
DEGREES = (0, 40, 70, 200)
SYNONYMS = {0: 1, 1: 0, 2: 3, 3: 2}
OTHERS = {0: (2, 3), 1: (2, 3), 2: (0, 1), 3: (0, 1)}

LOSSES = [
    losses.multi_similarity(),
    losses.info_nce(),
    losses.nca(),
    losses.lifted_structure(),
    losses.circle(),
    losses.triplet(),
    losses.cosine(),
]


def at(*degrees):
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
    return torch.stack((angles.cos(), angles.sin()), dim=1)


def matrix(pairs, n=4):
    found = torch.zeros((n, n), dtype=torch.bool)
    for left, right in pairs:
        found[left, right] = True
    return found


def batch_of(synonyms):
    return Batch([], np.empty((0, 2), dtype=np.int64), synonyms.numpy())


VECTORS = at(*DEGREES)
ALL = hard_triplets(None)(VECTORS, batch_of(matrix(SYNONYMS.items())))


def cos(left, right):
    return math.cos(math.radians(DEGREES[left] - DEGREES[right]))


def dist(left, right):
    """The chord between two points of the unit circle."""
    return abs(2 * math.sin(math.radians(DEGREES[left] - DEGREES[right]) / 2))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def test_multi_similarity_by_hand():
    alpha, beta, base = 2.0, 10.0, 0.4
    expected = mean(
        math.log(1 + math.exp(-alpha * (cos(a, p) - base))) / alpha
        + math.log(1 + sum(math.exp(beta * (cos(a, n) - base)) for n in OTHERS[a])) / beta
        for a, p in SYNONYMS.items()
    )
    assert losses.multi_similarity(alpha, beta, base)(VECTORS, ALL).item() == pytest.approx(expected)


def test_multi_similarity_of_what_was_mined_only():
    """The mean goes over all names of the batch; those of which nothing was mined add nothing."""
    mined = hard_triplets(0.2)(VECTORS, batch_of(matrix(SYNONYMS.items())))
    assert mined.triplets.tolist() == [[1, 0, 2], [2, 3, 0], [2, 3, 1], [3, 2, 0], [3, 2, 1]]
    negatives = {1: (2,), 2: (0, 1), 3: (0, 1)}
    expected = sum(
        math.log(1 + math.exp(-(cos(a, SYNONYMS[a]) - 0.5)))
        + math.log(1 + sum(math.exp(60 * (cos(a, n) - 0.5)) for n in others)) / 60
        for a, others in negatives.items()
    )
    assert losses.multi_similarity()(VECTORS, mined).item() == pytest.approx(expected / 4)


def test_info_nce_by_hand():
    tau = 0.5
    expected = mean(
        -math.log(
            math.exp(cos(a, p) / tau) / (math.exp(cos(a, p) / tau) + sum(math.exp(cos(a, n) / tau) for n in OTHERS[a]))
        )
        for a, p in SYNONYMS.items()
    )
    assert losses.info_nce(tau)(VECTORS, ALL).item() == pytest.approx(expected)


def test_info_nce_of_several_positives_by_hand():
    """Names 0 to 2 are synonyms, 3 is none: six pairs, each against the one negative of its anchor."""
    synonyms = matrix((a, p) for a in range(3) for p in range(3) if a != p)
    mined = hard_triplets(None)(VECTORS, batch_of(synonyms))
    expected = mean(math.log(1 + math.exp((cos(a, 3) - cos(a, p)) / 0.5)) for a in range(3) for p in range(3) if a != p)
    assert losses.info_nce(0.5)(VECTORS, mined).item() == pytest.approx(expected)


# the negatives are second names: 1 and 3, and 4 is given with the first pair
RANKED = Batch(
    [],
    np.array([[0, 1], [2, 3]]),
    matrix([(0, 1), (1, 0), (2, 3), (3, 2), (4, 2), (2, 4)], n=5).numpy(),
    np.array([[0, 1, 4]]),
)
RANKED_VECTORS = at(*DEGREES, 55)


def test_multiple_negatives_ranking_by_hand():
    """Name 2 has one negative less, since 4 is a synonym of it."""
    score = {0: [math.cos(math.radians(d)) for d in (40, 200, 55)], 2: [math.cos(math.radians(d)) for d in (130, 30)]}
    expected = mean(
        -math.log(math.exp(5 * right) / sum(math.exp(5 * one) for one in scores))
        for right, scores in ((score[0][0], score[0]), (score[2][0], [score[2][0], score[2][1]]))
    )
    mined = in_batch_negatives()(RANKED_VECTORS, RANKED)
    assert losses.multiple_negatives_ranking(5.0)(RANKED_VECTORS, mined).item() == pytest.approx(expected)


@pytest.mark.parametrize("n_given", [0, 1, 3])
def test_multiple_negatives_ranking_of_pairs_without_synonyms(n_given):
    """As sentence-transformers has it: the cross-entropy of scores of all first by all second names and negatives."""
    torch.manual_seed(n_given)
    n = 6
    vectors = torch.nn.functional.normalize(torch.randn(n * (2 + n_given), 8, dtype=torch.float64), dim=1)
    pairs = np.arange(2 * n).reshape(n, 2)
    given = np.arange(2 * n, len(vectors)).reshape(n, n_given)
    triplets = np.array([[*pair, one] for pair, others in zip(pairs, given, strict=True) for one in others])
    synonyms = matrix([(a, p) for a, p in pairs] + [(p, a) for a, p in pairs], n=len(vectors)).numpy()
    mined = in_batch_negatives()(vectors, Batch([], pairs, synonyms, triplets.astype(int).reshape(-1, 3)))
    candidates = vectors[np.concatenate((pairs[:, 1], given.ravel()))]
    expected = torch.nn.functional.cross_entropy(20 * vectors[pairs[:, 0]] @ candidates.T, torch.arange(n))
    found = losses.multiple_negatives_ranking()(vectors, mined)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)


def test_nca_by_hand():
    scale = 1.5
    weight = [[math.exp(-scale * dist(a, b) ** 2) for b in range(4)] for a in range(4)]
    expected = mean(
        -math.log(weight[a][p] / (weight[a][p] + sum(weight[a][n] for n in OTHERS[a]))) for a, p in SYNONYMS.items()
    )
    assert losses.nca(scale)(VECTORS, ALL).item() == pytest.approx(expected)


def test_lifted_structure_by_hand():
    """Of one positive, log Σ exp(d(a,p) - pos) is the distance itself."""
    neg, pos = 1.2, 0.1
    expected = mean(
        max(0, dist(a, p) - pos + math.log(sum(math.exp(neg - dist(a, n)) for n in OTHERS[a])))
        for a, p in SYNONYMS.items()
    )
    assert losses.lifted_structure(neg, pos)(VECTORS, ALL).item() == pytest.approx(expected)


def test_circle_by_hand():
    m, gamma = 0.3, 4.0

    def of(a, p):
        right = -gamma * max(0, 1 + m - cos(a, p)) * (cos(a, p) - (1 - m))
        wrong = sum(math.exp(gamma * max(0, cos(a, n) + m) * (cos(a, n) - m)) for n in OTHERS[a])
        return math.log(1 + math.exp(right) * wrong)

    expected = mean(of(a, p) for a, p in SYNONYMS.items())
    assert losses.circle(m, gamma)(VECTORS, ALL).item() == pytest.approx(expected)


def test_triplet_by_hand():
    margin = 0.3
    terms = [dist(a, p) - dist(a, n) + margin for a, p in SYNONYMS.items() for n in OTHERS[a]]
    wrong = [term for term in terms if term > 0]
    assert 0 < len(wrong) < len(terms)
    assert losses.triplet(margin)(VECTORS, ALL).item() == pytest.approx(mean(wrong))


def test_cosine_by_hand():
    margin = 0.1
    wrong = [cos(a, n) - margin for a in range(4) for n in OTHERS[a] if cos(a, n) > margin]
    expected = mean(1 - cos(a, p) for a, p in SYNONYMS.items()) + mean(wrong)
    assert losses.cosine(margin)(VECTORS, ALL).item() == pytest.approx(expected)


# --- beside pytorch-metric-learning


def random_names(seed, n=30, n_labels=8, dim=6):
    torch.manual_seed(seed)
    labels = torch.arange(n) % n_labels
    vectors = torch.nn.functional.normalize(torch.randn(n_labels, dim)[labels] + torch.randn(n, dim), dim=1)
    return vectors, labels, (labels[:, None] == labels).fill_diagonal_(False)


@pytest.mark.parametrize("margin", [0.2, None])
@pytest.mark.parametrize("seed", range(5))
def test_info_nce_equals_nt_xent(seed, margin):
    vectors, _, synonyms = random_names(seed)
    mined = hard_triplets(margin)(vectors, batch_of(synonyms))
    pairs = (*mined.positives.nonzero().T, *mined.negatives.nonzero().T)
    expected = NTXentLoss(temperature=0.07)(vectors, indices_tuple=pairs)
    assert losses.info_nce()(vectors, mined).item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_nca_equals_that_of_labels_where_all_pairs_are_taken(seed):
    vectors, labels, synonyms = random_names(seed)
    expected = NCALoss(softmax_scale=2.0)(vectors, labels)
    found = losses.nca(2.0)(vectors, hard_triplets(None)(vectors, batch_of(synonyms)))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


# --- gradients


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__qualname__.split(".")[0])
@pytest.mark.parametrize("margin", [0.2, None])
def test_gradients_are_finite(loss, margin):
    """Also where two names have the same vector, whose distance has no gradient, and where an anchor has no pair."""
    vectors = at(0, 0, 0, 180, 90, 91).float().requires_grad_()
    mined = hard_triplets(margin)(vectors, batch_of(matrix([(0, 1), (1, 0), (3, 2), (2, 3)], n=6)))
    value = loss(vectors, mined)
    value.backward()
    assert value.isfinite()
    assert value > 0
    assert vectors.grad.isfinite().all()
    assert vectors.grad.abs().max() > 0


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__qualname__.split(".")[0])
def test_a_step_down_the_gradient_lowers_the_loss(loss):
    vectors = VECTORS.clone().requires_grad_()
    before = loss(vectors, ALL)
    before.backward()
    after = torch.nn.functional.normalize(vectors.detach() - 1e-3 * vectors.grad, dim=1)
    assert loss(after, ALL) < before
