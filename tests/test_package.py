import importlib
import json
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution, entry_points, version
from pathlib import Path

import pytest

import spacy_sapbert

ROOT = Path(__file__).parents[1]
PACKAGE = Path(spacy_sapbert.__file__).parent
HEAVY = {"torch", "transformers", "faiss", "sklearn", "scipy", "scispacy", "spacy_transformers"}

# spaCy itself may load torch, so what counts is what we load beyond it
IMPORTS = """
import json, sys
import spacy_sapbert
alone = sorted(sys.modules)
import numpy, spacy, spacy.cli
before = set(sys.modules)
added = []
for name in sys.argv[1:]:
    __import__(name)
    added.append(sorted(set(sys.modules) - before))
print(json.dumps([alone, added[0], added[-1]]))
"""

# linking and the concepts of a document by default, where none of the large libraries is installed
WITHOUT = """
import importlib.metadata as metadata, json, sys

BLOCKED = set(sys.argv[1:])

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

all_points = metadata.Distribution.entry_points.fget
metadata.Distribution.entry_points = property(
    lambda self: metadata.EntryPoints(
        point for point in all_points(self) if point.value.partition(":")[0].partition(".")[0] not in BLOCKED
    )
)
sys.meta_path.insert(0, Blocker())
import spacy
nlp = spacy.blank("en")
for name in ("abbreviation_resolver", "concept_matcher", "composite_splitter"):
    nlp.add_pipe(name)
nlp.add_pipe("sapbert_linker")
nlp.add_pipe("concept_retriever")
doc = nlp("Women with breast and ovarian cancer and chronic kidney disease (CKD).")
print(json.dumps([[[ent.text, ent.kb_id_] for ent in doc.ents], [concept.concept_id for concept in doc._.concepts]]))
"""


def test_the_command_line_starts_without_spacy():
    script = "import json, sys, spacy_sapbert.cli; print(json.dumps(sorted(sys.modules)))"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"spacy", *HEAVY} & set(json.loads(finished.stdout))


def test_strings_are_grounded_without_spacy():
    script = (
        "import json, sys, spacy_sapbert as s; s.ground('asthma', 'asthma'); print(json.dumps(sorted(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = json.loads(finished.stdout.splitlines()[-1])
    assert not {"spacy", "thinc", *HEAVY - {"scipy", "faiss"}} & set(loaded)


def test_the_core_installs_none_of_the_large_libraries():
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = {re.split(r"[<>=]", text)[0] for text in project["dependencies"]}
    assert core.isdisjoint({"torch", "transformers", "spacy-transformers", "scispacy", "scikit-learn"})
    assert {"torch", "transformers"} <= {
        re.split(r"[<>=]", text)[0] for text in project["optional-dependencies"]["encoders"]
    }


OAK = "spacy_sapbert.runs.oak"  # oaklib is in no extra


def our_entry_points():
    return list(distribution("spacy-sapbert").entry_points)


def test_imports_are_light():
    first = "spacy_sapbert.pipeline.composite_splitter"
    modules = sorted({point.module for point in our_entry_points()} - {OAK}, key=lambda name: (name != first, name))
    assert len(modules) >= 6
    result = subprocess.run([sys.executable, "-c", IMPORTS, *modules], capture_output=True, text=True, check=True)
    alone, added_first, added = json.loads(result.stdout)
    assert {name for name in alone if name.partition(".")[0] in HEAVY | {"spacy", "numpy"}} == set()
    assert {name for name in added if name.partition(".")[0] in HEAVY} == set()
    assert set(modules) <= {"spacy_sapbert", *added}  # the package itself was there before
    assert first in added_first
    assert "sqlite3" not in added_first  # what needs no vocabulary opens none


def test_the_default_components_need_no_large_library():
    blocked = [*(HEAVY - {"scipy", "faiss"}), "tokenizers", "huggingface_hub"]
    result = subprocess.run([sys.executable, "-c", WITHOUT, *blocked], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    links, concepts = json.loads(result.stdout.splitlines()[-1])
    assert links == [
        ["breast and ovarian cancer", "D001943|D010051"],
        ["chronic kidney disease", "D051436"],
        ["CKD", "D051436"],
    ]
    assert {"D010051", "D051436"} <= set(concepts)


@pytest.mark.parametrize("point", our_entry_points(), ids=lambda point: f"{point.group}:{point.name}")
def test_entry_point_resolves(point):
    if point.module == OAK:
        pytest.importorskip("oaklib")
    assert point.load() is not None


def test_installed_entry_points_are_those_of_the_project():
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {"console_scripts": project["scripts"], **project["entry-points"]}
    found = {}
    for point in our_entry_points():
        found.setdefault(point.group, {})[point.name] = point.value
    assert found == wanted


def test_the_class_of_a_component_is_its_factory():
    from spacy.language import Language
    from spacy.util import registry

    for point in entry_points(group="spacy_factories"):
        if point.value.startswith("spacy_sapbert"):
            component = point.load()  # which registers it
            assert registry.factories.get(point.name) is component
            assert Language.get_factory_meta(point.name).factory == point.name


def test_version():
    assert spacy_sapbert.__version__ == version("spacy-sapbert")
    assert re.fullmatch(r"\d+\.\d+\.\d+", spacy_sapbert.__version__)


def test_version_stands_in_one_place_and_the_changelog_tells_of_it():
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
    assert "version" not in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    newest, *_ = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert newest in (spacy_sapbert.__version__, "Unreleased")


def test_where_there_are_no_sources_it_is_the_installed_package_that_is_tested():
    where = ROOT if (ROOT / "spacy_sapbert").is_dir() else Path(sysconfig.get_path("purelib"))
    assert PACKAGE.parent.resolve() == where.resolve()


def test_every_public_name_is_there():
    for name in spacy_sapbert.__all__:
        assert getattr(spacy_sapbert, name) is not None
    with pytest.raises(AttributeError, match="Nothing"):
        _ = spacy_sapbert.Nothing


def test_spacys_command_line_has_ours(monkeypatch, capsys):
    from spacy.cli import setup_cli

    monkeypatch.setattr("sys.argv", ["spacy", "sapbert", "kb", "info", "/not/there.kb"])
    with pytest.raises(SystemExit) as stopped:
        setup_cli()
    assert stopped.value.code == 1
    assert "[E504]" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted((PACKAGE / "pipeline").glob("*.py")), ids=lambda path: path.name)
def test_annotations_of_components_are_evaluated(path):
    # spaCy validates settings by them, and cannot do so with strings
    assert "from __future__ import annotations" not in path.read_text()


def test_every_module_can_be_imported():
    for path in set(PACKAGE.rglob("*.py")) - {PACKAGE / "__main__.py"}:
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        if name != OAK:
            importlib.import_module(name.removesuffix(".__init__"))


def test_every_message_is_used_and_every_code_used_is_there():
    source = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    used = set(re.findall(r"Errors\.(E\d{3})", source))
    from spacy_sapbert.errors import Errors

    assert used == {code for code in vars(Errors) if not code.startswith("_")}


def test_every_family_of_messages_is_used_and_has_a_code_of_its_own():
    from spacy_sapbert.errors import Errors, FamilyError

    source = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    families = FamilyError.__subclasses__()
    assert len({family.code for family in families}) == len(families)
    assert {family.code for family in families}.isdisjoint(vars(Errors))
    assert [family for family in families if f" {family.__name__}(" not in source] == []
