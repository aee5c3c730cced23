"""The command: its address, token and signals. What the server answers is tested in `tests/serve`."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from importlib import import_module
from urllib.request import urlopen

import pytest
import uvicorn

from spacy_sapbert.cli.serve import TOKEN
from spacy_sapbert.serve.server import Settings


@pytest.fixture(autouse=True)
def small(monkeypatch, linking_nlp, own_logs):
    """A small pipeline in the place of that of `demo`."""
    monkeypatch.setattr(import_module("spacy_sapbert.pipeline.box"), "load", lambda: linking_nlp)
    monkeypatch.delenv(TOKEN, raising=False)


@pytest.fixture
def end(monkeypatch):
    """Ends a server when its pipeline is loaded. It is a function that says what to do before."""
    todo = [lambda server: None]
    sites = []
    main_loop = uvicorn.Server.main_loop
    make_site = Settings.site
    monkeypatch.setattr(Settings, "site", lambda settings: sites.append(make_site(settings)) or sites[-1])

    async def end_when_ready(server):
        def wait():
            while not (sites[-1].linking or sites[-1].failure):
                time.sleep(0.01)
            time.sleep(0.05)  # for the message
            todo[0](server)
            server.should_exit = True

        threading.Thread(target=wait).start()
        await main_loop(server)

    monkeypatch.setattr(uvicorn.Server, "main_loop", end_when_ready)
    return lambda action: todo.__setitem__(0, action)


def get(server, path, **headers):
    port = server.servers[0].sockets[0].getsockname()[1]
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.usefixtures("end")
def test_by_default_only_this_machine_can_reach_it(command):
    finished = command("serve", "--port", 0)
    assert finished.status == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+ shows the page\. Press Ctrl\+C to stop\.\n", finished.err)


@pytest.mark.usefixtures("end")
@pytest.mark.parametrize(("host", "is_open"), [("0.0.0.0", True), ("localhost", False), ("::1", False)])
def test_a_host_that_others_reach_is_warned_of(command, host, is_open):
    finished = command("serve", "--port", 0, "--host", host)
    assert finished.status == 0
    assert (f"Anyone who can reach {host}" in finished.err) == is_open
    assert f"http://{'[::1]' if host == '::1' else host}:" in finished.err


@pytest.mark.usefixtures("end")
def test_a_saved_pipeline_is_served(command, linking_folder):
    assert command("serve", linking_folder, "--port", 0).status == 0
    finished = command("serve", linking_folder / "none", "--port", 0)
    assert (finished.status, finished.err.startswith("[E501]")) == (1, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order(command, end, number):
    end(lambda server: os.kill(os.getpid(), number))
    assert command("serve", "--port", 0).status == 0


def test_no_answer_waits_for_the_client(command, end):
    options = []
    end(lambda server: options.append(server.servers[0].sockets[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
    command("serve", "--port", 0)
    assert options == [1]


def test_a_port_in_use(command):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finished = command("serve", "--port", port)
    assert finished.status == 1
    assert finished.err.startswith(f"[E550] Cannot listen on 127.0.0.1, port {port} (Address already in use")


def test_a_token(command, end, monkeypatch):
    monkeypatch.setenv(TOKEN, "0123456789abcdef\n")
    statuses = []
    asked = ("", "Bearer 0123456789abcdef")
    end(lambda server: statuses.extend(get(server, "/", Authorization=value) for value in asked))
    finished = command("serve", "--port", 0, "--host", "0.0.0.0")
    assert statuses == [401, 200]
    assert "sent without encryption" in finished.err
    assert "0123456789" not in finished.err


@pytest.mark.parametrize("text", ["", "short", "two words 0123456789", "0123456789abcdef\x07", "é" * 16])
def test_a_token_of_no_use(command, monkeypatch, text):
    monkeypatch.setenv(TOKEN, text)
    assert command("serve").err.startswith(f"[E533] {TOKEN} cannot be used")


@pytest.mark.usefixtures("end")
def test_every_line_is_json(command):
    (line,) = command("serve", "--port", 0, "--log", "json").err.splitlines()
    assert "shows the page" in json.loads(line)["message"]


@pytest.mark.parametrize("host", ["256.256.256.256", "a..b"])
def test_no_such_host(command, started, host):
    assert command("serve", "--host", host).err.startswith(f"[E550] Cannot listen on {host}")


@pytest.mark.parametrize("module", ["fastapi", "starlette", "uvicorn", "prometheus_client"])
def test_without_the_extra(command, monkeypatch, module):
    for name in [name for name in sys.modules if name.startswith("spacy_sapbert.serve.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    finished = command("serve")
    assert finished.status == 1
    assert re.search(rf"E542.*{module}.*spacy-sapbert\[web\]", finished.err)


@pytest.fixture
def started(tmp_path):
    """A function that starts the command in a process, and gives the process, its address and its log."""
    processes = []

    def start(*arguments):
        command = [sys.executable, "-m", "spacy_sapbert", "serve", *map(str, arguments), "--port", "0"]
        log = tmp_path / "log"
        with log.open("w") as stream:
            process = subprocess.Popen(command, stderr=stream)
        processes.append(process)
        while process.poll() is None and "http://" not in log.read_text():
            time.sleep(0.05)
        return process, re.search(r"http://\S+", log.read_text())[0], log

    yield start
    for process in processes:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
def test_two_workers(started, linking_folder):
    process, address, log = started(linking_folder, "--workers", "2")
    asked = b'[{"text": "cystic fibrosis"}, {}]'
    answers = [json.load(urlopen(f"{address}/batch", asked)) for _ in range(10)]
    assert [len(answer) for answer in answers] == [2] * 10
    while log.read_text().count("is ready") < 2:
        time.sleep(0.1)
    counted = b'requests_total{path="/batch",status="200"} 10.0'
    assert counted in urlopen(f"{address}/metrics").read()
    os.kill(int(re.search(r"Worker process (\d+)", log.read_text())[1]), signal.SIGKILL)
    time.sleep(0.1)
    while log.read_text().count("is ready") < 3:
        assert urlopen(f"{address}/ready").status == 200
        time.sleep(0.1)
    assert counted in urlopen(f"{address}/metrics").read()
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


@pytest.mark.slow
def test_workers_that_cannot_start(started, tmp_path):
    process, _, log = started(tmp_path / "none", "--workers", "2")
    assert process.wait(60) == 1
    assert all(text in log.read_text() for text in ("[E501]", "[E575]"))
    assert "Traceback" not in log.read_text()
