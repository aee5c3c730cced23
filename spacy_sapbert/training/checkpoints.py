"""Checkpoints of a training run on disk: weights, optimizer and position, so that an interrupted run can resume."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Errors, SapbertError
from ..files.output import temporary_folder
from ..files.values import check_not_newer, parse_json

if TYPE_CHECKING:
    import torch

STATE_FILE = "state.json"
WEIGHTS_FILE = "weights.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
FORMAT = 1

_PREFIX = "checkpoint-"


class Position(NamedTuple):
    """The position of a training run.

    Attributes:
        step: Number of steps done.
        best: The best value of the development measure so far.
        minutes: Time spent so far, over all starts.
        scaler: The state of the gradient scaler for float16; empty for other precisions.
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
    """Write a checkpoint. The previous one is deleted once this one is complete.

    Args:
        folder: The folder of the run.
        run: The values that must be the same for a run to resume from here.
        position: The position of the run.
        module: The model.
        optimizer: The optimizer.

    Raises:
        SapbertError: E331 it cannot be written. The previous checkpoint still exists.
    """
    from safetensors.torch import save_file

    target = folder / f"{_PREFIX}{position.step}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target) as temporary:
            new = temporary / "new"
            new.mkdir()
            weights = {name: weight.detach().cpu().contiguous() for name, weight in _trained(module).items()}
            save_file(weights, new / WEIGHTS_FILE)
            save_file(_flatten(optimizer), new / OPTIMIZER_FILE)
            state = {"format": FORMAT, "run": run, "position": position._asdict()}
            (new / STATE_FILE).write_text(json.dumps(state, indent=2) + "\n")
            shutil.rmtree(target, ignore_errors=True)
            os.replace(new, target)
    except Exception as error:  # safetensors has its own error for a full disk
        raise SapbertError(Errors.E331.format(path=target, reason=error)) from error
    for other in _checkpoints(folder):
        if other != target:
            shutil.rmtree(other)


def load_checkpoint(
    folder: Path, run: dict[str, Any], module: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> Position:
    """Load the newest checkpoint of a folder into module and optimizer.

    Raises:
        SapbertError: E332 there is no checkpoint, E333 it is damaged, E334 it belongs to another run, E600 a newer
            version wrote it.
    """
    from safetensors.torch import load_file

    found = _checkpoints(folder)
    if not found:
        raise SapbertError(Errors.E332.format(path=folder))
    newest = found[-1]
    try:
        state = parse_json((newest / STATE_FILE).read_text())
        check_not_newer(newest, state["format"], FORMAT)
        saved_run, position = state["run"], Position(**state["position"])
        weights, moments = load_file(newest / WEIGHTS_FILE), load_file(newest / OPTIMIZER_FILE)
    except SapbertError:
        raise
    except Exception as error:
        raise SapbertError(Errors.E333.format(path=newest, reason=error)) from error
    other = sorted(key for key in {*run, *saved_run} if run.get(key) != saved_run.get(key))
    if other:
        differences = "; ".join(f"{key}: {saved_run.get(key)} there, {run.get(key)} here" for key in other)
        raise SapbertError(Errors.E334.format(path=newest, differences=differences))
    missing = sorted(_trained(module).keys() - weights.keys())
    if missing:
        raise SapbertError(Errors.E333.format(path=newest, reason=f"{missing[0]} is missing"))
    module.load_state_dict(weights, strict=False)  # frozen weights are not saved
    _unflatten(optimizer, moments)
    return position


def has_checkpoint(folder: Path) -> bool:
    """Return whether a folder has a complete checkpoint."""
    return bool(_checkpoints(folder))


def _checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints, the newest last."""
    found = [path for path in folder.glob(f"{_PREFIX}*") if path.name.removeprefix(_PREFIX).isdigit()]
    return sorted(found, key=lambda path: int(path.name.removeprefix(_PREFIX)))


def _trained(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the trainable weights by name. With an adapter, the other weights are those of the encoder."""
    return {name: weight for name, weight in module.named_parameters() if weight.requires_grad}


def _flatten(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return the state of each weight by `number.name`."""
    import torch

    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value).detach().cpu().contiguous()
        for number, values in state.items()
        for name, value in values.items()
        if value is not None  # SGD of torch 2.3 has a momentum that is None
    }


def _unflatten(optimizer: torch.optim.Optimizer, moments: dict[str, torch.Tensor]) -> None:
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in moments.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
