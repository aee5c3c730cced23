"""What a training run writes besides encoders: its log, and the checkpoints from which it goes on.

A log is a JSON Lines file, with lines and a progress bar for people, and with the time that is left.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import CannotWriteError, DamagedError, MismatchError, SapbertError
from ..files.output import append_line, open_output, replacing_folder
from ..files.values import check_not_newer, parse_json
from ..settings_block import check_counts

if TYPE_CHECKING:
    import torch


class RunLog:
    """Writes the values of each step and each evaluation as a line of JSON to `log.jsonl`.

    A resumed run continues the file from its checkpoint. The file is closed after each line, so that a killed run
    leaves a complete log.
    """

    def __init__(self, output: Path, done: int) -> None:
        self._path = output / "log.jsonl"
        earlier = [line for line in read_log(self._path) if line["step"] <= done] if self._path.is_file() else []
        with open_output(self._path) as write:
            for line in earlier:
                write(f"{json.dumps(line)}\n")

    def add(self, values: Mapping[str, Any]) -> None:
        """Log the values of a step or the measures of an evaluation, including `step`."""
        append_line(self._path, json.dumps(values))

    def close(self) -> None:
        """Close the log at the end of the run."""


class VisibleLog(RunLog):
    """Also prints a line every few steps to standard error, below which a terminal shows a progress bar."""

    def __init__(self, output: Path, done: int, total: int, every: int) -> None:
        from ..files.console import progress_callback, stderr_console

        super().__init__(output, done)
        self._total = total
        self._every = every
        self._console = stderr_console()
        self._bar = ExitStack()
        self._show: Callable[[int, int], None] = lambda step, total: None
        if self._console.is_terminal:
            self._show = self._bar.enter_context(progress_callback(self._console, "steps"))

    def add(self, values: Mapping[str, Any]) -> None:
        super().add(values)
        step = values["step"]
        if "loss" not in values:
            measures = ", ".join(f"{name} {value:.2f}" for name, value in values.items() if name != "step")
            self._console.print(f"step {step:,}: {measures}")
            return
        self._show(step, self._total)
        if step % self._every == 0:
            self._console.print(
                f"step {step:,}: loss {values['loss']:.4f}, {values['pairs_per_s']:.0f} pairs/s, "
                f"{values['mined_pairs']:,.0f} mined pairs, {values['minutes_left']:.0f} minutes left"
            )

    def close(self) -> None:
        self._bar.close()


# from the output folder, the number of steps done and the number of all steps
MakeLog = Callable[[Path, int, int], RunLog]


def json_lines() -> MakeLog:
    """Log to a file only."""
    return lambda output, done, total: RunLog(output, done)


def progress_bar(every: int = 50) -> MakeLog:
    """Log to a file, print a line now and then, and show a progress bar on a terminal.

    Args:
        every: Print a line after this number of steps.
    """
    check_counts("ProgressBar", every=every)
    return lambda output, done, total: VisibleLog(output, done, total, every)


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the logged values in order. An incomplete last line is left out."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


# --- what is logged


class Clock:
    """Measures the time of a run over all its starts, and whether the time of this start is over."""

    def __init__(self, before: float, max_minutes: float | None) -> None:
        self._before = before
        self._started = time.monotonic()
        self._most = math.inf if max_minutes is None else max_minutes
        self._steps = 0
        self._first = 0.0  # time after the first step, which may include preparations

    def timed_values(self, step: int, total: int, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a finished step with the time spent and the estimated time left."""
        self._first = self._first or self._now
        pace = (self._now - self._first) / self._steps if self._steps else self._now
        self._steps += 1
        left = min((total - step) * pace, self._most - self._now)
        return {"step": step, **values, "minutes": round(self.minutes, 3), "minutes_left": round(left, 2)}

    @property
    def minutes(self) -> float:
        """The time of the run in minutes, over all its starts."""
        return self._before + self._now

    @property
    def is_over(self) -> bool:
        """Whether the time of this start is over."""
        return self._now >= self._most

    @property
    def _now(self) -> float:
        return (time.monotonic() - self._started) / 60


# --- checkpoints


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
    state: defaultdict[int, dict[str, torch.Tensor]] = defaultdict(dict)
    for key, value in moments.items():
        number, name = key.split(".", 1)
        state[int(number)][name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
