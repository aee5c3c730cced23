"""Downloads from a server on this machine: whole, interrupted, refused, redirected."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import threading
from types import SimpleNamespace

import pytest
import requests

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb import download as module
from spacy_sapbert.kb.download import download, is_web_page, sha256_unpacked

BODY = b"format-version: 1.2\n" + b"[Term]\nid: X:1\nname: grey fever\n" * 30_000
OTHER = BODY.replace(b"grey", b"blue")
ETAG = '"first"'


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "x.obo"


def versioned(server, body, etag=ETAG, cut=None, ranges=True):
    """RETURNS: an answer that knows versions and ranges, as file servers do; the first `cut` answers end early."""
    cuts = list(cut or [])

    def answer(handler):
        asked = handler.headers
        if asked.get("If-None-Match") == etag:
            return server.send(handler, b"", 304, ETag=etag)
        start = 0
        if ranges and "Range" in asked and asked.get("If-Range") == etag:
            start = int(asked["Range"].removeprefix("bytes=").rstrip("-"))
        if start > len(body):
            return server.send(handler, b"", 416)
        headers = {"ETag": etag} | ({"Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {})
        end = cuts.pop(0) if cuts else None
        return server.send(handler, body[start:], 206 if start else 200, end, **headers)

    return answer


def test_a_file(web_server, path):
    web_server.answers["/x.obo"] = lambda handler: web_server.send(
        handler, BODY, ETag=ETAG, Last_Modified="Thu, 01 Oct 2026 00:00:00 GMT"
    )
    seen = []
    origin = download(f"{web_server.address}/x.obo", path, progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    assert len(seen) > 1
    assert (origin.address, origin.hosts) == (f"{web_server.address}/x.obo", ())
    assert (origin.etag, origin.last_modified) == (ETAG, "Thu, 01 Oct 2026 00:00:00 GMT")
    assert sorted(file.name for file in path.parent.iterdir()) == ["x.obo", "x.obo.json"]


def test_a_file_without_a_stated_size(web_server, path):
    def answer(handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(BODY)

    web_server.answers["/x.obo"] = answer
    download(f"{web_server.address}/x.obo", path)
    assert path.read_bytes() == BODY


def test_a_complete_file_is_not_sent_again(web_server, path):
    web_server.answers["/x.obo"] = versioned(web_server, BODY)
    first = download(f"{web_server.address}/x.obo", path)
    assert download(f"{web_server.address}/x.obo", path) == first
    web_server.answers["/x.obo"] = versioned(web_server, OTHER, etag='"second"')
    assert download(f"{web_server.address}/x.obo", path).etag == '"second"'
    assert path.read_bytes() == OTHER


def test_a_download_goes_on_within_one_run(web_server, path):
    web_server.answers["/x.obo"] = versioned(web_server, BODY, cut=[300_000, 200_000])
    download(f"{web_server.address}/x.obo", path)
    assert path.read_bytes() == BODY
    assert [headers.get("Range") for _, headers in web_server.requests] == [None, "bytes=300000-", "bytes=500000-"]


@pytest.fixture
def cut_off(web_server, path, monkeypatch):
    """A download of which 300,000 bytes came."""
    with monkeypatch.context() as patch:
        patch.setattr(module, "TRIES", 1)
        web_server.answers["/x.obo"] = versioned(web_server, BODY, cut=[300_000])
        with pytest.raises(SapbertError, match=r"E115.*after 300,000 bytes.*goes on"):
            download(f"{web_server.address}/x.obo", path)
    assert not path.exists()
    web_server.requests.clear()
    return f"{web_server.address}/x.obo"


def test_a_download_goes_on_in_the_next_run(web_server, path, cut_off):
    download(cut_off, path)
    assert path.read_bytes() == BODY
    assert [headers.get("Range") for _, headers in web_server.requests] == ["bytes=300000-"]


def test_a_download_of_another_version_starts_again(web_server, path, cut_off):
    web_server.answers["/x.obo"] = versioned(web_server, OTHER, etag='"second"')
    download(cut_off, path)
    assert path.read_bytes() == OTHER


def test_a_server_without_ranges(web_server, path, cut_off):
    web_server.answers["/x.obo"] = versioned(web_server, BODY, ranges=False)
    download(cut_off, path)
    assert path.read_bytes() == BODY


def test_a_part_that_is_longer_than_the_file(web_server, path, cut_off):
    path.with_name("x.obo.part").write_bytes(BODY + b"more")
    download(cut_off, path)
    assert path.read_bytes() == BODY


def test_a_server_that_sends_the_wrong_part(web_server, path, cut_off):
    wrong = [lambda handler: web_server.send(handler, BODY, 206, Content_Range=f"bytes 0-9/{len(BODY)}")]
    right = versioned(web_server, BODY)
    web_server.answers["/x.obo"] = lambda handler: wrong.pop()(handler) if wrong else right(handler)
    download(cut_off, path)
    assert path.read_bytes() == BODY


@pytest.mark.parametrize("note", ["", "[]", '{"address": "a"}', '{"hosts": 1}', '{"hosts": [], "other": 1}'])
def test_a_damaged_note(web_server, path, cut_off, note):
    path.with_name("x.obo.json").write_text(note)
    download(cut_off, path)
    assert path.read_bytes() == BODY


def test_the_part_of_another_address_is_not_used(web_server, path, cut_off):
    web_server.answers["/y.obo"] = versioned(web_server, OTHER)
    download(f"{web_server.address}/y.obo", path)
    assert path.read_bytes() == OTHER


def test_a_file_that_is_always_cut_off(web_server, path):
    web_server.answers["/x.obo"] = versioned(web_server, BODY, cut=[0] * 99)
    with pytest.raises(SapbertError, match=r"E112"):
        download(f"{web_server.address}/x.obo", path)
    assert len(web_server.requests) == module.TRIES


# --- answers that are no file


def test_not_found(web_server, path):
    with pytest.raises(SapbertError, match=r"E113.*404 Not Found.*https://home\.example.*x\.obo.*--mirror"):
        download(f"{web_server.address}/x.obo", path, home="https://home.example")
    assert len(web_server.requests) == 1


def test_a_busy_server(web_server, path):
    answers = [503, 429]
    web_server.answers["/x.obo"] = lambda handler: web_server.send(
        handler, BODY, **({"status": answers.pop()} if answers else {})
    )
    download(f"{web_server.address}/x.obo", path)
    assert path.read_bytes() == BODY


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        (b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>", "application/octet-stream"),
        (b"\xef\xbb\xbf<HTML>Sign in</HTML>", "text/plain"),
        (b"<!-- made by us --><head>Sign in", "text/html; charset=utf-8"),
        (gzip.compress(b"<html>Sign in</html>", mtime=0), "application/gzip"),
    ],
)
def test_a_web_page(web_server, path, page, kind):
    web_server.answers["/x.obo"] = lambda handler: web_server.send(handler, page, Content_Type=kind)
    with pytest.raises(SapbertError, match=r"E114.*web page in place of x\.obo.*--mirror"):
        download(f"{web_server.address}/x.obo", path)
    assert not [*path.parent.iterdir()]


def test_a_file_that_the_server_calls_a_page(web_server, path):
    web_server.answers["/x.obo"] = lambda handler: web_server.send(handler, BODY, Content_Type="text/html")
    download(f"{web_server.address}/x.obo", path)
    assert path.read_bytes() == BODY


def test_web_pages_on_disk(tmp_path):
    for content, is_page in [(b"  <html lang='en'>", True), (b"<?xml version='1.0'?>", False), (b"\x1f\x8bx", False)]:
        (tmp_path / "file").write_bytes(content)
        assert is_web_page(tmp_path / "file") == is_page


def test_no_server(path, web_server):
    web_server.close()
    with pytest.raises(SapbertError, match=r"E112.*Connection refused.*HTTPS_PROXY.*x\.obo.*--mirror"):
        download(f"{web_server.address}/x.obo", path)


def test_a_silent_server(web_server, path, monkeypatch):
    monkeypatch.setattr(module, "TRIES", 2)
    ended = threading.Event()
    web_server.answers["/x.obo"] = lambda handler: ended.wait(1)
    with pytest.raises(SapbertError, match=r"E112.*timed out"):
        download(f"{web_server.address}/x.obo", path, timeout=0.1)
    ended.set()


# --- redirects and proxies


def test_a_redirect_to_another_host_is_told(web_server, path):
    elsewhere = web_server.address.replace("127.0.0.1", "localhost")
    web_server.answers["/a"] = lambda handler: web_server.send(handler, b"", 302, Location="/b")
    web_server.answers["/b"] = lambda handler: web_server.send(handler, b"", 301, Location=f"{elsewhere}/x.obo")
    web_server.answers["/x.obo"] = BODY
    origin = download(f"{web_server.address}/a", path)
    assert (origin.address, origin.hosts) == (f"{web_server.address}/a", ("localhost",))
    assert path.read_bytes() == BODY


def test_redirects_in_a_circle(web_server, path):
    web_server.answers["/x.obo"] = lambda handler: web_server.send(handler, b"", 302, Location="/x.obo")
    with pytest.raises(SapbertError, match=r"E117.*after 10 redirects"):
        download(f"{web_server.address}/x.obo", path)


def test_a_redirect_without_encryption(path, monkeypatch):
    def answer(self, request, **_):
        assert request.url == "https://safe.example/x.obo"
        response = requests.Response()
        response.status_code = 302
        response.headers["Location"] = "http://other.example/x.obo"
        response.request, response.url, response.raw = request, request.url, io.BytesIO()
        return response

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", answer)
    with pytest.raises(SapbertError, match=r"E117.*to http://other\.example/x\.obo, which is not encrypted"):
        download("https://safe.example/x.obo", path)


def test_a_proxy(web_server, path, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", web_server.address)
    web_server.answers["http://vocabulary.example/x.obo"] = BODY
    download("http://vocabulary.example/x.obo", path)
    assert path.read_bytes() == BODY
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    web_server.answers["/x.obo"] = OTHER
    download(f"{web_server.address}/x.obo", path)
    assert path.read_bytes() == OTHER


# --- disk


def test_no_room(web_server, path, monkeypatch):
    web_server.answers["/x.obo"] = BODY
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(SapbertError, match=rf"E118.*{len(BODY):,} bytes, and 1,000 are free.*SPACY_SAPBERT_CACHE"):
        download(f"{web_server.address}/x.obo", path)


def test_a_folder_that_cannot_be_made(web_server, tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(SapbertError, match="E118"):
        download(f"{web_server.address}/x.obo", tmp_path / "cache" / "x.obo")


def test_checksums_are_of_the_unpacked_file(tmp_path):
    (tmp_path / "plain").write_bytes(BODY)
    (tmp_path / "packed").write_bytes(gzip.compress(BODY))
    wanted = hashlib.sha256(BODY).hexdigest()
    assert {sha256_unpacked(tmp_path / "plain"), sha256_unpacked(tmp_path / "packed")} == {wanted}
    (tmp_path / "cut").write_bytes(gzip.compress(BODY)[:-20])
    with pytest.raises(SapbertError, match="E121"):
        sha256_unpacked(tmp_path / "cut")


def test_the_note_is_json(web_server, path):
    web_server.answers["/x.obo"] = BODY
    origin = download(f"{web_server.address}/x.obo", path)
    noted = json.loads(path.with_name("x.obo.json").read_text())
    assert noted["address"] == origin.address
    assert noted["downloaded"].endswith("+00:00")
