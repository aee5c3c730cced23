"""Measure how many texts per second a server links, and how long a request takes.

    python benchmarks/serving.py CORPUS [--pipeline PIPELINE] [--seconds 5] [--workers 1 2] [--clients 1 8 32]

CORPUS is a file that `spacy-sapbert link` can read, such as PubTator. Its texts are sent to `spacy-sapbert serve`
in a process of its own, for some seconds in each setting, as single texts and in batches. Each client sends its next
request when the answer has come. The output has for each setting:

- `texts_per_second`, and the number of `failed` requests, such as those that the server refuses;
- `p50`, `p95`, `p99`: the time of a request in milliseconds.

For each number of workers, it also has their memory, added up: `rss_mb` counts shared pages for each process, and
`pss_mb` divides them among the processes. `file_pss_mb` and `file_rss_mb` are the part that is mapped from files.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from common import new_parser
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents

BATCH = 16


@contextmanager
def serving(pipeline: str | None, workers: int) -> Iterator[tuple[psutil.Process, int]]:
    """Yield the process of a server, and its port, when all workers are ready."""
    command = [sys.executable, "-m", "spacy_sapbert", "serve", "--port", "0", "--workers", str(workers)]
    # no limit is to be met here
    command += ["--serve.max_waiting", "1000", "--serve.timeout", "300", *([pipeline] if pipeline else [])]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        ready = 1 if workers == 1 else 0
        port = 0
        for line in process.stderr:
            if "http://" in line:
                port = int(line.split()[0].rpartition(":")[2])
            ready += "is ready" in line
            if port and ready == workers:
                break
        # or else the pipe would be full
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield psutil.Process(process.pid), port
        finally:
            process.terminate()


def measure(port: int, bodies: list[tuple[str, bytes, int]], clients: int, seconds: float) -> dict[str, float]:
    """Send requests for some seconds, and return the figures of the setting."""
    numbers = count()
    times: list[float] = []
    texts: list[int] = []
    failed: list[int] = []
    begun = time.perf_counter()

    def send() -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=300)
        while time.perf_counter() < begun + seconds:
            path, body, number = bodies[next(numbers) % len(bodies)]
            start = time.perf_counter()
            connection.request("POST", path, body)
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                times.append(1000 * (time.perf_counter() - start))
                texts.append(number)
            else:
                failed.append(answer.status)
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = sum(texts) / (time.perf_counter() - begun)
    p50, p95, p99 = (round(float(value), 1) for value in np.percentile(times, [50, 95, 99]))
    return {"texts_per_second": round(rate, 1), "failed": len(failed), "p50": p50, "p95": p95, "p99": p99}


def memory(server: psutil.Process) -> dict[str, float]:
    """Return the memory of all processes that link, in megabytes."""
    linking = [child for child in server.children() if "spawn_main" in " ".join(child.cmdline())] or [server]
    totals: dict[str, float] = {"rss_mb": 0, "pss_mb": 0, "file_rss_mb": 0, "file_pss_mb": 0}
    for process in linking:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()[1:]
        found = {name.strip(":"): int(value) / 1000 for name, value, *_ in map(str.split, lines)}
        file_rss = process.memory_info().shared / 1e6
        for key, value in zip(totals, (found["Rss"], found["Pss"], file_rss, found["Pss_File"]), strict=True):
            totals[key] += value
    return {key: round(value) for key, value in totals.items()}


def read_texts(corpus: Path) -> list[str]:
    problems = Problems(Console(stderr=True))
    return [document.text for document in read_documents(corpus, ReadOptions(), problems)]


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pipeline")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    options = parser.parse_args()
    texts = read_texts(options.corpus)
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    sent = {
        "single": [("/link", json.dumps({"text": text}).encode(), 1) for text in texts],
        "batch": [("/batch", json.dumps([{"text": text} for text in part]).encode(), len(part)) for part in batches],
    }
    results: dict[str, Any] = {
        "texts": len(texts),
        "batch": BATCH,
        "cores": os.cpu_count(),
        "settings": [],
        "memory": [],
    }
    for workers in options.workers:
        with serving(options.pipeline, workers) as (server, port):
            for kind, bodies in sent.items():
                for clients in options.clients:
                    figures = measure(port, bodies, clients, options.seconds)
                    results["settings"].append({"workers": workers, "kind": kind, "clients": clients, **figures})
            results["memory"].append({"workers": workers, **memory(server)})
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
