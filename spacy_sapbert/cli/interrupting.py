"""End a command in good order on Ctrl-C, or when a scheduler ends its process."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt with the number of the signal on Ctrl-C (SIGINT) and SIGTERM in the block.

    Processes that were forked in the block ignore Ctrl-C, which a terminal sends to all of them. They end when their
    work ends, or on SIGTERM.
    """
    if threading.current_thread() is not threading.main_thread():  # Python allows it nowhere else
        yield
        return
    process = os.getpid()

    def interrupt(number: int, frame: object) -> None:
        if os.getpid() == process:
            raise KeyboardInterrupt(number)
        if number == signal.SIGTERM:
            os._exit(128 + number)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def exit_status(error: KeyboardInterrupt) -> int:
    """Return the exit status of an interrupted process, as shells define it."""
    return 128 + int(error.args[0] if error.args else signal.SIGINT)


def command_line(arguments: Sequence[str]) -> str:
    """Return the command that runs in this process, with some arguments, to be pasted into a shell."""
    program = Path(sys.argv[0])
    start = ["python", "-m", program.parent.name] if program.name == "__main__.py" else [program.name]
    return shlex.join([*start, *arguments])
