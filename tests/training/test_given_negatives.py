"""Runs on pairs and triples, with the parts that go with each; and with a projection behind the encoder."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.losses import multiple_negatives_ranking, triplet
from spacy_sapbert.training.mining import given_triplets, in_batch_negatives
from spacy_sapbert.training.pair_table import PairWithNegatives

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="session")
def pairs_with_negatives(synonym_pairs):
    """Each pair with three names of the next three concepts."""
    names = {pair.concept_id: pair.name1 for pair in synonym_pairs}
    others = itertools.cycle(names.items())
    return [
        PairWithNegatives(
            *pair, tuple((name, (key,)) for key, name in itertools.islice(others, 4) if key != pair[0])[:3]
        )
        for pair in synonym_pairs
    ]


@pytest.mark.parametrize(
    ("given", "miner", "loss"),
    [
        (False, in_batch_negatives, multiple_negatives_ranking),
        (True, in_batch_negatives, multiple_negatives_ranking),
        (True, given_triplets, triplet),
    ],
)
def test_a_run_lowers_the_loss(make_run, read_curve, synonym_pairs, pairs_with_negatives, tmp_path, given, miner, loss):
    pairs = pairs_with_negatives if given else synonym_pairs
    make_run(pairs, miner=miner(), loss=loss(), max_epochs=6, dropout=False).train(tmp_path)
    curve = [line["loss"] for line in read_curve(tmp_path)]
    assert sum(curve[-5:]) < 0.8 * sum(curve[:5])


# --- a projection


def frozen(run):
    return {name for name, weights in run.encoder.model.named_parameters() if not weights.requires_grad}


@pytest.mark.parametrize("alone", [False, True])
def test_a_projection_is_trained(make_run, read_curve, tiny_encoder, tmp_path, alone):
    run = make_run(projection="tanh", projection_dim=16, projection_alone=alone, max_epochs=6, dropout=False)
    everything = {name for name, _ in run.encoder.model.named_parameters()}
    layer = {f"name_projection.linear.{part}" for part in ("weight", "bias")}
    assert frozen(run) == (everything - layer if alone else set())
    run.train(tmp_path)
    curve = [line["loss"] for line in read_curve(tmp_path)]
    assert sum(curve[-5:]) < sum(curve[:5])
    saved = TransformerEncoder(str(tmp_path / "model-last"), device="cpu")
    np.testing.assert_allclose(saved.encode(["bacor"]), run.encoder.encode(["bacor"]), atol=1e-5)
    assert saved.dim == 16
    before, after = (load_file(folder / WEIGHTS) for folder in (tiny_encoder, tmp_path / "model-last"))
    assert all(torch.equal(before[name], after[name]) for name in after) is alone


def test_a_run_with_a_projection_goes_on(make_run, tmp_path):
    settings = {"projection": "tanh", "projection_alone": True}
    make_run(**settings).train(tmp_path / "whole")
    for _ in range(5):
        make_run(**settings).train(tmp_path / "parts", resume=True, max_minutes=0)
    whole, parts = (load_file(tmp_path / name / "model-last" / "2_Dense" / WEIGHTS) for name in ("whole", "parts"))
    torch.testing.assert_close(parts, whole, rtol=0, atol=0)
    with pytest.raises(SapbertError, match=r"E305.*projection_dim"):
        make_run(**settings, projection_dim=8).train(tmp_path / "parts", resume=True)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"projection_alone": True}, "E406.*projection_alone of .* is True"),
        ({"projection": "tanh", "projection_alone": True, "adapter": 2}, "E406.*no adapter"),
        ({"projection": "tanh", "projection_dim": 0}, "E406.*projection_dim of .* is 0"),
        ({"projection": "softmax"}, "E125.*softmax.*tanh"),
    ],
)
def test_settings_of_a_projection_that_are_impossible(make_run, settings, told):
    with pytest.raises(SapbertError, match=told):
        make_run(**settings)
