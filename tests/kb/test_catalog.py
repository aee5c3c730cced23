"""The catalog of vocabularies: its data, and how entries are found."""

from __future__ import annotations

import gzip
from dataclasses import fields
from urllib.parse import urlsplit

import pytest

from spacy_sapbert.cli.kb_build_options import CurationOptions, OntologyOptions, SourceOptions, TableOptions
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.catalog import LATEST, find_entry, read_catalog, release_in
from spacy_sapbert.kb.readers import READERS

ENTRIES = read_catalog()
FETCHED = {name: entry for name, entry in ENTRIES.items() if entry.address}
WANTED = "mondo doid hpo chebi go cl uberon symp ncit ordo mesh medic drugbank-open rxnorm-open hgnc ncbitaxon"


def test_the_wanted_vocabularies():
    assert {*WANTED.split(), "cellosaurus", "efo"} <= set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_is_complete(name):
    entry = ENTRIES[name]
    assert all((entry.title, entry.purpose, entry.license, entry.release))
    assert entry.home.startswith("https://")
    assert bool(entry.address) != bool(entry.instead)


@pytest.mark.parametrize("name", FETCHED)
def test_every_entry_can_be_built(name):
    entry = FETCHED[name]
    address = urlsplit(entry.address)
    assert (address.scheme, bool(address.netloc), address.query) == ("https", True, "")
    assert entry.file
    assert entry.size > 0
    assert (entry.release == LATEST) == (entry.sha256 is None)
    known = {
        field.name
        for group in (CurationOptions, OntologyOptions, SourceOptions, TableOptions)
        for field in fields(group)
    }
    assert set(entry.options) <= known
    assert set(entry.options["format"]) <= set(READERS)


def test_find():
    assert find_entry(" DOID ").title == "Human Disease Ontology"


@pytest.mark.parametrize(
    ("name", "like"),
    [("drugbank", "drugbank-open"), ("hp", "hpo"), ("monod", "mondo"), ("anatomy", "uberon"), ("ctd", "medic")],
)
def test_an_unknown_name_suggests_others(name, like):
    with pytest.raises(SapbertError, match=rf"E110.*Similar ones are: .*{like}.*--list"):
        find_entry(name)


def test_a_name_like_no_other():
    with pytest.raises(SapbertError, match=r"E110.*: none\."):
        find_entry("qqqq")


def test_a_vocabulary_that_is_not_free():
    with pytest.raises(SapbertError, match=r"E111.*UMLS license.*kb build RELEASE --format umls"):
        find_entry("umls")


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("format-version: 1.2\ndata-version: releases/2026-10-06\n\n[Term]\n", "2026-10-06"),
        ("data-version: doid/releases/2026-09-30/doid.obo", "doid/releases/2026-09-30/doid.obo"),
        ("data-version:\n", None),
        ("[Term]\ndata-version: 1\n", None),
        ("id\tname\n" * 500 + "data-version: 1\n", None),
        ("{" * 100_000, None),
        ("", None),
    ],
)
def test_the_release_of_a_file(tmp_path, text, release):
    path = tmp_path / "a.obo.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert release_in(path) == release
