import gc

import numpy as np
import pytest
import torch
from thinc.api import Adam

from spacy_sapbert.encoders.segments import thinc_encoder
from spacy_sapbert.errors import SapbertError

NAMES = ["cold", "breast cancer", "a", "neoplasms of the breast", "cancer"]


def learn(model, encoder, target, steps=1):
    """Draw all vectors towards one."""
    optimizer = Adam(1e-2, L2=0.0)
    for _ in range(steps):
        vectors, backprop = model.begin_update(encoder.tokenize(NAMES))
        backprop(vectors - target)
        model.finish_update(optimizer)
    return vectors


def test_vectors_are_those_of_the_encoder(encoder):
    model = thinc_encoder(encoder)
    pieces = encoder.tokenize(NAMES)
    vectors = encoder.encode(NAMES)
    assert model.predict(pieces) == pytest.approx(vectors, abs=1e-5)
    # there is dropout only while a batch is read to learn from
    learning, _ = model.begin_update(pieces)
    assert not np.allclose(learning, vectors, atol=1e-3)
    assert encoder.encode(NAMES) == pytest.approx(vectors, abs=1e-5)


def test_without_dropout_learning_sees_the_same_vectors(encoder):
    vectors, _ = thinc_encoder(encoder, dropout=False).begin_update(encoder.tokenize(NAMES))
    assert vectors == pytest.approx(encoder.encode(NAMES), abs=1e-5)


def test_gradients_are_slopes(encoder):
    model = thinc_encoder(encoder, dropout=False)
    pieces = encoder.tokenize(NAMES)
    direction = np.random.default_rng(0).normal(size=(len(NAMES), encoder.dim)).astype(np.float32)
    _, backprop = model.begin_update(pieces)
    backprop(direction)
    weights = encoder.model.encoder.layer[1].output.dense.weight
    gradient = weights.grad.clone()
    values = []
    for step in (1e-2, -1e-2):
        weights.data[3, 5] += step
        values.append(float((model.predict(pieces) * direction).sum()))
        weights.data[3, 5] -= step
    assert float(gradient[3, 5]) == pytest.approx((values[0] - values[1]) / 2e-2, rel=0.02, abs=1e-4)


def test_an_optimizer_of_thinc_trains_the_encoder(encoder):
    target = encoder.encode(["cold"])
    before = np.linalg.norm(encoder.encode(NAMES) - target)
    learn(thinc_encoder(encoder), encoder, target, steps=20)
    assert np.linalg.norm(encoder.encode(NAMES) - target) < 0.5 * before


def test_only_the_upper_layers_are_trained(encoder):
    before = {name: weights.clone() for name, weights in encoder.model.state_dict().items()}
    learn(thinc_encoder(encoder, trained_layers=1), encoder, encoder.encode(["cold"]))
    changed = {name for name, weights in encoder.model.state_dict().items() if not weights.equal(before[name])}
    assert changed
    assert all(name.startswith("encoder.layer.1.") for name in changed)


@pytest.mark.parametrize("expected", [0, 3])
def test_more_layers_than_there_are_cannot_be_trained(encoder, expected):
    with pytest.raises(SapbertError, match=r"E406.*from 1 to 2"):
        thinc_encoder(encoder, trained_layers=expected)


def test_memory_does_not_grow_with_the_updates(encoder):
    def tensors():
        gc.collect()
        return sum(type(thing) in (torch.Tensor, torch.nn.Parameter) for thing in gc.get_objects())

    model, target = thinc_encoder(encoder), encoder.encode(["cold"])
    learn(model, encoder, target)
    before = tensors()
    learn(model, encoder, target, steps=5)
    assert tensors() <= before
