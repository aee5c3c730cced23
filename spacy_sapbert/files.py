"""Files: read and write them, plain or gzipped; parse their numbers and JSON; count what is broken; the cache."""

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
"""A file read in the wrong format is broken in every line; more examples than this help nobody."""

_GZIP_MAGIC = b"\x1f\x8b"
_MAX_DIGITS = 18  # of whole numbers, which fit into 64 bits then
_DIGITS = re.compile("[0-9]+")


class Problem(NamedTuple):
    """Something in a file that was left out or mended, and the line where it stands."""

    path: Path
    line: int
    reason: str


def keep_problem(problems: list[Problem], problem: Problem) -> None:
    """Add a problem to the examples, unless there are `MAX_PROBLEMS` of them."""
    if len(problems) < MAX_PROBLEMS:
        problems.append(problem)


@dataclass
class ProblemReport:
    """Counts what cannot be read in files, and keeps the first of it as examples.

    Attributes:
        broken: broken records, or parts of records.
        problems: the first 1,000 of them.
    """

    broken: int = 0
    problems: list[Problem] = field(default_factory=list)

    def add_broken(self, path: Path, line: int, reason: str) -> None:
        """Count a broken place, and keep it as an example."""
        self.broken += 1
        keep_problem(self.problems, Problem(path, line, reason))


@contextmanager
def open_text(path: Path, encoding: str = "utf-8", newline: str | None = None) -> Iterator[TextIO]:
    """Open a text file for reading; whether it is gzipped is seen from its first bytes, not from its name.

    Args:
        encoding: with "utf-8", a byte order mark at the start is left out.
        newline: as for `open`; the csv module wants "".

    Yields:
        the open file. Errors that come up while it is read are translated as well.

    Raises:
        SapbertError: E120 no such file or not to be read, E121 gzip data damaged or cut off, E122 not in that encoding
            (with the line), E123 no such encoding.
    """
    try:
        "".encode(encoding)  # some encodings are not for text
        text_encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    except (LookupError, ValueError) as error:
        raise SapbertError(Errors.E123.format(path=path, encoding=encoding)) from error
    opened = _open_bytes(path)
    with opened as binary, io.TextIOWrapper(binary, text_encoding, newline=newline) as handle, _unpacking(path):
        try:
            yield handle
        except UnicodeEncodeError:
            raise  # of something that is written meanwhile
        except UnicodeError as error:
            line = _undecodable_line(path, encoding)
            reason = getattr(error, "reason", error)
            raise SapbertError(Errors.E122.format(path=path, line=line, encoding=encoding, reason=reason)) from error


@contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    """Damage goes before what cannot be decoded: the line of that is looked for in a second reading."""
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
    """Return the line that cannot be decoded; a decode error itself only knows its place in a buffer."""
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
    """Read a whole number as files have it: ASCII digits, perhaps with a sign, and blanks around them.

    Raises:
        ValueError: it is none, or has more than 18 digits.
    """
    digits = text.strip()
    digits = digits[1:] if digits[:1] in ("+", "-") else digits
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS):
        raise ValueError("this is no whole number of at most 18 digits")
    return int(text)  # which takes no control characters for blanks


def parse_float(text: str) -> float:
    """Read a number as files have it.

    Raises:
        ValueError: it is none, not written in ASCII, or not finite.
    """
    number = float(text)
    if not text.isascii() or "_" in text or not math.isfinite(number):
        raise ValueError("this is no finite number")
    return number


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is no JSON, or cannot be held: nested too deeply, or with a number of too many digits. But for
            bytes that cannot be decoded, it is a `json.JSONDecodeError` and knows its line.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    with _json_errors(text):
        return json.loads(text)


def parse_json_at(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at a place of a text, and where it ends.

    Raises:
        json.JSONDecodeError: as `parse_json`.
    """
    with _json_errors(text, at):
        return json.JSONDecoder().raw_decode(text, at)


@contextmanager
def _json_errors(text: str, at: int = 0) -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError:
        raise
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", text, at) from error
    except ValueError as error:  # Python refuses to make integers of thousands of digits
        longest = max(_DIGITS.finditer(text, at), key=lambda found: found.end() - found.start())
        raise json.JSONDecodeError("a number of too many digits", text, longest.start()) from error


def check_writable(value: Any, *, allow_nan: bool = True) -> None:
    """Check that a value of a JSON text can be written again.

    Raises:
        ValueError: it cannot: it holds half a surrogate pair, or without `allow_nan` a number that is not finite.
    """
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=allow_nan).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], object]]:
    """Open the output; a file appears at `path` when the block ends without an error, gzipped if it ends in `.gz`.

    Args:
        path: None for standard output. A device or a pipe is written to as it is.

    Yields:
        writes a text as UTF-8.

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
    """Have a file written under another name, and put it at `path` when the block ends without an error.

    Yields:
        the file to write; a device or a pipe is written to as it is.

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
        # the same documents give the same bytes: no name and no time in the head
        with gzip.GzipFile("", "wb", fileobj=handle, mtime=0) as packed:
            yield cast(BinaryIO, packed)


def without_gz(path: Path) -> Path:
    """Return the path without a last `.gz`: what is left ends as the packed file does."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def cache_dir() -> Path:
    """Return where what can be made again is kept; the environment variable SPACY_SAPBERT_CACHE moves it."""
    if chosen := os.environ.get("SPACY_SAPBERT_CACHE"):
        return Path(chosen)
    import platformdirs  # here, so that an encoder can be trained where it is not installed

    return Path(platformdirs.user_cache_dir("spacy-sapbert"))
