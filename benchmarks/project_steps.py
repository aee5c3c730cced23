"""Measure the time and memory of each command of the project. It runs a workflow command by command.

    python benchmarks/project_steps.py WORKFLOW_OR_COMMAND … [--vars.NAME VALUE …]

spaCy skips a command if its inputs have not changed, so it takes no time. Memory is that of the largest process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weasel.util import load_project_config


def commands(names: Sequence[str]) -> list[str]:
    workflows = load_project_config(Path.cwd())["workflows"]
    return [command for name in names for command in workflows.get(name, [name])]


def measured(command: str, variables: Sequence[str]) -> dict[str, Any]:
    started = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "spacy", "project", "run", command, ".", *variables], stdout=2)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return {
        "command": command,
        "minutes": round((time.monotonic() - started) / 60, 2),
        "cpu_minutes": round((usage.ru_utime + usage.ru_stime) / 60, 2),
        "memory_gb": round(usage.ru_maxrss / 2**20, 2),
    }


def main() -> None:
    first = next((place for place, word in enumerate(sys.argv) if word.startswith("--")), len(sys.argv))
    if first < 2:
        raise SystemExit(__doc__)
    for command in commands(sys.argv[1:first]):
        print(json.dumps(measured(command, sys.argv[first:])), flush=True)


if __name__ == "__main__":
    main()
