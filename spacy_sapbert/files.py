"""Read and write plain or gzipped files and arrays, name temporary ones, and parse and check values."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO, cast

from .bounds import bounded
from .errors import Errors, SapbertError

if TYPE_CHECKING:
    import numpy as np
    from filelock import BaseFileLock

TEMPORARY = "spacy_sapbert_tmp_"
"""How the names of temporary folders begin whose files are used as long as an object exists."""
LOCK_FILE = "spacy-sapbert.lock"
"""The file in each temporary folder that its process keeps locked as long as it lives."""
MAX_PROBLEMS = 1000
"""The most examples that are kept. A file in the wrong format is broken in every line."""

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 16
# codecs of Python that take text and bytes, but in which nobody writes text
_NOT_OF_TEXT = ("idna", "punycode", "unicode-escape", "raw-unicode-escape")
_LONGEST_PREFIX = 40  # characters of a name, so that the name of its temporary folder is not too long either
_MADE_BY_MKDTEMP = re.compile(r"[._][a-z0-9_]{8}\.tmp$")
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
def open_text(
    path: Path, encoding: str = "utf-8", newline: str | None = None, *, lines: bool = True
) -> Iterator[TextIO]:
    """Open a text file for reading. The first bytes, not the file name, show whether it is gzipped.

    Args:
        path: The file.
        encoding: The encoding. With "utf-8", a byte order mark at the start is skipped.
        newline: As for `open`. The csv module needs "".
        lines: Whether to bound the length of lines. Without it, the caller must not collect lines.

    Yields:
        The open file. Errors during reading are translated, too.

    Raises:
        SapbertError: E120 the file does not exist or cannot be read, E121 the gzip data is damaged or cut off, E122 the
            file is not in that encoding (with the line), E123 the encoding does not exist, E586 a line is too long,
            E587 the file unpacks to too many bytes.
    """
    text_encoding = "utf-8-sig" if check_encoding(path, encoding) == "utf-8" else encoding
    if has_line_ends(encoding):
        opened = _open_bytes(path, lines=lines)
    else:  # only in UTF-8 can the length of lines be bounded
        recoded = io.BufferedReader(_Recoded(_open_bytes(path, lines=False), encoding))
        opened, text_encoding = bounded(path, cast(BinaryIO, recoded), lines=lines), "utf-8"
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


def check_encoding(path: Path, encoding: str, *, of_lines: bool = False) -> str:
    """Check that text can have an encoding.

    Args:
        path: The file to read, for messages.
        encoding: The name of the encoding.
        of_lines: Whether the bytes of the file are split into lines before they are decoded.

    Returns:
        The usual name of the encoding.

    Raises:
        SapbertError: E122 lines cannot be split in this encoding, E123 there is no such encoding for text.
    """
    try:
        name = codecs.lookup(encoding).name
        "\n".encode(encoding)  # raises for codecs that are not for text
    except (LookupError, ValueError) as error:
        raise SapbertError(Errors.E123.format(path=path, encoding=encoding)) from error
    if name.replace("_", "-") in _NOT_OF_TEXT:
        raise SapbertError(Errors.E123.format(path=path, encoding=encoding))
    if of_lines and not has_line_ends(encoding):
        reason = "a file with this format needs an encoding with one byte for a line end"
        raise SapbertError(Errors.E122.format(path=path, line=1, encoding=encoding, reason=reason))
    return name


def has_line_ends(encoding: str) -> bool:
    """Return whether the byte for a line end means a line end in an encoding of text, as it does not in UTF-16."""
    try:
        return b"\n".decode(encoding) == "\n"
    except UnicodeError:
        return False


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes. The first bytes, not the file name, show whether it is gzipped.

    Raises:
        SapbertError: E120 the file does not exist or cannot be read, E121 the gzip data is damaged or cut off, E587 the
            file unpacks to too many bytes.
    """
    with _open_bytes(path, lines=False) as binary, _translate_gzip_errors(path):
        yield binary


@contextmanager
def _translate_gzip_errors(path: Path) -> Iterator[None]:
    """Translate gzip errors.

    They take precedence over decoding errors, since finding the bad line reads the file again.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SapbertError(Errors.E121.format(path=path, reason=error)) from error


def _is_pipe(path: Path) -> bool:
    with suppress(OSError, ValueError):  # opening an impossible path tells why
        return path.is_fifo()
    return False


def _open_bytes(path: Path, *, lines: bool = True) -> BinaryIO:
    if _is_pipe(path):  # which would wait for a writer, and could be read only once
        raise SapbertError(Errors.E120.format(path=path, reason="it is a pipe; write its content to a file first"))
    try:
        binary = path.open("rb")
        gzipped = binary.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
    except (OSError, ValueError) as error:  # a path with a zero is a ValueError
        raise SapbertError(Errors.E120.format(path=path, reason=getattr(error, "strerror", error))) from error
    if not gzipped:
        return bounded(path, binary, lines=lines)
    unpacked = cast(BinaryIO, _GzipReader(fileobj=binary, mode="rb"))
    return bounded(path, unpacked, binary.tell, lines=lines)


class _Recoded(io.RawIOBase):
    """Reads text of any encoding as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        texts = codecs.iterdecode(iter(lambda: stream.read(_CHUNK), b""), encoding)
        self._pieces = (text.encode() for text in texts)
        self._piece = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self._piece or next(self._pieces, b"")
        n = min(len(piece), len(buffer))
        buffer[:n], self._piece = piece[:n], piece[n:]
        return n

    def close(self) -> None:
        self._stream.close()
        super().close()


class _GzipReader(gzip.GzipFile):
    """Unpacks a file, and closes it at the end."""

    def close(self) -> None:
        binary = cast(BinaryIO | None, self.fileobj)
        super().close()
        if binary:
            binary.close()


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


def read_array(path: Path) -> np.ndarray:
    """Open an array, memory-mapped.

    Raises:
        OSError: The file is missing.
        ValueError: It is damaged.
    """
    import numpy as np  # imported here, because importing the package loads nothing heavy

    try:
        return np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)  # without the cost of np.memmap
    except (OSError, ValueError):
        raise
    except EOFError as error:
        raise ValueError(f"{path.name} is empty") from error
    except Exception as error:  # numpy reads the header as Python code, which fails in many ways
        raise ValueError(f"{path.name} has a damaged header") from error


def check_not_newer(path: Any, found: Any, known: int) -> None:
    """Check that no newer version wrote a file. An older format, or a number that is none, is left to the caller.

    Args:
        path: The file, for the message.
        found: The number of its format.
        known: The newest format that this version reads.

    Raises:
        SapbertError: E600 a newer version wrote it.
    """
    if type(found) is int and found > known:
        raise SapbertError(Errors.E600.format(path=path, found=found, wanted=known))


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
def replacing(path: Path, *, parents: bool = False) -> Iterator[Path]:
    """Write a file under a temporary name, and move it to `path` when the block ends without an error.

    Args:
        path: The file.
        parents: Whether to make the folder of the file.

    Yields:
        The path to write to. A device or a pipe is written to directly.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    if "\0" in str(path):
        raise SapbertError(Errors.E507.format(path=path, reason="a path has no zero"))
    try:
        if is_special(path):
            yield path
            return
        target = Path(os.path.realpath(path))  # a symbolic link keeps pointing to the file
        if parents:
            target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target) as folder:
            temporary = folder / path.name
            yield temporary
            os.replace(temporary, target)
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=path, reason=error.strerror or error)) from error


def is_special(path: Path) -> bool:
    """Return whether a path is a device, a pipe or a folder, which no new file can replace."""
    return path.exists() and not path.is_file()


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Make a hidden folder next to a file or folder that is being written, and remove it at the end of the block.

    Its name is `.NAME.*.tmp`. The first call for a parent folder removes what killed processes left there.

    Args:
        path: The file or folder that is being written. Its parent folder must exist.

    Yields:
        The hidden folder, on the same disk.

    Raises:
        OSError: The folder cannot be made.
    """
    parent = Path(os.path.abspath(path)).parent
    tidy(parent)
    folder, lock = _locked_folder(f".{path.name[:_LONGEST_PREFIX]}.", parent)
    try:
        yield folder
    finally:
        _remove_locked(folder, lock)


class ScratchFolder:
    """A folder in the system's folder for temporary files. It exists as long as this object, or a `with` block.

    Attributes:
        path: The folder.
    """

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        tidy(parent)
        folder, lock = _locked_folder(TEMPORARY, parent)
        self.path = folder / "files"
        self.path.mkdir()
        self._remove = weakref.finalize(self, _remove_in_process, os.getpid(), folder, lock)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder."""
        self._remove()


def tidy(parent: Path) -> None:
    """Remove the temporary folders in a folder that killed processes left there, once in a process."""
    if parent not in _tidied:
        remove_leftovers(parent)
        _tidied.add(parent)


def remove_leftovers(parent: Path) -> None:
    """Remove the temporary folders in a folder that killed processes left there.

    A temporary folder holds a lock file. The system frees the lock when the process ends, however it ends. A folder
    with a lock that is held, or of another user, stays. So does one without this file, unless it is empty and has such
    a name as ours: the lock file is removed just before the folder.
    """
    from filelock import FileLock

    found: list[Path] = []
    with suppress(OSError), os.scandir(parent) as entries:
        found = [Path(entry.path) for entry in entries if _is_temporary(entry.name) and _is_own_folder(entry)]
    for folder in found:
        if (folder / LOCK_FILE).is_file():
            lock = FileLock(folder / LOCK_FILE, timeout=0)
            with suppress(OSError, NotImplementedError):  # Timeout, if the process lives, is an OSError
                lock.acquire()
                _remove_locked(folder, lock)
        elif _MADE_BY_MKDTEMP.search(folder.name):
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def replace_folder(new: Path, folder: Path) -> None:
    """Move a new folder to the place of another one, if there is one.

    The other one is renamed just before (see `replaced_folder`), and removed at the end.

    Raises:
        OSError: It cannot be moved. The other one is then where it was.
    """
    aside = replaced_folder(folder)
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    try:
        new.rename(folder)
    except OSError:
        if aside.exists():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def replaced_folder(folder: Path) -> Path:
    """Return the temporary name of a folder while another one replaces it."""
    folder = Path(os.path.realpath(folder))  # does not fail for links in a circle
    return folder.with_name(f".{folder.name}.replaced")


# the folders in which this process has removed the temporary folders of killed processes
_tidied: set[Path] = set()


def _is_temporary(name: str) -> bool:
    return name.startswith(TEMPORARY) or (name.startswith(".") and name.endswith(".tmp"))


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    of_user = not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()
    return of_user and entry.is_dir(follow_symlinks=False)


def _locked_folder(prefix: str, parent: Path) -> tuple[Path, BaseFileLock]:
    """Make a new folder, and lock it. Another process can remove it just before that, so this may need more tries."""
    from filelock import FileLock, Timeout

    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=".tmp", dir=parent))
        lock = FileLock(folder / LOCK_FILE, timeout=0)
        try:
            lock.acquire()
        except (Timeout, FileNotFoundError):
            continue
        except BaseException:  # also on Ctrl-C: nobody removes a folder without a lock file
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder, lock


def _remove_in_process(process: int, folder: Path, lock: BaseFileLock) -> None:
    if os.getpid() == process:  # not in a forked process, which has a copy of the object
        _remove_locked(folder, lock)


def _remove_locked(folder: Path, lock: BaseFileLock) -> None:
    """Remove a folder. The lock file comes last: without it, nobody would remove the rest after a kill."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != LOCK_FILE:
                path.unlink()
        (folder / LOCK_FILE).unlink()
        folder.rmdir()
    lock.release()


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
