import inspect
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from spacy import util

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.training.run_files import read_log

CONFIG = Path(__file__).parents[2] / "configs" / "pretrain.cfg"
OTHERS = ("starter-distil.cfg", "starter-align.cfg", "kg-mnr.cfg", "kg-triplet.cfg")
BLOCKS = [
    (path, block)
    for path in (CONFIG, *map(CONFIG.with_name, OTHERS))
    for block in re.findall(r"(?m)^\[(pretrain.*)\]", path.read_text())
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.txt"
    names = [["breast cancer", "cancer of the breast", "neoplasm"], ["cold", "chill", "low heat"], ["flu", "grippe"]]
    names += [[f"{letter}a{letter}", f"{letter}o", f"{letter}{letter}e"] for letter in "bdfgklmnprst"]
    lines = [f"C{i}||{one[0]}||{other}\n" for i, one in enumerate(names) for other in one[1:]]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def arguments(pairs, tiny_encoder, tmp_path):
    """A function that makes the arguments of a short run."""

    def make(*options, output="out", config=CONFIG, **settings):
        paths = {"paths.pairs": pairs, "paths.encoder": tiny_encoder, "pretrain.encoder.device": "cpu"}
        settings = {**paths, "pretrain.batcher.size": 8, **settings}
        overrides = [text for name, value in settings.items() for text in (f"--{name}", str(value))]
        return ["pretrain", config, "--output", tmp_path / output, *options, *overrides]

    return make


def losses(output):
    return [(line["step"], line["loss"], line["mined_triplets"]) for line in read_log(output / "log.jsonl")]


def weights(output):
    return load_file(output / "model-last" / "model.safetensors")


# --- a run


def test_a_config_makes_an_encoder(command, arguments, tmp_path):
    done = command(*arguments(**{"pretrain.max_epochs": 2, "pretrain.logger.every": 4}))
    assert done.status == 0, done.err
    output = tmp_path / "out"
    steps = len(losses(output))
    assert steps == 8
    result = json.loads(done.out)
    assert (result["steps"], result["of"], result["finished"]) == (8, 8, True)
    assert re.search(r"step 4: loss \d\.\d{4}, \d+ pairs/s, [\d,]+ mined pairs, 0 minutes left", done.err)
    assert TransformerEncoder(str(output / "model-last")).encode(["cold"]).shape == (1, 32)
    assert {path.name for path in output.iterdir()} == {"checkpoint-8", "config.cfg", "log.jsonl", "model-last"}


def test_the_config_is_kept_with_all_its_settings(command, arguments, tmp_path, pairs):
    """It can be given again, and makes the same run."""
    config = tmp_path / "short.cfg"
    config.write_text(re.sub(r"(?m)^(seed|alpha|warmup_steps) .*\n", "", CONFIG.read_text()))
    command(*arguments(config=config))
    kept = util.load_config(tmp_path / "out" / "config.cfg", interpolate=False)
    assert kept["paths"]["pairs"] == str(pairs)
    assert kept["pretrain"]["pairs"]["path"] == "${paths.pairs}"
    assert kept["pretrain"]["batcher"]["size"] == 8
    assert (kept["pretrain"]["seed"], kept["pretrain"]["loss"]["alpha"]) == (0, 1.0)
    done = command("pretrain", tmp_path / "out" / "config.cfg", "--output", tmp_path / "again")
    assert done.status == 0, done.err
    assert losses(tmp_path / "again") == losses(tmp_path / "out")


def test_a_run_goes_on_where_time_was_over(command, arguments, tmp_path):
    command(*arguments(output="whole"))
    for step in range(1, 5):
        done = command(*arguments("--resume", "--max-minutes", "0"))
        assert (json.loads(done.out)["steps"], done.status) == (step, 0)
    assert losses(tmp_path / "out") == losses(tmp_path / "whole")
    torch.testing.assert_close(weights(tmp_path / "out"), weights(tmp_path / "whole"), rtol=0, atol=0)


def test_a_used_folder_stays_as_it_is(command, arguments, tmp_path):
    command(*arguments())
    kept = (tmp_path / "out" / "config.cfg").read_text()
    for options, settings, code in (((), {}, "E336"), (("--resume",), {"pretrain.seed": 5}, "E305")):
        done = command(*arguments(*options, **{"pretrain.batcher.size": 8, **settings}))
        assert done.status == 1
        assert code in done.err
        assert (tmp_path / "out" / "config.cfg").read_text() == kept


def test_shared_names_come_from_beside_the_pairs(command, arguments, pairs, tmp_path):
    command(*arguments(output="without"))
    pairs.with_name("pairs.shared.txt").write_text("cold||C1||C2\n")
    command(*arguments(output="with"))
    command(*arguments(output="ignored", **{"pretrain.pairs.shared": "null"}))
    assert losses(tmp_path / "with") != losses(tmp_path / "without") == losses(tmp_path / "ignored")


# --- the shipped config


@pytest.mark.parametrize(("path", "block"), BLOCKS)
def test_the_shipped_configs_name_what_is_there(path, block):
    """All settings of what they name, and no others; in `pretrain.cfg` with the values that they have if left out."""
    settings = util.load_config(path, interpolate=False)
    for name in block.split("."):
        settings = settings[name]
    ((registry, name),) = [(key[1:], value) for key, value in settings.items() if key.startswith("@")]
    parameters = inspect.signature(getattr(util.registry, registry).get(name)).parameters
    assert set(settings) - {f"@{registry}"} <= set(parameters)
    if path == CONFIG:
        assert set(settings) - {f"@{registry}"} == set(parameters)
        given = {key: value for key, value in settings.items() if is_plain(key, value)}
        assert given == {key: parameters[key].default for key in given}


def is_plain(key, value):
    return not (key.startswith("@") or isinstance(value, dict) or str(value).startswith("${"))


@pytest.mark.parametrize(
    "name", ["InfoNCE", "NCA", "LiftedStructure", "Circle", "Triplet", "Cosine", "MultipleNegativesRanking"]
)
def test_every_loss_can_be_named(command, arguments, tmp_path, name):
    config = tmp_path / "loss.cfg"
    block = f'[pretrain.loss]\n@losses = "spacy-sapbert.{name}.v1"\n'
    config.write_text(re.sub(r"\[pretrain\.loss\]\n(.+\n)+", block, CONFIG.read_text()))
    done = command(*arguments(config=config, **{"pretrain.max_steps": 1, "pretrain.miner.margin": "null"}))
    assert done.status == 0, done.err
    assert losses(tmp_path / "out")[0][1] > 0


EXTRAS = """
[pretrain.evaluation]
@misc = "spacy-sapbert.NearestName.v1"
corpus = {corpus}
kb = {kb}
format = "pubtator"

[pretrain.teacher]
@misc = "spacy-sapbert.Teacher.v1"
encoder = ${{paths.encoder}}
"""


def test_evaluation_and_teacher(command, arguments, small_kb, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("1|t|Breast cancers.\n1|a|\n1\t0\t14\tBreast cancers\tDisease\tD001943\n\n")
    config = tmp_path / "all.cfg"
    text = re.sub(r"(?m)^(evaluation|teacher) = null\n", "", CONFIG.read_text())
    extras = EXTRAS.format(corpus=json.dumps(str(corpus)), kb=json.dumps(str(small_kb.path)))
    config.write_text(text + extras)
    done = command(*arguments(config=config))
    assert done.status == 0, done.err
    assert (tmp_path / "out" / "model-best" / "model.safetensors").is_file()
    lines = read_log(tmp_path / "out" / "log.jsonl")
    assert [set(line) for line in lines if "acc@1" in line] == 2 * [{"step", "acc@1", "recall@20"}]
    assert json.loads(done.out)["best"] == lines[-1]["acc@1"]
    assert "step 4: acc@1 " in done.err


# --- what goes wrong


def fails(done):
    """RETURNS (str): what people are told."""
    assert done.status == 1
    assert "Traceback" not in done.err
    assert done.out == b""
    return done.err


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        ("pretrain.loss.@losses", "spacy-sapbert.Foo.v1", r"E541.*spacy-sapbert\.Foo\.v1(.|\n)*spacy-sapbert\.InfoNCE"),
        ("pretrain.epochs", "3", "E541.*unexpected argument: 'epochs'"),
        ("pretrain.batcher.size", "many", "E541.*size.*'many' is not"),
        ("pretrain.miner.margin", "wide", "E541.*margin.*'wide' is not"),
        ("pretrain.optimizer.learn_rate", "-1.0", "E541.*learning rate: -1.0"),
        ("pretrain.schedule", "null", "E541.*schedule.*None is not"),
        ("pretrain.accumulate", "0", "E406.*accumulate of .* is 0"),
        ("pretrain.precision", "fp16", "E406.*precision of .* is fp16.*bf16"),
        ("pretrain.encoder.device", "tpu9000", "E406.*tpu9000"),
        ("other.thing", "3", "E541.*other -> thing"),
        ("paths.pairs", "nowhere.txt", "E120.*nowhere.txt"),
        ("paths.encoder", "no where", "E301.*no where"),
    ],
)
def test_a_setting_that_makes_no_sense_is_told(command, arguments, tmp_path, setting, value, told):
    assert re.search(told, fails(command(*arguments(**{setting: value}))))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", r"no section \[pretrain\]"),
        ("[training]\nx = 1\n", r"no section \[pretrain\]"),
        ("[pretrain]\nseed = 1\n", "no section .* with a line @misc"),
        ("[pretrain\n", "section headers"),
        ("x" * 100_000, "section headers"),
        ('[pretrain]\n@misc = "spacy-sapbert.SelfAlignment.v1"\n', "missing required argument: 'loss'"),
        ('[pretrain]\n@misc = "nothing"\n', "Could not find function 'nothing'"),
        ('[pretrain]\n@misc = "spacy-sapbert.SelfAlignment.v1"\nseed = ${paths.seed}\n', "paths.seed"),
        (None, "Could not read"),
    ],
)
def test_a_broken_config_is_told(command, tmp_path, text, told):
    config = tmp_path / "broken.cfg"
    if text is not None:
        config.write_text(text)
    done = command("pretrain", config, "--output", tmp_path / "out")
    assert re.search(rf"E541.*broken\.cfg(.|\n)*{told}", fails(done))
    assert len(done.err) < 5000


def test_broken_pairs_are_told_with_their_line(command, arguments, pairs):
    pairs.write_text("C1||a||b\nC1||a\n")
    assert re.search(r"E127.*pairs\.txt, line 2", fails(command(*arguments())))
    pairs.write_text("C1||a||a\n")
    assert "E105" in fails(command(*arguments()))


def test_what_training_needs_is_named(command, arguments, monkeypatch):
    module = "pytorch_metric_learning"
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    told = fails(command(*arguments()))
    assert re.search(rf"E542.*{module}.*spacy-sapbert\[train\]", told)


def test_a_place_that_cannot_be_written_is_told(command, arguments, tmp_path):
    (tmp_path / "file").touch()
    assert "E595" in fails(command(*arguments(output="file/out")))


# --- processes


def start(arguments, *launcher, **environment):
    """Start the command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", *launcher, "spacy_sapbert", *map(str, arguments)],
        env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process, seconds=180):
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()
    return process.returncode, out, err


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


LAUNCHERS = {
    # with --cpu, accelerate starts one process only, unless MPI is there
    "accelerate": ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"],
    "torchrun": ["torch.distributed.run", "--nproc_per_node", "2"],
}
PORTS = {"accelerate": "--main_process_port", "torchrun": "--master_port"}


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_two_processes_of_a_launcher_learn_as_one_does(arguments, tmp_path, launcher):
    # in bfloat16 the parts of a batch are rounded differently
    settings = {"pretrain.dropout": "false", "pretrain.precision": "fp32", "pretrain.optimizer.learn_rate": 1e-3}
    status, _, err = finish(start(arguments(output="one", **settings)))
    assert status == 0, err
    launch = [*LAUNCHERS[launcher], PORTS[launcher], free_port(), "-m"]
    status, out, err = finish(start(arguments(output="two", **settings), *launch))
    assert status == 0, err
    result = json.loads(out)
    assert (result["finished"], result["processes"]) == (True, 2)
    one, two = ({step: loss for step, loss, _ in losses(tmp_path / name)} for name in ("one", "two"))
    assert two == pytest.approx(one, abs=1e-4)
