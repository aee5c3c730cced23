"""The server as other programs meet it."""

import json
import re
import socket
import threading
import time
from dataclasses import fields, replace
from pathlib import Path
from urllib.parse import urlencode

import pytest
from fastapi.openapi.models import OpenAPI

from spacy_sapbert.documents.input_documents import ReadOptions
from spacy_sapbert.documents.text_files import value_document
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.serve.settings import Limits

from .conftest import SMALL


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
    document = value_document(json.loads(sent), "", ReadOptions("jsonl"))
    (record,) = linking([document])
    assert json.loads(body) == json.loads(json.dumps(record))
    assert [entity["kb_id"] for entity in json.loads(body)["entities"]][-1] == "D001943|D010051"


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("/link", "no JSON", 400, "this is not JSON"),
        ("/link", b'{"text": "\xff"}', 400, "this is not JSON"),
        ("/link", '{"text": "\\ud800"}', 400, "this is not JSON"),
        ("/link", "[" * 5000, 400, "this is not JSON"),
        ("/link", "[]", 400, "not a JSON object"),
        ("/link", "{}", 400, "there is no key 'text'"),
        ("/link", '{"text": 1}', 400, "is not a string"),
        ("/link", '{"text": " "}', 400, "the text is empty"),
        ("/link", '{"text": "a\\u0000b"}', 400, "NUL"),
        ("/link", "", 400, "this is not JSON"),
        ("/batch", "{}", 400, "not a list"),
        ("/batch", "[", 400, "not JSON"),
        ("/batch", json.dumps([{"text": "a"}] * 5), 413, "The batch has 5 texts. The server accepts at most 4."),
    ],
)
def test_what_is_not_a_text_or_a_batch_is_refused(ask, path, body, status, reason):
    found, headers, answer = ask("POST", path, body)
    assert (found, headers["Content-Type"]) == (status, "application/json")
    assert reason in json.loads(answer)["error"]


@pytest.mark.parametrize("body", ["", "text=", "text=%20", "other=1", "text=%00", b"\xff\xfe", "text"])
def test_a_form_without_a_text_is_refused(ask, body):
    status, _, page = ask("POST", "/", body)
    assert status == 400
    assert '<p class="message" role="alert">There is nothing to link' in page


def chunks(n):
    """YIELDS: more than a server should read."""
    for _ in range(n):
        yield b"x" * 10_000


@pytest.mark.parametrize("path", ["/", "/link", "/batch"])
@pytest.mark.parametrize("body", [chunks, lambda n: b"x" * 10_000 * n], ids=["without a length", "with a length"])
def test_a_request_that_is_too_long_is_refused(ask, path, body):
    status, _, answer = ask("POST", path, body(3))
    assert status == 413
    assert "at most 13,000 bytes" in answer


@pytest.mark.parametrize(("path", "write"), [("/", form), ("/link", lambda text: json.dumps({"text": text}))])
def test_a_text_that_is_too_long_is_refused(ask, path, write):
    status, _, answer = ask("POST", path, write("x" * 1001))
    assert status == 413
    assert "at most 1,000 characters" in answer


@pytest.mark.parametrize("text", ["x" * 1000, "\U0001f600" * 1000])
def test_the_longest_text_is_taken(ask, text):
    assert ask("POST", "/", form(text))[0] == 200
    assert ask("POST", "/link", json.dumps({"text": text}))[0] == 200


def test_a_pipeline_that_fails_does_not_end_the_server(ask, linking):
    before = linking.problems.console.file.getvalue()
    status, _, page = ask("POST", "/", form("this <i> will explode"))
    assert status == 500
    assert "The pipeline failed on this text" in page
    assert "this &lt;i&gt; will explode</textarea>" in page
    assert "secret" not in page
    status, _, body = ask("POST", "/link", '{"text": "explode"}')
    assert (status, set(json.loads(body))) == (500, {"error"})
    reported = linking.problems.console.file.getvalue().removeprefix(before)
    assert reported.count("ValueError: a secret reason") == 2
    assert ask("POST", "/", form("a cold"))[0] == 200


def test_a_request_that_is_broken_off_is_not_a_failure(ask, port, caplog):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    assert ask("GET", "/health")[0] == 200
    assert "Traceback" not in caplog.text


def test_it_answers_while_the_pipeline_is_busy(ask, busy):
    started, go_on = busy
    answers = []
    asking = threading.Thread(target=lambda: answers.append(ask("POST", "/", form("a slow cold"))[0]))
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


def test_a_batch_gives_a_record_or_a_reason_for_each_text(ask, linking):
    sent = [
        {"id": "a", "text": "Cystic fibrosis (CF)."},
        {"text": 5},
        "no object",
        {"text": "\ud800"},
        {"id": "b", "text": "explode"},
        {"id": 7, "text": "a cold", "year": 1},
        {"text": "x" * 1001},
    ]
    for part in (sent[:4], sent[4:]):
        status, _, body = ask("POST", "/batch", json.dumps(part))
        answers = json.loads(body)
        assert status == 200
        for value, answer in zip(part, answers, strict=True):
            if "error" in answer:
                continue
            document = value_document(value, "", ReadOptions("jsonl"))
            (record,) = linking([document])
            assert answer == json.loads(json.dumps(record))
    assert [answer.get("id") for answer in answers] == ["b", "7", None]
    assert "The pipeline failed" in answers[0]["error"]
    assert "at most 1,000 characters" in answers[2]["error"]


def test_an_error_of_the_pipeline_does_not_end_the_server(ask, linking, monkeypatch):
    def fail(*_, **__):
        raise SapbertError("[E999] the encoder is gone")

    monkeypatch.setattr(linking.nlp, "pipe", fail)
    status, _, body = ask("POST", "/batch", '[{"text": "a cold"}, {"text": "CF"}]')
    assert status == 200
    assert [set(answer) for answer in json.loads(body)] == [{"id", "error"}] * 2
    assert "the encoder is gone" not in body


def test_it_is_not_ready_before_its_pipeline_is_loaded(serving, linking):
    go_on = threading.Event()
    server = serving(load=lambda: go_on.wait(30) and linking)
    starting = {"status": "starting", "pipeline": "<tiny>", "concepts": None}
    status, _, body = server.ask("GET", "/health")
    assert (status, json.loads(body)) == (200, starting)
    assert server.ask("HEAD", "/ready")[0] == 503
    for method, path, body in (("GET", "/", None), ("POST", "/", form("a")), ("POST", "/link", '{"text": "a"}')):
        status, headers, _ = server.ask(method, path, body)
        assert (status, headers["Retry-After"]) == (503, "2")
    go_on.set()
    while server.ask("GET", "/ready")[0] != 200:
        time.sleep(0.01)


def test_a_path_that_is_not_there(ask):
    status, _, body = ask("GET", "/none")
    assert (status, json.loads(body)) == (404, {"error": "Not Found"})
    assert ask("GET", "/link")[0] == 405


def test_too_many_requests_wait(serving, busy):
    started, go_on = busy
    server = serving(limits=replace(SMALL, max_waiting=1))
    answers = []

    def ask():
        answers.append(server.ask("POST", "/link", '{"text": "slow"}'))

    asking = [threading.Thread(target=ask) for _ in range(4)]
    asking[0].start()
    assert started.wait(30)
    for thread in asking[1:]:
        thread.start()
    while len(answers) < 2:  # one is linked and one waits
        time.sleep(0.01)
    go_on.set()
    for thread in asking:
        thread.join()
    assert [status for status, _, _ in answers] == [503, 503, 200, 200]
    assert answers[0][1]["Retry-After"] == "2"
    assert "Too many requests wait (1)" in answers[0][2]


def test_a_request_that_does_not_arrive_is_ended(serving):
    server = serving(limits=replace(SMALL, timeout=0.3))
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n{")
        assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")


def test_too_many_connections(serving):
    server = serving(limits=replace(SMALL, max_connections=2))
    with socket.create_connection(("127.0.0.1", server.port)):
        assert server.ask("GET", "/health")[0] == 200
        with socket.create_connection(("127.0.0.1", server.port)):
            assert server.ask("GET", "/health")[0] == 503


def test_a_form_that_is_far_too_long_is_not_shown_again(serving):
    server = serving(limits=replace(SMALL, max_bytes=100_000))
    status, _, page = server.ask("POST", "/", form("abc" * 2000))
    assert (status, "abcabc" in page) == (413, True)
    status, _, page = server.ask("POST", "/", form("abc" * 6000))
    assert (status, "abcabc" in page, "The text is too long" in page) == (413, False, True)


def test_a_request_whose_client_leaves_is_not_linked(serving, busy):
    started, go_on = busy
    server = serving()
    begun = threading.Thread(target=lambda: server.ask("POST", "/link", '{"text": "slow"}'))
    begun.start()
    assert started.wait(30)
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b'POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n{"text": "CF"}')
        while "queue_length 2.0" not in server.ask("GET", "/metrics")[2]:
            time.sleep(0.01)
    while "queue_length 1.0" not in server.ask("GET", "/metrics")[2]:
        time.sleep(0.01)
    go_on.set()
    begun.join()
    time.sleep(0.05)  # requests are counted after the answers
    assert 'path="/link",status="499"} 1.0' in server.ask("GET", "/metrics")[2]
    assert "texts_total 1.0" in server.ask("GET", "/metrics")[2]


KINDS = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}
KINDS |= {"array": list, "object": dict}


def faults(described, schema, value, path=""):
    """YIELDS: where a JSON value is not as its schema says, with all its keys."""
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        if not any(not list(faults(described, kind, value)) for kind in schema["anyOf"]):
            yield path
        return
    kinds = schema.get("type", [])
    if not any(isinstance(value, KINDS[kind]) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield path
    elif isinstance(value, list):
        for item in value:
            yield from faults(described, schema.get("items", {}), item, path)
    elif isinstance(value, dict):
        own = schema.get("properties", {})
        yield from (f"{path}.{name}" for name in set(schema.get("required", ())) - set(value))
        for name, inner in value.items():
            if name in own or isinstance(schema.get("additionalProperties"), dict):
                yield from faults(described, own.get(name) or schema["additionalProperties"], inner, f"{path}.{name}")
            elif not schema.get("additionalProperties"):
                yield f"{path}.{name}"


def test_records_are_as_they_are_described(ask):
    text = "Cystic fibrosis (CF), breast and ovarian cancer, a zebra and a cold."
    _, _, body = ask("POST", "/link", json.dumps({"id": 1, "title": "CF", "text": text, "year": 1}))
    record, described = json.loads(body), json.loads(ask("GET", "/openapi.json")[2])
    assert record["entities"][0]["links"][0]["concept_id"] == "D003550"
    assert list(faults(described, {"$ref": "/Record"}, record)) == []
    del record["entities"][0]["links"][0]["score"]
    assert list(faults(described, {"$ref": "/Record"}, {**record, "more": 1, "text": 2})) == [
        ".text",
        ".entities.links.score",
        ".more",
    ]


def test_the_openapi_description(ask):
    status, headers, body = ask("GET", "/openapi.json")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    described = OpenAPI.model_validate_json(body)
    assert set(described.paths) == {"/link", "/batch", "/health", "/ready", "/metrics"}
    batch = json.loads(body)["paths"]["/batch"]["post"]
    assert batch["requestBody"]["content"]["application/json"]["schema"]["maxItems"] == 4
    models = [json.loads(body)["components"]["schemas"][name] for name in ("Record", "Link", "Entity", "Health")]
    assert all("description" in field for model in models for field in model["properties"].values())


def test_the_page_on_serving(serving):
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf8")
    code, *_ = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    namespace = {}
    exec(code, namespace)
    server = serving(token="0123456789abcdef")
    found = namespace["link"](f"http://127.0.0.1:{server.port}", ["a cold", ""], "0123456789abcdef")
    assert [set(found[0]) > {"id", "text", "entities"}, set(found[1])] == [True, {"error"}]
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| .*? \| ([\d,]+) \|", page, flags=re.MULTILINE))
    defaults = {field.name: field.default for field in fields(Limits)}
    assert {name: float(value.replace(",", "")) for name, value in rows.items()} == defaults
    addresses = set(re.findall(r"`(?:GET|POST) (/\w*(?:\.json)?)`", page))
    assert addresses == {"/", "/link", "/batch", "/openapi.json", "/health", "/ready", "/metrics"}
    status, _, metrics = server.ask("GET", "/metrics", Authorization="Bearer 0123456789abcdef")
    names = set(re.findall(r"`(spacy_sapbert_\w+)`", page))
    assert status == 200
    assert {name for name in names if f"# TYPE {name}" not in metrics} == set()
