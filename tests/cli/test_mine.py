import json

import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.training.hard_negatives import MINED_COUNTS
from spacy_sapbert.training.pair_files import read_triples

PAIRS = "D001943||breast neoplasms||breast cancer\nD012640||seizures||fits\nD003550||cystic fibrosis||cf\n"


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.cli.pretrain.PAIRS_AT_ONCE", 1)
    path = tmp_path / "pairs.txt"
    path.write_text(PAIRS)
    return path


@pytest.fixture
def run(command, pairs, small_kb, tiny_encoder, tmp_path):
    def run(*options, kb=small_kb.path):
        return command("mine", pairs, "--kb", kb, "--encoder", tiny_encoder, "-o", tmp_path / "triples.tsv", *options)

    return run


def test_triples_and_what_is_told_of_them(run, tmp_path):
    finished = run("--mine.neighbors", 2)
    assert finished.status == 0, finished.err
    triples = list(read_triples(tmp_path / "triples.tsv"))
    assert [triple.concept_id for triple in triples] == ["D001943"] * 2 + ["D012640"] * 2 + ["D003550"] * 2
    told = json.loads(finished.out)
    assert list(told) == [*MINED_COUNTS, "mean_cosine"]
    assert (told["pairs"], told["triples"]) == (3, 6)
    assert told["mean_cosine"] == pytest.approx(sum(triple.similarity for triple in triples) / 6, abs=1e-4)
    assert "pairs with fewer negatives" in finished.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.txt", "triples.tsv"]


def test_an_encoder_whose_vectors_are_not_normalized_mines_by_cosines(run, tiny_encoder, tmp_path):
    assert run().status == 0
    expected = (tmp_path / "triples.tsv").read_bytes()
    raw = TransformerEncoder(str(tiny_encoder), l2_normalized=False)
    raw.save(tmp_path / "raw")
    assert run("--encoder", tmp_path / "raw").status == 0
    assert (tmp_path / "triples.tsv").read_bytes() == expected


def test_shared_names_go_along(run, tmp_path):
    (tmp_path / "pairs.shared.txt").write_text("breast cancer||D001943||D010051\n")
    assert run("--mine.neighbors", 30).status == 0
    assert (tmp_path / "triples.shared.tsv").read_text() == "breast cancer||D001943||D010051\n"
    owners = {triple.negative_ids for triple in read_triples(tmp_path / "triples.tsv") if triple.anchor[0] == "b"}
    assert owners
    assert not any("D010051" in ids for ids in owners)


def test_pairs_of_another_vocabulary(run, pairs, tmp_path):
    pairs.write_text("C1||a||b\nC2||c||d\n")
    finished = run()
    assert finished.status == 1
    assert "[E543] None of the 2 pairs has a negative" in finished.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.txt"]


def test_an_index_that_is_not_exact_is_compared_exactly(run, tmp_path):
    assert run().status == 0
    exact = list(read_triples(tmp_path / "triples.tsv"))
    for index in ("HNSW", "SQ8"):  # both look at all of so few names
        finished = run("--mine.index", index)
        assert finished.status == 0, finished.err
        assert list(read_triples(tmp_path / "triples.tsv")) == exact
