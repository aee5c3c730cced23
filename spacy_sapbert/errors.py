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
    message: ClassVar[str] = ""
    usual_remedy: ClassVar[str] = ""

    def __init_subclass__(cls, *, code: str = "") -> None:
        if code:
            message, _, remedy = _LINES[code].partition("|")
            cls.code, cls.message, cls.usual_remedy = code, message.strip(), remedy.strip()

    def __init__(self, remedy: str = "", **values: Any) -> None:
        shown = {name: _shown(value) for name, value in values.items()}
        text = f"{self.message} {remedy.replace('{', '{{').replace('}', '}}') or self.usual_remedy}".format(**shown)
        super().__init__(text.rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_message, (type(self), str(self))


class MissingExtraError(FamilyError, code="E542"):
    """A package of an extra is not installed."""


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


class MissingColumnError(FamilyError, code="E128"):
    """A table lacks a column."""


class CannotReadError(FamilyError, code="E120"):
    """A file cannot be opened or read."""


class CannotWriteError(FamilyError, code="E507"):
    """A file cannot be written. What was there before is still there."""


class DamagedError(FamilyError, code="E121"):
    """A file or folder is damaged, incomplete or not of the format that was expected."""


class OtherFormatError(DamagedError):
    """A file that is not of the format that its name shows."""


class BadRecordError(FamilyError, code="E127"):
    """A record of a file is broken."""

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


class ChoiceError(FamilyError, code="E125"):
    """A value is not one of the possible ones."""


class NotFoundError(FamilyError, code="E504"):
    """Something that was named does not exist."""


class EmptyError(FamilyError, code="E105"):
    """Nothing is there to work with, so that nothing was done."""


class MismatchError(FamilyError, code="E305"):
    """Two things do not belong together."""


class SettingError(FamilyError, code="E406"):
    """A setting of a component or of a config has an impossible value."""


class OptionError(FamilyError, code="E533"):
    """Options of a command, or arguments of a function, do not fit together."""


class MissingComponentError(FamilyError, code="E503"):
    """A pipeline lacks a component."""


class NewerVersionError(FamilyError, code="E600"):
    """A newer version of this package wrote a file."""


class LimitError(FamilyError, code="E586"):
    """An input is larger than a bound that protects the memory."""


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
