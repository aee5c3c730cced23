"""The files that sites for code read: workflows, forms, the citation."""

import json
import re
from importlib.metadata import metadata
from pathlib import Path

import jinja2
import pytest
import yaml
from packaging.requirements import Requirement
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


def test_the_entry_for_spacys_universe_has_the_keys_and_categories_that_its_site_knows():
    entry = json.loads((ROOT / "distribution" / "universe.json").read_text(encoding="utf-8"))
    texts = {"id", "title", "slogan", "description", "github", "pip", "code_language", "url", "author"}
    assert set(entry) == texts | {"code_example", "author_links", "category", "tags"}
    assert all(isinstance(entry[key], str) for key in texts)
    assert set(entry["author_links"]) <= {"twitter", "github", "website"}
    known = {"pipeline", "training", "research", "scientific", "visualizers", "apis", "standalone", "models"}
    assert set(entry["category"]) <= known
    assert entry["pip"] == metadata("spacy-sapbert")["Name"]
    compile("\n".join(entry["code_example"]), "universe.json", "exec")


def test_the_recipe_for_conda_has_the_version_and_requirements_of_the_project():
    text = (ROOT / "distribution" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    values = {"python_min": "3.10", "PYTHON": "python", "environ": {}}
    recipe = yaml.safe_load(jinja2.Template(text).render(**values))
    assert recipe["package"] == {"name": "spacy-sapbert", "version": spacy_sapbert.__version__}
    about = metadata("spacy-sapbert")
    python, *others = map(Requirement, recipe["requirements"]["run"])
    assert python.specifier == SpecifierSet(about["Requires-Python"])
    required = map(Requirement, about.get_all("Requires-Dist"))
    assert {str(one) for one in others} == {str(one) for one in required if one.marker is None}
    assert (recipe["about"]["license"], recipe["about"]["summary"]) == (about["License-Expression"], about["Summary"])
    assert all((ROOT / path).is_file() for path in recipe["about"]["license_file"])


def test_the_citation_is_of_this_version():
    citation = read("CITATION.cff")
    assert citation["version"] == spacy_sapbert.__version__
    assert citation["title"] == metadata("spacy-sapbert")["Name"]
    assert citation["abstract"] == metadata("spacy-sapbert")["Summary"]
    assert [str(work.get("year", "")) for work in citation["references"]] == ["2021", "2020", "", "2024"]
    urls = dict(line.split(", ") for line in metadata("spacy-sapbert").get_all("Project-URL"))
    assert (citation["repository-code"], citation["url"]) == (urls["Homepage"], urls["Documentation"])
