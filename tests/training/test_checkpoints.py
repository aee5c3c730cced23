from __future__ import annotations

import errno
import os
import shutil
import signal
from pathlib import Path

import pytest
import safetensors.torch
import torch

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.checkpoints import Position, has_checkpoint, load_checkpoint, save_checkpoint

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
