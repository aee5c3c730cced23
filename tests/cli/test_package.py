"""The wheels of a pipeline and of this package. `tests/test_packaging.py` has those that are really built."""

import csv
import hashlib
import io
import zipfile
from base64 import urlsafe_b64decode
from importlib import import_module

import pytest
import spacy

from spacy_sapbert.pipeline import packages


@pytest.fixture
def made(monkeypatch, tmp_path):
    """A small package in the place of this one, and a builder that writes an empty wheel."""
    small = tmp_path / "clone" / "spacy_sapbert"
    (small / "sub").mkdir(parents=True)
    (small / "__init__.py").write_text("__version__ = 'x'\n")
    (small / "sub" / "data.txt").write_text("ü")
    (small / "sub" / "old.pyc").write_bytes(b"")
    (tmp_path / "clone" / "configs").mkdir()
    (tmp_path / "clone" / "configs" / "pairs.cfg").write_text("[pairs]\n")
    monkeypatch.setattr(packages, "_PACKAGE", small)

    def build(pipeline, folder, *, name, version, **_):
        (folder / "x" / "dist").mkdir(parents=True)
        (folder / "x" / "dist" / f"en_{name}-{version}-py3-none-any.whl").write_bytes(b"")

    monkeypatch.setattr(import_module("spacy.cli.package"), "package", build)
    spacy.blank("en").to_disk(tmp_path / "pipeline")


def test_both_wheels_and_the_line_that_installs_them(made, command, tmp_path):
    options = ("--name", "flu", "--version", "2.0.0", "-o", tmp_path / "wheels")
    done = command("package", tmp_path / "pipeline", *options)
    assert done.status == 0, done.err
    own, built = done.out.decode().split()[2:]
    assert done.out.decode().startswith("pip install ")
    assert built == str(tmp_path / "wheels" / "en_flu-2.0.0-py3-none-any.whl")
    with zipfile.ZipFile(own) as wheel:
        names = set(wheel.namelist())
        info = next(name for name in names if name.endswith("METADATA")).partition("/")[0]
        wanted = {"spacy_sapbert/__init__.py", "spacy_sapbert/sub/data.txt", "spacy_sapbert/configs/pairs.cfg"}
        assert wanted | {f"{info}/{name}" for name in ("WHEEL", "METADATA", "entry_points.txt", "RECORD")} <= names
        assert not {f"{info}/direct_url.json", f"{info}/INSTALLER", "spacy_sapbert/sub/old.pyc"} & names
        rows = list(csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode())))
        assert {name for name, *_ in rows} == names
        for name, digest, size in rows[:-1]:
            content = wheel.read(name)
            assert urlsafe_b64decode(digest.removeprefix("sha256=") + "=") == hashlib.sha256(content).digest()
            assert int(size) == len(content)


def test_a_damaged_pipeline_is_named(made, command, tmp_path):
    (tmp_path / "pipeline" / "meta.json").write_text("{}")
    assert "[E502]" in command("package", tmp_path / "pipeline", "-o", tmp_path / "wheels").err
    assert not (tmp_path / "wheels").exists()


def test_what_is_not_a_pipeline_is_named(made, command, tmp_path):
    assert "[E504] There is no pipeline" in command("package", tmp_path, "-o", tmp_path / "wheels").err
    assert not (tmp_path / "wheels").exists()
