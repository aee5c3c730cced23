"""Run targets on inputs that reach something new: `PYTHONPATH=tests python -m fuzz.guided --seconds 600`.

Atheris counts which branches of the package an input reaches. Inputs that reach new ones are kept in a folder, and are
changed further, in the same ways as the inputs of a blind run. So a run cannot be repeated exactly, but its inputs can.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, suppress
from pathlib import Path
from random import Random

import atheris
import srsly

# It stays on, since many modules are imported at first use. It names each module on standard error.
atheris.instrument_imports(include=["spacy_sapbert"]).__enter__()
with redirect_stderr(io.StringIO()):
    from .__main__ import main
    from .running import (
        HANG,
        Crash,
        Files,
        Run,
        Target,
        bound_memory,
        changed_input,
        memory_disk,
        read_input,
        try_input,
        warm_up,
    )

LONGEST_INPUT = 1 << 13
"""Longer inputs are slow, and blind runs make them. Seeds may be longer."""
_ANEW = 0.3
"""The share of inputs that are made from a seed. Without them, most inputs would be changed too often to be read."""
_BY_ATHERIS = 0.1
"""The share of changes that Atheris makes. It knows with which bytes an input was compared."""


def guide(run: Run, seconds: float, inputs: int | None, arguments: Sequence[str]) -> None:
    """Give each target the same time, in a process of its own. When an input ends the process, this is a crash."""
    for target in run.targets:
        log = run.folder / "guided" / f"{_file_name(target)}.log"
        log.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=memory_disk()) as place:
            child = os.fork()
            if not child:
                _fuzz(run, target, seconds / len(run.targets), inputs, Path(place), log)
            _, status = os.waitpid(child, 0)
            run.load()
            text = log.read_text(errors="replace")
            if status:
                if not (last := Path(place, "input")).exists():
                    raise SystemExit(f"The fuzzer itself failed:\n{text}")
                crash = Crash(f"status {os.waitstatus_to_exitcode(status)}", text[-5000:])
                run.keep(crash, target, read_input(last), None)
                run.save()
        found = re.findall(r"cov: (\d+)", text) or ["no"]
        print(f"{target.name}: {run.count_of(target)['inputs']:,} inputs, {found[-1]} branches", flush=True)


def _fuzz(run: Run, target: Target, seconds: float, inputs: int | None, place: Path, log: Path) -> None:
    """Run a target in this process, which ends here."""
    shown = os.dup(2)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.environ.update(TMPDIR=str(place), SPACY_SAPBERT_CACHE=str(place / "cache"))
    tempfile.tempdir = None
    seeds = target.seeds()
    warm_up(target, seeds, place / "input")
    bound_memory()
    sys.stderr = os.fdopen(shown, "w")  # shows crashes, while Atheris writes to the log
    corpus = run.folder / "corpus" / _file_name(target)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, files in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(_packed(files))
    longest = max(LONGEST_INPUT, *(2 * len(_packed(files)) for files in seeds))

    def change(data: bytes, most: int, seed: int) -> bytes:
        return _changed(target, data, seeds, most, seed)

    def cross(data: bytes, other: bytes, most: int, seed: int) -> bytes:
        return _changed(target, data, [_files(other) or seeds[0]], most, seed)

    atheris.Setup(
        ["fuzz", str(corpus), f"-seed={run.seed + 1}", f"-max_len={longest}", f"-timeout={HANG}",
         "-mutate_depth=1", "-rss_limit_mb=0", f"-artifact_prefix={place}/"],
        _trying(run, target, seconds, inputs, place),
        custom_mutator=change,
        custom_crossover=cross,
    )  # fmt: skip
    atheris.Fuzz()


def _trying(run: Run, target: Target, seconds: float, inputs: int | None, place: Path) -> Callable[[bytes], None]:
    """Return what tries an input, and ends the process after the time or the number of inputs."""
    count = run.count_of(target)
    end = time.process_time() + seconds
    until = count["inputs"] + max(1, int(inputs * target.share)) if inputs else None

    def try_one(data: bytes) -> None:
        if files := _files(data):
            count["inputs"] += 1
            found = try_input(target, files, place / "input")
            if isinstance(found, Crash):
                run.keep(found, target, files, place / "smaller")
            else:
                count["read"] += found
        if count["inputs"] == until or (not until and time.process_time() > end):
            run.save()
            os._exit(0)

    return try_one


def _changed(target: Target, data: bytes, others: Sequence[Files], most: int, seed: int) -> bytes:
    random = Random(seed)
    files = dict((random.random() >= _ANEW and _files(data)) or random.choice(others))
    if not target.change and random.random() < _BY_ATHERIS:
        name = random.choice(list(files))
        files[name] = atheris.Mutate(files[name], len(files[name]) + 100)
    else:
        files = changed_input(target, files, others, random)
    packed = _packed(files)
    return packed if len(packed) <= most else data


def _packed(files: Files) -> bytes:
    return bytes(srsly.msgpack_dumps(files))


def _files(data: bytes) -> Files | None:
    """Return the files of a packed input. Atheris begins with bytes of its own, which are none."""
    with suppress(ValueError):
        files = srsly.msgpack_loads(data)
        return files if isinstance(files, dict) else None
    return None


def _file_name(target: Target) -> str:
    return target.name.replace(":", "-")


if __name__ == "__main__":
    sys.exit(main(guide))
