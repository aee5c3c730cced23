"""Where a run stands, on disk: weights, optimizer and position, so that it goes on after it was killed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Errors, SapbertError

if TYPE_CHECKING:
    import torch

STATE_FILE = "state.json"
WEIGHTS_FILE = "weights.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"

_PREFIX = "checkpoint-"


class Position(NamedTuple):
    """Where a run stands.

    Attributes:
        step: steps that are done.
        best: the best value of the development measure so far.
        minutes: time spent so far, over all starts.
        scaler: how gradients are scaled in float16; empty in other precisions.
    """

    step: int = 0
    best: float | None = None
    minutes: float = 0.0
    scaler: dict[str, Any] | None = None


def save_checkpoint(
    folder: Path,
    run: dict[str, Any],
    position: Position,
    module: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    """Write a checkpoint, and delete the one before it once this one is whole.

    Args:
        run: what must be the same for a run to go on from here.

    Raises:
        SapbertError: E331 it cannot be written; the one before is still there.
    """
    from safetensors.torch import save_file

    target = folder / f"{_PREFIX}{position.step}"
    temporary = folder / f".{_PREFIX}tmp"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        weights = {name: weight.detach().cpu().contiguous() for name, weight in _trained(module).items()}
        save_file(weights, temporary / WEIGHTS_FILE)
        save_file(_flatten(optimizer), temporary / OPTIMIZER_FILE)
        (temporary / STATE_FILE).write_text(json.dumps({"run": run, "position": position._asdict()}, indent=2) + "\n")
        shutil.rmtree(target, ignore_errors=True)
        os.replace(temporary, target)
    except Exception as error:  # safetensors has its own class for a full disk
        shutil.rmtree(temporary, ignore_errors=True)
        raise SapbertError(Errors.E331.format(path=target, reason=error)) from error
    for other in _checkpoints(folder):
        if other != target:
            shutil.rmtree(other)


def load_checkpoint(
    folder: Path, run: dict[str, Any], module: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> Position:
    """Take the newest checkpoint of a folder into module and optimizer.

    Raises:
        SapbertError: E332 there is none, E333 it is damaged, E334 it belongs to another run.
    """
    from safetensors.torch import load_file

    found = _checkpoints(folder)
    if not found:
        raise SapbertError(Errors.E332.format(path=folder))
    newest = found[-1]
    try:
        state = json.loads((newest / STATE_FILE).read_text())
        theirs, position = state["run"], Position(**state["position"])
        weights, moments = load_file(newest / WEIGHTS_FILE), load_file(newest / OPTIMIZER_FILE)
    except Exception as error:
        raise SapbertError(Errors.E333.format(path=newest, reason=error)) from error
    other = sorted(key for key in {*run, *theirs} if run.get(key) != theirs.get(key))
    if other:
        told = "; ".join(f"{key}: {theirs.get(key)} there, {run.get(key)} here" for key in other)
        raise SapbertError(Errors.E334.format(path=newest, differences=told))
    missing = sorted(_trained(module).keys() - weights.keys())
    if missing:
        raise SapbertError(Errors.E333.format(path=newest, reason=f"there is no {missing[0]} in it"))
    module.load_state_dict(weights, strict=False)  # those that are frozen are not in it
    _unflatten(optimizer, moments)
    return position


def has_checkpoint(folder: Path) -> bool:
    return bool(_checkpoints(folder))


def _checkpoints(folder: Path) -> list[Path]:
    """Return whole checkpoints, the newest last."""
    found = [path for path in folder.glob(f"{_PREFIX}*") if path.name.removeprefix(_PREFIX).isdigit()]
    return sorted(found, key=lambda path: int(path.name.removeprefix(_PREFIX)))


def _trained(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return `dict[str, Tensor]`: the weights that change; beside an adapter the rest is that of the encoder."""
    return {name: weight for name, weight in module.named_parameters() if weight.requires_grad}


def _flatten(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return `dict[str, Tensor]`: the state of each weight, by `number.name`."""
    import torch

    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value).detach().cpu().contiguous()
        for number, values in state.items()
        for name, value in values.items()
    }


def _unflatten(optimizer: torch.optim.Optimizer, moments: dict[str, torch.Tensor]) -> None:
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in moments.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
