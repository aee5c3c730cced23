"""Run every workflow of the project on the made-up sample, to test that each still runs from end to end.

    python scripts/trial.py

It runs in a copy of the project. The figures mean nothing. Workflows that do not depend on each other run in parallel.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import spacy_sapbert.starter

ROOT = Path(__file__).parents[1]
STARTER = spacy_sapbert.starter.TRANSFORMER
SMALL = {
    "assets": "assets/sample",
    "development_ids": "assets/sample/development_ids.txt",
    "training_ids": "assets/sample/training_ids.txt",
    "base_model": str(STARTER),
    "transformer": str(STARTER),
    "layers": "0",
    "distil_steps": "2",
    "align_steps": "2",
    "table_steps": "2",
    "ner_steps": "60",
    "box_steps": "4",
    "multilingual_steps": "2",
    "linker_steps": "2",
    "retriever_steps": "3",
    "build": "none",
}
# each list runs in its own copy of the project
LISTS = {
    "task": (["all"], ["augment"], ["train-linker"], ["box"]),
    "encoder": (
        ["pretrain"],
        ["pretrain-multilingual"],
        ["pretrain-umls", "--vars.name", "umls"],
        ["prepare"],
        ["train-ner-trf", "--vars.ner_steps", "4"],
        ["clean"],
    ),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        for done in [pool.submit(run_all, Path(folder) / name, runs) for name, runs in LISTS.items()]:
            done.result()


def run_all(folder: Path, runs: tuple[list[str], ...]) -> None:
    for name in ("configs", "scripts", "assets/sample"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "project.yml", folder)
    variables = [word for name, value in SMALL.items() for word in (f"--vars.{name}", value)]
    for workflow, *given in runs:
        started = time.monotonic()
        command = [sys.executable, "-m", "spacy", "project", "run", workflow, str(folder), *variables, *given]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment())
        if done.returncode:
            raise SystemExit(f"{done.stdout}\n{workflow} failed")
        sys.stderr.write(f"{workflow}: {time.monotonic() - started:.0f} s\n")


def environment() -> dict[str, str]:
    # use the commands next to this Python, and no hub
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}


if __name__ == "__main__":
    main()
