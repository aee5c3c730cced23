"""The time of a run, and what it is spent on for nothing."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from typing import Any

from ..errors import Warnings


class Clock:
    """The time of a run over all its starts, and whether that of this start is over."""

    def __init__(self, before: float, max_minutes: float | None) -> None:
        self._before = before
        self._started = time.monotonic()
        self._most = math.inf if max_minutes is None else max_minutes
        self._steps = 0
        self._first = 0.0  # when the first step was done: it may prepare what all others need

    def tell(self, step: int, total: int, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is known of a step, done just now, with the time left by the pace so far."""
        self._first = self._first or self._now
        pace = (self._now - self._first) / self._steps if self._steps else self._now
        self._steps += 1
        left = min((total - step) * pace, self._most - self._now)
        return {"step": step, **values, "minutes": round(self.minutes, 3), "minutes_left": round(left, 2)}

    @property
    def minutes(self) -> float:
        return self._before + self._now

    @property
    def is_over(self) -> bool:
        return self._now >= self._most

    @property
    def _now(self) -> float:
        return (time.monotonic() - self._started) / 60


class IdleSteps:
    """Steps in which nothing was hard, so that nothing was learnt."""

    def __init__(self) -> None:
        self._steps = self._idle = 0
        self._told = False

    def add(self, values: Mapping[str, Any]) -> None:
        self._steps += 1
        self._idle += not values["mined_triplets"]

    def warn(self) -> None:
        """Warn if most steps since the last call were idle, but once only."""
        if 2 * self._idle > self._steps and not self._told:
            warnings.warn(Warnings.W330.format(n=self._idle, steps=self._steps), stacklevel=3)
            self._told = True
        self._steps = self._idle = 0
