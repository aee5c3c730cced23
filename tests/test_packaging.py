"""The wheel and the sdist of the package: what is in them, and whether a packaged pipeline needs nothing but them."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest
import spacy
from markdown_it import MarkdownIt
from packaging.metadata import Metadata

import spacy_sapbert
from spacy_sapbert.pipeline.assemble import assemble

ROOT = Path(__file__).parents[1]
DIST = os.environ.get("SPACY_SAPBERT_DIST")
pytestmark = [] if DIST else [pytest.mark.slow]  # they have to be built first
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


def files_of_the_repository():
    """RETURNS (set[str]): the paths of those under version control, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--full-name", "--cached", "--others", "--exclude-standard", ":/"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("this is no clone of the repository")
    return set(filter(None, done.stdout.split("\0")))


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The folder with the wheel and the sdist: those that are tested, or else made from a copy of the sources."""
    if DIST:
        return Path(DIST)
    folder = tmp_path_factory.mktemp("sources")
    for name in files_of_the_repository():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    run("-m", "build", "--no-isolation", cwd=folder)
    return folder / "dist"


@pytest.fixture(scope="module")
def package_wheel(dist):
    (wheel,) = dist.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def in_wheel(package_wheel):
    """The files of the wheel, by name."""
    with zipfile.ZipFile(package_wheel) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture(scope="module")
def in_sdist(dist):
    """The files of the sdist, by name without the folder that they are in."""
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as file:
        return {member.name.partition("/")[2]: file.extractfile(member).read() for member in file if member.isfile()}


def of_package(names):
    return {name for name in names if name.startswith("spacy_sapbert/")}


def configs(names):
    return {name for name in names if name.startswith("configs/") and name.endswith(".cfg")}


def test_the_wheel_holds_every_file_of_the_package_and_no_other(in_wheel):
    of_repository = files_of_the_repository()
    wanted = of_package(of_repository) | {f"spacy_sapbert/{name}" for name in configs(of_repository)}
    assert {
        "spacy_sapbert/py.typed",
        "spacy_sapbert/starter/vocabulary.kb",
        "spacy_sapbert/configs/linker.cfg",
    } <= wanted
    info = f"spacy_sapbert-{spacy_sapbert.__version__}.dist-info"
    assert {name for name in in_wheel if PurePosixPath(name).parts[0] != info} == wanted


def test_the_sdist_holds_what_the_wheel_is_made_of(in_sdist, in_wheel):
    made = {name: in_sdist[name] for name in of_package(in_sdist)}
    made |= {f"spacy_sapbert/{name}": in_sdist[name] for name in configs(in_sdist)}
    assert made == {name: in_wheel[name] for name in of_package(in_wheel)}
    others = {
        name for name in in_sdist if PurePosixPath(name).parts[0] not in ("spacy_sapbert", "spacy_sapbert.egg-info")
    }
    others -= {"PKG-INFO", "setup.cfg"} | configs(in_sdist)
    assert others == {
        *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "README.md", "SECURITY.md", "THIRD_PARTY.md"),
        *("pyproject.toml", "setup.py"),
    }


def test_the_metadata_is_valid(in_wheel, in_sdist):
    info = f"spacy_sapbert-{spacy_sapbert.__version__}.dist-info"
    assert in_wheel[f"{info}/METADATA"] == in_sdist["PKG-INFO"]
    metadata = Metadata.from_email(in_wheel[f"{info}/METADATA"], validate=True)
    assert (metadata.name, str(metadata.version)) == ("spacy-sapbert", spacy_sapbert.__version__)
    assert metadata.license_expression == "MIT AND Apache-2.0"
    assert metadata.license_files == ["LICENSE", "THIRD_PARTY.md", "spacy_sapbert/starter/encoder/LICENSE"]
    for name in metadata.license_files:
        assert in_wheel[f"{info}/licenses/{name}"] == in_sdist[name]


def test_the_readme_is_the_description_and_can_be_shown(in_wheel):
    info = f"spacy_sapbert-{spacy_sapbert.__version__}.dist-info"
    metadata = Metadata.from_email(in_wheel[f"{info}/METADATA"], validate=True)
    assert metadata.description == (ROOT / "README.md").read_text(encoding="utf-8")
    assert metadata.description_content_type == "text/markdown"
    page = MarkdownIt("commonmark").enable("table").render(metadata.description)
    assert page.startswith("<h1>spacy-sapbert</h1>")
    assert page.count("<table>") == metadata.description.count("\n|---")


@pytest.mark.slow
@pytest.mark.parametrize("dense", [True, False])
def test_a_packaged_pipeline_needs_nothing_else(package_wheel, small_kb, tiny_encoder, tmp_path, dense):
    kb, encoder, saved = tmp_path / "my.kb", tmp_path / "encoder", tmp_path / "saved"
    shutil.copy(small_kb.path, kb)
    shutil.copytree(tiny_encoder, encoder)
    assemble(output=saved, kb=str(kb), encoder=str(encoder) if dense else "none", name="my_linker")
    if dense:
        with_retriever = spacy.load(saved)
        with_retriever.add_pipe("concept_retriever", config={"kb": str(kb), "encoder": str(encoder)})
        with_retriever.to_disk(saved)
    expected = json.loads(
        json.dumps([[e.text, e.label_, e.kb_id_, e._.kb_ents, e._.links] for e in spacy.load(saved)(TEXT).ents])
    )
    (tmp_path / "out").mkdir()
    # without an index `python -m build` has no setuptools, so spaCy goes on with that of this environment
    run("-m", "spacy", "package", saved, tmp_path / "out", "--build", "wheel", cwd=tmp_path, PIP_NO_INDEX="1")
    wheel = next((tmp_path / "out").rglob("*.whl"))
    with zipfile.ZipFile(wheel) as file:
        names = [PurePosixPath(name) for name in file.namelist()]
    assert [sum(name.match(part) for name in names) for part in ("*.kb", "model.safetensors", "vectors.npy")] == [
        1, dense, dense,
    ]  # fmt: skip
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
