"""The files that sites for code read: workflows, forms, the citation."""

import re
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

import spacy_sapbert

ROOT = Path(__file__).parents[1]
FORMS = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]


def read(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_continuous_integration_runs_on_every_python_that_the_package_takes():
    job = read(".github/workflows/ci.yml")["jobs"]["ci"]
    wanted = SpecifierSet(metadata("spacy-sapbert")["Requires-Python"])
    assert job["strategy"]["matrix"]["python"] == [version for n in range(99) if (version := f"3.{n}") in wanted]
    assert job["env"]["PYTHON"] == "python${{ matrix.python }}"
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_it_must_have(path):
    form = read(path)
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids) > 1
    assert all(field["attributes"]["label"] for field in form["body"])


def test_there_are_forms_for_bugs_and_features():
    assert {path.stem for path in FORMS} == {"bug", "feature"}
    assert read(".github/ISSUE_TEMPLATE/config.yml")["contact_links"]


def test_the_first_commands_of_the_readme_do_everything_and_continuous_integration_runs_them():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    install = readme.partition("## Install")[2]
    commands = re.findall(r"```bash\n(.*?)```", install, flags=re.DOTALL)[0].split("\n")[:-1]
    assert commands == ["make demo", "make test"]
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert set(commands) <= set(steps)


def test_the_citation_is_of_this_version():
    citation = read("CITATION.cff")
    assert citation["version"] == spacy_sapbert.__version__
    assert citation["title"] == metadata("spacy-sapbert")["Name"]
    assert citation["abstract"] == metadata("spacy-sapbert")["Summary"]
    assert [str(work.get("year", "")) for work in citation["references"]] == ["2021", "2020", "", "2024"]
    urls = dict(line.split(", ") for line in metadata("spacy-sapbert").get_all("Project-URL"))
    assert (citation["repository-code"], citation["url"]) == (urls["Homepage"], urls["Documentation"])
