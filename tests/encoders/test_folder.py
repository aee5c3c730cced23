import json
import os
import resource
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import transformers

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.text.normalize import spell_out_greek

NAMES = [
    "Breast  Cancer",
    "cold",
    "a very long name of some kind of neoplasms that goes on and on",
    "Cafés\tÜber",
    "ζ",
    "",
]


@pytest.fixture
def other(make_encoder):
    return TransformerEncoder(str(make_encoder(seed=1, pooling="cls")), device="cpu")


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_encoder_of_a_saved_pipeline(encoder, other, tmp_path):
    encoder.save(tmp_path / "pipeline/shared/encoder-1a2b")
    result = TransformerEncoder(str(tmp_path / "pipeline"), device="cpu")
    np.testing.assert_array_equal(result.encode(NAMES), encoder.encode(NAMES))
    other.save(tmp_path / "pipeline/shared/encoder-3c4d")
    with pytest.raises(SapbertError, match=r"\[E305\] .*encoder-1a2b, .*encoder-3c4d"):
        TransformerEncoder(str(tmp_path / "pipeline"), device="cpu")


# --- for other programs


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_it_is_a_folder_of_sentence_transformers(tiny_encoder, tmp_path, pooling):
    library = pytest.importorskip("sentence_transformers")
    encoder = TransformerEncoder(str(tiny_encoder), pooling=pooling, max_length=12, device="cpu")
    encoder.save(tmp_path / "saved")
    theirs = library.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    np.testing.assert_allclose(theirs.encode(list(map(spell_out_greek, NAMES))), encoder.encode(NAMES), atol=1e-5)
    assert theirs.max_seq_length == 12


def test_their_files(encoder, tmp_path):
    """They are written as all versions of sentence-transformers read them."""
    encoder.save(tmp_path / "saved")
    read = {
        name: json.loads((tmp_path / "saved" / name).read_text()) for name in ("modules.json", "1_Pooling/config.json")
    }
    kinds = [(module["path"], module["type"]) for module in read["modules.json"]]
    package = "sentence_transformers.models"
    assert kinds == [
        ("", f"{package}.Transformer"),
        ("1_Pooling", f"{package}.Pooling"),
        ("2_Normalize", f"{package}.Normalize"),
    ]
    assert [mode for mode, on in read["1_Pooling/config.json"].items() if on is True] == ["pooling_mode_mean_tokens"]
    # our own file left out, theirs say the same
    (tmp_path / "saved" / "spacy_sapbert.json").unlink()
    assert TransformerEncoder(str(tmp_path / "saved")).settings == encoder.settings


def test_the_modules_of_raw_vectors_do_not_normalize(tiny_encoder, tmp_path):
    encoder = TransformerEncoder(str(tiny_encoder), l2_normalized=False, device="cpu")
    encoder.save(tmp_path / "saved")
    modules = json.loads((tmp_path / "saved" / "modules.json").read_text())
    assert [module["path"] for module in modules] == ["", "1_Pooling"]
    loaded = TransformerEncoder(str(tmp_path / "saved"), device="cpu")
    assert loaded.l2_normalized is False
    assert loaded.fingerprint == encoder.fingerprint
    np.testing.assert_array_equal(loaded.encode(NAMES), encoder.encode(NAMES))


def test_a_foreign_folder_without_normalize_has_unit_vectors(tiny_encoder, tmp_path):
    TransformerEncoder(str(tiny_encoder), l2_normalized=False, device="cpu").save(tmp_path / "saved")
    (tmp_path / "saved" / "spacy_sapbert.json").unlink()
    assert TransformerEncoder(str(tmp_path / "saved")).l2_normalized is True


def test_it_is_a_plain_folder_of_hugging_face(encoder, tmp_path, capfd):
    encoder.save(tmp_path / "saved")
    model, info = transformers.AutoModel.from_pretrained(tmp_path / "saved", output_loading_info=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert not any(info.values())
    assert type(model) is transformers.BertModel
    hidden = model.eval()(**tokenizer("breast cancer", return_tensors="pt")).last_hidden_state.detach()
    vector = hidden.mean(1).numpy()
    np.testing.assert_allclose(vector / np.linalg.norm(vector), encoder.encode(["breast cancer"]), atol=1e-5)


def test_licences_go_with_the_weights(tiny_encoder, tmp_path):
    folder = shutil.copytree(tiny_encoder, tmp_path / "encoder")
    for name in ("LICENSE", "NOTICE.txt", "README.md"):
        (folder / name).write_text(f"of {name}")
    TransformerEncoder(str(folder)).save(tmp_path / "saved")
    assert (tmp_path / "saved" / "LICENSE").read_text() == "of LICENSE"
    assert (tmp_path / "saved" / "NOTICE.txt").read_text() == "of NOTICE.txt"
    assert not (tmp_path / "saved" / "README.md").exists()


# --- replacing


def test_a_folder_is_replaced_with_all_that_was_in_it(encoder, other, tmp_path):
    folder = tmp_path / "encoder"
    other.save(folder)
    (folder / "pytorch_model.bin").write_bytes(b"old")
    (folder / "README.md").write_text("# A model card")
    encoder.save(folder)
    assert TransformerEncoder(str(folder)).fingerprint == encoder.fingerprint
    assert not (folder / "pytorch_model.bin").exists()
    assert (folder / "README.md").read_text() == "# A model card"
    assert entries(tmp_path) == ["encoder"]


def test_a_link_keeps_pointing_to_the_folder(encoder, other, tmp_path):
    other.save(tmp_path / "v1")
    (tmp_path / "best").symlink_to(tmp_path / "v1")
    encoder.save(tmp_path / "best")
    assert (tmp_path / "best").is_symlink()
    assert TransformerEncoder(str(tmp_path / "v1")).fingerprint == encoder.fingerprint


def test_what_is_no_encoder_is_not_replaced(encoder, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.tex").write_text("years")
    with pytest.raises(SapbertError, match=r"E507.*thesis\.tex"):
        encoder.save(tmp_path / "work")
    assert entries(tmp_path / "work") == ["thesis.tex"]
    assert entries(tmp_path) == ["work"]
    (tmp_path / "file").write_text("")
    with pytest.raises(SapbertError, match="E507"):
        encoder.save(tmp_path / "file")


def test_a_full_disk(encoder, other, tmp_path):
    other.save(tmp_path / "encoder")
    child = os.fork()
    if not child:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # the weights need 113 kB
        with pytest.raises(SapbertError, match="E507"):
            encoder.save(tmp_path / "encoder")
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert TransformerEncoder(str(tmp_path / "encoder")).fingerprint == other.fingerprint
    assert entries(tmp_path) == ["encoder"]


def test_killed_between_the_two_renames(encoder, other, tmp_path, monkeypatch):
    other.save(tmp_path / "encoder")
    child = os.fork()
    if not child:
        monkeypatch.setattr(Path, "rename", lambda self, target: os.rename(self, target) or os._exit(9))
        encoder.save(tmp_path / "encoder")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with pytest.raises(SapbertError, match=r"E121.*\.encoder\.replaced"):
        TransformerEncoder(str(tmp_path / "encoder")).encode(["a"])
    assert TransformerEncoder(str(tmp_path / ".encoder.replaced")).fingerprint == other.fingerprint
    encoder.save(tmp_path / "encoder")
    assert TransformerEncoder(str(tmp_path / "encoder")).fingerprint == encoder.fingerprint
    assert not (tmp_path / ".encoder.replaced").exists()
