"""The server as other programs meet it."""

import json
import socket
import threading
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest

from spacy_sapbert.io.documents import ReadOptions
from spacy_sapbert.io.formats import InputFormat
from spacy_sapbert.io.records import record_of
from spacy_sapbert.io.text_files import json_document


@pytest.fixture
def ask(port):
    """A function that sends a request, and gives status, headers and body of the answer."""

    def send(method, path, body=None, **headers):
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        chunked = body is not None and not isinstance(body, (str, bytes))
        connection.request(method, path, body, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, body

    return send


def form(text):
    return urlencode({"text": text})


def test_the_page_begins_with_an_example(ask):
    status, headers, page = ask("GET", "/")
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "&lt;tiny&gt;, 16 concepts" in page
    assert '<a class="mention c0" href="#m1"><bdi>breast and ovarian cancer</bdi></a>' in page


def test_a_text_is_linked(ask):
    status, _, page = ask("POST", "/", form("Cystic fibrosis.\r\nA cold & a zebra."))
    assert status == 200
    assert "Cystic fibrosis.\nA <a" in page
    assert "</a> &amp; a <a" in page
    assert page.count('<article id="m') == 2


def test_a_page_asks_nothing_of_others_and_may_not(ask):
    _, headers, page = ask("GET", "/")
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "src=" not in page
    assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")


@pytest.mark.parametrize(("path", "status"), [("/", 200), ("/none", 404), ("/health", 200)])
def test_every_answer_has_the_headers(ask, path, status):
    found, headers, _ = ask("GET", path)
    assert found == status
    assert all(headers[name] for name in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"))


def test_json_is_that_of_link(ask, linking):
    sent = json.dumps(
        {"id": 7, "title": "CF", "text": "Cystic fibrosis (CF) and breast and ovarian cancer.", "year": 1}
    )
    status, headers, body = ask("POST", "/link", sent)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    document = json_document(sent, "", "", ReadOptions(InputFormat.jsonl))
    (item,) = linking([document])
    assert json.loads(body) == json.loads(json.dumps(record_of(item, linking.kb)))
    assert [entity["kb_id"] for entity in json.loads(body)["entities"]][-1] == "D001943|D010051"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("no JSON", "this is not JSON"),
        (b'{"text": "\xff"}', "this is not JSON"),
        ('{"text": "\\ud800"}', "this is not JSON"),
        ("[" * 5000, "this is not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "there is no key 'text'"),
        ('{"text": 1}', "is not a string"),
        ('{"text": " "}', "the text is empty"),
        ('{"text": "a\\u0000b"}', "NUL"),
        ("", "this is not JSON"),
    ],
)
def test_what_is_no_text_is_refused(ask, body, told):
    status, headers, answer = ask("POST", "/link", body)
    assert (status, headers["Content-Type"]) == (400, "application/json")
    assert told in json.loads(answer)["error"]


@pytest.mark.parametrize("body", ["", "text=", "text=%20", "other=1", "text=%00", b"\xff\xfe", "text"])
def test_a_form_without_a_text_is_refused(ask, body):
    status, _, page = ask("POST", "/", body)
    assert status == 400
    assert '<p class="message" role="alert">There is nothing to link' in page


def chunks(n):
    """YIELDS: more than a server should read."""
    for _ in range(n):
        yield b"x" * 10_000


@pytest.mark.parametrize("path", ["/", "/link"])
@pytest.mark.parametrize(
    "make_body",
    [lambda path: chunks(3), lambda path: form("x" * 1001) if path == "/" else json.dumps({"text": "x" * 1001})],
    ids=["without a length", "one character too many"],
)
def test_what_is_too_long_is_refused(ask, path, make_body):
    status, _, answer = ask("POST", path, make_body(path))
    assert status == 413
    assert "at most 1,000 characters" in answer


@pytest.mark.parametrize("text", ["x" * 1000, "\U0001f600" * 1000])
def test_the_longest_text_is_taken(ask, text):
    assert ask("POST", "/", form(text))[0] == 200
    assert ask("POST", "/link", json.dumps({"text": text}))[0] == 200


def test_a_pipeline_that_fails_does_not_end_the_server(ask, linking):
    status, _, page = ask("POST", "/", form("this <i> will explode"))
    assert status == 500
    assert "The pipeline failed on this text" in page
    assert "this &lt;i&gt; will explode</textarea>" in page
    assert "secret" not in page
    status, _, body = ask("POST", "/link", '{"text": "explode"}')
    assert (status, set(json.loads(body))) == (500, {"error"})
    assert linking.problems.console.file.getvalue().count("ValueError: a secret reason") == 2
    assert ask("POST", "/", form("a cold"))[0] == 200


def test_a_request_that_is_broken_off_is_no_failure(ask, port, caplog):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    assert ask("GET", "/health")[0] == 200
    assert "Traceback" not in caplog.text


def test_it_answers_while_the_pipeline_is_busy(ask, linking, monkeypatch):
    started, go_on = threading.Event(), threading.Event()

    def wait(doc):
        started.set()
        assert go_on.wait(30)
        return doc

    monkeypatch.setattr(linking.nlp, "_components", [("wait", wait), *linking.nlp._components])
    monkeypatch.setitem(linking.nlp._pipe_meta, "wait", linking.nlp.get_pipe_meta("test_web_failing"))
    answers = []
    asking = threading.Thread(target=lambda: answers.append(ask("POST", "/", form("a cold"))[0]))
    asking.start()
    assert started.wait(30)
    status, _, body = ask("GET", "/health")
    assert (status, json.loads(body)) == (200, {"status": "ok", "pipeline": "<tiny>", "concepts": 16})
    assert answers == []
    go_on.set()
    asking.join()
    assert answers == [200]


@pytest.mark.parametrize(
    ("host", "status"), [("localhost:80", 200), ("127.0.0.1", 200), ("[::1]:5000", 200), ("rebound.example", 400)]
)
def test_only_names_of_this_machine_are_answered(ask, host, status):
    assert ask("GET", "/health", Host=host)[0] == status
