"""Run targets on changed inputs, keep the inputs on which they crash, and make these smaller.

An input is made from the name of its target, a seed and a number, so it can be made again, and a run can go on later.
The inputs run in a process of their own, which is started again when an input ends it.
"""

from __future__ import annotations

import faulthandler
import gc
import hashlib
import json
import mmap
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from spacy_sapbert.errors import SapbertError

from .mutation import mutate

Files = dict[str, bytes]
"""An input: the content of each file, by its path in a folder."""

SECONDS = 5
"""The most seconds of the processor for an input. All inputs are small."""
MOST_MEMORY = 600 << 20
"""The most bytes by which the memory may grow for an input."""
HANG = 120
"""The most seconds without an end of an input, before its process is ended."""
_SPACE = 6 << 30
_CHUNK = 300  # inputs of one target, before the next target has its turn
_OPEN_FILES = 40
_SMALLER = 400  # tries to make the input of a crash smaller
_CURRENT = struct.Struct("<qq")
_DONE = 3  # the status of a process that has crashes to show


class Target(NamedTuple):
    """Something that reads what others wrote.

    Attributes:
        name: Its group and its name.
        seeds: Returns sound inputs, which are changed.
        use: Reads the input in a folder, and checks what it gets.
        share: How many inputs it gets, compared with other targets. Quick readers get more.
        change: Makes an input from another one. By default, one of its files is changed.
    """

    name: str
    seeds: Callable[[], Sequence[Files]]
    use: Callable[[Path], object]
    share: float = 1.0
    change: Callable[[Files, Random], Files] | None = None


class Crash(NamedTuple):
    """What an input did that nothing may do.

    Attributes:
        kind: The error and its place, which are the same for inputs with the same fault.
        report: The traceback.
    """

    kind: str
    report: str


class _TooSlow(BaseException):
    """An input took too many seconds. No handler of errors catches it."""


def input_of(target: Target, seeds: Sequence[Files], seed: int, number: int) -> Files:
    """Return an input of a target."""
    random = Random(f"{target.name} {seed} {number}")
    return changed_input(target, random.choice(seeds), seeds, random)


def changed_input(target: Target, files: Files, others: Sequence[Files], random: Random) -> Files:
    """Return a changed input of a target, with parts of others mixed in."""
    if target.change:
        return target.change(files, random)
    files = dict(files)
    name = random.choice(list(files))
    contents = [one[name] for one in others if name in one] or [files[name]]
    files[name] = mutate(files[name], contents, random, suffix=Path(name).suffix)
    if len(files) > 1 and random.random() < 0.02:
        del files[random.choice(list(files))]
    return files


# --- one input


def write_input(files: Files, folder: Path) -> None:
    """Write an input to a folder, which is empty afterwards but for it. No file keeps its inode: some are mapped."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        if path.parent != folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def read_input(folder: Path) -> Files:
    """Return the input in a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def try_input(target: Target, files: Files, folder: Path) -> Crash | bool:
    """Let a target read an input.

    Returns:
        Whether it was read; False if a documented error was raised. Or the crash.
    """
    write_input(files, folder)
    before = _most_memory()
    try:
        with _limited(SECONDS):
            target.use(folder)
        read = True
    except SapbertError:
        read = False
    except (Exception, _TooSlow, SystemExit) as error:
        return Crash(_kind_of(error), traceback.format_exc(limit=-40))
    if _most_memory() - before > MOST_MEMORY:
        return Crash("memory", f"The memory grew from {before:,} to {_most_memory():,} bytes.\n")
    return read


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooSlow(f"more than {seconds} seconds")

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def _kind_of(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "spacy_sapbert" in frame.filename and "tests" not in frame.filename]
    place = (ours or frames)[-1]
    line = 0 if isinstance(error, _TooSlow | MemoryError) else place.lineno
    return f"{type(error).__name__} {Path(place.filename).name} {line}".strip()


# --- crashes


def keep_crash(crash: Crash, target: Target, files: Files, folder: Path) -> Path:
    """Write an input on which a target crashes, its traceback, and the command that repeats it."""
    place = folder / f"{target.name}-{hashlib.sha256(crash.kind.encode()).hexdigest()[:8]}".replace(":", "-")
    shutil.rmtree(place, ignore_errors=True)
    write_input(files, place / "input")
    command = f"PYTHONPATH=tests python -m fuzz --repeat {place}"
    (place / "target").write_text(target.name)
    (place / "report.txt").write_text(f"{crash.kind}\n{command}\n\n{crash.report}", encoding="utf-8", errors="replace")
    return place


def made_smaller(crash: Crash, target: Target, files: Files, folder: Path) -> Files:
    """Return a smaller input with the same crash: pieces of its files are removed, as long as it crashes."""
    tries = 0 if crash.kind.startswith("_TooSlow") or crash.kind == "memory" else _SMALLER
    for name in files:
        size = len(files[name]) // 2
        while size and tries:
            at = 0
            while at < len(files[name]) and tries:
                tries -= 1
                shorter = {**files, name: files[name][:at] + files[name][at + size :]}
                found = try_input(target, shorter, folder)
                if isinstance(found, Crash) and found.kind == crash.kind:
                    files = shorter
                else:
                    at += size
            size //= 2
    return files


# --- a run


class Run:
    """A run over targets, whose counts are kept in a folder.

    Args:
        targets: The targets.
        folder: Where counts and crashes are kept.
        seed: Makes other inputs.

    Attributes:
        counts: For each target: the number of inputs, of those that were read, and of crashes by kind.
    """

    def __init__(self, targets: Iterable[Target], folder: Path, seed: int) -> None:
        self.targets = list(targets)
        self.folder = folder
        self.seed = seed
        self.path = folder / f"counts-{seed}.json"
        self.counts: dict[str, dict[str, Any]] = {}
        self.load()

    def load(self) -> None:
        """Read the counts."""
        if self.path.exists():
            self.counts = json.loads(self.path.read_text())

    def save(self) -> None:
        """Write the counts."""
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.counts, indent=1))
        os.replace(new, self.path)

    def count_of(self, target: Target) -> dict[str, Any]:
        """Return the counts of a target."""
        return self.counts.setdefault(target.name, {"inputs": 0, "read": 0, "seconds": 0.0, "crashes": {}})

    def run(self, seconds: float, inputs: int | None) -> None:
        """Run the targets in turn.

        Args:
            seconds: The time, unless `inputs` is given.
            inputs: The number of inputs of a target whose share is 1; None for as many as the time allows.
        """
        end = time.monotonic() + seconds
        seeds: dict[str, Sequence[Files]] = {}
        with tempfile.TemporaryDirectory() as place, _Current(self.folder) as current:
            os.environ["SPACY_SAPBERT_CACHE"] = f"{place}/cache"
            while self._run_turn(end, inputs, seeds, Path(place), current):
                pass

    def _run_turn(
        self, end: float, inputs: int | None, seeds: dict[str, Sequence[Files]], place: Path, current: _Current
    ) -> bool:
        """Give each target a turn. Return whether one had something to do."""
        worked = False
        for index, target in enumerate(self.targets):
            done = self.count_of(target)["inputs"]
            turn = max(1, int(_CHUNK * target.share))
            until = min(done + turn, max(1, int(inputs * target.share))) if inputs else done + turn
            if until <= done or (not inputs and time.monotonic() > end):
                continue
            if target.name not in seeds:
                seeds[target.name] = target.seeds()
                warm_up(target, seeds[target.name], place / "input")
            self._run_some(index, target, seeds[target.name], until, place, current)
            worked = True
        return worked

    def _run_some(
        self, index: int, target: Target, seeds: Sequence[Files], until: int, place: Path, current: _Current
    ) -> None:
        count, files_open = self.count_of(target), len(os.listdir("/proc/self/fd"))
        start = time.monotonic()
        for number in range(count["inputs"], until):
            current.set(index, number)
            files = input_of(target, seeds, self.seed, number)
            found = try_input(target, files, place / "input")
            count["inputs"] = number + 1
            if isinstance(found, Crash):
                self.keep(found, target, files, place / "smaller")
            else:
                count["read"] += found
        gc.collect()
        if len(os.listdir("/proc/self/fd")) > files_open + _OPEN_FILES:
            self.keep(Crash("open files", "Files stay open.\n"), target, files, place / "smaller")
        count["seconds"] += time.monotonic() - start
        self.save()

    def keep(self, crash: Crash, target: Target, files: Files, folder: Path | None) -> None:
        """Count a crash. The first one of its kind is written, as small as can be made quickly."""
        crashes = self.count_of(target)["crashes"]
        crashes[crash.kind] = crashes.get(crash.kind, 0) + 1
        if crashes[crash.kind] == 1:
            if folder:
                files = made_smaller(crash, target, files, folder)
            place = keep_crash(crash, target, files, self.folder / "crashes")
            print(f"{target.name}: {crash.kind}: {place}", file=sys.stderr, flush=True)


def warm_up(target: Target, seeds: Sequence[Files], folder: Path) -> None:
    """Load what a target needs. Each seed must be read."""
    for files in seeds:
        write_input(files, folder)
        target.use(folder)
    gc.collect()
    gc.freeze()  # what was loaded stays, so it need not be looked at again


def memory_disk() -> str | None:
    """Return a folder in memory, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class _Current:
    """The place of a target and the number of its input, which another process can read when this one has died."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "current"
        self.path.write_bytes(_CURRENT.pack(-1, -1))

    def __enter__(self) -> _Current:
        self._file = self.path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), _CURRENT.size)
        return self

    def __exit__(self, *_: object) -> None:
        self._map.close()
        self._file.close()

    def set(self, index: int, number: int) -> None:
        self._map[:] = _CURRENT.pack(index, number)


def work(run: Run, seconds: float, inputs: int | None) -> None:
    """Run in this process, with bounded memory."""
    faulthandler.enable()
    bound_memory()
    run.run(seconds, inputs)


def bound_memory() -> None:
    """Bound the memory of this process, so that an input that needs too much ends in an error."""
    warnings.simplefilter("ignore")
    space = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE + _SPACE
    resource.setrlimit(resource.RLIMIT_AS, (space, space))


def supervise(run: Run, seconds: float, inputs: int | None, arguments: Sequence[str]) -> None:
    """Run in another process. When an input ends it, or hangs, this is a crash, and the next input follows."""
    run.folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    while inputs or time.monotonic() < end:
        left = str(max(1, end - time.monotonic()))
        command = [sys.executable, "-m", "fuzz", *arguments, "--worker", "--seconds", left]
        with tempfile.TemporaryDirectory(dir=memory_disk()) as place:  # is removed also if the process is killed
            environment = {**os.environ, "TMPDIR": place}
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace", env=environment)
            reason = _wait(process, run.folder / "current")
        run.load()
        if process.returncode == 0:
            return
        index, number = _CURRENT.unpack((run.folder / "current").read_bytes())
        if index < 0 or process.returncode == 1:
            raise SystemExit("The fuzzer itself failed.")
        target = run.targets[index]
        files = input_of(target, target.seeds(), run.seed, number)
        run.count_of(target)["inputs"] = number + 1
        run.keep(Crash(f"status {process.returncode}", reason), target, files, None)
        run.save()


def _wait(process: subprocess.Popen[str], current: Path) -> str:
    """Wait for the end of a process. If its input does not change for too long, the process is ended."""
    lines: list[str] = []

    def show() -> None:
        assert process.stderr
        for line in process.stderr:
            if not line.startswith("Extension modules"):
                print(line, end="", file=sys.stderr)
                lines.append(line)
            del lines[:-60]

    reader = threading.Thread(target=show)
    reader.start()
    last, since = b"", time.monotonic()
    while True:
        try:
            process.wait(1)
            break
        except subprocess.TimeoutExpired:
            now = current.read_bytes() if current.exists() else b""
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > HANG:
                process.send_signal(signal.SIGABRT)  # shows where it hangs
                process.wait()
                break
    reader.join()
    return "".join(lines)
