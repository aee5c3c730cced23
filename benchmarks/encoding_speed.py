"""Measure how many names per second several encoders encode.

Batches are sorted by length. Encoders use bfloat16 if the hardware has it. Each encodes the same names of a vocabulary
in turns, in one process. The ratios are to the first encoder.

    python benchmarks/encoding_speed.py KB ENCODER ENCODER … [--pooling mean] [--names 4000] [--turns 5]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from statistics import median

import torch

from spacy_sapbert.encoders.info import describe
from spacy_sapbert.encoders.transformer import TransformerEncoder, has_bfloat16
from spacy_sapbert.kb.storage import load_knowledge_base


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kb", help="Knowledge base.")
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--pooling")
    parser.add_argument("--names", type=int, default=4000)
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    names = list(load_knowledge_base(args.kb).names())
    names = random.Random(0).sample(names, min(args.names, len(names)))
    encoders = [TransformerEncoder(name, pooling=args.pooling) for name in args.encoders]
    for encoder in encoders:
        encoder.encode(names[:256], fast=True)
    seconds: list[list[float]] = [[] for _ in encoders]
    for _ in range(args.turns):
        for encoder, spent in zip(encoders, seconds, strict=True):
            start = time.perf_counter()
            encoder.encode(names, fast=True)
            spent.append(time.perf_counter() - start)
    found = []
    for encoder, spent in zip(encoders, seconds, strict=True):
        about = describe(encoder)
        pieces = sum(map(len, encoder.tokenize(names))) / len(names)
        ratios = [first / own for first, own in zip(seconds[0], spent, strict=True)]
        measured = {"names_per_s": round(len(names) / median(spent)), "times_the_first": round(median(ratios), 2)}
        shape = {"layers": about["layers"], "bytes": about["bytes"], "pieces_per_name": round(pieces, 2)}
        found.append({"encoder": encoder.name, **measured, **shape})
    setting = {"threads": torch.get_num_threads(), "bfloat16": has_bfloat16(encoders[0].device)}
    print(json.dumps({"names": len(names), **setting, "encoders": found}, indent=2))


if __name__ == "__main__":
    main()
