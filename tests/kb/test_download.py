"""Downloads from a server on this machine: whole, cut off, refused, redirected."""

import gzip

import pytest
import requests

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb import download as module
from spacy_sapbert.kb.download import download, is_web_page

BODY = b"format-version: 1.2\n" + b"[Term]\nid: X:1\nname: grey fever\n" * 30_000


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.obo"


def test_a_file(web_server, path):
    date = "Thu, 01 Oct 2026 00:00:00 GMT"
    web_server.answers["/x.obo"] = lambda handler: web_server.send(handler, BODY, ETag='"1"', Last_Modified=date)
    seen = []
    origin = download(f"{web_server.address}/x.obo", path, progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert len(seen) > 1
    assert origin.pop("downloaded").endswith("+00:00")
    assert origin == {"address": f"{web_server.address}/x.obo", "etag": '"1"', "last_modified": date}


def test_a_busy_server(web_server, path):
    answers = [503, 429]
    web_server.answers["/x.obo"] = lambda handler: web_server.send(
        handler, BODY, **({"status": answers.pop()} if answers else {})
    )
    download(f"{web_server.address}/x.obo", path)
    assert path.read_bytes() == BODY


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "404 Not Found"),
        (lambda server, handler: server.send(handler, BODY, 503), "503 Service Unavailable"),
        (lambda server, handler: server.send(handler, BODY, 200, 300_000), "300000 bytes read"),
        (lambda server, handler: server.send(handler, b"", 302, Location="/x.obo"), "redirects"),
    ],
)
def test_answers_without_the_file(web_server, path, answer, reason):
    if answer:
        web_server.answers["/x.obo"] = lambda handler: answer(web_server, handler)
    with pytest.raises(SapbertError, match=rf"E112.*{reason}.*https://home\.example.*--mirror"):
        download(f"{web_server.address}/x.obo", path, home="https://home.example")


def test_no_server(web_server, path):
    web_server.close()
    with pytest.raises(SapbertError, match=r"E112.*Connection refused.*HTTPS_PROXY.*x\.obo.*--mirror"):
        download(f"{web_server.address}/x.obo", path)


def test_a_redirect_to_another_host(web_server, path):
    elsewhere = web_server.address.replace("127.0.0.1", "localhost")
    web_server.answers["/a"] = lambda handler: web_server.send(handler, b"", 302, Location="/b")
    web_server.answers["/b"] = lambda handler: web_server.send(handler, b"", 301, Location=f"{elsewhere}/x.obo")
    web_server.answers["/x.obo"] = BODY
    origin = download(f"{web_server.address}/a", path)
    assert origin["address"] == f"{web_server.address}/a"
    assert path.read_bytes() == BODY


def test_a_redirect_without_encryption(path, monkeypatch):
    def answer(self, request, **_):
        response = requests.Response()
        response.status_code = 302 if request.url.startswith("https") else 200
        response.headers["Location"] = "http://other.example/x.obo"
        response.request, response.url = request, request.url
        response._content, response._content_consumed = b"", True
        return response

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", answer)
    with pytest.raises(SapbertError, match=r"E112.*to http://other\.example/x\.obo, which is not encrypted"):
        download("https://safe.example/x.obo", path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>", True),
        (b"\xef\xbb\xbf<HTML>Sign in</HTML>", True),
        (gzip.compress(b"<html>Sign in</html>", mtime=0), True),
        (b"<?xml version='1.0'?>", False),
        (b"", False),
    ],
)
def test_web_pages(tmp_path, content, expected):
    (tmp_path / "file").write_bytes(content)
    assert is_web_page(tmp_path / "file") == expected
