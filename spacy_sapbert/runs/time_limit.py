"""End work that takes too long, inside a process."""

from __future__ import annotations

import faulthandler
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

GRACE = 60.0
"""Seconds after which a process ends that does not notice its time limit, since it runs no Python code."""
_STANDARD_ERROR = 2  # the file itself: a notebook replaces sys.stderr by an object without one


class TookTooLong(BaseException):
    """The time limit is over. It is no `Exception`, so that no component handles it as an error of its own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in the block after some time.

    Code in C notices the limit when it returns to Python. If it does not within another `GRACE` seconds, the process
    ends, with a traceback on standard error.

    Only the main thread of a process can be interrupted, and only on systems with SIGALRM, which Windows lacks.
    Elsewhere the block runs without a limit.

    Args:
        seconds: The limit in seconds of clock time.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise)
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=_STANDARD_ERROR)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def _raise(number: int, frame: object) -> None:
    raise TookTooLong
