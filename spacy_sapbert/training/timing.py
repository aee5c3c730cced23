"""Time of a training run, and a warning for steps without any hard pairs."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from typing import Any

from ..errors import Warnings


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


class IdleSteps:
    """Counts steps without any hard pairs, on which nothing was trained."""

    def __init__(self) -> None:
        self._steps = self._idle = 0
        self._has_warned = False

    def add(self, values: Mapping[str, Any]) -> None:
        """Count a step."""
        self._steps += 1
        self._idle += not values["mined_triplets"]

    def warn(self) -> None:
        """Warn if most steps since the last call were idle, but only once."""
        if 2 * self._idle > self._steps and not self._has_warned:
            warnings.warn(Warnings.W330.format(n=self._idle, steps=self._steps), stacklevel=3)
            self._has_warned = True
        self._steps = self._idle = 0
