"""Put load on `spacy-sapbert serve` for some minutes, with bad requests between good ones.

    python scripts/soak.py MINUTES

The server links with the pipeline of `demo`, on this machine only. Clients send requests whose answers are known. The
figures are JSON on standard output. The exit status is 1 if an answer is not as documented, or if the memory, the
time of an answer or the open files of the server grow. Linux only, because it reads `/proc`.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

CLIENTS = 4
SECONDS_BETWEEN_SAMPLES = 5
WARM_UP = 1 / 12  # of the whole time, and not counted: caches fill
LIMITS = {"max-chars": 2000, "max-texts": 16, "max-bytes": 100_000, "read-timeout": 2, "timeout": 20}
TICKS = os.sysconf("SC_CLK_TCK")

# what the last quarter may be, compared with the first
MORE_MEMORY = 32.0  # MiB, anonymous
BYTES_PER_WORD = 54.0  # for each new word: two hash tables of spaCy grow, and keep the places of words that are freed
MORE_FILES = 8
SLOWER = 2.0  # times the median time and the processor time of an answer
LEAST_MS = 20.0  # a time below this is noise
MALFORMED = "Invalid HTTP request received."  # the only line that such requests may add to the log

NAMES = ("heart attack", "breast and ovarian cancer", "asthma", "chronic kidney disease (CKD)", "aspirin", "fever")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIGNS = ("(", "()", "[(", "+", "'", '"', "/", "-", "CKD ", "(CKD) ", "and ", "\u0301", "\U0001f9ec", "\u202e", "A, ")
RANGES = ((0x1, 0x2FF), (0x300, 0x36F), (0x600, 0x6FF), (0x2000, 0x206F), (0x4E00, 0x9FFF), (0x1F300, 0x1FAFF))
Answer = tuple[int | None, bytes]  # None: closed without an answer


def main(minutes: float) -> int:
    log: list[str] = []
    with serving(log) as (process, port):
        load = Load(port, process, 60 * minutes)
        load.run()
        if process.poll() is not None:
            log.append("The server ended.")
    figures = load.figures()
    failures = failures_of(figures) + [line.rstrip() for line in log if MALFORMED not in line]
    print(json.dumps({**figures, "failures": failures}, indent=1))
    return bool(failures)


@contextmanager
def serving(log: list[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start the server, and end it after the block. What it writes goes into the log."""
    options = [word for name, value in LIMITS.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "spacy_sapbert", "serve", "--port", "0", "--log", "none", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            first = process.stderr.readline()
            address = re.search(r"http://127\.0\.0\.1:(\d+)", first)
            if address is None:
                raise SystemExit(f"The server did not start: {first}{process.stderr.read()}")
            threading.Thread(target=log.extend, args=[process.stderr], daemon=True).start()
            yield process, int(address[1])
        finally:
            process.terminate()


# --- requests, each with what must come back


class Client:
    """Sends one request after the other.

    Args:
        port: That of the server.
        seed: Of the random numbers.
    """

    def __init__(self, port: int, seed: int) -> None:
        self.port = port
        self.random = random.Random(seed)
        self.words = 0

    def text(self) -> str:
        """Return words and names. Most words are new to the server, as those of real texts are."""
        words = ["".join(self.random.choices(LETTERS, k=8)) for _ in range(self.random.randint(5, 60))]
        self.words += len(words)
        return " ".join(word if self.random.random() < 0.8 else self.random.choice(NAMES) for word in words)

    def strange_text(self) -> str:
        """Return characters of all planes, or one sign many times."""
        if self.random.random() < 0.5:
            sign = self.random.choice(SIGNS)
            return (sign * LIMITS["max-chars"])[: LIMITS["max-chars"]]
        ranges = self.random.choices(RANGES, k=self.random.randint(1, 500))
        return "x" + "".join(chr(self.random.randint(*one)) for one in ranges)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def send(self, sent: bytes, *, end: bool = False) -> Answer:
        """Send bytes, and wait until the server closes the connection; `end` closes the own side first."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            received = b""
            with suppress(ConnectionError):  # the server may close while something is sent
                connection.sendall(sent)
                if end:
                    connection.shutdown(socket.SHUT_WR)
                while chunk := connection.recv(65536):
                    received += chunk
        status = re.match(rb"HTTP/1\.1 (\d+) ", received)
        return int(status[1]) if status else None, received

    # good requests

    def link(self) -> None:
        text = self.text()
        self._check_record(self.ask("POST", "/link", json.dumps({"text": text}).encode()), text)

    def link_strange(self) -> None:
        text = self.strange_text()
        self._check_record(self.ask("POST", "/link", json.dumps({"text": text}).encode()), text)

    def batch(self) -> None:
        texts = [self.text() for _ in range(self.random.randint(1, 8))]
        entries: list[Any] = [{"text": text} for text in texts]
        entries.insert(0, {"text": ""})
        status, body = self.ask("POST", "/batch", json.dumps(entries).encode())
        expect(status == 200, "a batch", status, body)
        broken, *records = json.loads(body)
        expect("error" in broken and [one["text"] for one in records] == texts, "a batch", status, body)

    def form(self) -> None:
        status, body = self.ask("POST", "/", b"text=" + quote(self.text()).encode())
        expect(status == 200 and body.startswith(b"<!DOCTYPE html>"), "a form", status, body)

    def look(self) -> None:
        path = self.random.choice(["/", "/docs", "/openapi.json", "/health", "/ready", "/metrics"])
        status, body = self.ask("GET", path)
        expect(status == 200, path, status, body)

    def _check_record(self, answer: Answer, text: str) -> None:
        status, body = answer
        expect(status == 200 and json.loads(body)["text"] == text, "a text", status, body)

    # bad requests

    def refused(self) -> None:
        """Send what is refused with a message."""
        long = LIMITS["max-chars"] + 1
        name, wanted, method, path, body = self.random.choice(
            [
                ("no JSON", 400, "POST", "/link", b'{"text": '),
                ("deep JSON", 400, "POST", "/link", b"[" * 50_000),
                ("a long number", 400, "POST", "/link", b"9" * 50_000),
                ("no text", 400, "POST", "/link", b'{"id": 1}'),
                ("a wrong text", 400, "POST", "/link", b'{"text": ["a"]}'),
                ("an empty text", 400, "POST", "/link", b'{"text": " "}'),
                ("NUL", 400, "POST", "/link", b'{"text": "a\\u0000"}'),
                ("no UTF-8", 400, "POST", "/link", b'{"text": "\xff\xfe"}'),
                ("no list", 400, "POST", "/batch", b"{}"),
                ("a long text", 413, "POST", "/link", json.dumps({"text": "a" * long}).encode()),
                ("a long batch", 413, "POST", "/batch", json.dumps([{}] * (LIMITS["max-texts"] + 1)).encode()),
                ("a long body", 413, "POST", "/link", b" " * (LIMITS["max-bytes"] + 1)),
                ("an empty form", 400, "POST", "/", b"text="),
                ("a long form", 413, "POST", "/", b"text=" + b"a" * long),
                ("a long body of a form", 413, "POST", "/", b"text=" + b"%" * 50_000),
                ("a wrong method", 405, "GET", "/link", None),
                ("an unknown method", 405, "BREW", "/batch", None),
                ("an unknown path", 404, "GET", "/" + "x" * 1000, None),
            ]
        )
        status, answer = self.ask(method, path, body)
        expect(status == wanted, name, status, answer)
        if path != "/":
            expect("error" in json.loads(answer), name, status, answer)

    def malformed(self) -> None:
        """Send what is no HTTP, or another host's name."""
        head = b"POST /link HTTP/1.1\r\nHost: localhost\r\n"
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
        name, wanted, sent = self.random.choice(
            [
                ("no HTTP", {400}, self.random.randbytes(100) + b"\r\n\r\n"),
                ("no number", {400}, head + b"Content-Length: x\r\n\r\n"),
                ("no chunk", {400}, chunked + b"zz\r\n"),
                ("long headers", {400}, b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 200_000),
                ("another host", {400}, b"GET / HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n"),
                # the answer can be lost when the server closes while more arrives
                ("tiny chunks", {400, None}, chunked + b"1\r\na\r\n" * 20_000),
            ]
        )
        status, answer = self.send(sent)
        expect(status in wanted, name, status, answer)

    def cut_off(self) -> None:
        """Send half a request, and leave or wait."""
        head = b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n"
        sent = (head + b'{"text": "CF"}')[: self.random.randint(0, len(head) + 13)]
        if self.random.random() < 0.9:
            self.send(sent, end=True)
        else:
            status, answer = self.send(sent)
            expect(status == 408, "half a request", status, answer)

    def leave(self) -> None:
        """Send a whole request, and leave before its answer."""
        body = json.dumps({"text": self.text()}).encode()
        head = f"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(head + body)

    def idle(self, connections: deque[socket.socket]) -> None:
        """Open a connection that sends nothing. The oldest of 50 is forgotten."""
        connections.append(socket.create_connection(("127.0.0.1", self.port), timeout=60))
        if len(connections) > 50:
            connections.popleft().close()


class Unexpected(Exception):
    """An answer that is not as documented."""


def expect(as_documented: bool, name: str, status: int | None, body: bytes) -> None:
    if not as_documented:
        raise Unexpected(f"{name}: status {status}, {body[:200]!r}")


# --- the load and its figures


class Load:
    """Several clients, and samples of the server.

    Args:
        port: That of the server.
        process: The server.
        seconds: How long.
    """

    def __init__(self, port: int, process: subprocess.Popen[str], seconds: float) -> None:
        self._port = port
        self._process = process
        self._seconds = seconds
        self._begun = time.monotonic()
        self._requests: Counter[str] = Counter()
        self._wrong: Counter[str] = Counter()
        self._times: list[tuple[float, float]] = []  # when a text was sent, and how long its answer took
        self._samples: list[dict[str, float]] = []

    def run(self) -> None:
        clients = [Client(self._port, seed) for seed in range(CLIENTS)]
        threads = [threading.Thread(target=self._load, args=[client]) for client in clients]
        for thread in threads:
            thread.start()
        ended = threading.Event()
        while not ended.wait(SECONDS_BETWEEN_SAMPLES) and self._goes_on():
            sent = {"done": sum(self._requests.values()), "words": sum(client.words for client in clients)}
            self._samples.append({"at": self._now(), **sample(self._process.pid), **sent})
        for thread in threads:
            thread.join()

    def _now(self) -> float:
        return time.monotonic() - self._begun

    def _goes_on(self) -> bool:
        return self._now() < self._seconds and self._process.poll() is None

    def _load(self, client: Client) -> None:
        connections: deque[socket.socket] = deque()
        kinds: dict[Callable[[], None], int] = {
            client.link: 40,
            client.link_strange: 5,
            client.batch: 10,
            client.form: 10,
            client.look: 10,
            client.refused: 15,
            client.malformed: 5,
            client.cut_off: 3,
            client.leave: 3,
            partial(client.idle, connections): 2,
        }
        while self._goes_on():
            (kind,) = client.random.choices(list(kinds), list(kinds.values()))
            begun = self._now()
            try:
                kind()
            except (Unexpected, OSError, ValueError) as error:
                self._wrong[f"{type(error).__name__}: {error}"] += 1
            if kind == client.link:
                self._times.append((begun, self._now() - begun))
            self._requests[getattr(kind, "__name__", "idle")] += 1
        for connection in connections:
            connection.close()

    def figures(self) -> dict[str, Any]:
        first, last = WARM_UP * self._seconds, self._seconds
        quarter = (last - first) / 4
        return {
            "minutes": round(self._seconds / 60, 2),
            "requests": dict(self._requests.most_common()),
            "unexpected": dict(self._wrong.most_common(20)),
            "first_quarter": self._quarter(first, first + quarter),
            "last_quarter": self._quarter(last - quarter, last),
        }

    def _quarter(self, start: float, end: float) -> dict[str, float]:
        """Return medians of the memory and the files, percentiles of the time, and processor time for a request."""
        samples = [one for one in self._samples if start <= one["at"] < end]
        times = sorted(1000 * taken for at, taken in self._times if start <= at < end)
        if len(samples) < 2 or not times:
            raise SystemExit("There are too few samples. Give more minutes.")
        done = samples[-1]["done"] - samples[0]["done"]
        figures = {
            name: statistics.median(one[name] for one in samples) for name in ("rss_mib", "anonymous_mib", "words")
        }
        return {
            **{name: round(value, 1) for name, value in figures.items()},
            "files": statistics.median(one["files"] for one in samples),
            "threads": statistics.median(one["threads"] for one in samples),
            "link_ms_p50": round(times[len(times) // 2], 1),
            "link_ms_p95": round(times[int(0.95 * len(times))], 1),
            "link_ms_p99": round(times[int(0.99 * len(times))], 1),
            "processor_ms_per_request": round(1000 * (samples[-1]["processor"] - samples[0]["processor"]) / done, 1),
        }


def sample(pid: int) -> dict[str, float]:
    """Return memory in MiB, open files, threads and seconds of processor time of a process."""
    folder = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    times = (folder / "stat").read_text().rpartition(")")[2].split()
    return {
        "rss_mib": int(status["VmRSS"].split()[0]) / 1024,
        "anonymous_mib": int(status["RssAnon"].split()[0]) / 1024,
        "files": len(os.listdir(folder / "fd")),
        "threads": int(status["Threads"]),
        "processor": (int(times[11]) + int(times[12])) / TICKS,
    }


def failures_of(figures: dict[str, Any]) -> list[str]:
    first, last = figures["first_quarter"], figures["last_quarter"]
    failures = [f"{n} × {told}" for told, n in figures["unexpected"].items()]
    allowed = MORE_MEMORY + BYTES_PER_WORD * (last["words"] - first["words"]) / 2**20
    if last["anonymous_mib"] > first["anonymous_mib"] + allowed:
        failures.append(f"The memory grew by more than {allowed:.0f} MiB.")
    if last["files"] > first["files"] + MORE_FILES:
        failures.append(f"There are more than {MORE_FILES} more open files.")
    for name in ("link_ms_p50", "processor_ms_per_request"):
        if last[name] > SLOWER * max(first[name], LEAST_MS):
            failures.append(f"{name} grew by more than a factor of {SLOWER:g}.")
    return failures


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 30))
