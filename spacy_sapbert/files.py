"""Read and write plain or gzipped files, parse numbers and JSON, count broken records, find the cache folder."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import math
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

from .errors import Errors, SapbertError

MAX_PROBLEMS = 1000
"""The most examples that are kept. A file in the wrong format is broken in every line."""

_GZIP_MAGIC = b"\x1f\x8b"
_MAX_DIGITS = 18  # fits into 64 bits
_DIGITS = re.compile("[0-9]+")


class Problem(NamedTuple):
    """A part of a file that was left out or repaired, and its line."""

    path: Path
    line: int
    reason: str


def keep_problem(problems: list[Problem], problem: Problem) -> None:
    """Add a problem to the examples, unless there are already `MAX_PROBLEMS`."""
    if len(problems) < MAX_PROBLEMS:
        problems.append(problem)


@dataclass
class ProblemReport:
    """Counts the broken records of files and keeps the first ones as examples.

    Attributes:
        broken: Number of broken records, or of broken parts of records.
        problems: The first 1,000 of them.
    """

    broken: int = 0
    problems: list[Problem] = field(default_factory=list)

    def add_broken(self, path: Path, line: int, reason: str) -> None:
        """Count a broken record and keep it as an example."""
        self.broken += 1
        keep_problem(self.problems, Problem(path, line, reason))


@contextmanager
def open_text(path: Path, encoding: str = "utf-8", newline: str | None = None) -> Iterator[TextIO]:
    """Open a text file for reading. The first bytes, not the file name, show whether it is gzipped.

    Args:
        path: The file.
        encoding: The encoding. With "utf-8", a byte order mark at the start is skipped.
        newline: As for `open`. The csv module needs "".

    Yields:
        The open file. Errors during reading are translated, too.

    Raises:
        SapbertError: E120 the file does not exist or cannot be read, E121 the gzip data is damaged or cut off, E122 the
            file is not in that encoding (with the line), E123 the encoding does not exist.
    """
    try:
        "".encode(encoding)  # raises for encodings that are not for text
        text_encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    except (LookupError, ValueError) as error:
        raise SapbertError(Errors.E123.format(path=path, encoding=encoding)) from error
    opened = _open_bytes(path)
    with (
        opened as binary,
        io.TextIOWrapper(binary, text_encoding, newline=newline) as handle,
        _translate_gzip_errors(path),
    ):
        try:
            yield handle
        except UnicodeEncodeError:
            raise  # not from this file: the caller wrote something meanwhile
        except UnicodeError as error:
            line = _undecodable_line(path, encoding)
            reason = getattr(error, "reason", error)
            raise SapbertError(Errors.E122.format(path=path, line=line, encoding=encoding, reason=reason)) from error


@contextmanager
def _translate_gzip_errors(path: Path) -> Iterator[None]:
    """Translate gzip errors.

    They take precedence over decoding errors, since finding the bad line reads the file again.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SapbertError(Errors.E121.format(path=path, reason=error)) from error


def _open_bytes(path: Path) -> BinaryIO:
    try:
        with path.open("rb") as binary:
            gzipped = binary.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        return gzip.open(path) if gzipped else path.open("rb")  # type: ignore[return-value]
    except OSError as error:
        raise SapbertError(Errors.E120.format(path=path, reason=error.strerror)) from error


def _undecodable_line(path: Path, encoding: str) -> int:
    """Return the line that cannot be decoded. The decode error only knows the position in a buffer."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 0
    with _open_bytes(path) as binary:
        for raw in binary:
            line += 1
            try:
                decoder.decode(raw)
            except UnicodeError:
                break
    return line


def parse_int(text: str) -> int:
    """Parse a whole number: ASCII digits, an optional sign, and surrounding blanks.

    Raises:
        ValueError: It is not a whole number, or has more than 18 digits.
    """
    digits = text.strip()
    digits = digits[1:] if digits[:1] in ("+", "-") else digits
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS):
        raise ValueError("this is not a whole number of at most 18 digits")
    return int(text)  # `int` does not strip control characters, unlike `str.strip`


def parse_float(text: str) -> float:
    """Parse a number.

    Raises:
        ValueError: It is not a number, not written in ASCII, or not finite.
    """
    number = float(text)
    if not text.isascii() or "_" in text or not math.isfinite(number):
        raise ValueError("this is not a finite number")
    return number


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: It is not JSON, is nested too deeply, or has a number with too many digits. The error is a
            `json.JSONDecodeError` with the line, unless the bytes cannot be decoded.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    with _translate_json_errors(text):
        return json.loads(text)


def parse_json_at(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at a position of a text, and its end.

    Raises:
        json.JSONDecodeError: See `parse_json`.
    """
    with _translate_json_errors(text, at):
        return json.JSONDecoder().raw_decode(text, at)


@contextmanager
def _translate_json_errors(text: str, at: int = 0) -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", text, at) from error
    except ValueError as error:  # Python refuses integers of thousands of digits
        longest = max(_DIGITS.finditer(text, at), key=lambda found: found.end() - found.start())
        raise json.JSONDecodeError("a number with too many digits", text, longest.start()) from error


def check_writable(value: Any, *, allow_nan: bool = True) -> None:
    """Check that a value of a JSON text can be written again.

    Raises:
        ValueError: It holds half a surrogate pair, is nested too deeply, or (without `allow_nan`) holds a number that
            is not finite.
    """
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=allow_nan).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], object]]:
    """Open an output. The file appears at `path` when the block ends without an error.

    Args:
        path: The file, gzipped if its name ends in `.gz`. None for standard output. A device or a pipe is written to
            directly.

    Yields:
        A function that writes a text as UTF-8.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    if path is None:
        yield _to_stdout
        return
    with replacing(path) as temporary, _open_binary(temporary, gzipped=path.suffix.lower() == ".gz") as handle:
        yield lambda text: handle.write(text.encode())


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a file under a temporary name, and move it to `path` when the block ends without an error.

    Yields:
        The path to write to. A device or a pipe is written to directly.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    is_special = path.exists() and not path.is_file()
    temporary = path if is_special else path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        if not is_special:
            os.replace(temporary, path)
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=path, reason=error.strerror or error)) from error
    finally:
        if not is_special:
            with suppress(OSError):
                temporary.unlink()


def _to_stdout(text: str) -> None:
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


@contextmanager
def _open_binary(path: Path, *, gzipped: bool) -> Iterator[BinaryIO]:
    with path.open("wb") as handle:
        if not gzipped:
            yield handle
            return
        # no name and no time in the header, so that the same documents give the same bytes
        with gzip.GzipFile("", "wb", fileobj=handle, mtime=0) as packed:
            yield cast(BinaryIO, packed)


def without_gz(path: Path) -> Path:
    """Return the path without a final `.gz`, so that its suffix is that of the packed file."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def cache_dir() -> Path:
    """Return the folder for files that can be made again. The environment variable SPACY_SAPBERT_CACHE changes it."""
    if chosen := os.environ.get("SPACY_SAPBERT_CACHE"):
        return Path(chosen)
    import platformdirs  # imported here, so that training also runs if it is not installed

    return Path(platformdirs.user_cache_dir("spacy-sapbert"))
