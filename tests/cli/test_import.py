import json

import pytest
import spacy


def test_import_and_assemble(command, biosyn_model, small_kb, tmp_path):
    done = command("import", "biosyn", biosyn_model.folder, "-o", tmp_path / "encoder")
    assert done.status == 0, done.err
    result = json.loads(done.out)
    assert (result["encoder"], result["l2_normalized"]) == (str(tmp_path / "encoder"), False)
    part = {"ngrams": len(biosyn_model.vectorizer.vocabulary_), "sparse_weight": pytest.approx(1.7), "threshold": 0}
    assert result["lexical_model"] == part
    info = json.loads(command("encoder", "info", tmp_path / "encoder").out)
    assert (info["lexical_model"], info["trained"]["base"]) == (part, "biosyn-tiny")
    pipeline = tmp_path / "pipeline"
    done = command("assemble", "--kb", small_kb.path, "--encoder", tmp_path / "encoder", "-o", pipeline)
    assert done.status == 0, done.err
    doc = spacy.load(pipeline)("A patient with breast cancer.")
    assert [(entity.text, entity.kb_id_) for entity in doc.ents] == [("breast cancer", "D001943")]


def test_a_folder_that_is_none(command, tmp_path):
    done = command("import", "biosyn", tmp_path / "none", "-o", tmp_path / "encoder")
    assert done.status == 1
    assert "E344" in done.err
    assert "Traceback" not in done.err


def test_what_can_be_imported_is_told(command):
    assert "biosyn" in command("import", "--help").out.decode()
