import re
import socket
import sys

import pytest
import uvicorn


@pytest.fixture
def started(monkeypatch, linking_nlp):
    """The servers that would run, with their sockets; and a small pipeline in the place of that of `demo`."""
    found = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: found.append((server, sockets)))
    monkeypatch.setattr(sys.modules["spacy_sapbert.cli.demo"], "demo_pipeline", lambda: linking_nlp)
    return found


def test_by_default_only_this_machine_can_reach_it(command, started):
    finished = command("serve", "--port", 0)
    assert finished.status == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+ shows the page\. Press Ctrl\+C to stop\.\n", finished.err)
    assert len(started) == 1


@pytest.mark.parametrize(("host", "told"), [("0.0.0.0", True), ("localhost", False), ("::1", False)])
def test_a_host_that_others_reach_is_warned_of(command, started, host, told):
    finished = command("serve", "--port", 0, "--host", host)
    assert finished.status == 0
    assert (f"Anyone who can reach {host}" in finished.err) == told
    assert f"http://{'[::1]' if host == '::1' else host}:" in finished.err


def test_a_saved_pipeline_is_served(command, started, linking_folder):
    assert command("serve", linking_folder, "--port", 0).status == 0
    assert command("serve", linking_folder / "none", "--port", 0).err.startswith("[E501]")


def test_a_port_in_use(command, started):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finished = command("serve", "--port", port)
    assert finished.status == 1
    assert finished.err.startswith(f"[E550] Cannot listen on 127.0.0.1, port {port} (Address already in use")
    assert started == []


@pytest.mark.parametrize("host", ["256.256.256.256", "a..b"])
def test_no_such_host(command, started, host):
    assert command("serve", "--host", host).err.startswith(f"[E550] Cannot listen on {host}")


@pytest.mark.parametrize("module", ["starlette", "uvicorn"])
def test_without_the_extra(command, monkeypatch, module):
    monkeypatch.delitem(sys.modules, "spacy_sapbert.cli.web.app", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    finished = command("serve")
    assert finished.status == 1
    assert re.search(rf"E542.*{module}.*spacy-sapbert\[web\]", finished.err)
