"""The catalog of vocabularies: its data, and how recipes are found."""

import gzip
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from spacy_sapbert.errors import NotFoundError, SapbertError
from spacy_sapbert.kb.readers import READERS
from spacy_sapbert.kb.recipe import LATEST, find_recipe, parse_recipe, read_catalog, read_recipe_values, release_in

RECIPES = Path(__file__).parents[2] / "configs" / "vocabularies"
CATALOG = read_catalog()
FETCHED = {name: recipe for name, recipe in CATALOG.items() if recipe.sources}
PROMISED = "mondo doid hpo chebi go cl uberon symp ncit ordo mesh medic drugbank-open rxnorm-open hgnc ncbitaxon"


def test_the_promised_vocabularies():
    assert {*PROMISED.split(), "cellosaurus", "efo"} <= set(CATALOG)


@pytest.mark.parametrize("name", CATALOG)
def test_every_recipe_is_complete(name):
    recipe = CATALOG[name]
    assert all((recipe.title, recipe.purpose, recipe.license, recipe.release))
    assert recipe.home.startswith("https://")
    assert bool(recipe.sources) != bool(recipe.instead)


@pytest.mark.parametrize("name", FETCHED)
def test_every_recipe_can_be_fetched(name):
    recipe = FETCHED[name]
    (source,) = recipe.sources
    address = urlsplit(source.address)
    assert (address.scheme, bool(address.netloc), address.query) == ("https", True, "")
    assert source.path.name == address.path.rpartition("/")[2]
    assert recipe.size > 0
    assert (recipe.release == LATEST) == (source.sha256 is None)
    assert source.format in READERS
    assert source.settings["source"]


def test_a_key_of_a_source_takes_precedence_over_the_top():
    recipe = parse_recipe(
        "r", {"format": "obo", "type": "X", "sources": ["a.obo", {"path": "b.obo", "type": ["Y", "Z"]}]}
    )
    assert [source.settings["types"] for source in recipe.sources] == [["X"], ["Y", "Z"]]


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_recipes_of_the_project(path):
    recipe = parse_recipe(path.name, {"sources": "a.tsv", **read_recipe_values(path)})
    assert {source.format for source in recipe.sources} <= set(READERS)


@pytest.mark.parametrize(("name", "similar"), [("drugbank", "drugbank-open"), ("hp", "hpo"), ("monod", "mondo")])
def test_an_unknown_name_suggests_others(name, similar):
    with pytest.raises(NotFoundError, match=rf"Similar ones are: .*{similar}.*kb get` shows"):
        find_recipe(name)


def test_known_names_and_one_like_no_other():
    assert find_recipe(" DOID ").title == "Human Disease Ontology"
    with pytest.raises(NotFoundError, match=r"Similar ones are: none\."):
        find_recipe("qqqq")
    with pytest.raises(SapbertError, match=r"E111.*UMLS license.*kb build RELEASE --format umls"):
        find_recipe("umls")  # a vocabulary that is not free


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("format-version: 1.2\ndata-version: releases/2026-10-06\n\n[Term]\n", "2026-10-06"),
        ("data-version: doid/releases/2026-09-30/doid.obo", "doid/releases/2026-09-30/doid.obo"),
        ("data-version:\n", ""),
        ("[Term]\ndata-version: 1\n", ""),
        ("id\tname\n" * 500 + "data-version: 1\n", ""),
        ("{" * 100_000, ""),
        ("", ""),
    ],
)
def test_the_release_of_a_file(tmp_path, text, release):
    path = tmp_path / "a.obo.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert release_in(path) == release
