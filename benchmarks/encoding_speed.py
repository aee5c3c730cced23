"""Measure how many names of a vocabulary several encoders encode a second, each compared with the first.

Batches are sorted by length. Encoders use bfloat16 if the hardware has it. Each encodes the same names in turns, in one
process.

    python benchmarks/encoding_speed.py KB ENCODER ENCODER … [--pooling mean] [--names 4000] [--turns 5]
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import torch
from common import new_parser

from spacy_sapbert.encoders.info import describe
from spacy_sapbert.encoders.transformer import TransformerEncoder, has_bfloat16
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.storage import load_knowledge_base


def compare_encoders(encoders: Sequence[TransformerEncoder], names: list[str], turns: int) -> dict[str, Any]:
    for encoder in encoders:
        encoder.encode(names[:256], fast=True)
    seconds: list[list[float]] = [[] for _ in encoders]
    for _ in range(turns):
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
    return {"names": len(names), **setting, "encoders": found}


def _sample(kb: KnowledgeBase, n: int) -> list[str]:
    names = list(kb.names())
    return random.Random(0).sample(names, min(n, len(names)))


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("kb", help="Knowledge base.")
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--pooling")
    parser.add_argument("--names", type=int, default=4000)
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    encoders = [TransformerEncoder(name, pooling=args.pooling) for name in args.encoders]
    names = _sample(load_knowledge_base(args.kb), args.names)
    print(json.dumps(compare_encoders(encoders, names, args.turns), indent=2))


if __name__ == "__main__":
    main()
