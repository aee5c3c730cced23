"""Connections that send half a request, nothing or tiny chunks, that read nothing, and too many of them."""

import re
import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace

import pytest

from spacy_sapbert.serve.connections import BoundedProtocol
from spacy_sapbert.serve.limits import Limits

HEAD = b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n"
BODY = b'{"text": "CF"}'
CHUNKED = b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
LIMITS = Limits(max_chars=1000, max_bytes=13_000, read_timeout=30)


@pytest.fixture
def connect(running):
    """A function that opens a connection and sends something."""
    with ExitStack() as stack:

        def send(sent=b"", server=running):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            connection.sendall(sent)
            return connection

        yield send


def rest(connection):
    """RETURNS: all that still comes, until the server closes the connection."""
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return received


@pytest.mark.parametrize("sent", [b"", b"POST /li", HEAD, HEAD + b"\r\n", HEAD + b"\r\n" + BODY[:5]])
def test_half_a_request_is_closed_and_others_are_answered(connect, running, sent):
    begun = time.monotonic()
    connections = [connect(sent) for _ in range(100)]
    assert running.ask("POST", "/link", BODY)[0] == 200
    answers = {rest(connection).partition(b"\r\n")[0] for connection in connections}
    assert answers == {b"HTTP/1.1 408 Request Timeout"}
    assert 0.4 < time.monotonic() - begun < 5
    wait_until_closed(running)


def wait_until_closed(running):
    """Wait until the server has forgotten all connections, which it does after the clients have."""
    deadline = time.monotonic() + 5
    while running.server.server_state.connections and time.monotonic() < deadline:
        time.sleep(0.01)
    assert running.server.server_state.connections == set()


def test_a_request_that_drops_in_is_closed_too(connect):
    connection = connect()
    begun = time.monotonic()
    with pytest.raises(OSError, match=r"Broken pipe|reset"):  # noqa: PT012
        for byte in HEAD * 100:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
    assert time.monotonic() - begun < 3


def test_a_second_request_on_a_connection_may_come_later_but_not_half(connect):
    connection = connect(HEAD + b"\r\n" + BODY)
    assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    time.sleep(0.7)  # more than a request may take to arrive
    connection.sendall(HEAD + b"\r\n" + BODY + HEAD + b"\r\n" + BODY[:3])
    assert re.findall(rb"HTTP/1.1 (\d+)", rest(connection)) == [b"200", b"408"]


def test_a_client_that_reads_no_answer_is_closed(running, monkeypatch):
    page = "x" * 30_000_000  # more than the buffers of the system hold
    monkeypatch.setattr(running.site, "_example", page)
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while not running.server.server_state.connections:
            time.sleep(0.01)
        wait_until_closed(running)


def test_an_answer_that_fits_into_the_buffers_and_is_not_read_is_closed(serving, monkeypatch):
    """uvicorn never closes such a connection: its buffer holds too little to pause."""
    server = serving()
    monkeypatch.setattr(server.site, "_example", "x" * 60_000)
    server.listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert connection.recv(4).startswith(b"HTTP")
        wait_until_closed(server)


class Clock:
    """A loop and a transport, whose buffer has one size after the other."""

    def __init__(self, sizes):
        self.sizes = iter(sizes)
        self.aborted = False
        self.timers = 0

    def call_later(self, seconds, action):
        self.action = action
        self.timers += 1

    def get_write_buffer_size(self):
        return next(self.sizes)

    def abort(self):
        self.aborted = True


@pytest.mark.parametrize(
    ("sizes", "aborted"),
    [
        ([0], False),
        ([300_000, 200_000, 200_000, 50_000, 50_000, 0, 0], False),
        ([300_000, 200_001], True),
        ([50_000, 49_999], True),
        ([50_000, 0, 0], False),
    ],
)
def test_a_client_may_read_slowly_but_must_go_on(sizes, aborted):
    clock = Clock(sizes)
    protocol = object.__new__(BoundedProtocol)
    protocol.loop = protocol.transport = clock
    protocol.config = SimpleNamespace(limits=LIMITS)
    protocol._watch_reading()
    while protocol._reading is None and clock.timers:
        clock.timers -= 1
        clock.action()
    assert clock.aborted == aborted
    assert list(clock.sizes) == []


def test_many_small_chunks_are_refused_and_a_few_are_not(connect, running):
    few = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"
    with connect(CHUNKED % b"/link" + few) as connection:
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
    many = b"1\r\n \r\n" * 4113  # one too many: nothing is left in the buffers, which would destroy the answer
    assert rest(connect(CHUNKED % b"/link" + many)).startswith(b"HTTP/1.1 400 ")
    large = b"200\r\n" + b" " * 512 + b"\r\n"
    assert rest(connect(CHUNKED % b"/link" + large * 30)).startswith(b"HTTP/1.1 413 ")


def test_a_malformed_rest_after_the_answer_is_no_failure_of_the_server(connect, caplog):
    connection = connect(CHUNKED % b"/none")
    assert connection.recv(15) == b"HTTP/1.1 404 No"
    connection.sendall(b"no chunk\r\n")
    assert b"HTTP/1.1" not in rest(connection)
    assert [record.name for record in caplog.records if record.levelname == "ERROR"] == []


def test_the_connections_that_wait_longest_make_room(serving, connect):
    server = serving(limits=replace(LIMITS, max_connections=3))
    idle = [connect(HEAD[:5], server) for _ in range(8)]
    assert server.ask("GET", "/health")[0] == 200
    assert [ended(connection) for connection in idle[:6]] == [True] * 6
    for connection in idle[6:]:
        connection.sendall(HEAD[5:] + b"Connection: close\r\n\r\n" + BODY)
        assert rest(connection).startswith(b"HTTP/1.1 200 ")


def ended(connection):
    """RETURNS: whether the server has closed the connection. It waits for that."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_request_that_is_being_answered_makes_no_room(serving, connect, busy):
    started, go_on = busy
    server = serving(limits=replace(LIMITS, max_connections=1))
    answers = []
    asking = threading.Thread(target=lambda: answers.append(server.ask("POST", "/link", '{"text": "slow"}')[0]))
    asking.start()
    assert started.wait(30)
    for _ in range(3):
        assert rest(connect(b"", server)).startswith(b"HTTP/1.1 503 ")
    go_on.set()
    asking.join()
    assert answers == [200]
