"""End work that takes too long, inside a process."""

from __future__ import annotations

import faulthandler
import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

GRACE = 60.0
"""Seconds after which a process ends that does not notice its time limit, since it runs no Python code."""
_STANDARD_ERROR = 2  # the file itself: a notebook replaces sys.stderr by an object without one
_LONGEST = 1e6  # seconds; a longer time is more than a timer may hold


class TookTooLong(BaseException):
    """The time limit is over. It is not an `Exception`, so that no component handles it as an error of its own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in the block after some time, and end the process `GRACE` seconds later.

    Only the main thread of a process can be interrupted, and only on systems with SIGALRM, which Windows lacks.
    Elsewhere the block runs without a limit.

    Args:
        seconds: The limit in seconds of clock time; infinity for none.
    """
    here = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not here or math.isinf(seconds):
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise)
    try:
        with process_limit(seconds + GRACE):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


@contextmanager
def process_limit(seconds: float) -> Iterator[None]:
    """End the process if the block takes longer, in any thread, with a traceback on standard error."""
    faulthandler.dump_traceback_later(min(seconds, _LONGEST), exit=True, file=_STANDARD_ERROR)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _raise(number: int, frame: object) -> None:
    raise TookTooLong
