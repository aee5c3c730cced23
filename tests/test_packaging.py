"""A pipeline and the package as wheels, installed beside each other, with all that they were made from gone."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import spacy

from spacy_sapbert.cli.assemble import assemble

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TEXT = "Cystic fibrosis (CF) and breast and ovarian cancer. CF patients were given aspirins."

LINK = """
import json, sys
import spacy, spacy_sapbert
nlp = spacy.load(sys.argv[1])
doc = nlp(sys.argv[2])
links = [[ent.text, ent.label_, ent.kb_id_, ent._.kb_ents, ent._.links] for ent in doc.ents]
print(json.dumps({"links": links, "file": spacy_sapbert.__file__, "meta": nlp.meta}))
"""


def run(*command, cwd, **env):
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def link(pipeline, cwd, **env):
    result = json.loads(run("-c", LINK, pipeline, TEXT, cwd=cwd, HF_HUB_OFFLINE="1", **env).splitlines()[-1])
    return result.pop("links"), result


@pytest.fixture(scope="module")
def package_wheel(tmp_path_factory):
    """The wheel of the package itself, made from a copy of its sources."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT / "spacy_sapbert", folder / "spacy_sapbert", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    run("-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", ".", cwd=folder)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_file_of_the_package(package_wheel):
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "spacy_sapbert").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= set(zipfile.ZipFile(package_wheel).namelist())
    assert "spacy_sapbert/starter/vocabulary.jsonl" in wanted


@pytest.mark.parametrize("dense", [True, False])
def test_a_packaged_pipeline_needs_nothing_else(package_wheel, small_store, tiny_encoder, tmp_path, dense):
    kb, encoder, saved = tmp_path / "my.kb", tmp_path / "encoder", tmp_path / "saved"
    shutil.copy(small_store.path, kb)
    shutil.copytree(tiny_encoder, encoder)
    assemble(output=saved, kb=str(kb), encoder=str(encoder) if dense else "none", name="my_linker")
    expected = json.loads(
        json.dumps([[e.text, e.label_, e.kb_id_, e._.kb_ents, e._.links] for e in spacy.load(saved)(TEXT).ents])
    )
    (tmp_path / "out").mkdir()
    # without an index `python -m build` has no setuptools, so spaCy goes on with that of this environment
    run("-m", "spacy", "package", saved, tmp_path / "out", "--build", "wheel", cwd=tmp_path, PIP_NO_INDEX="1")
    wheel = next((tmp_path / "out").rglob("*.whl"))
    site = tmp_path / "site"
    run("-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel, package_wheel, cwd=tmp_path)
    os.remove(kb)
    for folder in (encoder, saved, tmp_path / "out"):
        shutil.rmtree(folder)
    empty = {"PYTHONPATH": str(site), "SPACY_SAPBERT_CACHE": str(tmp_path / "new_cache")}
    links, about = link("en_my_linker", tmp_path, **empty)
    assert links == expected
    assert [kb_id for _, _, kb_id, *_ in links] == ["D003550", "D003550", "D001943|D010051", "D003550", "D001241"]
    assert Path(about["file"]).is_relative_to(site)
    assert not (tmp_path / "new_cache").exists()
    assert any(requirement.startswith("spacy-sapbert") for requirement in about["meta"]["requirements"])
