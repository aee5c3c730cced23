"""Measure how `link --engine` scales from one worker to two, against `link` without an engine, in one run.

    python benchmarks/corpus_engines.py PIPELINE DOCUMENTS.jsonl.gz... [--documents 20000] [--engines local ray spark]

The documents are repeated with other ids until there are enough, and cut into files of 500. Each command runs alone, in
a process of its own. `seconds` is the clock time of the whole command, with its start and the loading of the pipeline.
`link_seconds` is the time without them: from the manifest for engines, measured on one document for `link` alone.
`worker_private_mb` is the most memory of a worker that no file backs (Anonymous in smaps_rollup). A worker is a process
below the command that has loaded torch. `base_private_mb` is that of a process that has imported spaCy and torch.
"""

import gzip
import json
import os
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import new_parser

PER_FILE = 500
SECONDS_BETWEEN_LOOKS = 4  # a look takes time of the processor, which two workers use up
BASE = "import spacy, torch; spacy.blank('en'); print(open('/proc/self/smaps_rollup').read())"


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("documents_from", type=Path, nargs="+")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--engines", nargs="+", default=["local", "ray", "spark"])
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(given.documents_from, given.documents, folder / "in")
        first = folder / "in" / "000000.jsonl"
        one = folder / "one.jsonl"
        one.write_text(first.read_text().splitlines()[0] + "\n")
        empty = timed(given.pipeline, one, ["--output", folder / "one.parquet"])
        plain = timed(given.pipeline, folder / "in", ["--output", folder / "plain.parquet"])
        link_seconds = plain["seconds"] - empty["seconds"]
        found: dict[str, Any] = {
            "documents": given.documents,
            "processors": os.cpu_count(),
            "base_private_mb": anonymous(
                subprocess.run([sys.executable, "-c", BASE], capture_output=True, text=True).stdout
            ),
            "link": {**plain, "link_seconds": round(link_seconds, 1)},
        }
        for engine in given.engines:
            for workers in (1, 2):
                output = folder / f"{engine}{workers}"
                options = ["--engine", engine, "--n-process", workers, "--output", output]
                measured = timed(given.pipeline, folder / "in", options)
                counted = json.loads((output / "_manifest.json").read_text())
                measured["link_seconds"] = counted["seconds"]
                found[f"{engine}, {workers}"] = measured
            one_worker, two_workers = (found[f"{engine}, {workers}"]["link_seconds"] for workers in (1, 2))
            found[f"{engine}: two workers to one"] = round(one_worker / two_workers, 2)
            found[f"{engine}: one worker to link alone"] = round(link_seconds / one_worker, 2)
    print(json.dumps(found, indent=2))


def write_corpus(sources: list[Path], n: int, folder: Path) -> None:
    """Write documents as JSON lines, repeated with other ids."""
    lines = (line for path in sources for line in gzip.decompress(path.read_bytes()).splitlines())
    texts = [json.loads(line)["text"] for line in lines]
    folder.mkdir()
    rows = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(islice(cycle(texts), n))]
    for start in range(0, n, PER_FILE):
        (folder / f"{start // PER_FILE:06}.jsonl").write_text("\n".join(rows[start : start + PER_FILE]) + "\n")


def timed(pipeline: Path, documents: Path, options: list[object]) -> dict[str, Any]:
    """Run `link`, and return its time and the most private memory of a process below it."""
    command = [sys.executable, "-m", "spacy_sapbert", "link", pipeline, documents, *options]
    started, most = time.monotonic(), 0.0
    with subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            most = max([most, *map(private_mb, workers_below(process.pid))])
            time.sleep(SECONDS_BETWEEN_LOOKS)
    if process.returncode:
        raise SystemExit(f"failed: {command}")
    return {"seconds": round(time.monotonic() - started, 1), "worker_private_mb": round(most)}


def workers_below(root: int) -> list[int]:
    """Return the processes below one, at any depth, that have loaded torch."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            children.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
        except (OSError, ValueError):
            continue
    below, waiting = [], [root]
    while waiting:
        found = children.get(waiting.pop(), [])
        below += found
        waiting += found
    return [process for process in below if has_torch(process)]


def has_torch(process: int) -> bool:
    try:
        return "libtorch" in Path(f"/proc/{process}/maps").read_text()
    except OSError:
        return False


def private_mb(process: int) -> float:
    try:
        return anonymous(Path(f"/proc/{process}/smaps_rollup").read_text())
    except OSError:
        return 0.0


def anonymous(rollup: str) -> float:
    line = next(line for line in rollup.splitlines() if line.startswith("Anonymous:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
