"""Fixtures for training."""

import itertools
import json

import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.training.losses import multi_similarity
from spacy_sapbert.training.mining import hard_triplets
from spacy_sapbert.training.optimizing import adamw, warmup_linear
from spacy_sapbert.training.pair_files import Pair
from spacy_sapbert.training.pair_table import PairTable, shuffled_batches
from spacy_sapbert.training.run_files import json_lines
from spacy_sapbert.training.self_alignment import SelfAlignment

SYLLABLES = ["ba", "cor", "do", "fen", "gil", "hu", "kla", "lem", "mo", "nar", "pis", "rut", "sov", "tan", "vek"]


@pytest.fixture(scope="session")
def synonym_pairs():
    """36 pairs of 12 concepts, each with three names of two or three syllables."""
    words = ("".join(word) for length in (2, 3) for word in itertools.permutations(SYLLABLES, length))
    return [
        Pair(f"C{number}", *pair)
        for number in range(12)
        for pair in itertools.combinations([next(words) for _ in range(3)], 2)
    ]


@pytest.fixture
def make_run(tiny_encoder, synonym_pairs):
    """A function that creates a training run of a tiny encoder on a few pairs, with replaceable settings."""

    def make(pairs=None, encoder=tiny_encoder, batch_size=8, **settings):
        parts = {
            "batcher": shuffled_batches(batch_size), "miner": hard_triplets(), "loss": multi_similarity(),
            "optimizer": adamw(1e-3), "schedule": warmup_linear(2), "logger": json_lines(),
        }  # fmt: skip
        table = PairTable(synonym_pairs if pairs is None else pairs)
        return SelfAlignment(TransformerEncoder(str(encoder), device="cpu"), table, **{**parts, **settings})

    return make


@pytest.fixture
def read_curve():
    """A function that reads the log of a run, without values that depend on the clock."""

    def read(output):
        lines = [json.loads(line) for line in (output / "log.jsonl").read_text().splitlines()]
        clock = {"pairs_per_s", "minutes", "minutes_left"}
        return [{key: value for key, value in line.items() if key not in clock} for line in lines]

    return read
