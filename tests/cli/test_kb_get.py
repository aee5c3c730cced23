"""`kb get`: downloads from a server on this machine, folders in place of a network, and what is recorded."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from spacy_sapbert.cli.kb_get import _cache_of
from spacy_sapbert.kb import catalog, download
from spacy_sapbert.kb.catalog import Entry
from spacy_sapbert.kb.knowledge_base import KnowledgeBase

BODY = b"""format-version: 1.2
data-version: releases/2026-10-01

[Term]
id: X:1
name: grey fever
synonym: "GF" EXACT []

[Term]
id: Y:1
name: imported
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(download, "PAUSE", 0)


@pytest.fixture
def entry(web_server, monkeypatch):
    """The only entry of the catalog; its file is on the server."""
    web_server.answers["/x.obo"] = lambda handler: web_server.send(handler, BODY, ETag='"1"')
    options = {"format": ["obo"], "prefix": ["X"], "type": ["fever"], "source_name": "X"}
    return put(
        monkeypatch,
        Entry(
            "fevers",
            "Fevers",
            "fevers",
            "https://home.example",
            "CC0 1.0",
            "latest",
            f"{web_server.address}/x.obo",
            options=options,
        ),
    )


def put(monkeypatch, entry):
    monkeypatch.setattr(catalog, "read_catalog", lambda: {entry.name: entry})
    return entry


def downloads(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache" / "downloads").glob("*/*"))


def test_a_vocabulary(command, entry, tmp_path):
    finished = command("kb", "get", "fevers")
    assert finished.status == 0, finished.err
    assert f"Fevers. License: CC0 1.0. https://home.example\nDownloading {entry.address}" in finished.err
    kb = KnowledgeBase("fevers.kb")
    (concept,) = kb.cui_to_entity.values()
    assert (concept.concept_id, concept.canonical_name, concept.types) == ("X:1", "grey fever", ("fever",))
    assert (kb.meta["release"], kb.meta["licence"]) == ("2026-10-01", "CC0 1.0")
    about = kb.meta["catalog"]
    assert (about["name"], about["address"], about["etag"], about["hosts"]) == ("fevers", entry.address, '"1"', [])
    assert about["downloaded"] > "2026"
    (source,) = kb.meta["sources"]
    assert (source["file"], source["sha256"]) == ("x.obo", hashlib.sha256(BODY).hexdigest())
    assert downloads(tmp_path) == []

    info = command("kb", "info", "fevers.kb")
    for line in ("vocabulary: Fevers", "release: 2026-10-01", "license: CC0 1.0", f"downloaded from: {entry.address}"):
        assert line in info.err
    assert json.loads(info.out)["catalog"] == about


def test_a_download_that_is_kept(command, entry, tmp_path, web_server):
    command("kb", "get", "fevers", "--keep-download")
    assert downloads(tmp_path) == ["x.obo", "x.obo.json"]
    web_server.answers["/x.obo"] = lambda handler: web_server.send(handler, b"", 304)
    assert command("kb", "get", "fevers", "-o", "again.kb").status == 0
    assert web_server.requests[-1][1]["If-None-Match"] == '"1"'
    assert KnowledgeBase("again.kb").n_names == 2


def test_a_download_stays_if_the_build_fails(command, entry, tmp_path, web_server):
    web_server.answers["/x.obo"] = b"[Term]\nid: Y:1\nname: imported\n"
    finished = command("kb", "get", "fevers")
    assert finished.status == 1
    assert "E105" in finished.err
    assert downloads(tmp_path) == ["x.obo", "x.obo.json"]


@pytest.mark.parametrize(
    ("answer", "code"), [(None, "E113"), (b"<html>Sign in</html>", "E114"), (b"another release", "E116")]
)
def test_answers_that_are_not_the_file(command, entry, tmp_path, web_server, monkeypatch, answer, code):
    put(monkeypatch, replace(entry, release="1", sha256=hashlib.sha256(BODY).hexdigest()))
    web_server.answers["/x.obo"] = answer
    finished = command("kb", "get", "fevers")
    assert finished.status == 1
    assert code in finished.err
    assert downloads(tmp_path) == []
    assert not (tmp_path / "fevers.kb").exists()


def test_the_release_of_the_catalog(command, entry, monkeypatch):
    put(monkeypatch, replace(entry, release="1", sha256=hashlib.sha256(BODY).hexdigest()))
    assert command("kb", "get", "fevers").status == 0
    assert KnowledgeBase("fevers.kb").meta["release"] == "1"


def test_packed_data_that_is_cut_off_is_not_kept(command, entry, tmp_path, web_server):
    web_server.answers["/x.obo"] = gzip.compress(BODY)[:-9]
    finished = command("kb", "get", "fevers")
    assert finished.status == 1
    assert "E121" in finished.err
    assert downloads(tmp_path) == []


def test_a_small_file_is_told(command, entry, monkeypatch):
    put(monkeypatch, replace(entry, size=100))
    assert "The file has only 0.0 MB; usually it has about 100 MB" in command("kb", "get", "fevers").err


def test_another_host_is_told(command, entry, web_server):
    target = f"{web_server.address.replace('127.0.0.1', 'localhost')}/y"
    web_server.answers["/x.obo"] = lambda handler: web_server.send(handler, b"", 302, Location=target)
    web_server.answers["/y"] = BODY
    finished = command("kb", "get", "fevers")
    assert "The file came from another host: localhost." in finished.err
    assert KnowledgeBase("fevers.kb").meta["catalog"]["hosts"] == ["localhost"]


# --- without the address of the catalog


@pytest.mark.parametrize("name", ["x.obo", "x.obo.gz"])
def test_a_folder(command, entry, tmp_path, web_server, name):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / name).write_bytes(gzip.compress(BODY) if name.endswith(".gz") else BODY)
    finished = command("kb", "get", "fevers", "--mirror", folder)
    assert finished.status == 0, finished.err
    assert web_server.requests == []
    meta = KnowledgeBase("fevers.kb").meta
    assert meta["catalog"] == {"name": "fevers", "title": "Fevers", "home": "https://home.example"}
    assert [file.name for file in folder.iterdir()] == [name]


def test_a_folder_without_the_file(command, entry, tmp_path):
    finished = command("kb", "get", "fevers", "--mirror", tmp_path / "nothing")
    assert finished.status == 1
    assert f"E119] There is no file x.obo in {tmp_path / 'nothing'}" in " ".join(finished.err.split())


def test_a_web_page_in_a_folder(command, entry, tmp_path):
    (tmp_path / "x.obo").write_bytes(b"<!doctype html>")
    finished = command("kb", "get", "fevers", "--mirror", ".")
    assert "E114" in finished.err
    assert (tmp_path / "x.obo").exists()


def test_another_server(command, entry, web_server):
    web_server.answers = {"/mirror/x.obo": BODY}
    assert command("kb", "get", "fevers", "--mirror", f"{web_server.address}/mirror/").status == 0
    assert KnowledgeBase("fevers.kb").meta["catalog"]["address"] == f"{web_server.address}/mirror/x.obo"


# --- the list, and several processes


@pytest.mark.parametrize("arguments", [["--list"], []])
def test_the_list(command, arguments):
    finished = command("kb", "get", *arguments)
    assert finished.status == 0
    rows = finished.out.decode().splitlines()
    (doid,) = [row for row in rows if row.split()[:1] == ["doid"]]
    assert all(cell in doid for cell in ("8", "CC0 1.0", "latest", "diseases"))
    assert any(row.split()[:2] == ["umls", "-"] for row in rows)


def test_two_at_once(entry):
    steps, text = [], io.StringIO()
    done = threading.Event()

    def second():
        with _cache_of(entry, Console(file=text)):
            steps.append("second")
        done.set()

    with _cache_of(entry, Console(file=io.StringIO())):
        threading.Thread(target=second, daemon=True).start()
        for _ in range(3000):
            if "Waiting" in text.getvalue():
                break
            time.sleep(0.01)
        steps.append("first")
    assert done.wait(30)
    assert steps == ["first", "second"]


# --- the page


PAGE = Path(__file__).parents[2] / "docs" / "vocabulary-catalog.md"


def test_the_page(run_page, monkeypatch, web_server, tmp_path):
    entries = dict(catalog.read_catalog())
    body = BODY.replace(b"X:1", b"DOID:1612").replace(b"Y:1", b"MONDO:1")
    web_server.answers["/doid.obo"] = body
    entries["doid"] = replace(entries["doid"], address=f"{web_server.address}/doid.obo")
    monkeypatch.setattr(catalog, "read_catalog", lambda: entries)
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / entries["mondo"].file).write_bytes(body)
    run_page("vocabulary-catalog")
    assert [*KnowledgeBase("doid.kb").cui_to_entity] == ["DOID:1612"]
    assert [*KnowledgeBase("mondo.kb").cui_to_entity] == ["MONDO:1"]


@pytest.mark.parametrize("name", catalog.read_catalog())
def test_the_page_shows_the_catalog(name):
    entry = catalog.read_catalog()[name]
    size = [f"{entry.size:g} MB"] if entry.address else []
    row = " | ".join([f"| [`{name}`]({entry.home})", entry.purpose, *size, entry.license, f"{entry.release} |"])
    assert row in PAGE.read_text(encoding="utf-8").splitlines()


# the columns and the quoted cells of HGNC's own file
GENES = '''\
hgnc_id\tsymbol\tname\tstatus\talias_symbol\talias_name\tprev_symbol\tprev_name
HGNC:5\tA1BG\talpha-1-B glycoprotein\tApproved\t\t\t\t
HGNC:7\tA2M\talpha-2-macroglobulin\tApproved\t"FWP007|S863-7"\t"alpha 2M, ""long"""\t\t
HGNC:8\tA2MP\tgone\tEntry Withdrawn\t\t\t\t
'''


def test_genes(command, tmp_path):
    (tmp_path / catalog.find_entry("hgnc").file).write_text(GENES)
    finished = command("kb", "get", "hgnc", "--mirror", ".")
    assert finished.status == 0, finished.err
    concepts = KnowledgeBase("hgnc.kb").cui_to_entity
    assert {key: [concept.canonical_name, *concept.aliases] for key, concept in concepts.items()} == {
        "HGNC:5": ["A1BG", "alpha-1-B glycoprotein"],
        "HGNC:7": ["A2M", "alpha-2-macroglobulin", "FWP007", "S863-7", 'alpha 2M, "long"'],
    }
