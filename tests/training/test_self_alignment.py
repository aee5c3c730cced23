import itertools
import math
import random
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.encoders.static import StaticEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.losses import info_nce, multi_similarity, multiple_negatives_ranking, triplet
from spacy_sapbert.training.mining import given_triplets, hard_triplets, in_batch_negatives
from spacy_sapbert.training.optimizing import adagrad, adamw, warmup_linear
from spacy_sapbert.training.pair_files import Pair
from spacy_sapbert.training.pair_table import PairTable, PairWithNegatives, shuffled_batches
from spacy_sapbert.training.run_files import json_lines
from spacy_sapbert.training.self_alignment import SelfAlignment


def weights(output, folder="model-last"):
    return load_file(output / folder / "model.safetensors")


def assert_same_weights(one, other, **tolerance):
    torch.testing.assert_close(weights(one), weights(other), **{"rtol": 0, "atol": 0, **tolerance})


def sgd(rate):
    return lambda module: torch.optim.SGD(module.parameters(), lr=rate)


CONSTANT = warmup_linear(final=1.0)


# --- a run


def test_a_run_trains_and_saves_an_encoder(make_run, read_curve, tiny_encoder, tmp_path):
    result = make_run(max_epochs=3).train(tmp_path)
    assert result.pop("minutes") >= 0
    assert result == {"steps": 15, "of": 15, "best": None, "finished": True, "processes": 1}
    curve = read_curve(tmp_path)
    assert [line["step"] for line in curve] == list(range(1, 16))
    assert [line["epoch"] for line in curve] == [0] * 5 + [1] * 5 + [2] * 5
    assert [line["pairs"] for line in curve] == [8, 8, 8, 8, 4] * 3
    assert curve[-1]["loss"] < curve[0]["loss"]
    saved = TransformerEncoder(str(tmp_path / "model-last"), device="cpu")
    assert saved.settings["pooling"] == "mean"
    before = TransformerEncoder(str(tiny_encoder), device="cpu")
    assert np.abs(saved.encode(["bador"]) - before.encode(["bador"])).max() > 0.01


def test_the_encoder_can_be_used_after_training(make_run, tmp_path):
    """It encodes without dropout, as the one that was saved, and is known by another fingerprint than before."""
    run = make_run()
    before = run.encoder.fingerprint
    run.train(tmp_path)
    saved = TransformerEncoder(str(tmp_path / "model-last"), device="cpu")
    np.testing.assert_allclose(run.encoder.encode(["bacor", "dofen"]), saved.encode(["bacor", "dofen"]), atol=1e-5)
    assert run.encoder.fingerprint == saved.fingerprint != before


@pytest.mark.parametrize("accumulate", [1, 2])
def test_every_pair_comes_once_an_epoch(make_run, tmp_path, accumulate):
    run = make_run(max_epochs=2, accumulate=accumulate)
    seen, batch = [], run.pairs.batch
    run.pairs.batch = lambda pairs: seen.extend(pairs.tolist()) or batch(pairs)
    run.train(tmp_path)
    assert sorted(seen[:36]) == sorted(seen[36:]) == list(range(36))
    assert seen[:36] != seen[36:]


def test_the_seed_decides(make_run, read_curve, tmp_path):
    for name, seed in (("one", 3), ("same", 3), ("other", 4)):
        make_run(seed=seed).train(tmp_path / name)
    assert read_curve(tmp_path / "one") == read_curve(tmp_path / "same")
    assert_same_weights(tmp_path / "one", tmp_path / "same")
    orders = [make_run(seed=seed)._batches_of(0)[0].tolist() for seed in (3, 4)]
    assert orders[0] != orders[1]
    assert read_curve(tmp_path / "one") != read_curve(tmp_path / "other")


def test_dropout_can_be_turned_off(make_run, read_curve, tmp_path):
    for name, dropout in (("on", True), ("off", False)):
        make_run(dropout=dropout, max_steps=1).train(tmp_path / name)
    assert read_curve(tmp_path / "on")[0]["loss"] != read_curve(tmp_path / "off")[0]["loss"]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_epochs", 0), ("max_steps", 0), ("accumulate", -1), ("checkpoint_every", 0), ("evaluate_every", 0),
        ("max_epochs", "many"), ("accumulate", 1.5), ("precision", "int8"), ("precision", "fp16"), ("batch_size", 0),
        ("max_grad_norm", -0.5), ("max_grad_norm", 0),
    ],
)  # fmt: skip
def test_settings_that_are_impossible(make_run, setting, value):
    """float16 is none for a CPU."""
    with pytest.raises(SapbertError, match=rf"E406.*{setting.removeprefix('batch_')}.*{value}"):
        make_run(**{setting: value})


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"projection_alone": True}, "E406.*projection_alone of .* is True"),
        ({"projection": "tanh", "projection_alone": True, "adapter": 2}, "E406.*no adapter"),
        ({"projection": "tanh", "projection_dim": 0}, "E406.*projection_dim of .* is 0"),
        ({"projection": "softmax"}, "E125.*softmax.*tanh"),
        (
            {"evaluation": lambda encoder: {"acc@1": 1.0, "recall@20": 2.0}, "measure": "acc@5"},
            "E125.*acc@5.*acc@1, recall@20",
        ),
    ],
)
def test_settings_that_do_not_go_together(make_run, tmp_path, settings, reported):
    with pytest.raises(SapbertError, match=reported):
        make_run(**settings).train(tmp_path)


def test_raw_vectors_are_refused(make_run, make_encoder):
    folder = make_encoder(pooling="mean", l2_normalized=False)
    with pytest.raises(SapbertError, match=rf"E345.*{folder}.*l2_normalized = true"):
        make_run(encoder=folder)


# --- going on


class Stopped(Exception):
    """In place of what stops a run without a warning."""


def stop_at(step):
    """RETURNS (Miner): as another, but the run stops when it is asked for this time."""
    calls = itertools.count(1)
    mine = hard_triplets()

    def stopping(vectors, batch):
        if next(calls) == step:
            raise Stopped
        return mine(vectors, batch)

    return stopping


@pytest.mark.parametrize(
    ("settings", "stops"),
    [({}, [2, 3]), ({}, [5, 7]), ({}, [11]), ({"accumulate": 2}, [8, 9]), ({"max_grad_norm": 0.5}, [7])],
)
def test_a_run_that_goes_on_has_the_same_curve(make_run, read_curve, tmp_path, settings, stops):
    """With dropout, over the end of an epoch (5 batches), stopped before, at and after checkpoints."""
    settings = {"max_epochs": 3, "checkpoint_every": 3, **settings}
    make_run(**settings).train(tmp_path / "whole")
    for stop in stops:
        with pytest.raises(Stopped):
            make_run(miner=stop_at(stop), **settings).train(tmp_path / "parts", resume=True)
    result = make_run(**settings).train(tmp_path / "parts", resume=True)
    assert result["finished"]
    assert read_curve(tmp_path / "parts") == read_curve(tmp_path / "whole")
    assert_same_weights(tmp_path / "parts", tmp_path / "whole")


def test_a_run_with_an_adapter_goes_on_as_well(make_run, read_curve, tmp_path):
    pytest.importorskip("adapters")
    settings = {"max_epochs": 3, "checkpoint_every": 3, "adapter": 2}
    make_run(**settings).train(tmp_path / "whole")
    with pytest.raises(Stopped):
        make_run(miner=stop_at(5), **settings).train(tmp_path / "parts", resume=True)
    make_run(**settings).train(tmp_path / "parts", resume=True)
    assert read_curve(tmp_path / "parts") == read_curve(tmp_path / "whole")
    whole, parts = (TransformerEncoder(str(tmp_path / name / "model-last")) for name in ("whole", "parts"))
    assert parts.encode(["bacor"]) == pytest.approx(whole.encode(["bacor"]), abs=1e-5)
    (checkpoint,) = (tmp_path / "parts").glob("checkpoint-*/weights.safetensors")
    assert all("adapters." in name for name in load_file(checkpoint))  # the rest is frozen


def test_a_run_stops_in_time_and_goes_on(make_run, read_curve, tmp_path):
    """Each start does a step at least, else a run would never end."""
    settings = {"max_epochs": 1, "checkpoint_every": 4}
    make_run(**settings).train(tmp_path / "whole")
    for step in range(1, 6):
        result = make_run(**settings).train(tmp_path / "parts", resume=True, max_minutes=0)
        assert (result["steps"], result["finished"]) == (step, step == 5)
        assert [path.name for path in (tmp_path / "parts").glob("checkpoint-*")] == [f"checkpoint-{step}"]
        assert (tmp_path / "parts" / "model-last").is_dir()
    assert read_curve(tmp_path / "parts") == read_curve(tmp_path / "whole")
    assert_same_weights(tmp_path / "parts", tmp_path / "whole")


def test_the_minutes_of_all_starts_count(make_run, tmp_path, monkeypatch):
    ticks = itertools.count(step=60)
    monkeypatch.setattr("time.monotonic", lambda: next(ticks))
    first = make_run().train(tmp_path, max_minutes=0)["minutes"]
    assert first > 0
    assert make_run().train(tmp_path, resume=True, max_minutes=0)["minutes"] == pytest.approx(2 * first)


def test_a_used_folder_is_not_begun_anew(make_run, read_curve, tmp_path):
    make_run(max_steps=2).train(tmp_path)
    curve = read_curve(tmp_path)
    with pytest.raises(SapbertError, match=r"E336.*--resume"):
        make_run(max_steps=2).train(tmp_path)
    assert read_curve(tmp_path) == curve


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"seed": 1}, "seed: 0 there, 1 here"),
        ({"pairs": [Pair("C1", "bador", "dofen")]}, "pairs: "),
        ({"batch_size": 9}, "batches: "),
        ({"accumulate": 2}, "accumulate: 1 there, 2 here"),
        ({"max_steps": 3}, "steps: 2 there, 3 here"),
        ({}, "loss: {'alpha': 1.0} there, {'alpha': 2.0} here"),
    ],
)
def test_a_checkpoint_of_another_run_is_reported(make_run, tmp_path, settings, reported):
    make_run(max_steps=2).train(tmp_path, settings={"loss": {"alpha": 1.0}})
    with pytest.raises(SapbertError, match="E305") as error:
        make_run(**{"max_steps": 2, **settings}).train(tmp_path, resume=True, settings={"loss": {"alpha": 2.0}})
    assert reported in str(error.value)


# --- what is hard, and what is wrong


def test_a_batch_in_which_nothing_is_hard_is_counted_and_changes_nothing(make_run, read_curve, tmp_path):
    states = []

    def miner(vectors, batch):
        states.append(run.encoder.model.encoder.layer[0].output.dense.weight.detach().clone())
        return hard_triplets(-10.0 if len(states) in (2, 4) else 0.2)(vectors, batch)

    run = make_run(miner=miner, optimizer=adamw(0.01), schedule=warmup_linear())
    run.train(tmp_path)
    curve = read_curve(tmp_path)
    assert [line["learn_rate"] for line in curve] == pytest.approx([0.01, 0.008, 0.006, 0.004, 0.002])
    assert [line["nothing_hard"] for line in curve] == [0, 1, 0, 1, 0]
    assert [line["loss"] > 0 for line in curve] == [True, False, True, False, True]
    assert [torch.equal(*before_and_after) for before_and_after in itertools.pairwise(states)] == [False, True] * 2


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_a_number_stops_the_run(make_run, read_curve, tmp_path, value):
    loss, calls = multi_similarity(), itertools.count(1)

    def failing(vectors, mined):
        return loss(vectors, mined) * (value if next(calls) == 4 else 1)

    with pytest.raises(SapbertError, match=rf"E337.*{value} in step 4"):
        make_run(loss=failing, checkpoint_every=2).train(tmp_path)
    assert [line["step"] for line in read_curve(tmp_path)] == [1, 2, 3]
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-2"]
    make_run(checkpoint_every=2).train(tmp_path, resume=True)


def test_gradients_that_are_not_numbers_stop_the_run(make_run, tmp_path):
    """Else the next checkpoint would hold weights that are none."""

    def failing(vectors, mined):
        return multi_similarity()(vectors, mined) + (0 * vectors[0, 0]).sqrt()  # the root has no slope at 0

    with pytest.raises(SapbertError, match="E337"):
        make_run(loss=failing, checkpoint_every=1).train(tmp_path)
    assert not list(tmp_path.glob("checkpoint-*"))


# --- gradients


def one_batch_of(*numbers):
    return lambda pairs, rng: [np.array(batch) for batch in numbers]


def moved(run, output):
    """RETURNS (dict[str, Tensor]): how each weight changed."""
    before = {name: weight.detach().clone() for name, weight in run.encoder.model.named_parameters()}
    run.train(output)
    return {name: weight.detach() - before[name] for name, weight in run.encoder.model.named_parameters()}


def test_the_gradient_of_several_batches_is_their_mean(make_run, tmp_path):
    first, second = [0, 3, 6, 9, 12], [1, 4, 7, 20]
    settings = {"optimizer": sgd(0.1), "schedule": CONSTANT, "dropout": False}
    both = moved(make_run(batcher=one_batch_of(first, second), accumulate=2, **settings), tmp_path / "both")
    alone = [
        moved(make_run(batcher=one_batch_of(batch), **settings), tmp_path / str(batch[0])) for batch in (first, second)
    ]
    for name, change in both.items():
        torch.testing.assert_close(change, (alone[0][name] + alone[1][name]) / 2, atol=1e-6, rtol=1e-4)
    assert max(change.abs().max() for change in both.values()) > 1e-3


def test_gradients_are_scaled_down_to_a_norm(make_run, tmp_path):
    settings = {"optimizer": sgd(1.0), "schedule": CONSTANT, "max_steps": 1}
    for most, name in ((None, "free"), (0.01, "held")):
        change = moved(make_run(max_grad_norm=most, **settings), tmp_path / name)
        norm = math.sqrt(sum((one**2).sum().item() for one in change.values()))
        assert (norm == pytest.approx(0.01, rel=1e-3)) == (most is not None)


def test_bfloat16_is_close_to_float32(make_run, read_curve, tmp_path):
    for precision in ("fp32", "bf16"):
        make_run(precision=precision, dropout=False).train(tmp_path / precision)
    losses = {name: [line["loss"] for line in read_curve(tmp_path / name)] for name in ("fp32", "bf16")}
    assert losses["bf16"] == pytest.approx(losses["fp32"], abs=0.05)
    assert losses["bf16"] != losses["fp32"]
    assert {weight.dtype for weight in weights(tmp_path / "bf16").values()} == {torch.float32}


def test_a_batch_is_encoded_as_its_names_would_be_alone(make_run):
    """Parts of about equal length, padded to their longest, change no vector and no order."""
    run = make_run(dropout=False, precision="fp32")  # as they are encoded alone
    names = ["a", "breast cancer", "Cold", "cancer of the breast and of something else", "b", "neoplasms"]
    run.encoder.model.train(False)
    vectors = run._encode(names)
    assert vectors.requires_grad
    np.testing.assert_allclose(vectors.detach(), run.encoder.encode(names), atol=1e-5)


# --- evaluations


def test_the_best_encoder_is_saved(make_run, read_curve, tmp_path):
    values = iter([20.0, 30.0, 50.0, 50.0, 40.0, 45.0])
    left = []

    def evaluation(encoder):
        assert not encoder.model.training
        left.append(encoder.model.encoder.layer[0].output.dense.weight.detach().clone())
        return {"acc@1": next(values), "other": 1.0}

    result = make_run(evaluation=evaluation, evaluate_every=1).train(tmp_path)
    assert result["best"] == 50.0
    best = weights(tmp_path, "model-best")["encoder.layer.0.output.dense.weight"]
    torch.testing.assert_close(best, left[2], rtol=0, atol=0)
    reported = [line for line in read_curve(tmp_path) if "acc@1" in line]
    assert [line["acc@1"] for line in reported] == [20.0, 30.0, 50.0, 50.0, 40.0, 45.0]
    assert reported[0] == {"step": 0, "acc@1": 20.0, "other": 1.0}


def test_the_best_value_outlives_a_stop(make_run, tmp_path):
    def values(*numbers):
        left = iter(numbers)
        return lambda encoder: {"acc@1": next(left)}

    settings = {"evaluate_every": 1, "checkpoint_every": 1}
    with pytest.raises(Stopped):
        make_run(evaluation=values(10.0, 20.0, 60.0), miner=stop_at(3), **settings).train(tmp_path)
    best = weights(tmp_path, "model-best")
    result = make_run(evaluation=values(30.0, 59.0, 10.0), **settings).train(tmp_path, resume=True)
    assert result["best"] == 60.0
    torch.testing.assert_close(weights(tmp_path, "model-best"), best, rtol=0, atol=0)


def test_the_encoder_records_how_it_was_trained(make_run, tmp_path):
    make_run().train(tmp_path, settings={"seed": 3, "pairs": {"path": "secret.txt", "shared": "auto"}})
    (step,) = TransformerEncoder(str(tmp_path / "model-last")).trained["history"]
    noted = {"seed": 3, "pairs": {"shared": "auto"}}
    assert step == {"step": "self-alignment", "steps": 5, "pairs": step["pairs"], "settings": noted}


def test_evaluations_change_no_curve(make_run, read_curve, tmp_path):
    make_run().train(tmp_path / "without")
    make_run(evaluation=lambda encoder: {"acc@1": float(torch.rand(1))}, evaluate_every=1).train(tmp_path / "with")
    losses = [[line["loss"] for line in read_curve(tmp_path / name) if "loss" in line] for name in ("without", "with")]
    assert losses[0] == losses[1]


def test_names_that_the_encoder_reads_alike_are_not_negatives(make_run, make_encoder, tmp_path):
    """What stands for two concepts in two spellings has one vector, which cannot be drawn apart from itself."""
    result = []

    def miner(vectors, batch):
        result.append(batch.synonyms)
        return hard_triplets(None)(vectors, batch)

    pairs = [Pair("C1", "tumour", "growth"), Pair("C2", "tumor", "swelling")]
    for text_normalizer, synonyms in (("lower", [1, 1, 1, 1]), ("american", [1, 1, 2, 2])):
        encoder = make_encoder(pooling="mean", text_normalizer=text_normalizer)
        make_run(pairs, encoder, miner=miner).train(tmp_path / text_normalizer)
        assert sorted(result[-1].sum(1).tolist()) == synonyms
        assert not result[-1].diagonal().any()


def nearest_is_a_synonym(encoder, concepts):
    """RETURNS (float): the share of names whose nearest other name is of their concept."""
    owners = [concept for concept, names in concepts.items() for _ in names]
    vectors = encoder.encode([name for names in concepts.values() for name in names])
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -2)
    return float(np.mean([owners[near] == owner for near, owner in zip(scores.argmax(1), owners, strict=True)]))


def test_synonyms_are_learnt(make_run, tmp_path):
    """Of 30 concepts with three names that have nothing in common; the pair of first and third is never shown."""
    rng = random.Random(0)
    concepts = {f"C{i}": ["".join(rng.choices("abcdefghij", k=5)) for _ in range(3)] for i in range(30)}
    pairs = [Pair(concept, *names[i : i + 2]) for concept, names in concepts.items() for i in (0, 1)]
    run = make_run(pairs, batch_size=60, max_epochs=40, optimizer=adamw(5e-3), dropout=False)
    before = nearest_is_a_synonym(run.encoder, concepts)
    run.train(tmp_path)
    after = nearest_is_a_synonym(TransformerEncoder(str(tmp_path / "model-last"), device="cpu"), concepts)
    assert before < 0.2
    assert after > 0.9
    ends = {concept: names[::2] for concept, names in concepts.items()}
    assert nearest_is_a_synonym(run.encoder, ends) > 0.8


CORE = """
import sys

names = "spacy thinc srsly confection catalogue typer rich sklearn scipy faiss scispacy platformdirs"
for name in names.split():
    sys.modules[name] = None  # what is not there cannot be imported

from pathlib import Path
from spacy_sapbert.encoders import additions, compression
from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.encoders.static import StaticEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder

folder, pairs, output = sys.argv[1:]
encoder = TransformerEncoder(folder, device="cpu")
compression.prune_vocabulary(encoder, ["breast cancer"])
encoder.save(Path(output, "pruned"))
assert encoder.encode(["breast"]).shape == (1, 32)

del sys.modules["scipy"]  # which the library of losses imports
from spacy_sapbert.training.pair_table import shuffled_batches
from spacy_sapbert.training.run_files import json_lines
from spacy_sapbert.training.losses import multi_similarity
from spacy_sapbert.training.mining import hard_triplets
from spacy_sapbert.training.run_files import json_lines
from spacy_sapbert.training.optimizing import adagrad, adamw, warmup_linear
from spacy_sapbert.training.pair_table import read_pair_file
from spacy_sapbert.training.self_alignment import SelfAlignment

run = SelfAlignment(
    TransformerEncoder(folder, device="cpu"), read_pair_file(pairs), shuffled_batches(8), hard_triplets(),
    multi_similarity(), adamw(), warmup_linear(), json_lines(),
)
print(run.train(Path(output, "run")))
"""


def test_the_core_needs_no_spacy(tiny_encoder, synonym_pairs, tmp_path):
    """An encoder is trained, shrunk and saved where neither spaCy nor what it brings is installed."""
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("".join("||".join(pair) + "\n" for pair in synonym_pairs))
    done = subprocess.run(
        [sys.executable, "-c", CORE, tiny_encoder, pairs, tmp_path / "out"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "'finished': True" in done.stdout
    assert TransformerEncoder(str(tmp_path / "out" / "pruned")).dim == 32
    assert (tmp_path / "out" / "run" / "model-last" / "model.safetensors").is_file()
    assert len((tmp_path / "out" / "run" / "log.jsonl").read_text().splitlines()) == 5


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
    before, after = (load_file(folder / "model.safetensors") for folder in (tiny_encoder, tmp_path / "model-last"))
    assert all(torch.equal(before[name], after[name]) for name in after) is alone


# --- a table


@pytest.fixture
def make_table_run(synonym_pairs):
    def make(**settings):
        parts = {"miner": in_batch_negatives(), "loss": info_nce(0.1), "optimizer": adagrad(0.05), "precision": "fp32"}
        table = StaticEncoder(dim=16, words=200, ngrams=400)
        pairs = PairTable(synonym_pairs)
        return SelfAlignment(
            table, pairs, shuffled_batches(18), schedule=CONSTANT, logger=json_lines(), **{**parts, **settings}
        )

    return make


def test_a_table_learns_synonyms(make_table_run, synonym_pairs, read_curve, tmp_path):
    run = make_table_run(max_epochs=20)
    run.train(tmp_path)
    curve = read_curve(tmp_path)
    assert curve[-1]["loss"] < 0.2 * curve[0]["loss"]
    opened = open_encoder(str(tmp_path / "model-last"))
    assert [step["step"] for step in opened.trained["history"]] == ["self-alignment"]
    left, right = (opened.encode([pair[side] for pair in synonym_pairs]) for side in (1, 2))
    assert ((left @ right.T).argmax(1) == np.arange(len(left))).mean() > 0.3  # each name is in two pairs


def test_a_run_of_a_table_goes_on_as_it_would_have(make_table_run, tmp_path):
    make_table_run(max_epochs=3).train(tmp_path / "whole")
    make_table_run(max_epochs=3, checkpoint_every=2).train(tmp_path / "parts", max_minutes=0)
    make_table_run(max_epochs=3).train(tmp_path / "parts", resume=True)
    whole, parts = (open_encoder(str(tmp_path / name / "model-last")) for name in ("whole", "parts"))
    np.testing.assert_allclose(whole.encode(["bacor", "dofen"]), parts.encode(["bacor", "dofen"]), atol=0.02)


def test_adamw_trains_a_table(make_table_run, read_curve, tmp_path):
    make_table_run(optimizer=adamw(0.05), max_epochs=5).train(tmp_path)
    curve = read_curve(tmp_path)
    assert curve[-1]["loss"] < curve[0]["loss"]


@pytest.mark.parametrize("settings", [{"adapter": 16.0}, {"projection": "tanh"}])
def test_a_table_has_no_layers_to_add_to(make_table_run, settings):
    with pytest.raises(SapbertError, match="starter-transformer"):
        make_table_run(**settings)
