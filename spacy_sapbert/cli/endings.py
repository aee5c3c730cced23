"""End a command in good order: with a named error, on Ctrl-C, or when a scheduler ends its process."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from ..errors import CannotWriteError, Errors, SapbertError

_INTERRUPTED = (
    "Interrupted. No unfinished file is left, and vectors that are complete are kept. {hint}To start again: {command}"
)
_HINTS = {
    "link": "With --output, what is done is kept, see --resume. ",
    "pretrain": "With --resume, training goes on from its last checkpoint. ",
}


@contextmanager
def ending_well(ctx: typer.Context) -> Iterator[None]:
    """Show errors that a user can correct without a traceback, and say how to start an interrupted command again."""
    try:
        with _interruptible(), named_errors():
            yield
    except KeyboardInterrupt as error:
        if ctx.invoked_subcommand not in ("serve", "review", "mcp"):  # there it is the way to stop
            hint = _HINTS.get(ctx.invoked_subcommand or "", "")
            typer.echo(_INTERRUPTED.format(command=command_line(sys.argv[1:]), hint=hint), err=True)
        raise typer.Exit(exit_status(error)) from None


@contextmanager
def named_errors() -> Iterator[None]:
    """Show errors that a user can correct without a traceback, and end with status 1."""
    try:
        yield
        sys.stdout.flush()  # a full disk shows here
        return
    except SapbertError as error:
        message = str(error)
    except OSError as error:
        message = _of_system(error)
        if not message:
            raise
    typer.secho(message, fg="red", err=True)
    sys.exit(1)


def _of_system(error: OSError) -> str:
    if error.filename is not None:
        path = str(error.filename)
        return Errors.E595.format(path=path if len(path) < 500 else f"{path[:100]}…", reason=error.strerror)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python tries again at its end
        return str(CannotWriteError(path="standard output", reason=error.strerror))
    return ""


@contextmanager
def _interruptible() -> Iterator[None]:
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
