import math
import os
import socket
import sys
import time
import traceback

import pytest
import torch
from accelerate import PartialState
from safetensors.torch import load_file

from spacy_sapbert.encoders.static import StaticEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.losses import info_nce
from spacy_sapbert.training.mining import in_batch_negatives
from spacy_sapbert.training.optimizing import Processes, adagrad, adamw, clip_gradients, warmup_linear
from spacy_sapbert.training.pair_table import PairTable, shuffled_batches
from spacy_sapbert.training.run_files import json_lines
from spacy_sapbert.training.self_alignment import SelfAlignment


def factors(total, **settings):
    schedule = warmup_linear(**settings)
    return [schedule(step, total) for step in range(total)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [1, 0.75, 0.5, 0.25]),
        ({"warmup_steps": 3}, [0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25]),
        ({"final": 0.2}, [1, 0.8, 0.6, 0.4]),
        ({"warmup_steps": 1, "final": 1}, [0.5, 1, 1, 1, 1]),
    ],
)
def test_the_rate_goes_up_and_down_in_a_line(settings, expected):
    assert factors(len(expected), **settings) == pytest.approx(expected)


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
    result = groups(model, weight_decay=0.3)
    still = {name for name, _ in model.named_parameters() if name.endswith("bias") or "LayerNorm" in name}
    assert result == {0.3: {name for name, _ in model.named_parameters()} - still, 0.0: still}
    assert "encoder.layer.0.attention.self.query.weight" in result[0.3]
    assert "embeddings.word_embeddings.weight" in result[0.3]
    assert "embeddings.LayerNorm.weight" in result[0.0]


def test_frozen_weights_are_left_out(model):
    model.embeddings.requires_grad_(False)
    result = groups(model, weight_decay=0.3)
    assert result[0.0]
    assert not any(name.startswith("embeddings") for names in result.values() for name in names)


# --- several processes on one machine, forked, which is faster than a launcher


SECONDS = 60
# 36 pairs, so that the last batch is one pair: two names, fewer than three processes;
# in float32, as the parts of a batch are rounded differently in bfloat16
SETTINGS = {"batch_size": 5, "dropout": False, "precision": "fp32"}


def sgd(module):
    return torch.optim.SGD(module.parameters(), lr=0.05)


@pytest.fixture
def in_processes(monkeypatch):
    """A function that does something in several processes at once, and gives how each ended: -9 after a minute."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    started = []

    def run(size, work):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {"WORLD_SIZE": str(size), "MASTER_PORT": str(port)}
        children = [fork({**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)}, work) for rank in range(size)]
        started.extend(children)
        return [wait(child) for child in children]

    yield run
    for child in started:
        try:
            os.kill(child, 9)
        except ProcessLookupError:
            continue
        os.waitpid(child, 0)


def fork(environment, work):
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.environ.update(environment)
        PartialState._reset_state()  # of the parent, which may have trained
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def wait(child):
    """RETURNS (int): the exit status."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, 9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def losses(read_curve, output):
    return [line["loss"] for line in read_curve(output)]


def mined(read_curve, output):
    return [(line["mined_triplets"], line["mined_pairs"]) for line in read_curve(output)]


def assert_same_weights(one, other):
    weights = [load_file(output / "model-last" / "model.safetensors") for output in (one, other)]
    torch.testing.assert_close(*weights, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("size", "settings"), [(2, {}), (3, {}), (2, {"accumulate": 2, "max_grad_norm": 0.5}), (2, {"precision": "bf16"})]
)
def test_several_processes_learn_as_one_does(make_run, in_processes, read_curve, tmp_path, size, settings):
    """Also where the number of names is odd, and where there are fewer names than processes."""
    settings = {**SETTINGS, "optimizer": sgd, **settings}
    run = make_run(**settings)
    before = run.encoder.model.embeddings.word_embeddings.weight.detach().clone()
    numbers = [len(run.pairs.batch(batch).names) for batch in run._batches_of(0)]
    assert any(number % 2 for number in numbers)
    assert numbers[-1] == 2
    run.train(tmp_path / "one")
    assert (run.encoder.model.embeddings.word_embeddings.weight - before).abs().max() > 1e-3
    assert in_processes(size, lambda: make_run(**settings).train(tmp_path / "several")) == [0] * size
    precise = settings.get("precision") != "bf16"
    tolerance = 1e-5 if precise else 1e-2
    one, several = (losses(read_curve, tmp_path / name) for name in ("one", "several"))
    assert several == pytest.approx(one, abs=tolerance)
    if precise:
        assert mined(read_curve, tmp_path / "several") == mined(read_curve, tmp_path / "one")
        assert_same_weights(tmp_path / "one", tmp_path / "several")


def test_several_processes_train_a_table_as_one_does(in_processes, read_curve, synonym_pairs, tmp_path):
    def train(name):
        table = StaticEncoder(dim=8, words=40, ngrams=60)
        settings = {"miner": in_batch_negatives(), "loss": info_nce(0.1), "optimizer": adagrad(0.05)}
        batches, schedule = shuffled_batches(5), warmup_linear()  # the last batch has one pair
        pairs = PairTable(synonym_pairs)
        run = SelfAlignment(table, pairs, batches, schedule=schedule, logger=json_lines(), precision="fp32", **settings)
        run.train(tmp_path / name)

    train("one")
    assert in_processes(3, lambda: train("several")) == [0] * 3
    assert losses(read_curve, tmp_path / "several") == pytest.approx(losses(read_curve, tmp_path / "one"), abs=1e-4)


def test_the_curve_with_adamw_and_a_stop_is_that_of_one_process(make_run, in_processes, read_curve, tmp_path):
    """The first process says when time is over."""
    settings = {**SETTINGS, "max_steps": 4}
    make_run(**settings).train(tmp_path / "one")
    for _ in range(2):
        work = lambda: make_run(**settings).train(tmp_path / "two", resume=True, max_minutes=0)  # noqa: E731
        assert in_processes(2, work) == [0, 0]
    assert len(losses(read_curve, tmp_path / "two")) == 2
    assert in_processes(2, lambda: make_run(**settings).train(tmp_path / "two", resume=True)) == [0, 0]
    assert losses(read_curve, tmp_path / "two") == pytest.approx(losses(read_curve, tmp_path / "one"), abs=1e-4)


def test_every_process_drops_out_by_itself(make_run, in_processes, read_curve, tmp_path):
    settings = {**SETTINGS, "dropout": True, "max_steps": 2}
    for name in ("first", "again"):
        assert in_processes(2, lambda name=name: make_run(**settings).train(tmp_path / name)) == [0, 0]
    assert losses(read_curve, tmp_path / "first") == losses(read_curve, tmp_path / "again")
    make_run(**settings).train(tmp_path / "one")
    assert losses(read_curve, tmp_path / "one") != losses(read_curve, tmp_path / "first")


def test_only_the_first_process_writes_and_evaluates(make_run, in_processes, tmp_path):
    def evaluation(encoder):
        (tmp_path / f"evaluated-{os.environ['RANK']}").touch()
        return {"acc@1": 1.0}

    def work():
        make_run(**SETTINGS, max_steps=2, evaluation=evaluation).train(tmp_path / os.environ["RANK"])

    assert in_processes(2, work) == [0, 0]
    names = {"checkpoint-2", "log.jsonl", "model-best", "model-last"}
    assert {path.name for path in (tmp_path / "0").iterdir()} == names
    assert not (tmp_path / "1").exists()
    assert [path.name for path in tmp_path.glob("evaluated-*")] == ["evaluated-0"]


@pytest.mark.parametrize("rank", [0, 1])
def test_all_processes_end_where_one_fails(make_run, in_processes, tmp_path, rank):
    def work():
        def fail(step, total):
            if step == 1 and int(os.environ["RANK"]) == rank:
                raise SapbertError("no more")
            return warmup_linear()(step, total)

        make_run(**SETTINGS, schedule=fail).train(tmp_path)

    started = time.monotonic()
    assert in_processes(2, work) == [1, 1]
    assert time.monotonic() - started < SECONDS / 2


def test_names_are_shared_out_and_gathered_in_order():
    """What every process gets, beside the order in which the batch wants it."""
    alone = Processes("cpu")
    assert (alone.rank, alone.size, alone.is_first) == (0, 1, True)
    order = [3, 0, 2, 1]
    assert alone.share(order) == order
    vectors = torch.tensor([[3.0], [0.0], [2.0], [1.0]], requires_grad=True)
    gathered = alone.gather(vectors, order)
    assert gathered.flatten().tolist() == [0.0, 1.0, 2.0, 3.0]
    gathered[3].backward()
    assert vectors.grad.flatten().tolist() == [1.0, 0.0, 0.0, 0.0]
    assert alone.agree(True)
    assert not alone.agree(False)


# --- sparse gradients


def weight_with_gradient(*, is_sparse, values=((3.0, 4.0), (0.0, 0.0), (0.0, 12.0))):
    """A table of three rows. The rows that a sparse gradient lists twice add up."""
    table = torch.nn.Embedding(3, 2, sparse=is_sparse)
    rows = torch.tensor([0, 2, 2])
    halves = torch.tensor([values[0], [half / 2 for half in values[2]], [half / 2 for half in values[2]]])
    (table(rows) * halves).sum().backward()
    return table.weight


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("most", "factor"), [(math.inf, 1.0), (13.0, 1.0), (6.5, 0.5)])
def test_gradients_are_clipped_as_torch_does_it_and_also_sparse_ones(is_sparse, most, factor):
    weight, theirs = weight_with_gradient(is_sparse=is_sparse), weight_with_gradient(is_sparse=False)
    assert clip_gradients([weight.grad], most) == pytest.approx(13.0)  # 3, 4 and 12
    torch.nn.utils.clip_grad_norm_([theirs], most)
    torch.testing.assert_close(weight.grad.to_dense() if is_sparse else weight.grad, theirs.grad)
    torch.testing.assert_close(theirs.grad[0], torch.tensor([3.0, 4.0]) * factor)


def test_adagrad_divides_by_the_root_of_the_summed_squares():
    weight = weight_with_gradient(is_sparse=True)
    module = torch.nn.Embedding.from_pretrained(weight.detach().clone(), freeze=False, sparse=True)
    optimizer, before = adagrad(0.1)(module), module.weight.detach().clone()
    for _ in range(2):
        module.weight.grad = weight.grad.clone()
        optimizer.step()
    # the second step divides by the root of two squares
    expected = before - 0.1 * torch.tensor([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]) * (1 + 0.5**0.5)
    torch.testing.assert_close(module.weight.detach(), expected)
