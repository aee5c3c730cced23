"""Connections that send half a request, nothing, or read nothing; and how a server ends."""

import re
import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from spacy_sapbert.cli.web.app import Site
from spacy_sapbert.cli.web.limits import Limits
from spacy_sapbert.cli.web.logs import LogFormat
from spacy_sapbert.cli.web.server import Settings, _worker_app
from spacy_sapbert.errors import SapbertError

HEAD = b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n"
BODY = b'{"text": "CF"}'
LIMITS = Limits(max_chars=1000, max_bytes=13_000, read_timeout=0.5)


@pytest.fixture
def connect(running):
    """A function that opens a connection and sends something."""
    with ExitStack() as stack:

        def send(sent=b""):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=10))
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


def test_a_request_is_answered_before_the_server_ends(serving, busy):
    started, go_on = busy
    server = serving()
    answers = []
    asking = threading.Thread(target=lambda: answers.append(server.ask("POST", "/link", '{"text": "slow"}')[0]))
    asking.start()
    assert started.wait(30)
    server.server.should_exit = True
    time.sleep(0.3)
    with pytest.raises(OSError, match="refused"):
        server.ask("GET", "/health")
    go_on.set()
    asking.join()
    server.thread.join()
    assert answers == [200]


def settings(**changed):
    whole = Settings("no such pipeline", "x", ("*",), "a secret token", LIMITS, LogFormat.none)
    return replace(whole, **changed)


def test_the_token_is_not_shown():
    assert "secret" not in repr(settings())


@pytest.mark.usefixtures("own_logs")
@pytest.mark.parametrize("error", [SapbertError("[E501] no such pipeline"), KeyError("another error")])
def test_a_worker_that_cannot_load_is_not_started_again(monkeypatch, capsys, error):
    def fail(settings):
        raise error

    monkeypatch.setattr(Settings, "_load", fail)
    with pytest.raises(SystemExit) as ended:
        _worker_app(settings())
    assert ended.value.code == 3
    assert ("Traceback" in (told := capsys.readouterr().err)) == isinstance(error, KeyError)
    assert str(error) in told


@pytest.mark.usefixtures("own_logs")
def test_a_worker_loads_before_it_answers(monkeypatch, linking, capsys):
    loaded = []
    monkeypatch.setattr(Settings, "_load", lambda settings: linking)
    monkeypatch.setattr(Site, "load", lambda site, load=Site.load: loaded.append(site) or load(site))
    _worker_app(settings(log=LogFormat.text))
    assert loaded[0].linking is linking
    assert "is ready" in capsys.readouterr().err
