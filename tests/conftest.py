"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The development corpora and vocabularies, which do not come with the package."""
    folder = Path(os.environ.get("SPACY_SAPBERT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the development data is not here; set SPACY_SAPBERT_DATA to its folder")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what tests cache out of the user's cache folder, in one folder for all of them."""
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
