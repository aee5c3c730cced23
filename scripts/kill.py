"""Kill commands at random moments, start them again, and compare what they make with that of an undisturbed run.

    python scripts/kill.py --kills 50 --targets "link kb-build"

Every run has its own working folder, cache and folder for temporary files. After the kills, exactly the same files have
to be there, with the same content. A JSON file keeps the seeds and the outcomes, so that later runs go on. A run that
fails keeps its folder. To save time, the commands are forked from a process that has imported the libraries.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import re
import runpy
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from kill_targets import PROGRAMS, TARGETS, Target, make_inputs

ROOT = Path(__file__).parents[1]
IMPORTED = (
    "faiss lightgbm matplotlib.pyplot pyarrow.dataset pyarrow.parquet pytorch_metric_learning sklearn.metrics spacy.cli"
    " spacy_sapbert.cli spacy_sapbert.pipeline.sapbert_linker torch transformers.models.bert.modeling_bert uvicorn"
)
LOOK_EVERY = 0.002  # seconds
PATIENCE = 300.0  # seconds for a run, and so many times as long as an undisturbed one:
TIMES_AS_LONG = 20
SECONDS_TO_END = 20.0  # for the workers of a killed driver
MOST_PER_RUN = 3  # kills before a result is compared


class Moment(NamedTuple):
    """When to kill: so many seconds after the start or the first change of a file, or at so many changes."""

    after: str
    value: float


class Reference(NamedTuple):
    """An undisturbed run: its files, the times to their first change and from then to the end, and the changes."""

    files: dict[str, str]
    begin: float
    seconds: float
    changes: int

    def moment(self, draw: random.Random) -> Moment:
        """Draw a moment. Most are uniform over the time of work, and some fall into the start or on a change."""
        kind = draw.choices(["start", "first change", "change"], [1, 6, 3])[0]
        if kind == "change":
            return Moment(kind, draw.randint(1, max(1, self.changes)))
        return Moment(kind, round(draw.uniform(0, self.begin if kind == "start" else self.seconds), 3))


class Watch:
    """Looks at a folder, and counts how often its files change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = dict(_states(folder))
        self.changes = 0
        self.first: float | None = None

    def look(self) -> None:
        """Look again."""
        seen = dict(_states(self._folder))
        if seen != self._seen:
            self._seen = seen
            self.changes += 1
            self.first = self.first or time.monotonic()


def _states(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                state = entry.stat(follow_symlinks=False)
                yield entry.path, (state.st_size, state.st_mtime_ns)
                if entry.is_dir(follow_symlinks=False):
                    yield from _states(Path(entry.path))


class Run:
    """A command that runs in a process group of its own."""

    def __init__(self, target: Target, inputs: Path, folder: Path) -> None:
        for name in ("work", "cache", "tmp"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.log = folder.with_suffix(".log")
        self.watch = Watch(folder)
        self.started = time.monotonic()
        self.status: int | None = None
        self.pid = os.fork()
        if not self.pid:  # nothing above is waiting to clean up, so the process can end as any other
            _become(target.command(inputs), folder, self.log)

    def reaches(self, moment: Moment | None, patience: float) -> bool:
        """Wait for a moment, or for the end. RETURNS: whether the run still goes on."""
        while self.is_alive():
            self.watch.look()
            now, first = time.monotonic(), self.watch.first
            if moment and moment.after == "change" and self.watch.changes >= moment.value:
                return True
            since = {"start": self.started, "first change": first}.get(moment.after) if moment else None
            if moment and since and now - since >= moment.value:
                return True
            if now - self.started > patience:
                self.kill("group")
                raise TimeoutError(f"it does not end in {patience:.0f} seconds")
            time.sleep(LOOK_EVERY)
        return False

    def is_alive(self) -> bool:
        """RETURNS: whether the first process runs. `status` is set when it has ended."""
        if self.status is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if ended else None
        return self.status is None

    def kill(self, victim: str) -> bool:
        """Kill all processes, only the first one, or one of its workers. RETURNS: False if there is no worker."""
        if victim == "group":
            while members := self.members():
                for process in members:
                    _kill(process)
                self.is_alive()
        elif victim == "driver":
            _kill(self.pid)
        elif workers := [process for process in self.members() if b"spawn_main" in _command_line(process)]:
            _kill(random.choice(workers))
        else:
            return False
        while victim != "worker" and self.is_alive():
            time.sleep(LOOK_EVERY)
        return True

    def members(self) -> list[int]:
        """RETURNS: the living processes of the session."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError, ValueError):
                state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
                if int(session) == self.pid and state not in "ZX":
                    found.append(int(path.parent.name))
        return found


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _command_line(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def _become(command: list[str], folder: Path, log: Path) -> None:
    """Run a command in this process, which is a fork. It does not return."""
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.environ |= {
        "SPACY_SAPBERT_CACHE": str(folder / "cache"), "TMPDIR": str(folder / "tmp"), "HF_HUB_OFFLINE": "1",
    }  # fmt: skip
    tempfile.tempdir = None
    os.chdir(folder / "work")
    if command[0] in PROGRAMS:
        PROGRAMS[command[0]](*command[1:])
    else:
        sys.argv = command
        runpy.run_module(command[0], run_name="__main__")
    sys.exit()


def files_of(folder: Path, target: Target) -> dict[str, str]:
    """RETURNS: for each file its hash, or that of what has to be equal; for each folder an empty text."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not target.may_stay(name):
            content = target.content(path) if path.is_file() else b""
            found[name] = hashlib.blake2b(content, digest_size=8).hexdigest() if path.is_file() else ""
    return found


def difference(expected: dict[str, str], found: dict[str, str]) -> str:
    """RETURNS: what is too much, missing or other, as a text; empty if nothing is."""
    other = {name for name in expected.keys() & found.keys() if expected[name] != found[name]}
    # a killed process leaves its hidden folders
    more = {
        name
        for name in found.keys() - expected.keys()
        if not re.search(r"(^|/)(\.[^/]*\.tmp|spacy_sapbert_tmp_)", name)
    }
    sets = {"left over": more, "missing": expected.keys() - found.keys(), "other": other}
    return "; ".join(f"{what}: {', '.join(sorted(names))}" for what, names in sets.items() if names)


def undisturbed(target: Target, inputs: Path, folder: Path) -> Reference:
    """Run a command without a kill.

    Raises:
        SystemExit: It fails.
    """
    run = Run(target, inputs, folder)
    run.reaches(None, PATIENCE)
    ended = time.monotonic()
    if run.status:
        raise SystemExit(f"{target.name}: {run.log.read_text()}")
    first = run.watch.first or ended
    return Reference(files_of(folder, target), first - run.started, ended - first, run.watch.changes)


def disturbed(target: Target, inputs: Path, folder: Path, reference: Reference, draw: random.Random, most: int) -> Any:
    """Run a command with at most so many kills, and then to its end.

    Returns:
        The moments of the kills, and the outcome, "equal" or what is wrong.
    """
    moments: list[Moment] = []
    runs = [Run(target, inputs, folder)]
    patience = PATIENCE + TIMES_AS_LONG * reference.seconds
    try:
        for _ in range(draw.randint(1, min(most, target.most_per_run, MOST_PER_RUN))):
            moment = reference.moment(draw)
            if not runs[-1].reaches(moment, patience):
                break
            if runs[-1].kill(target.victim):
                moments.append(moment)
            if target.victim != "worker":
                runs.append(Run(target, inputs, folder))
        runs[-1].reaches(None, patience)
    except TimeoutError as error:
        return moments, str(error)
    if runs[-1].status:
        return moments, f"status {runs[-1].status}: {runs[-1].log.read_text()[-2000:]}"
    end = time.monotonic() + SECONDS_TO_END
    while living := [process for run in runs for process in run.members()]:
        if time.monotonic() > end:
            return moments, f"processes that go on: {[_command_line(process) for process in living]}"
        time.sleep(0.1)
    return moments, difference(reference.files, files_of(folder, target)) or "equal"


def kill_often(target: Target, inputs: Path, folder: Path, state: dict[str, Any], kills: int, save: Any) -> None:
    """Run a target until it was killed as often as asked for, earlier runs of this script included."""
    done = state.setdefault(target.name, {"kills": 0, "results": 0, "equal": 0, "runs": []})
    place = folder / target.name
    if done["kills"] < kills:
        shutil.rmtree(place, ignore_errors=True)
        reference = undisturbed(target, inputs, place)
        done["reference"] = {"begin": reference.begin, "seconds": reference.seconds, "changes": reference.changes}
    while done["kills"] < kills:
        seed = f"{target.name} {done['results']}"
        shutil.rmtree(place, ignore_errors=True)
        place.with_suffix(".log").unlink(missing_ok=True)
        left = kills - done["kills"]
        moments, outcome = disturbed(target, inputs, place, reference, random.Random(seed), left)
        done["kills"] += len(moments)
        done["results"] += 1
        done["equal"] += outcome == "equal"
        done["runs"].append({"seed": seed, "moments": moments, "outcome": outcome})
        if outcome != "equal":
            sys.stderr.write(f"{seed}: {outcome}\n")
            failed = folder / "failed" / seed.replace(" ", "-")
            shutil.rmtree(failed, ignore_errors=True)
            with suppress(shutil.Error):  # the sockets of Ray cannot be copied
                shutil.copytree(place, failed, symlinks=True)
            shutil.copy(place.with_suffix(".log"), failed.with_suffix(".log"))
        save()
    sys.stderr.write(f"{target.name}: {done['kills']} kills, {done['equal']} of {done['results']} results equal\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="of each target, those of earlier runs included")
    parser.add_argument("--targets", default=" ".join(TARGETS), help="names, with blanks between them")
    parser.add_argument("--folder", type=Path, default=ROOT / ".kill", help="for state.json, inputs and failed runs")
    given = parser.parse_args()
    chosen = given.targets.split()
    if unknown := set(chosen) - set(TARGETS):
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    folder = given.folder.resolve()
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLCONFIGDIR": str(folder / "matplotlib")}
    for module in IMPORTED.split():
        with suppress(ImportError):
            importlib.import_module(module)
    inputs = make_inputs(folder)
    file = folder / "state.json"
    state = json.loads(file.read_text()) if file.is_file() else {}

    def save() -> None:
        file.with_suffix(".new").write_text(json.dumps(state, indent=1))
        os.replace(file.with_suffix(".new"), file)

    for name in chosen:
        if TARGETS[name].is_installed():
            kill_often(TARGETS[name], inputs, folder / "runs", state, given.kills, save)
    if any(state[name]["equal"] < state[name]["results"] for name in chosen if name in state):
        raise SystemExit("Some results differ. The folder `runs/failed` keeps them.")


if __name__ == "__main__":
    main()
