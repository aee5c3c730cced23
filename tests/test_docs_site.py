"""The documentation site: what its hook does to pages, that public names are explained, and that notebooks run."""

import importlib
import importlib.util
import json
import pkgutil
import re
from pathlib import Path
from types import SimpleNamespace

import griffe
import matplotlib
import pytest

import spacy_sapbert

from .cases import cases

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = Path(spacy_sapbert.__file__).parent
CONFIG = SimpleNamespace(docs_dir=str(DOCS), repo_url="https://example.org/us")


def public_packages():
    found = pkgutil.walk_packages([str(PACKAGE)], "spacy_sapbert.")
    names = ["spacy_sapbert", *(module.name for module in found if module.ispkg)]
    return [name for name in names if hasattr(importlib.import_module(name), "__all__")]


@pytest.fixture(scope="module")
def sources():
    """The package as the site reads it: its source, not imported."""
    return griffe.load("spacy_sapbert", search_paths=[str(PACKAGE.parent)])


def public_names(package):
    return [name for name in importlib.import_module(package).__all__ if not name.startswith("__")]


@pytest.mark.parametrize("package", public_packages())
def test_the_site_sees_the_public_names_that_python_sees(package, sources):
    read = sources[package.removeprefix("spacy_sapbert").removeprefix(".")] if "." in package else sources
    module = importlib.import_module(package)
    assert set(read.exports) == set(module.__all__)
    for name in public_names(package):
        thing = getattr(module, name)
        found = read[name].final_target if read[name].is_alias else read[name]
        if issubclass(type(thing), type) or found.is_function:  # on Python 3.10, an alias such as list[int] is a type
            assert found.path == f"{thing.__module__}.{thing.__qualname__}"


@pytest.mark.parametrize("package", public_packages())
def test_every_public_name_and_method_is_explained(package, sources):
    read = sources[package.removeprefix("spacy_sapbert").removeprefix(".")] if "." in package else sources
    unexplained = []
    for name in public_names(package):
        thing = read[name].final_target if read[name].is_alias else read[name]
        members = [member for member in thing.members.values() if member.is_function] if thing.is_class else []
        for one in [thing, *(member for member in members if not member.name.startswith("_"))]:
            if one.docstring is None and not is_explained_by_a_base(one):
                unexplained.append(one.path)
    assert unexplained == []


def is_explained_by_a_base(member):
    """What a class takes over from spaCy is explained there."""
    if member.parent is None or not member.parent.is_class:
        return False
    owner = getattr(importlib.import_module(member.parent.parent.path), member.parent.name)
    return any(getattr(vars(base).get(member.name), "__doc__", None) for base in owner.__mro__[1:])


@pytest.fixture(scope="module")
def hook(script):
    return script("site_hook")


@pytest.mark.parametrize(*cases(__file__, "links_lead_to_pages_of_the_site_or_to_the_repository"))
def test_links_lead_to_pages_of_the_site_or_to_the_repository(hook, page, text, wanted):
    shown = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    assert hook.on_page_markdown(text, page=shown, config=CONFIG, files=None) == wanted


def test_every_registered_function_and_every_message_is_listed(hook):
    from spacy_sapbert.errors import messages

    registered = hook.registered()
    assert "### `spacy-sapbert.MultiSimilarity.v1`" in registered
    assert all(importlib.util.find_spec(path) for path in re.findall(r"^::: ([\w.]+)\.\w+$", registered, re.MULTILINE))
    assert messages().keys() <= set(re.findall(r"^### (\w+)$", hook.messages(), flags=re.MULTILINE))


def test_language_models_get_a_list_of_pages(hook):
    pages = {
        "index.md": "# Start\n\nIt [links](a.md). And more.",
        "results/index.md": "# All\n",
        "a.md": "x\n# A\n\n- l\n\nAn\na.",
    }
    navigation = [{"Begin": ["index.md", {"Results": ["results/index.md", "a.md"]}]}]
    lines = "\n".join(hook.listed_pages(navigation, pages, "https://x/")).split("\n")
    pages = ["- [Start](https://x/): It links", "- [All](https://x/results/): ", "- [A](https://x/a/): An a"]
    assert [line for line in lines if line] == ["## Begin", pages[0], "## Results", *pages[1:]]


def test_every_command_is_listed(hook):
    commands = hook.commands()
    assert not commands.startswith("#")
    assert {"## `spacy-sapbert link`", "### `spacy-sapbert kb build`"} <= set(commands.splitlines())


def cells_of(name):
    return json.loads((DOCS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


def run_notebook(name, capsys):
    """From top to bottom, as one program; installing is left out.

    RETURNS (dict): the variables at the end.
    """
    matplotlib.use("Agg")
    namespace = {}
    cells = cells_of(name)
    assert len(cells) <= 10
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not source.startswith("%pip"):
            exec(source, namespace)
            printed = "".join("".join(output.get("text", "")) for output in cell["outputs"])
            assert capsys.readouterr().out == printed
    return namespace


def test_the_tutorial_prints_what_it_holds(capsys):
    namespace = run_notebook("tutorial", capsys)
    drawn = namespace["plt"].gcf().axes[0].patches
    namespace["plt"].close("all")
    assert [bar.get_width() for bar in drawn] == sorted(namespace["counts"].values())


def test_the_search_by_concepts_prints_what_it_holds(whole_vocabulary, capsys):
    run_notebook("search-by-concepts", capsys)


def test_the_tutorial_becomes_a_page(hook):
    text, pictures = hook.read_notebook(DOCS / "tutorial.ipynb")
    ((name, picture),) = pictures.items()
    assert picture.startswith(b"\x89PNG")
    assert f"]({name})" in text
    for cell in cells_of("tutorial"):
        assert "".join(cell["source"]) in text
