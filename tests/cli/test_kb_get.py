"""`kb get`: downloads from a server on this machine, folders in place of a network, and what is recorded."""

import gzip
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from spacy_sapbert.cli import kb_build
from spacy_sapbert.kb import download, recipe
from spacy_sapbert.kb.knowledge_base import KnowledgeBase

from .conftest import shown

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
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(download, "PAUSE", 0)


@pytest.fixture
def catalog(web_server, monkeypatch):
    """A function that puts a vocabulary into the catalog, with other values; its file is on the server."""
    address = f"{web_server.address}/x.obo"
    web_server.answers["/x.obo"] = lambda handler: web_server.send(handler, BODY, ETag='"1"')

    def put(sha256=None, **others):
        source = {"address": address, "sha256": sha256, "format": "obo", "prefix": "X", "type": "fever"}
        values = {"title": "Fevers", "home": "https://home.example", "license": "CC0 1.0", "release": "latest"}
        fevers = recipe.parse_recipe("fevers", {**values, "sources": [{**source, "source_name": "X"}], **others})
        for module in (recipe, kb_build):
            monkeypatch.setattr(module, "read_catalog", lambda: {"fevers": fevers})
        return address

    put()
    return put


def files(tmp_path):
    return sorted(path.name for path in tmp_path.iterdir())


def test_a_vocabulary(command, catalog, tmp_path):
    address = catalog()
    finished = command("kb", "get", "fevers")
    assert finished.status == 0, finished.err
    assert f"Fevers. License: CC0 1.0. https://home.example\nDownloading {address}" in finished.err
    kb = KnowledgeBase("fevers.kb")
    (concept,) = kb.cui_to_entity.values()
    assert (concept.concept_id, concept.canonical_name, concept.types) == ("X:1", "grey fever", ("fever",))
    assert (kb.meta["release"], kb.meta["licence"]) == ("2026-10-01", "CC0 1.0")
    about = kb.meta["catalog"]
    assert (about["name"], about["address"], about["etag"]) == ("fevers", address, '"1"')
    assert about["downloaded"] > "2026"
    (source,) = kb.meta["sources"]
    assert (source["file"], source["sha256"]) == ("x.obo", SHA256)
    assert files(tmp_path) == ["fevers.kb"]

    info = command("kb", "info", "fevers.kb")
    for line in ("catalog title Fevers", "release 2026-10-01", "licence CC0 1.0", f"catalog address {address}"):
        assert line in shown(info)
    assert json.loads(info.out)["catalog"] == about


def test_a_download_that_is_kept(command, catalog, tmp_path, web_server):
    assert command("kb", "get", "fevers", "--keep-download", "-o", "new/fevers.kb").status == 0
    assert files(tmp_path / "new") == ["fevers.kb", "x.obo"]
    web_server.answers.clear()
    assert command("kb", "get", "fevers", "--mirror", "new", "-o", "again.kb").status == 0
    assert KnowledgeBase("again.kb").n_names == 2


def test_a_part_that_is_not_there(command, catalog):
    catalog(below=["X:9"])
    assert "no concept X:9" in command("kb", "get", "fevers").err


def test_a_recipe_of_a_user(command, catalog, tmp_path):
    (tmp_path / "own.tsv").write_text("id\tname\nX:2\tblue fever\n")
    own = {"sources": [{"address": catalog(), "format": "obo", "prefix": "X"}, "own.tsv"], "license": "CC0"}
    (tmp_path / "mine.yaml").write_text(json.dumps(own))
    finished = command("kb", "get", "mine.yaml")
    assert finished.status == 0, finished.err
    assert list(KnowledgeBase("mine.kb").concept_ids()) == ["X:1", "X:2"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (None, "E112"),
        (b"<html>Sign in</html>", "it is a web page"),
        (b"another release", "it is not the release 1 of fevers"),
        (gzip.compress(BODY)[:-9], "E121"),
    ],
)
def test_answers_that_are_not_the_file(command, catalog, tmp_path, web_server, answer, code):
    catalog(SHA256, release="1")
    web_server.answers["/x.obo"] = answer
    finished = command("kb", "get", "fevers")
    assert finished.status == 1
    assert code in finished.err
    assert files(tmp_path) == []


# --- without the address of the catalog


@pytest.mark.parametrize("name", ["x.obo", "x.obo.gz"])
def test_a_folder(command, catalog, tmp_path, web_server, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / name).write_bytes(gzip.compress(BODY) if name.endswith(".gz") else BODY)
    finished = command("kb", "get", "fevers", "--mirror", "folder")
    assert finished.status == 0, finished.err
    assert web_server.requests == []
    meta = KnowledgeBase("fevers.kb").meta
    assert meta["catalog"] == {"name": "fevers", "title": "Fevers", "home": "https://home.example"}
    assert files(tmp_path / "folder") == [name]


def test_a_folder_without_the_file(command, catalog, tmp_path):
    finished = command("kb", "get", "fevers", "--mirror", tmp_path / "nothing")
    assert finished.status == 1
    assert f"E504] There is no file x.obo in {tmp_path / 'nothing'}" in " ".join(finished.err.split())


def test_another_server(command, catalog, web_server):
    web_server.answers = {"/mirror/x.obo": BODY}
    assert command("kb", "get", "fevers", "--mirror", f"{web_server.address}/mirror/").status == 0
    assert KnowledgeBase("fevers.kb").meta["catalog"]["address"] == f"{web_server.address}/mirror/x.obo"


def test_the_list(command):
    finished = command("kb", "get")
    assert finished.status == 0
    assert re.search(r" doid [\d.]+ CC0 1\.0 latest .*diseases", shown(finished))
    assert " umls – " in shown(finished)
    assert "doid" in {row["name"] for row in json.loads(finished.out)["vocabularies"]}


# --- the page


PAGE = Path(__file__).parents[2] / "docs" / "vocabulary-catalog.md"


def test_the_page(run_page, monkeypatch, web_server, tmp_path):
    recipes = dict(recipe.read_catalog())
    body = BODY.replace(b"X:1", b"DOID:1612").replace(b"Y:1", b"MONDO:1")
    web_server.answers["/doid.obo"] = body
    source = replace(recipes["doid"].sources[0], address=f"{web_server.address}/doid.obo")
    recipes["doid"] = replace(recipes["doid"], sources=[source])
    monkeypatch.setattr(recipe, "read_catalog", lambda: recipes)
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / recipes["mondo"].sources[0].path).write_bytes(body)
    run_page("vocabulary-catalog", section="Download and build")
    run_page("vocabulary-catalog", section="Without a network")
    assert [*KnowledgeBase("doid.kb").cui_to_entity] == ["DOID:1612"]
    assert [*KnowledgeBase("mondo.kb").cui_to_entity] == ["MONDO:1"]


@pytest.mark.parametrize("name", recipe.read_catalog())
def test_the_page_shows_the_catalog(name):
    entry = recipe.read_catalog()[name]
    size = [f"{entry.size:g} MB"] if entry.sources else []
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
    (tmp_path / recipe.find_recipe("hgnc").sources[0].path).write_text(GENES)
    finished = command("kb", "get", "hgnc", "--mirror", ".")
    assert finished.status == 0, finished.err
    concepts = KnowledgeBase("hgnc.kb").cui_to_entity
    assert {key: [concept.canonical_name, *concept.aliases] for key, concept in concepts.items()} == {
        "HGNC:5": ["A1BG", "alpha-1-B glycoprotein"],
        "HGNC:7": ["A2M", "alpha-2-macroglobulin", "FWP007", "S863-7", 'alpha 2M, "long"'],
    }
