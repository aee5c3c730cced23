import gzip
import json

import numpy as np
import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder


@pytest.fixture
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu")


@pytest.fixture
def run(command):
    """A function that runs `spacy-sapbert encoder`, and gives its JSON, or the error that it told."""

    def run(*arguments, stdin=b""):
        done = command("encoder", *arguments, stdin=stdin)
        assert "Traceback" not in done.err
        return json.loads(done.out) if done.status == 0 else done.err

    return run


# --- info


def test_info(command, tiny_encoder):
    finished = command("encoder", "info", tiny_encoder)
    found = json.loads(finished.out)
    assert (found["layers"], found["vocabulary"], found["pooling"]) == (2, 82, "mean")
    assert "parameters embeddings" in finished.err
    assert "4,800" in finished.err


@pytest.mark.parametrize("name", ["none", "no/such"])
def test_no_encoder(run, name):
    assert "E301" in run("info", name)


# --- embed


def test_embed(run, encoder, tmp_path):
    (tmp_path / "names.txt").write_text("\ufeffBreast Cancer\ncold\r\n\nneoplasms", encoding="utf-8")
    result = run("embed", encoder.name, tmp_path / "names.txt", "-o", tmp_path / "v.npy")
    assert result == {"texts": 4, "without_vector": 1, "dim": 32}
    vectors = np.load(tmp_path / "v.npy")
    expected = encoder.encode(["breast cancer", "cold", "neoplasms"])
    np.testing.assert_allclose(vectors[[0, 1, 3]], expected, atol=1e-5)
    assert not vectors[2].any()


def test_embed_standard_input_and_gzipped_files(run, encoder, tmp_path):
    text = b"cold\nbreast\n"
    (tmp_path / "names.gz").write_bytes(gzip.compress(text))
    run("embed", encoder.name, tmp_path / "names.gz", "-o", tmp_path / "1.npy")
    run("embed", encoder.name, "-", "-o", tmp_path / "2.npy", stdin=text)
    run("embed", encoder.name, "-o", tmp_path / "3.npy", stdin=text)
    arrays = [np.load(tmp_path / f"{i}.npy") for i in (1, 2, 3)]
    np.testing.assert_allclose(arrays[0], encoder.encode(["cold", "breast"]), atol=1e-5)
    np.testing.assert_array_equal(arrays[0], arrays[2])
    np.testing.assert_allclose(arrays[0], arrays[1], atol=1e-5)


def test_embed_a_line_that_is_not_utf8(command, encoder, tmp_path):
    done = command("encoder", "embed", encoder.name, "-o", tmp_path / "v.npy", stdin=b"cold\nna\xefve\nbreast\n")
    assert done.status == 1
    assert "[E127]" in done.err
    assert not (tmp_path / "v.npy").exists()


def test_embed_what_cannot_be_read_or_written(run, encoder, tmp_path):
    assert "E120" in run("embed", encoder.name, tmp_path / "nothing", "-o", tmp_path / "v.npy")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"cold\n" * 10000)[:-9])
    assert "E121" in run("embed", encoder.name, tmp_path / "cut.gz", "-o", tmp_path / "v.npy")
    assert not (tmp_path / "v.npy").exists()
    assert "E507" in run("embed", encoder.name, "-o", tmp_path / "no" / "v.npy", stdin=b"cold\n")


# --- prune and quantize


def test_prune_to_a_file_of_names(run, encoder, tmp_path):
    (tmp_path / "names.txt").write_text("breast cancer\n\nzoster\n")
    result = run(
        *("prune", encoder.name, "-o", tmp_path / "small", "--vocabulary", tmp_path / "names.txt"),
        *("--layers", "1,"),
    )
    assert (result["names"], result["layers"]) == (2, [1])
    small = TransformerEncoder(str(tmp_path / "small"))
    assert "cold" not in small.tokenizer.get_vocab()
    assert small.model.config.num_hidden_layers == 1
    [step] = small.trained["history"]
    assert step["step"] == "prune"
    assert step["vocabulary"] == "names.txt"
    assert result["bytes"] == sum(path.stat().st_size for path in (tmp_path / "small").rglob("*") if path.is_file())


def test_prune_to_a_knowledge_base(run, encoder, small_kb, tmp_path):
    result = run("prune", encoder.name, "-o", tmp_path / "small", "--vocabulary", small_kb.path)
    assert result["names"] == small_kb.n_names
    names = [*small_kb.names()]
    np.testing.assert_allclose(
        TransformerEncoder(str(tmp_path / "small")).encode(names), encoder.encode(names), atol=1e-5
    )


def test_prune_and_quantize_one_after_the_other(command, run, encoder, tmp_path):
    run("prune", encoder.name, "-o", tmp_path / "a", "--layers", 1)
    result = run("prune", tmp_path / "a", "-o", tmp_path / "b", "--dtype", "float16")
    assert result["dtype"] == "float16"
    found = run("info", tmp_path / "b")
    assert [step["step"] for step in found["trained"]["history"]] == ["prune", "quantize"]
    assert found["trained"]["base"] == TransformerEncoder(encoder.name).name.rpartition("/")[2]
    assert (found["layers"], found["dtype"]) == (1, "float16")
    refused = command("encoder", "prune", tmp_path / "a", "-o", tmp_path / "c", "--dtype", "int8")
    assert (refused.status, "bfloat16" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ([], "E533"),
        (["--keep-pieces", 5], "E533"),
        (["--layers", "0"], "E533"),
        (["--layers", "3"], "E533"),
        (["--layers", "0,x"], "E533"),
        (["--layers", "0,7"], "E533"),
        (["--vocabulary", "no such file"], "E120"),
    ],
)
def test_prune_by_wrong_settings(run, encoder, tmp_path, options, error):
    assert error in run("prune", encoder.name, "-o", tmp_path / "small", *options)
    assert not (tmp_path / "small").exists()
