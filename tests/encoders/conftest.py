import shutil

import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder


@pytest.fixture
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu")


@pytest.fixture
def copied(tiny_encoder, tmp_path):
    """The folder of an encoder that a test may change."""
    return shutil.copytree(tiny_encoder, tmp_path / "encoder")
