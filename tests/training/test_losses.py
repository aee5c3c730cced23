"""Losses of few vectors in the plane, beside what the formulas of the papers give."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pytorch_metric_learning.losses import NCALoss, NTXentLoss

from spacy_sapbert.encoders.static import StaticEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training import losses
from spacy_sapbert.training.losses import Teacher, hard_em, marginal_likelihood, multi_similarity, pairwise
from spacy_sapbert.training.mining import hard_triplets, in_batch_negatives
from spacy_sapbert.training.pair_table import Batch

# two synonyms, and two others that are synonyms of each other
DEGREES = (0, 40, 70, 200)
SYNONYMS = {0: 1, 1: 0, 2: 3, 3: 2}
OTHERS = {0: (2, 3), 1: (2, 3), 2: (0, 1), 3: (0, 1)}

LOSSES = [
    losses.multi_similarity(), losses.info_nce(), losses.nca(), losses.lifted_structure(), losses.circle(),
    losses.triplet(), losses.cosine(),
]  # fmt: skip


def at(*degrees):
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
    return torch.stack((angles.cos(), angles.sin()), dim=1)


def matrix(pairs, n=4):
    result = torch.zeros((n, n), dtype=torch.bool)
    for left, right in pairs:
        result[left, right] = True
    return result


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


def test_info_nce_by_hand():
    tau = 0.5
    expected = mean(
        -math.log(
            math.exp(cos(a, p) / tau) / (math.exp(cos(a, p) / tau) + sum(math.exp(cos(a, n) / tau) for n in OTHERS[a]))
        )
        for a, p in SYNONYMS.items()
    )
    assert losses.info_nce(tau)(VECTORS, ALL).item() == pytest.approx(expected)


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
    result = losses.multiple_negatives_ranking()(vectors, mined)
    assert result.item() == pytest.approx(expected.item(), rel=1e-6)


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
    result = losses.nca(2.0)(vectors, hard_triplets(None)(vectors, batch_of(synonyms)))
    assert result.item() == pytest.approx(expected.item(), rel=1e-5)


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


# --- distillation


NAMES = ["breast cancer", "cold", "neoplasms"]


@pytest.fixture(scope="module")
def other(make_encoder):
    """The folder of another encoder with as many dimensions."""
    return str(make_encoder(seed=7, pooling="mean"))


def random_vectors():
    torch.manual_seed(0)
    return torch.nn.functional.normalize(torch.randn(3, 32), dim=1).requires_grad_()


def test_the_loss_by_hand(other):
    vectors = random_vectors()
    target = TransformerEncoder(other, device="cpu").encode(NAMES)
    expected = 2.5 * np.mean([1 - target[i] @ vectors[i].detach().numpy() for i in range(3)])
    loss = Teacher(other, weight=2.5)(NAMES, vectors)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    loss.backward()
    np.testing.assert_allclose(vectors.grad, -2.5 / 3 * target, atol=1e-5)


def test_a_teacher_whose_vectors_are_raw_teaches_their_directions(other, make_encoder):
    raw = str(make_encoder(seed=7, pooling="mean", l2_normalized=False))
    vectors = random_vectors()
    assert Teacher(raw)(NAMES, vectors).item() == pytest.approx(Teacher(other)(NAMES, vectors).item(), rel=1e-5)


def test_a_table_may_be_the_teacher():
    vectors = random_vectors()
    target = torch.from_numpy(StaticEncoder("starter").encode(NAMES))
    expected = (vectors @ vectors.T - target @ target.T).square().mean().item()
    assert Teacher("starter", similarities=True)(NAMES, vectors).item() == pytest.approx(expected, rel=1e-5)
    with pytest.raises(SapbertError, match=r"E406.*none.*an encoder"):
        Teacher("none")


def test_a_teacher_of_another_length_is_reported(other):
    with pytest.raises(SapbertError, match=r"E305.*32.*16"):
        Teacher(other)(NAMES, torch.ones(3, 16))


@pytest.mark.filterwarnings("error")
def test_names_of_a_vocabulary_are_encoded_once(float32, other, small_kb, monkeypatch):
    vectors = random_vectors()
    expected = Teacher(other)(NAMES, vectors).item()
    teacher = Teacher(other, kb=str(small_kb.path))
    assert teacher(NAMES, vectors).item() == pytest.approx(expected, abs=1e-5)
    encoded, encode = [], TransformerEncoder.encode
    monkeypatch.setattr(
        TransformerEncoder,
        "encode",
        lambda self, texts, **options: encoded.extend(texts) or encode(self, texts, **options),
    )
    assert teacher([*NAMES, "bafen"], torch.cat((vectors, vectors[:1]))).item() > 0
    assert encoded == ["bafen"]


def test_an_encoder_is_drawn_to_its_teacher(make_run, other, read_curve, tmp_path):
    """With no loss of its own, all that a run learns is from the teacher."""
    run = make_run(teacher=Teacher(other), loss=lambda vectors, mined: vectors.sum() * 0, max_epochs=8, dropout=False)
    run.train(tmp_path)
    losses = [line["loss"] for line in read_curve(tmp_path)]
    assert losses[-1] < 0.5 * losses[0]


def test_a_teacher_teaches_where_nothing_is_hard(make_run, other, read_curve, tmp_path):
    run = make_run(teacher=Teacher(other, weight=0.5), miner=hard_triplets(-10.0), dropout=False)
    names = run.pairs.batch(run._batches_of(0)[0]).names
    expected = Teacher(other, weight=0.5)(names, run._encode(names)).item()
    run.train(tmp_path)
    curve = read_curve(tmp_path)
    assert curve[0]["loss"] == pytest.approx(expected, rel=1e-5)
    assert curve[-1]["loss"] < curve[0]["loss"]


def test_both_losses_are_added(make_run, other, read_curve, tmp_path):
    for name, teacher in (("alone", None), ("taught", Teacher(other))):
        make_run(teacher=teacher, loss=multi_similarity(), dropout=False, max_steps=1).train(tmp_path / name)
    run = make_run(dropout=False)
    names = run.pairs.batch(run._batches_of(0)[0]).names
    alone, taught = (read_curve(tmp_path / name)[0]["loss"] for name in ("alone", "taught"))
    assert taught - alone == pytest.approx(Teacher(other)(names, run._encode(names)).item(), rel=1e-4)


def test_a_teacher_of_similarities_may_have_other_vectors(other):
    names, vectors = NAMES[:3], torch.nn.functional.normalize(torch.tensor([[1.0, 0], [0.6, 0.8], [0, 1]]), dim=1)
    targets = torch.from_numpy(TransformerEncoder(other, l2_normalized=True).encode(names))
    difference = vectors @ vectors.T - targets @ targets.T
    expected = 0.5 * (difference**2).sum() / 9
    assert Teacher(other, weight=0.5, similarities=True)(names, vectors).item() == pytest.approx(
        expected.item(), rel=1e-4
    )


# --- candidates of mentions


CANDIDATE_LOSSES = [marginal_likelihood, hard_em, pairwise]
# e^0 : e^log2 : e^log5 = 1 : 2 : 5, so the softmax is 1/8, 2/8, 5/8
SCORES = np.array([[0.0, math.log(2), math.log(5)]])
RIGHT = np.array([[True, True, False]])


@pytest.mark.parametrize(
    ("loss", "expected", "slopes"),
    [
        # softmax less its share among the right ones, which are 1/3 and 2/3
        (marginal_likelihood, -math.log(3 / 8), [1 / 8 - 1 / 3, 2 / 8 - 2 / 3, 5 / 8]),
        (hard_em, -math.log(2 / 8), [1 / 8, 2 / 8 - 1, 5 / 8]),
        # log(1 + 5/1) and log(1 + 5/2), each with half the weight; slopes 5/6 and 5/7
        (pairwise, (math.log(6) + math.log(3.5)) / 2, [-5 / 12, -5 / 14, 5 / 12 + 5 / 14]),
    ],
)
def test_losses_of_candidates_by_hand(loss, expected, slopes):
    losses, gradients = loss(SCORES, RIGHT)
    assert losses == pytest.approx([expected])
    assert gradients == pytest.approx(np.array([slopes]))


@pytest.mark.parametrize("loss", CANDIDATE_LOSSES)
@pytest.mark.parametrize("right", [False, True])
def test_a_mention_without_right_or_without_wrong_candidates_teaches_nothing(loss, right):
    losses, gradients = loss(np.concatenate([SCORES, SCORES]), np.concatenate([RIGHT, np.full((1, 3), right)]))
    assert losses[1] == 0
    assert not gradients[1].any()
    assert losses[0] > 0
    assert gradients[0].any()


@pytest.mark.parametrize("loss", CANDIDATE_LOSSES)
@given(scores=arrays(np.float64, (2, 4), elements=st.floats(-30, 30)), right=arrays(np.bool_, (2, 4)))
def test_gradients_are_slopes_of_the_loss(loss, scores, right):
    step = 1e-5
    if loss is hard_em:  # it has a kink where the best right candidate changes
        scores = scores + np.arange(4) * 1e-2
    _, gradients = loss(scores, right)
    for position in np.ndindex(scores.shape):
        moved = np.zeros_like(scores)
        moved[position] = step
        slope = (loss(scores + moved, right)[0].sum() - loss(scores - moved, right)[0].sum()) / (2 * step)
        if loss is hard_em and _is_near_a_kink(scores, right, step):
            continue
        assert gradients[position] == pytest.approx(slope, abs=1e-4)
    assert np.isfinite(gradients).all()
    assert gradients.sum(axis=1) == pytest.approx(np.zeros(2), abs=1e-9)


def _is_near_a_kink(scores, right, step):
    for row, which in zip(scores, right, strict=True):
        best = np.sort(row[which])[-2:]
        if len(best) == 2 and best[1] - best[0] <= 2 * step:
            return True
    return False


@pytest.mark.parametrize("loss", CANDIDATE_LOSSES)
def test_huge_scores_overflow_nowhere(loss):
    with np.errstate(over="raise", invalid="raise"):
        losses, gradients = loss(np.array([[1e4, -1e4, 0.0]]), np.array([[False, True, False]]))
    assert np.isfinite(losses).all()
    assert np.isfinite(gradients).all()
