"""End a command in good order on Ctrl-C, or when a scheduler ends its process."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Ends the block of a `with` statement on Ctrl-C (SIGINT) and SIGTERM.

    Processes that were forked in the block ignore Ctrl-C, which a terminal sends to all of them. They end when their
    work ends, or on SIGTERM.

    Args:
        at_once: Raise KeyboardInterrupt at once. Otherwise the block has to look at `signal`, and only a second signal
            ends the process, without any further step.

    Attributes:
        signal: The number of the signal, or None.
    """

    def __init__(self, *, at_once: bool = True) -> None:
        self.signal: int | None = None
        self._at_once = at_once
        self._process = os.getpid()
        self._before: dict[int, Any] = {}

    @property
    def status(self) -> int:
        """The exit status of an interrupted process, as shells define it."""
        return 128 + (self.signal or signal.SIGINT)

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():  # Python allows it nowhere else
            self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    def _handle(self, number: int, frame: object) -> None:
        if os.getpid() != self._process:
            if number == signal.SIGTERM:
                os._exit(128 + number)
            return
        again = self.signal is not None
        self.signal = number
        if self._at_once:
            raise KeyboardInterrupt
        if again:
            for child in multiprocessing.active_children():
                child.terminate()
            os._exit(self.status)


def command_line(arguments: Sequence[str]) -> str:
    """Return the command that runs in this process, with some arguments, to be pasted into a shell."""
    program = Path(sys.argv[0])
    start = ["python", "-m", program.parent.name] if program.name == "__main__.py" else [program.name]
    return shlex.join([*start, *arguments])
