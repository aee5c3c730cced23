import errno
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
import safetensors.torch
import torch

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.run_files import (
    Clock,
    Position,
    has_checkpoint,
    json_lines,
    load_checkpoint,
    progress_bar,
    read_log,
    save_checkpoint,
)


def values(step):
    return {
        "step": step, "loss": 1 / step, "pairs": 8, "mined_pairs": 1234, "nothing_hard": 0,
        "pairs_per_s": 99.6, "minutes_left": 12.34,
    }  # fmt: skip


def logged_steps(output):
    return [line["step"] for line in read_log(output / "log.jsonl")]


@pytest.fixture(params=[json_lines, progress_bar])
def make_log(request):
    return request.param()


def test_every_step_is_a_line_at_once(make_log, tmp_path):
    log = make_log(tmp_path, 0, 10)
    log.add(values(1))
    log.add(values(2))
    log.add({"step": 2, "acc@1": 71.25})
    assert read_log(tmp_path / "log.jsonl") == [values(1), values(2), {"step": 2, "acc@1": 71.25}]
    log.close()


def test_a_run_that_goes_on_continues_the_log_where_its_checkpoint_stood(make_log, tmp_path):
    log = make_log(tmp_path, 0, 10)
    for step in range(1, 6):
        log.add(values(step))
        if step == 3:
            log.add({"step": 3, "acc@1": 1.0})
    log.close()
    log = make_log(tmp_path, 3, 10)
    assert logged_steps(tmp_path) == [1, 2, 3, 3]
    for step in (4, 5, 6):
        log.add(values(step))
    log.close()
    assert logged_steps(tmp_path) == [1, 2, 3, 3, 4, 5, 6]


def test_a_line_that_was_cut_off_is_left_out(make_log, tmp_path):
    whole = json.dumps(values(1)) + "\n"
    (tmp_path / "log.jsonl").write_text(whole + json.dumps(values(2))[:20])
    assert read_log(tmp_path / "log.jsonl") == [values(1)]
    log = make_log(tmp_path, 1, 10)
    log.add(values(2))
    log.close()
    assert logged_steps(tmp_path) == [1, 2]


# --- the progress bar


def test_where_there_is_no_terminal_a_line_comes_every_so_often(tmp_path, capsys):
    log = progress_bar(every=2)(tmp_path, 0, 2000)
    for step in (1, 2, 3, 1004):
        log.add(values(step))
    log.add({"step": 1004, "acc@1": 71.256, "recall@20": 90.0})
    log.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "step 2: loss 0.5000, 100 pairs/s, 1,234 mined pairs, 12 minutes left",
        "step 1,004: loss 0.0010, 100 pairs/s, 1,234 mined pairs, 12 minutes left",
        "step 1,004: acc@1 71.26, recall@20 90.00",
    ]


def test_a_terminal_shows_a_bar(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    log = progress_bar(every=1)(tmp_path, 3, 10)
    log.add(values(4))
    log.close()
    err = capsys.readouterr().err
    assert "step 4: loss 0.2500" in err
    assert "4 of 10 steps" in err


def test_a_progress_bar_needs_a_number_above_0():
    with pytest.raises(SapbertError, match=r"E406.*every.*0"):
        progress_bar(every=0)


def test_a_full_disk_is_reported(tmp_path):
    (tmp_path / "log.jsonl").symlink_to("/dev/full")
    log = json_lines()(tmp_path, 0, 10)
    with pytest.raises(SapbertError, match=r"E507.*log.jsonl \(No space left on device\)"):
        log.add(values(1))
    log.close()


# --- the time


@pytest.fixture
def now(monkeypatch):
    """Seconds that can be set."""
    seconds = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: seconds[0])
    return seconds


def test_the_time_left_goes_by_the_steps_after_the_first(now):
    clock = Clock(0.0, None)
    now[0] = 600.0  # the first step takes ten minutes, all others one
    assert clock.timed_values(1, 10, {})["minutes_left"] == 90.0
    now[0] = 660.0
    assert clock.timed_values(2, 10, {"loss": 1.0}) == {"step": 2, "loss": 1.0, "minutes": 11.0, "minutes_left": 8.0}


def test_no_more_time_is_left_than_there_is(now):
    clock = Clock(30.0, 5.0)
    now[0] = 60.0
    assert clock.timed_values(1, 100, {}) == {"step": 1, "minutes": 31.0, "minutes_left": 4.0}
    assert not clock.is_over
    now[0] = 300.0
    assert clock.is_over
    assert clock.minutes == 35.0


RUN = {"encoder": "e1", "pairs": "p1", "seed": 0}


def trained(steps=3, seed=0):
    """A small module after some steps, and its optimizer."""
    torch.manual_seed(seed)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.1)
    for _ in range(steps):
        train(module, optimizer)
    return module, optimizer


def train(module, optimizer):
    module(torch.tensor([[1.0, -2.0, 0.5]])).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def state_of(module):
    return {name: weight.clone() for name, weight in module.state_dict().items()}


def save(folder, step, run=RUN, **values):
    module, optimizer = trained(step)
    save_checkpoint(folder, run, Position(step, **values), module, optimizer)
    return module, optimizer


def names(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))  # what a kill left is hidden


def test_a_checkpoint_brings_back_weights_optimizer_and_position(tmp_path):
    module, optimizer = save(tmp_path, 3, best=71.5, minutes=1.25)
    other, theirs = trained(0, seed=1)
    assert load_checkpoint(tmp_path, RUN, other, theirs) == Position(3, 71.5, 1.25)
    torch.testing.assert_close(state_of(other), state_of(module), rtol=0, atol=0)
    train(module, optimizer)
    train(other, theirs)
    torch.testing.assert_close(state_of(other), state_of(module), rtol=0, atol=0)


def test_the_newest_is_taken_by_number(tmp_path):
    """Two lie there where a run was killed before it deleted the one before."""
    for step in (9, 10):
        save(tmp_path / str(step), step)
        os.rename(tmp_path / str(step) / f"checkpoint-{step}", tmp_path / f"checkpoint-{step}")
    assert load_checkpoint(tmp_path, RUN, *trained(0)).step == 10


def test_there_may_be_none(tmp_path):
    (tmp_path / "checkpoint-x").mkdir()
    assert not has_checkpoint(tmp_path)


# --- what goes wrong


def die(*_args, **_options):
    os.kill(os.getpid(), signal.SIGKILL)


def die_half_way(file):
    """RETURNS (Callable): writes tensors, but of this file only a part."""
    save_file = safetensors.torch.save_file

    def save(tensors, path):
        save_file(tensors, path)
        if path.name == file:
            path.write_bytes(path.read_bytes()[:20])
            die()

    return save


def die_at(name):
    """RETURNS (Callable): deletes folders, but not the one with this name."""
    delete = shutil.rmtree
    return lambda path, **options: die() if Path(path).name == name else delete(path, **options)


@pytest.mark.parametrize(
    ("position", "replacement", "left"),
    [
        ("safetensors.torch.save_file", die_half_way("weights.safetensors"), 2),
        ("safetensors.torch.save_file", die_half_way("optimizer.safetensors"), 2),
        ("pathlib.Path.rename", die, 2),
        ("shutil.rmtree", die_at("checkpoint-2"), 4),
    ],
    ids=["weights", "optimizer", "rename", "delete"],
)
def test_a_kill_at_any_moment_leaves_a_whole_checkpoint(tmp_path, monkeypatch, position, replacement, left):
    """A child is killed without a warning while it writes; what it leaves has to be loaded."""
    save(tmp_path, 2)
    child = os.fork()
    if not child:
        monkeypatch.setattr(position, replacement)
        try:
            save(tmp_path, 4)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    module, optimizer = trained(0)
    assert load_checkpoint(tmp_path, RUN, module, optimizer).step == left
    torch.testing.assert_close(state_of(module), state_of(trained(left)[0]), rtol=0, atol=0)
    save(tmp_path, 6)
    assert names(tmp_path) == ["checkpoint-6"]


def full(*_args, **_options):
    raise OSError(errno.ENOSPC, "No space left on device")


def full_by_safetensors(*_args, **_options):
    raise safetensors.SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize("fail", [full, full_by_safetensors])
@pytest.mark.parametrize("position", ["safetensors.torch.save_file", "pathlib.Path.rename", "pathlib.Path.write_text"])
def test_a_full_disk_leaves_the_one_before(tmp_path, monkeypatch, fail, position):
    save(tmp_path, 2)
    with monkeypatch.context() as patch:
        patch.setattr(position, fail)
        with pytest.raises(SapbertError, match=r"E507.*checkpoint-4 .*No space left"):
            save(tmp_path, 4)
    assert names(tmp_path) == ["checkpoint-2"]
    assert load_checkpoint(tmp_path, RUN, *trained(0)).step == 2


def cut(path):
    path.write_bytes(path.read_bytes()[:-8])


@pytest.mark.parametrize("file", ["state.json", "weights.safetensors", "optimizer.safetensors"])
@pytest.mark.parametrize("damage", [cut, os.remove], ids=["cut", "gone"])
def test_a_damaged_checkpoint_is_reported(tmp_path, file, damage):
    save(tmp_path, 3)
    damage(tmp_path / "checkpoint-3" / file)
    module, optimizer = trained(1)
    before = state_of(module)
    with pytest.raises(SapbertError, match=r"E121.*checkpoint-3"):
        load_checkpoint(tmp_path, RUN, module, optimizer)
    torch.testing.assert_close(state_of(module), before, rtol=0, atol=0)


def test_a_checkpoint_of_a_newer_version_is_reported(tmp_path):
    save(tmp_path, 3)
    path = tmp_path / "checkpoint-3" / "state.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(SapbertError, match=r"E600.*checkpoint-3 has format 2, .* up to 1\."):
        load_checkpoint(tmp_path, RUN, *trained(0))
