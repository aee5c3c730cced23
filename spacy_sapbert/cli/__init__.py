"""Define the `spacy-sapbert` command line. The module of a command is imported when the command is called.

A command ends in good order: with a named error, on Ctrl-C, or when a scheduler ends its process.
"""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
import threading
import warnings
from collections import UserDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import CannotWriteError, Errors, SapbertError
from ..files.console import json_on_terminals
from ..files.output import keeping_inputs

# in the order of the help text: the first line of the help of each command, which is shown without importing it
COMMANDS: dict[str, dict[str, str]] = {
    "Start": {
        "demo": "Link an example text, and show the links as a table and as an HTML page.",
        "ground": "Show the concepts that strings may mean, with scores and reasons.",
    },
    "Vocabulary": {
        "kb": "Get, build, inspect, search, compare, check, export, map or upload a knowledge base.",
        "discover": "Find new names: linked mentions whose text is not yet a name of their concept.",
    },
    "Pipelines": {
        "assemble": "Create a linking pipeline from a vocabulary and an encoder, and save it.",
        "package": "Write the wheels of a pipeline and of this package, and show how to install them.",
        "calibrate": "Fit the threshold and the probabilities of links on an annotated corpus.",
        "link": "Link the mentions of documents to the concepts of a vocabulary.",
        "review": "Review links in the browser. `review SOURCE …` is short for `review page SOURCE …`.",
        "serve": "Start a server that shows what a pipeline links, and why.",
        "mcp": "Serve tools for agents, such as Claude, on standard input and output.",
    },
    "Training": {
        "init": "Write a config to start from.",
        "convert": "Convert annotated corpora to one .spacy file for `spacy train`.",
        "augment": "Create training documents for rare concepts.",
        "pairs": "Write pairs of synonyms to train an encoder on.",
        "mine": "Mine hard negatives to train an encoder on.",
        "pretrain": "Train an encoder on pairs of synonyms, with the settings of a config file.",
        "encoder": "Inspect an encoder, encode texts with it, or make it smaller.",
        "import": "Convert published models to encoders.",
    },
    "Evaluation": {"evaluate": "Measure pipelines on annotated corpora, and encoders on pairs of names."},
}
# of the commands that share a module
_MODULES = {"calibrate": "assemble", "demo": "link", "ground": "link", "import": "encoder", "init": "configs"}
_MODULES |= {"package": "assemble", "mcp": "serve", "mine": "pretrain", "pairs": "pretrain"}
OUTPUTS = frozenset({"output", "names", "suspicious", "predictions", "errors", "plots"})
"""The parameters of all commands that name what they write. All others can name what they read."""
_UPDATING = frozenset({"assemble", "calibrate", "train"})
"""Commands that write a pipeline as a whole, which can take the place of the pipeline that they read."""
_WITH_CONFIG = frozenset({"augment", "discover", "mine", "pairs", "pretrain", "serve"})
_INTERRUPTED = (
    "Interrupted. No unfinished file is left, and vectors that are complete are kept. {hint}To start again: {command}"
)
_HINTS = {
    "link": "With --output, what is done is kept, see --resume. ",
    "pretrain": "With --resume, training goes on from its last checkpoint. ",
}


class _LazyCommands(UserDict[str, Any]):
    """The commands by name. One is imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            module = import_module(f".{_MODULES.get(name, name)}", __name__)
            command = getattr(module, f"{name}_" if iskeyword(name) else name)
            if not isinstance(command, typer.Typer):
                function, command = command, typer.Typer(add_completion=False)
                if name in _WITH_CONFIG:
                    from .configs import ConfigCommand

                    command.command(name, cls=ConfigCommand)(function)
                else:
                    command.command(name)(function)
            self.data[name] = _keeping_inputs(typer.main.get_command(command))
            self.data[name].name = name
            self.data[name].rich_help_panel = next(panel for panel, texts in COMMANDS.items() if name in texts)
        return self.data[name]


def _keeping_inputs(command: Any) -> Any:
    """Let a command, or each one of a group, keep its inputs. See `files.output.keeping_inputs`."""
    for each in getattr(command, "commands", {}).values():
        _keeping_inputs(each)
    if not hasattr(command, "commands"):
        run = command.callback
        names = {param.name: param.opts[0] for param in command.params if param.name in OUTPUTS}

        def run_keeping(**values: Any) -> Any:
            given = {name: value for name, value in values.items() if value and value != Path("-")}
            outputs = {option: str(given[name]) for name, option in names.items() if name in given}
            words = _words([value for name, value in given.items() if name not in names])
            if command.name in _UPDATING:
                words = (word for word in words if not os.path.isdir(word) or _differs(word, outputs["--output"]))
            with keeping_inputs(words, outputs):
                return run(**values)

        command.callback = run_keeping
    return command


def _differs(path: str, other: str) -> bool:
    return os.path.realpath(path) != os.path.realpath(other)


def _words(values: Any) -> Iterator[str]:
    """Yield the texts and paths in values, and what stands behind a = in them."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _words(value)
        elif isinstance(value, (str, Path)):
            yield from dict.fromkeys((str(value), str(value).partition("=")[2] or str(value)))


class _Commands(TyperGroup):
    """Imports a command when it is called, and ends it in good order, also under spaCy's command line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": {}})
        self.commands = _LazyCommands(dict.fromkeys(chain.from_iterable(COMMANDS.values())))

    def invoke(self, ctx: Any) -> Any:
        with ending_well(ctx):
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept `--json` also after the subcommand."""
        given = ["--json"] if "--json" in args else []
        return super().parse_args(ctx, [*given, *filter("--json".__ne__, args)])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the table of commands, so that none is imported."""
        listed: dict[str, Any] = {
            name: TyperCommand(name, help=text, rich_help_panel=panel)
            for panel, texts in COMMANDS.items()
            for name, text in texts.items()
        }
        commands, self.commands = self.commands, listed
        super().format_help(ctx, formatter)
        self.commands = commands


app = typer.Typer(name="spacy-sapbert", cls=_Commands, no_args_is_help=True, add_completion=False)


@app.callback(help="Link biomedical text to UMLS, MeSH or your own vocabulary.")
def _everywhere(
    json: Annotated[bool, typer.Option("--json", help="Print results as JSON on a terminal, too.")] = False,
) -> None:
    json_on_terminals.set(json)


def main() -> None:
    """Run the command line. A warning is its message, without the line of code."""
    warnings.formatwarning = lambda message, *_, **__: f"{message}\n"
    with named_errors():  # those of the help, which come before a command
        app()


# --- how commands end


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
