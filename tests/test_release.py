"""What a release needs: lowest versions, declared requirements and their licenses, and formats of saved files."""

import ast
import re
import sys
from pathlib import Path

import pytest

import spacy_sapbert

ROOT = Path(__file__).parents[1]
PACKAGE = Path(spacy_sapbert.__file__).parent
# what comes with a requirement: thinc with spaCy, pydantic with FastAPI, …
WITH_OTHERS = {
    *("thinc", "catalogue", "confection", "wasabi", "weasel", "click", "packaging", "yaml", "tqdm", "pydantic"),
    *("starlette", "h11", "markupsafe", "huggingface_hub", "urllib3", "grpc"),
}
NAMES = {
    "faiss": "faiss-cpu", "sklearn": "scikit-learn", "adapters": "adapters", "pyarrow": "pyarrow",
    "prometheus_client": "prometheus-client",
}  # fmt: skip


def project():
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_lowest_versions_are_those_of_the_project(script):
    pytest.importorskip("tomllib")
    assert (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8") == script("lowest").constraints()


def test_lowest_versions_by_hand(script):
    extras = {"a": ["c>=3,<4", "p[b]"], "b": ["d>=1.5"], "dev": ["e"], "docs": ["f>=1"]}
    given = {"name": "p", "dependencies": ["b>=2; python_version < '3'", "a>=1.0"], "optional-dependencies": extras}
    assert script("lowest").lowest_versions(given) == ["a==1.0", "b==2", "c==3", "d==1.5"]


@pytest.mark.parametrize("texts", [["a"], ["a<2"], ["a>=1", "a>=2"]])
def test_each_package_has_one_lowest_version(script, texts):
    given = {"name": "p", "dependencies": texts, "optional-dependencies": {}}
    with pytest.raises(ValueError, match="a must have one lowest version"):
        script("lowest").lowest_versions(given)


def imported():
    """The packages that our modules import, wherever in them."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield node.module.partition(".")[0]


def test_what_is_imported_is_required():
    found = project()
    texts = [*found["dependencies"], *(text for extra in found["optional-dependencies"].values() for text in extra)]
    required = {re.match(r"[\w-]+", text)[0].lower().replace("_", "-") for text in texts}
    plugins = {"oaklib"}  # what we extend where a user has it
    used = set(imported()) - set(sys.stdlib_module_names) - WITH_OTHERS - plugins - {"spacy_sapbert"}
    assert {"torch", "numpy", "faiss"} <= used
    missing = {name for name in used if NAMES.get(name, name.replace("_", "-")) not in required}
    assert missing == set()


def test_the_extra_of_developers_has_every_extra():
    extras = project()["optional-dependencies"]
    included, names = set(), ["dev"]
    while names:
        included.add(name := names.pop())
        own = (text for text in extras[name] if text.startswith("spacy-sapbert["))
        names += [other for text in own for other in re.findall(r"[\w-]+", text.partition("[")[2])]
    assert included == extras.keys()


def test_a_list_of_requirements_is_reduced_to_those_of_users(script):
    content = {
        "metadata": {"component": {"bom-ref": "root"}},
        "components": [{"name": "Typing_Extensions", "bom-ref": "t"}, {"name": "pytest", "bom-ref": "p"}],
        "dependencies": [{"ref": "root", "dependsOn": ["p", "t"]}, {"ref": "p", "dependsOn": ["t"]}, {"ref": "t"}],
        "specVersion": "1.6",
    }
    reduced = script("release_check").reduced(content, {"typing-extensions"})
    assert reduced["components"] == content["components"][:1]
    assert reduced["dependencies"] == [{"ref": "root", "dependsOn": ["t"]}, {"ref": "t", "dependsOn": []}]
    assert reduced["specVersion"] == "1.6"


def test_the_page_on_versions_has_the_formats_of_the_code():
    from spacy_sapbert.encoders import folder
    from spacy_sapbert.errors import messages
    from spacy_sapbert.kb import database
    from spacy_sapbert.review import corrections_file
    from spacy_sapbert.store import artifact
    from spacy_sapbert.training import run_files
    from spacy_sapbert.vectors import postings_build

    formats = {
        "knowledge base": database.FORMAT, "component of a saved pipeline": artifact.FORMAT,
        "n-grams of names": postings_build.FORMAT, "encoder folder": folder.FORMAT,
        "corrections": corrections_file.FORMAT, "checkpoint of a training": run_files.FORMAT,
    }  # fmt: skip
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w -]+), `[^|]+\| [^|]+\| (\d+) \| (E\d+) \| (E\d+) \|$", page, flags=re.MULTILINE)
    assert {name: int(number) for name, number, *_ in rows} == formats
    assert all(code in messages() for _, _, *codes in rows for code in codes)
