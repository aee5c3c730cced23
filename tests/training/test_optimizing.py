from __future__ import annotations

import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.training.optimizing import adamw, warmup_linear


def factors(total, **settings):
    schedule = warmup_linear(**settings)
    return [schedule(step, total) for step in range(total)]


def test_the_rate_goes_down_in_a_line():
    assert factors(4) == [1, 0.75, 0.5, 0.25]


def test_the_rate_goes_up_first():
    assert factors(7, warmup_steps=3) == pytest.approx([0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25])


def test_the_rate_goes_down_to_where_it_is_told():
    assert factors(4, final=0.2) == pytest.approx([1, 0.8, 0.6, 0.4])
    assert factors(5, warmup_steps=1, final=1) == [0.5, 1, 1, 1, 1]


@pytest.mark.parametrize("warmup", [0, 1, 5, 6, 100])
def test_the_rate_is_never_below_0_nor_above_its_highest(warmup):
    assert all(0 < factor <= 1 for factor in factors(5, warmup_steps=warmup))


@pytest.fixture
def model(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu").model


def groups(model, **settings):
    """RETURNS (dict[float, set[str]]): the names of the weights, by how they decay."""
    names = {id(weight): name for name, weight in model.named_parameters()}
    made = adamw(**settings)(model)
    return {group["weight_decay"]: {names[id(weight)] for weight in group["params"]} for group in made.param_groups}


def test_biases_and_norms_do_not_decay(model):
    found = groups(model, weight_decay=0.3)
    still = {name for name, _ in model.named_parameters() if name.endswith("bias") or "LayerNorm" in name}
    assert found == {0.3: {name for name, _ in model.named_parameters()} - still, 0.0: still}
    assert "encoder.layer.0.attention.self.query.weight" in found[0.3]
    assert "embeddings.word_embeddings.weight" in found[0.3]
    assert "embeddings.LayerNorm.weight" in found[0.0]


def test_frozen_weights_are_left_out(model):
    model.embeddings.requires_grad_(False)
    found = groups(model, weight_decay=0.3)
    assert found[0.0]
    assert not any(name.startswith("embeddings") for names in found.values() for name in names)


def test_the_learning_rate_is_that_of_the_setting(model):
    assert {group["lr"] for group in adamw(learn_rate=3e-4)(model).param_groups} == {3e-4}
