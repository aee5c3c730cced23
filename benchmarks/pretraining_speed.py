"""Measure how many pairs per second self-alignment takes, compared with the published loop.

The plain loop follows github.com/cambridgeltl/sapbert, train/. It pads every name to 25 wordpieces, and encodes the two
sides of the pairs one after the other. It mines with pytorch-metric-learning's TripletMarginMiner, and computes its
MultiSimilarityLoss over the mined triplets.

Both loops train copies of the same weights on the same batches. They run in turns of a few steps, in one process.
`parts` shows where our loop spends its time.

    python benchmarks/pretraining_speed.py ENCODER PAIRS [--pooling mean] [--turns 3] [--steps 3] [--precision fp32]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from common import new_parser
from pytorch_metric_learning.losses import MultiSimilarityLoss
from pytorch_metric_learning.miners import TripletMarginMiner

from spacy_sapbert.encoders.transformer import TransformerEncoder, has_bfloat16
from spacy_sapbert.training.losses import multi_similarity
from spacy_sapbert.training.mining import hard_triplets
from spacy_sapbert.training.optimizing import adamw, warmup_linear
from spacy_sapbert.training.pair_table import PairTable, read_pair_file, shuffled_batches
from spacy_sapbert.training.run_files import json_lines, read_log
from spacy_sapbert.training.self_alignment import SelfAlignment

LENGTH = 25


def plain_step(encoder: TransformerEncoder, table: PairTable, rows: np.ndarray, optimizer: Any, half: bool) -> None:
    """One step as in the published code."""
    batch = table.batch(rows)
    labels = torch.arange(len(rows)).repeat(2)
    device = encoder.device.split(":")[0]
    with torch.autocast(device, dtype=torch.bfloat16, enabled=half):
        sides = [plain_vectors(encoder, [batch.names[place] for place in side]) for side in batch.pairs.T]
    vectors = torch.cat(sides).float()
    mined = TripletMarginMiner(margin=0.2, type_of_triplets="all")(vectors, labels)
    MultiSimilarityLoss(alpha=1, beta=60, base=0.5)(vectors, labels, mined).backward()
    optimizer.step()
    optimizer.zero_grad()


def plain_vectors(encoder: TransformerEncoder, names: list[str]) -> torch.Tensor:
    tokens = encoder.tokenizer(names, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt")
    tokens = {name: tensor.to(encoder.device) for name, tensor in tokens.items()}
    hidden = encoder.model(**tokens).last_hidden_state
    if encoder.pooling == "cls":
        return hidden[:, 0]
    weights = tokens["attention_mask"].unsqueeze(-1)
    return (hidden * weights).sum(1) / weights.sum(1)


class Stopwatch:
    """Adds up the time of functions."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def __call__(self, name: str, function: Any) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            result = function(*args, **kwargs)
            self.seconds[name] += time.perf_counter() - started
            return result

        return timed


def ours(encoder: TransformerEncoder, table: PairTable, args: argparse.Namespace, watch: Stopwatch) -> float:
    """Return the pairs per second."""
    run = SelfAlignment(
        encoder,
        table,
        shuffled_batches(args.size),
        watch("mining", hard_triplets()),
        watch("loss", multi_similarity()),
        adamw(),
        warmup_linear(final=1.0),
        json_lines(),
        precision=args.precision,
        max_steps=args.steps,
        checkpoint_every=args.steps + 1,
    )
    with TemporaryDirectory() as folder:
        run.train(Path(folder))
        lines = read_log(Path(folder) / "log.jsonl")
    seconds = sum(line["pairs"] / line["pairs_per_s"] for line in lines)
    watch.seconds["in all"] += seconds
    return sum(line["pairs"] for line in lines) / seconds


def plain(encoder: TransformerEncoder, table: PairTable, args: argparse.Namespace) -> float:
    """Return the pairs per second."""
    batches = shuffled_batches(args.size)(table, np.random.default_rng([0, 0]))[: args.steps]
    half = args.precision == "bf16" or (args.precision == "auto" and has_bfloat16(encoder.device))
    optimizer = adamw()(encoder.model)
    encoder.model.train()
    started = time.perf_counter()
    for rows in batches:
        plain_step(encoder, table, rows, optimizer, half)
    return sum(map(len, batches)) / (time.perf_counter() - started)


def watched(encoder: TransformerEncoder, watch: Stopwatch) -> TransformerEncoder:
    encoder.tokenize = watch("tokenizing", encoder.tokenize)  # type: ignore[method-assign]
    encoder.embed = watch("forward", encoder.embed)  # type: ignore[method-assign]
    return encoder


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("encoder")
    parser.add_argument("pairs")
    parser.add_argument("--pooling")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--precision", default="auto")
    args = parser.parse_args()
    table, watch = read_pair_file(args.pairs), Stopwatch()
    one = TransformerEncoder(args.encoder, pooling=args.pooling, device="cpu")
    other = watched(TransformerEncoder(args.encoder, pooling=args.pooling, device="cpu"), watch)
    speeds = [(plain(one, table, args), ours(other, table, args, watch)) for _ in range(args.turns)]
    parts = {name: round(100 * seconds / watch.seconds["in all"], 1) for name, seconds in watch.seconds.items()}
    result = {
        "plain_pairs_per_s": [round(speed, 1) for speed, _ in speeds],
        "ours_pairs_per_s": [round(speed, 1) for _, speed in speeds],
        "ratio": round(median(our / their for their, our in speeds), 2),
        "parts": {name: share for name, share in parts.items() if name != "in all"},
        "threads": torch.get_num_threads(),
        **vars(args),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
