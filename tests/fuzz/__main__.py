"""Run the targets: `PYTHONPATH=tests python -m fuzz --seconds 600`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from .running import Crash, Run, read_input, supervise, try_input, work
from .targets import TARGETS


def main(start: Callable[[Run, float, int | None, Sequence[str]], None] = supervise) -> int:
    """Run, or repeat a crash. Returns the exit status: 1 if there are crashes."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="time of the run (default: 60)")
    parser.add_argument("--inputs", type=int, help="inputs of each target, instead of a time")
    parser.add_argument("--seed", type=int, default=0, help="makes other inputs (default: 0)")
    parser.add_argument("--target", action="append", help="names of targets, such as 'vocabulary:*'")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz"), help="keeps the counts and the crashes")
    parser.add_argument("--repeat", type=Path, metavar="CRASH", help="repeat a crash of the folder")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.repeat:
        return repeat(options.repeat)
    chosen = [one for one in TARGETS if any(fnmatch(one.name, pattern) for pattern in options.target or ["*"])]
    options.folder.mkdir(parents=True, exist_ok=True)
    run = Run(chosen, options.folder.resolve(), options.seed)
    if options.worker:
        work(run, options.seconds, options.inputs)
        return 0
    start(run, options.seconds, options.inputs, sys.argv[1:])
    print(table(run))
    return int(any(run.count_of(target)["crashes"] for target in chosen))


def repeat(crash: Path) -> int:
    """Show what the input of a crash does now."""
    name = (crash / "target").read_text()
    (target,) = [one for one in TARGETS if one.name == name]
    files = read_input(crash / "input")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPACY_SAPBERT_CACHE"] = f"{folder}/cache"
        found = try_input(target, files, Path(folder, "input"))
    print(found.report if isinstance(found, Crash) else "no crash: " + ("read" if found else "a documented error"))
    return int(isinstance(found, Crash))


def table(run: Run) -> str:
    """Return the counts as a table of Markdown."""
    rows = ["| target | inputs | read | told | crashes |", "|---|---|---|---|---|"]
    total = [0, 0, 0]
    for target in run.targets:
        count = run.count_of(target)
        crashes = sum(count["crashes"].values())
        told = count["inputs"] - count["read"] - crashes
        rows.append(f"| {target.name} | {count['inputs']:,} | {count['read']:,} | {told:,} | {crashes:,} |")
        total = [one + more for one, more in zip(total, (count["inputs"], count["read"], crashes), strict=True)]
    rows.append(f"| all | {total[0]:,} | {total[1]:,} | {total[0] - total[1] - total[2]:,} | {total[2]:,} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
