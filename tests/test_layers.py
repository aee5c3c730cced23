"""Imports go down, from the command line to plain data; no two packages import each other."""

import ast
import graphlib
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import spacy_sapbert

PACKAGE = Path(spacy_sapbert.__file__).parent
ROOT = PACKAGE.name

# from the top to the bottom; those of one line may import each other in one direction
LAYERS = (
    {"__main__"}, {"cli"}, {"serve"}, {"evaluation", "augmentation"}, {"runs"}, {"outputs"}, {"pipeline"},
    {"training"}, {"linking", "retrieval"}, {"encoders", "vectors"}, {"review"}, {"documents"}, {"kb"},
    {"text", "metrics", "store"}, {"files"}, {"types", "errors", "starter", "settings_block", ROOT},
)  # fmt: skip
DEPTH = {name: depth for depth, names in enumerate(LAYERS) for name in names}

# what is loaded of ours, after all modules of the vocabulary, and after a search for a name
SEARCH = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
loaded = [sorted(name for name in sys.modules if name.startswith("spacy_sapbert."))]
from typer.testing import CliRunner
from spacy_sapbert.cli import app
result = CliRunner().invoke(app, ["kb", "search", sys.argv[2], sys.argv[3]])
loaded.append(sorted(name for name in sys.modules if name.startswith("spacy_sapbert.")))
print(json.dumps([result.exit_code, result.stdout, *loaded]))
"""


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(name, path):
    """Every name of ours that a module imports, wherever in it: also in functions and for type checkers only."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                yield whole if whole in MODULES else source


def part(module):
    """The package or module directly below the root."""
    return [*module.split("."), ROOT][1] if "." in module else ROOT


IMPORTS = {
    name: {found for found in imported(name, path) if found.partition(".")[0] == ROOT} for name, path in MODULES.items()
}
# the package itself only gives names of its parts to users
BETWEEN_PARTS = [
    (name, found)
    for name, all_found in IMPORTS.items()
    if name != ROOT
    for found in sorted(all_found)
    if part(name) != part(found)
]


def test_imports_are_found():
    assert f"{ROOT}.metrics.linking_accuracy" in IMPORTS[f"{ROOT}.evaluation.linking"]  # at the top of a module
    assert f"{ROOT}.kb.diff" in IMPORTS[f"{ROOT}.cli.kb"]  # in a function
    assert f"{ROOT}.kb.knowledge_base" in IMPORTS[f"{ROOT}.pipeline.assemble"]  # for type checkers
    assert f"{ROOT}.cli" in IMPORTS[f"{ROOT}.__main__"]
    assert set().union(*IMPORTS.values()) <= set(MODULES)


def test_every_part_has_a_place():
    assert {part(name) for name in MODULES} <= set(DEPTH)


def test_imports_go_down():
    upwards = [(name, found) for name, found in BETWEEN_PARTS if DEPTH[part(name)] > DEPTH[part(found)]]
    assert upwards == []


def test_no_circle_between_packages():
    graph = defaultdict(set)
    for name, found in BETWEEN_PARTS:
        graph[part(name)].add(part(found))
    try:
        list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        circle = set(error.args[1])
        within = [(name, found) for name, found in BETWEEN_PARTS if {part(name), part(found)} <= circle]
        pytest.fail(f"{' → '.join(error.args[1])}: {within}")


def test_documents_know_the_vocabulary_and_not_the_other_way_round():
    assert [pair for pair in BETWEEN_PARTS if (part(pair[0]), part(pair[1])) == ("kb", "documents")] == []


def test_nothing_but_main_imports_the_command_line():
    assert {name for name, found in BETWEEN_PARTS if part(found) == "cli"} == {f"{ROOT}.__main__"}


def test_metrics_import_plain_data_only():
    found = {part(found) for name, found in BETWEEN_PARTS if part(name) == "metrics"}
    assert found <= {"types", "errors"}


def test_a_search_by_name_loads_nothing_that_compares_names(small_kb):
    names = json.dumps([name for name in MODULES if part(name) == "kb"])
    command = [sys.executable, "-c", SEARCH, names, str(small_kb.path), "Breast Cancer"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    exit_code, output, *loaded = json.loads(finished.stdout)
    assert exit_code == 0
    assert "D001943" in output
    vocabulary, search = ({part(name) for name in names} for names in loaded)
    assert vocabulary <= {"kb", "text", "types", "errors", "files", "store", "starter"}
    assert {"kb", "cli"} <= search
    assert not search & {"encoders", "vectors", "linking", "retrieval", "evaluation", "augmentation"}
