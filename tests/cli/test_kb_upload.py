import json

import pytest
import spacy

from spacy_sapbert.errors import SettingError
from spacy_sapbert.pipeline.sapbert_linker import SapbertLinker


def test_upload_assemble_and_link(command, small_kb, tiny_encoder, tmp_path):
    pytest.importorskip("qdrant_client")
    upload = ("kb", "upload", small_kb.path, "--encoder", tiny_encoder, "--to", f"{tmp_path / 'db'}#small")
    done = command(*upload, "--centroids")
    assert done.status == 0
    index = f"qdrant:{tmp_path / 'db'}#small"
    counts = {"names": 34, "added": 49, "changed": 0, "unchanged": 0, "removed": 0}
    assert json.loads(done.out) == {"index": index, **counts}
    options = ("--kb", small_kb.path, "--encoder", tiny_encoder, "--index", index)
    with pytest.warns(UserWarning, match=r"W412.*#small"):
        assert command("assemble", "-o", tmp_path / "pipeline", *options).status == 0
    assert not (tmp_path / "pipeline" / "sapbert_linker" / "vectors").exists()
    linker = SapbertLinker(spacy.blank("en"), index=index).from_disk(tmp_path / "pipeline" / "sapbert_linker")
    assert linker.linker.generator(["mucoviscidosis"], 1)[0][0].concept_id == "D003550"


def test_errors(command, small_kb, tmp_path):
    done = command("kb", "upload", small_kb.path, "--encoder", "none", "--to", tmp_path / "db")
    assert (done.status, list(tmp_path.iterdir())) == (1, [])
    assert "[E533]" in done.err


def test_postgres(command, small_kb, tiny_encoder, postgres):
    upload = ("kb", "upload", small_kb.path, "--encoder", tiny_encoder, "--to", postgres)
    counts = {"names": 34, "removed": 0, "changed": 0, "added": 34, "unchanged": 0}
    assert json.loads(command(*upload).out) == {"index": postgres, **counts}
    assert "[E533]" in command(*upload, "--centroids").err
    with pytest.raises(SettingError, match="E406"):  # or the config would keep the password
        spacy.blank("en").add_pipe("sapbert_linker", config={"index": "postgresql://me:secret@host"})
