from __future__ import annotations

import numpy as np
import pytest
import torch

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.losses import Teacher, multi_similarity

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
    wanted = TransformerEncoder(other, device="cpu").encode(NAMES)
    expected = 2.5 * np.mean([1 - wanted[i] @ vectors[i].detach().numpy() for i in range(3)])
    loss = Teacher(other, weight=2.5)(NAMES, vectors)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    loss.backward()
    np.testing.assert_allclose(vectors.grad, -2.5 / 3 * wanted, atol=1e-5)


def test_the_same_vectors_cost_nothing(other):
    vectors = torch.from_numpy(TransformerEncoder(other, device="cpu").encode(NAMES))
    assert Teacher(other)(NAMES, vectors).item() == pytest.approx(0, abs=1e-5)


def test_a_teacher_whose_vectors_are_raw_teaches_their_directions(other, make_encoder):
    raw = str(make_encoder(seed=7, pooling="mean", l2_normalized=False))
    vectors = random_vectors()
    assert Teacher(raw)(NAMES, vectors).item() == pytest.approx(Teacher(other)(NAMES, vectors).item(), rel=1e-5)


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
    run = make_run(teacher=Teacher(other, weight=0.5), miner=lambda *given: nothing_of(*given), dropout=False)
    names = run.pairs.batch(run._batches_of(0)[0]).names
    expected = Teacher(other, weight=0.5)(names, run._encode(names)).item()
    with pytest.warns(UserWarning, match="W330"):
        run.train(tmp_path)
    curve = read_curve(tmp_path)
    assert curve[0]["loss"] == pytest.approx(expected, rel=1e-5)
    assert curve[-1]["loss"] < curve[0]["loss"]


def nothing_of(vectors, batch):
    from spacy_sapbert.training.mining import hard_triplets

    return hard_triplets(-10.0)(vectors, batch)


def test_both_losses_are_added(make_run, other, read_curve, tmp_path):
    for name, teacher in (("alone", None), ("taught", Teacher(other))):
        make_run(teacher=teacher, loss=multi_similarity(), dropout=False, max_steps=1).train(tmp_path / name)
    run = make_run(dropout=False)
    names = run.pairs.batch(run._batches_of(0)[0]).names
    alone, taught = (read_curve(tmp_path / name)[0]["loss"] for name in ("alone", "taught"))
    assert taught - alone == pytest.approx(Teacher(other)(names, run._encode(names)).item(), rel=1e-4)
