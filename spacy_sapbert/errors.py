"""Every message a user can meet: a code, the cause, the remedy.

Messages that say one thing about different files, settings or packages are a family: one class with one code, so that a
program can catch it. `errors.txt` has the messages, one in each line. E1xx are about vocabularies, E2xx about corpora,
E3xx about encoders and indexes, E4xx about components, E5xx about the command line and evaluation, E6xx about concepts
of documents and augmentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

_TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
_LINES = {line[1:5]: line for line in _TEXT.splitlines()}
"""The messages by code. `|` is between that of a family and its usual remedy."""
DOCS = "https://spacy-sapbert.github.io/spacy-sapbert"


class SapbertError(ValueError):
    """An error whose message gives the cause and the remedy."""


class TrainingDataError(SapbertError, SystemExit):
    """Training data that cannot be used. If nothing handles the error, the program ends with its message alone.

    `spacy train` ends with a traceback for other errors.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message


class FamilyError(SapbertError):
    """An error of a family: one message with different values.

    Args:
        remedy: What to do, if the usual remedy of the family does not fit.
        **values: The values for the other braces of the message.
    """

    code: ClassVar[str] = ""

    def __init__(self, remedy: str = "", **values: Any) -> None:
        shown = {name: _shown(value) for name, value in values.items()}
        message, _, usual_remedy = _LINES[self.code].partition(" |")
        text = message + (f" {remedy}".replace("{", "{{").replace("}", "}}") if remedy else usual_remedy)
        super().__init__(text.format(**shown).rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_message, (type(self), str(self))


class MissingExtraError(FamilyError):
    """A package of an extra is not installed."""

    code = "E542"


@contextmanager
def requiring(extra: str, what: str) -> Iterator[None]:
    """Name the extra of a package that cannot be imported in the block.

    Args:
        extra: The extra of spacy-sapbert that installs it.
        what: What needs the package, as the start of a sentence.

    Raises:
        MissingExtraError: A package cannot be imported.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(what=what, package=error.name or f"({error})", extra=extra) from error


class MissingColumnError(FamilyError):
    """A table lacks a column."""

    code = "E128"


class CannotReadError(FamilyError):
    """A file cannot be opened or read."""

    code = "E120"


class CannotWriteError(FamilyError):
    """A file cannot be written. What was there before is still there."""

    code = "E507"


class DamagedError(FamilyError):
    """A file or folder is damaged, incomplete or not of the format that was expected."""

    code = "E121"


class OtherFormatError(DamagedError):
    """A file that is not of the format that its name shows."""


class BadRecordError(FamilyError):
    """A record of a file is broken."""

    code = "E127"

    def __init__(
        self,
        remedy: str = "",
        *,
        position: str = "",
        path: object = "",
        line: object = 0,
        unit: str = "line",
        **values: Any,
    ) -> None:
        super().__init__(remedy, position=position or f"{path}, {unit} {line}", **values)


class ChoiceError(FamilyError):
    """A value is not one of the possible ones."""

    code = "E125"


class NotFoundError(FamilyError):
    """Something that was named does not exist."""

    code = "E504"


class EmptyError(FamilyError):
    """Nothing is there to work with, so that nothing was done."""

    code = "E105"


class MismatchError(FamilyError):
    """Two things do not belong together."""

    code = "E305"


class SettingError(FamilyError):
    """A setting of a component or of a config has an impossible value."""

    code = "E406"


class OptionError(FamilyError):
    """Options of a command, or arguments of a function, do not fit together."""

    code = "E533"


class MissingComponentError(FamilyError):
    """A pipeline lacks a component."""

    code = "E503"


class NewerVersionError(FamilyError):
    """A newer version of this package wrote a file."""

    code = "E600"


class LimitError(FamilyError):
    """An input is larger than a bound that protects the memory."""

    code = "E586"


def _shown(value: Any) -> Any:
    """Return a value as a message shows it: collections as a list with commas."""
    if isinstance(value, Iterable) and not isinstance(value, str | Path | bytes):
        return ", ".join(map(str, value)) or "none"
    return value


def _with_message(family: type[FamilyError], message: str) -> FamilyError:
    """Make an error that another process raised."""
    error = family.__new__(family)
    ValueError.__init__(error, message)
    return error


_OTHERS = {code: text for code, text in _LINES.items() if "|" not in text}
Errors = SimpleNamespace(**{code: text for code, text in _OTHERS.items() if code.startswith("E")})
"""The messages of other errors, such as `Errors.E111`."""
Warnings = SimpleNamespace(**{code: text for code, text in _OTHERS.items() if code.startswith("W")})
"""The messages of warnings."""


def messages() -> dict[str, str]:
    """Return the text of every message by its code."""
    return {code: text.replace(" |", "") for code, text in _LINES.items()}
