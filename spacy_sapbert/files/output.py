"""Write files completely or not at all, and make temporary folders."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ..errors import CannotWriteError, OptionError

TEMPORARY = "spacy_sapbert_tmp_"
"""How the names of temporary folders begin whose files are used as long as an object exists."""
LOCK_FILE = "spacy-sapbert.lock"
"""The file in an output folder that a run keeps locked as long as it lives."""
_INPUTS: ContextVar[tuple[str, ...]] = ContextVar("inputs", default=())
"""The values of the present command that can name an input."""
_MARKS = ("meta.json", "config.json")
"""A folder with one of these files is a pipeline or an encoder, in which no output belongs."""


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str], object]]:
    """Open an output. The file appears at `path` when the block ends without an error.

    Args:
        path: The file, gzipped if its name ends in `.gz`. None for standard output. A device or a pipe is written to
            directly.

    Yields:
        A function that writes a text as UTF-8.
    """
    if path is None:
        yield _to_stdout
        return
    with replacing(path) as temporary, temporary.open("wb") as handle:
        if path.suffix.lower() != ".gz":
            yield lambda text: handle.write(text.encode())
            return
        # no name and no time in the header, so that the same documents give the same bytes
        with gzip.GzipFile("", "wb", fileobj=handle, mtime=0) as packed:
            yield lambda text: packed.write(text.encode())


def append_line(path: Path, line: str) -> None:
    """Add a line to a file, which is then closed, so that a run that is killed keeps all its lines."""
    with writing(path), path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def refuse_input(
    output: Path | None, inputs: Iterable[Path | str | None], option: str = "--output", *, in_folders: bool = False
) -> None:
    """Refuse an output that is one of the inputs, also through links, since writing it would destroy the input.

    Commands call this before they write anything. A device or a pipe can be both.

    Args:
        output: The file or folder to write. None for standard output.
        inputs: The files and folders to read. None is left out.
        option: The option that names the output, for the message.
        in_folders: Whether an output inside an input folder is refused, since the next run would read it.
    """
    if output is None or (is_special(output) and not os.path.isdir(output)):
        return
    for path in (Path(given) for given in inputs if given):
        if reason := _conflict(Path(os.path.realpath(output)), path, in_folders=in_folders):
            raise OptionError(option=f"{option} {output}", reason=reason, remedy="Choose another output.")


@contextmanager
def keeping_inputs(values: Iterable[str], outputs: Mapping[str, str]) -> Iterator[None]:
    """Let nothing in a block replace an input. Every command runs in such a block.

    Args:
        values: What the user gave. Those that are files or folders are inputs.
        outputs: What the command writes, by the names of the options. It is checked before the block begins.

    Raises:
        OptionError: An output is an input, lies in a pipeline or an encoder that is read, or is given twice.
    """
    token = _INPUTS.set(tuple(values))
    try:
        places: dict[str, str] = {}
        for option, output in outputs.items():
            _keep_inputs(Path(output), f"{option} {output}")
            if (other := places.setdefault(os.path.realpath(output), option)) != option and not is_special(output):
                reason = f"{other} is the same file"
                raise OptionError(option=f"{option} {output}", reason=reason, remedy="Choose another output.")
        yield
    finally:
        _INPUTS.reset(token)


def add_inputs(values: Iterable[str]) -> None:
    """Keep further values as in `keeping_inputs`, such as those of a config that a command has read."""
    if _INPUTS.get():
        _INPUTS.set((*_INPUTS.get(), *values))


def _keep_inputs(target: Path, shown: str) -> None:
    if is_special(target) and not os.path.isdir(target):
        return
    target = Path(os.path.realpath(target))
    for path in map(Path, _INPUTS.get()):
        is_model = any(os.path.isfile(path / mark) for mark in _MARKS)
        if os.path.exists(path) and (reason := _conflict(target, path, in_folders=is_model, around=False)):
            raise OptionError(option=shown, reason=reason, remedy="Choose another output.")


def _conflict(target: Path, path: Path, *, in_folders: bool, around: bool = True) -> str | None:
    source = Path(os.path.realpath(path))
    if target == source or (os.path.isfile(target) and os.path.isfile(source) and target.samefile(source)):
        return f"{path} is also read, and it would be replaced"
    if around and target in source.parents and os.path.isdir(target):
        return f"{path} is read and lies in it, so it would be replaced"
    if in_folders and source in target.parents:
        return f"it lies in the folder {path}, which is read"
    return None


def kept_result(path: Path, make: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the JSON of a file. If there is none, make and write it, so that a run that was cut off goes on."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps(make(), ensure_ascii=False, indent=2)
        with open_output(path) as write:
            write(content)
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


@contextmanager
def replacing(path: Path, *, parents: bool = False) -> Iterator[Path]:
    """Write a file under a temporary name, and move it to `path` when the block ends without an error.

    Args:
        parents: Whether to make the folder of the file.

    Yields:
        The path to write to. A device or a pipe is written to directly.
    """
    with writing(path):
        if is_special(path):
            yield path
            return
        _keep_inputs(path, str(path))  # also what a command writes beside its output
        target = Path(os.path.realpath(path))  # a symbolic link keeps pointing to the file
        if parents:
            target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target) as folder:
            temporary = folder / path.name
            yield temporary
            os.replace(temporary, target)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the errors of the system in a block that writes a file or folder into a named one."""
    try:
        yield
    except OSError as error:
        raise CannotWriteError(path=path, reason=error.strerror or error) from error


def is_special(path: Path | str) -> bool:
    """Return whether a path is a device, a pipe or a folder, which no new file can replace."""
    return os.path.exists(path) and not os.path.isfile(path)


@contextmanager
def locked(lock: Path, output: Path) -> Iterator[None]:
    """Keep other runs out of the folder of a lock file. The folder is made if it is missing.

    Args:
        output: What the run writes, for the message.
    """
    from filelock import FileLock

    try:
        lock.parent.mkdir(exist_ok=True)
        held = FileLock(lock, timeout=0).acquire()
    except TimeoutError as error:
        reason = "another process is writing it"
        raise CannotWriteError(path=output, reason=reason, remedy="Wait until it ends.") from error
    except OSError as error:
        raise CannotWriteError(path=output, reason=error.strerror or error) from error
    with held:
        yield


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Make a hidden folder next to a file or folder that is being written, and remove it at the end of the block.

    Its name is `.NAME.*.tmp`. A process that is killed leaves it there.

    Args:
        path: The file or folder that is being written. Its parent folder must exist.

    Yields:
        The hidden folder, on the same disk.
    """
    parent = Path(os.path.abspath(path)).parent
    # a long name would make that of the folder too long
    prefix = f".{path.name[:40]}."
    with tempfile.TemporaryDirectory(".tmp", prefix, parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


class ScratchFolder:
    """A folder in the system's folder for temporary files. It exists as long as this object, or a `with` block.

    Attributes:
        path: The folder.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=TEMPORARY))
        self._remove = weakref.finalize(self, _remove_in_process, os.getpid(), self.path)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder."""
        self._remove()


def _remove_in_process(process: int, folder: Path) -> None:
    if os.getpid() == process:  # not in a forked process, which has a copy of the object
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Make a folder under a temporary name, and move it to `folder` when the block ends without an error.

    An older folder is renamed just before (see `replaced_folder`), and removed at the end.

    Yields:
        The new, empty folder. It is alone in a temporary one, which may hold further files of the block.
    """
    folder = Path(os.path.realpath(folder))  # a symbolic link keeps pointing to the folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder) as temporary:
        new = temporary / "new"
        new.mkdir()
        yield new
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


def _to_stdout(text: str) -> None:
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
