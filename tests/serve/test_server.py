"""How a server and its workers start and end."""

import os
import threading
import time
from dataclasses import replace

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.serve.app import Site
from spacy_sapbert.serve.server import Settings, _worker_app
from spacy_sapbert.serve.settings import Limits, LogFormat

LIMITS = Limits(max_chars=1000, max_bytes=13_000)


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
    statuses = []
    monkeypatch.setattr(os, "_exit", statuses.append)
    _worker_app(settings())
    assert statuses == [3]
    log = capsys.readouterr().err
    assert ("Traceback" in log) == isinstance(error, KeyError)
    assert str(error) in log


@pytest.mark.usefixtures("own_logs")
def test_a_worker_loads_before_it_answers(monkeypatch, linking, capsys):
    loaded = []
    monkeypatch.setattr(Settings, "_load", lambda settings: linking)
    monkeypatch.setattr(Site, "load", lambda site, load=Site.load: loaded.append(site) or load(site))
    _worker_app(settings(log=LogFormat.text))
    assert loaded[0].linking is linking
    assert "is ready" in capsys.readouterr().err
