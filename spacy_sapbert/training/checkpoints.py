"""Checkpoints, from which an interrupted training goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import CannotWriteError, DamagedError, MismatchError, SapbertError
from ..files.output import replacing_folder
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
        run: The values that must be the same for a run to resume from here.
    """
    from safetensors.torch import save_file

    target = folder / f"{_PREFIX}{position.step}"
    weights = {name: weight.detach().cpu().contiguous() for name, weight in _trained(module).items()}
    state = {"format": FORMAT, "run": run, "position": position._asdict()}
    try:
        with replacing_folder(target) as new:
            save_file(weights, new / WEIGHTS_FILE)
            save_file(_flatten(optimizer), new / OPTIMIZER_FILE)
            (new / STATE_FILE).write_text(json.dumps(state, indent=2) + "\n")
    except Exception as error:  # safetensors has its own error for a full disk
        remedy = "Make room on the disk. The checkpoint before it is still there."
        raise CannotWriteError(remedy, path=target, reason=error) from error
    for other in _checkpoints(folder):
        if other != target:
            shutil.rmtree(other)


def load_checkpoint(
    folder: Path, run: dict[str, Any], module: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> Position:
    """Load the newest checkpoint of a folder that has one into module and optimizer."""
    from safetensors.torch import load_file

    newest = _checkpoints(folder)[-1]
    remedy = "Restore a copy of it, or delete it and start again."
    try:
        state = parse_json((newest / STATE_FILE).read_text())
        check_not_newer(newest, state["format"], FORMAT)
        saved_run, position = state["run"], Position(**state["position"])
        weights, moments = load_file(newest / WEIGHTS_FILE), load_file(newest / OPTIMIZER_FILE)
    except SapbertError:
        raise
    except Exception as error:  # safetensors has its own error
        raise DamagedError(remedy, path=newest, reason=error) from error
    different = sorted(key for key in {*run, *saved_run} if run.get(key) != saved_run.get(key))
    if different:
        differences = "; ".join(f"{key}: {saved_run.get(key)} there, {run.get(key)} here" for key in different)
        reason = f"it belongs to another run ({differences})"
        raise MismatchError("Use the settings of that run, or another output folder.", path=newest, reason=reason)
    missing = sorted(_trained(module).keys() - weights.keys())
    if missing:
        raise DamagedError(remedy, path=newest, reason=f"{missing[0]} is missing")
    module.load_state_dict(weights, strict=False)  # frozen weights are not saved
    _unflatten(optimizer, moments)
    return position


def has_checkpoint(folder: Path) -> bool:
    """Return whether a folder has a complete checkpoint."""
    return bool(_checkpoints(folder))


def _checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints, the newest last."""
    numbers = {path: path.name.removeprefix(_PREFIX) for path in folder.glob(f"{_PREFIX}*")}
    return sorted((path for path, number in numbers.items() if number.isdigit()), key=lambda path: int(numbers[path]))


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
