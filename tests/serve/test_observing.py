"""Logs, request ids and metrics of a server."""

import json
import logging
import os
import subprocess
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from spacy_sapbert.serve.observing import LOGGER, METRICS_FOLDER, configure_log, forget_dead_workers
from spacy_sapbert.serve.settings import LogFormat

SECRET = "cystic fibrosis of Jane Roe"


@pytest.fixture
def lines(own_logs, capsys):
    """A function that gives so many lines of the log, which are written after the answers."""

    def read(number):
        found = []
        deadline = time.monotonic() + 10
        while len(found) < number and time.monotonic() < deadline:
            time.sleep(0.02)
            found += capsys.readouterr().err.splitlines()
        return found

    return read


def test_a_json_line_for_each_request(running, lines):
    configure_log(LogFormat.json)
    sent = json.dumps([{"id": SECRET, "text": SECRET}, {"text": "a cold"}, {}])
    running.ask("POST", "/batch", sent, **{"X-Request-ID": "mine-1.a_b"})
    running.ask("POST", "/link", '{"text": "explode"}')
    first, *_, last = map(json.loads, lines(2))
    request = {"method": "POST", "path": "/batch", "status": 200, "texts": 2, "request_id": "mine-1.a_b"}
    assert {"level": "info", **request}.items() <= first.items()
    assert first["characters"] == len(SECRET) + len("a cold")
    assert first["time"].endswith("+00:00")
    assert first["ms"] > 0
    assert (last["status"], last["texts"], len(last["request_id"])) == (500, 1, 32)


@pytest.mark.parametrize("format", list(LogFormat))
def test_no_log_has_a_text(running, lines, format):
    configure_log(format)
    running.ask("POST", "/link", json.dumps({"text": SECRET, "id": SECRET}))
    running.ask("POST", "/link", json.dumps({"text": SECRET * 1000}))
    running.ask("POST", "/", f"text={SECRET}")
    running.ask("GET", f"/link?text={SECRET.replace(' ', '+')}")
    running.ask("GET", f"/{SECRET.replace(' ', '%20')}%0a2026%20forged", **{"X-Request-ID": SECRET})
    time.sleep(0.05)
    logged = lines(0 if format is LogFormat.none else 5)
    assert "Jane" not in "".join(logged)


def test_a_readable_line(running, lines):
    configure_log(LogFormat.text)
    _, headers, _ = running.ask("POST", "/link", '{"text": "a cold"}')
    (line,) = lines(1)
    assert "POST /link 200, " in line
    assert line.endswith(f" ms, 1 texts, 6 characters, request {headers['X-Request-ID']}")


def test_errors_are_lines_too(lines):
    configure_log(LogFormat.json)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        LOGGER.exception("failed")
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    first, second = map(json.loads, lines(2))
    assert (first["message"], first["level"]) == ("failed", "error")
    assert "ValueError: two\nlines" in first["traceback"]
    assert second["message"] == "Invalid HTTP request received."


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "\xe9", "<script>", "-"])
def test_an_id_that_could_do_harm_is_replaced(ask, given):
    _, headers, _ = ask("GET", "/health", **{"X-Request-ID": given})
    assert len(headers["X-Request-ID"]) == 32


def figures(answer):
    """RETURNS (dict): the value of each sample, by its name and the values of its labels."""
    families = text_string_to_metric_families(answer)
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def test_metrics(serving):
    server = serving()
    server.ask("POST", "/batch", '[{"text": "cystic fibrosis and a zebra"}, {"text": "a cold"}, {}]')
    server.ask("POST", "/link", "[]")
    server.ask("GET", "/anything")
    time.sleep(0.05)  # requests are counted after the answers
    found = figures(server.ask("GET", "/metrics")[2])
    assert found["spacy_sapbert_requests_total", "/batch", "200"] == 1
    assert found["spacy_sapbert_requests_total", "/link", "400"] == 1
    assert found["spacy_sapbert_requests_total", "(unknown)", "404"] == 1
    assert found["spacy_sapbert_request_seconds_count", "/batch"] == 1
    names = ("texts_total", "mentions_total", "links_total", "queue_length")
    assert [found[f"spacy_sapbert_{name}",] for name in names] == [2, 3, 2, 0]


def test_the_queue_of_a_dead_worker_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.setenv(METRICS_FOLDER, str(tmp_path))
    finished = subprocess.Popen(["true"])
    finished.wait()
    for process in (os.getpid(), finished.pid):
        (tmp_path / f"gauge_livesum_{process}.db").touch()
        (tmp_path / f"counter_{process}.db").touch()
    forget_dead_workers()
    assert not (tmp_path / f"gauge_livesum_{finished.pid}.db").exists()
    assert len(list(tmp_path.iterdir())) == 3
