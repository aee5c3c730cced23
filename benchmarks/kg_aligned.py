"""Measure whether the measure of kg-aligned-entity-linker predicts linking, for its losses and for ours.

Pairs are drawn as in that project: 3 to 5 pairs of each of 5,000 concepts, of any knowledge base. 100 pairs are set
aside. The untrained encoder mines negatives among all names of these concepts. Every cell trains the same encoder for
the same number of steps and pairs. Cells with mined triples add their negatives to these.

Each cell has two measures. The first is how far the cosines of the 100 pairs lie from those of all other pairs of their
names. The second is linking on the development set of NCBI Disease, as in `pretraining.py`: mentions as written, the
nearest name of MEDIC. A finished cell is not trained again. The results are printed after each cell. With several
seeds, a cell has mean and standard deviation.

    python benchmarks/kg_aligned.py OUTPUT --kb KB --encoder ENCODER --medic KB
        [--steps 150] [--seeds 1] [--batch 64] [--rate 2e-5] [--cell NAME …] [--pooling mean] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

from common import new_parser, over_seeds, run
from pretraining import SETS, Measures, loss, measure, pretrain, score

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.evaluation.separation import NamePairs, evaluate_separation, read_name_pairs
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.export import stream_records
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.metrics.separation import as_measures
from spacy_sapbert.training.development_accuracy import NearestName
from spacy_sapbert.training.pair_files import read_pairs

CONFIG = Path(__file__).parents[1] / "configs" / "pretrain.cfg"
MOST_NEGATIVES = 5


def triplets(negatives: int) -> dict[str, Any]:
    triples = {"@readers": "spacy-sapbert.TripleFile.v1", "path": "${paths.pairs}", "negatives": negatives}
    return {"pairs": triples, "miner": {"@misc": "spacy-sapbert.GivenTriplets.v1"}, **loss("Triplet")}


CELLS: dict[str, dict[str, Any]] = {
    "MNR": {"miner": {"@misc": "spacy-sapbert.InBatchNegatives.v1"}, **loss("MultipleNegativesRanking")},
    **{f"triplet, {n} mined": triplets(n) for n in (1, 3, MOST_NEGATIVES)},
    "Multi-Similarity, mined in the batch": {},
}


def prepare(args: argparse.Namespace) -> None:
    """Draw the pairs, build a knowledge base of their concepts, and mine the negatives. Existing files are kept."""
    folder = args.output
    if not (folder / "train.txt").is_file():
        run("spacy_sapbert", "pairs", args.kb, "--pairs.selection", "kg-aligned", "-o", str(folder))
    if not (folder / "drawn.kb").is_file():
        drawn = {pair.concept_id for pair in read_pairs(folder / "train.txt")}
        records = stream_records(KnowledgeBase(args.kb))
        build_knowledge_base((record for record in records if record.concept_id in drawn), folder / "drawn.kb")
    if not (folder / "triples.tsv").is_file():
        names = ["--kb", str(folder / "drawn.kb"), "--encoder", args.encoder, "--mine.pooling", args.pooling]
        wanted = ["--mine.neighbors", str(MOST_NEGATIVES), "-o", str(folder / "triples.tsv")]
        run("spacy_sapbert", "mine", str(folder / "train.txt"), *names, *wanted)


def row(
    cell: str, args: argparse.Namespace, sets: Measures, apart: NamePairs, seed: int, folder: Path
) -> dict[str, Any]:
    """Train a cell, or continue its training, and measure it."""
    pairs = "triples.tsv" if cell.startswith("triplet") else "train.txt"
    paths = {"encoder": args.encoder, "pairs": str(args.output / pairs)}
    given = {"batcher.size": args.batch, "encoder.pooling": args.pooling, "optimizer.learn_rate": args.rate}
    overrides = [f"pretrain.{name}={value}" for name, value in given.items()]
    encoder = pretrain(CONFIG, folder, {"max_steps": args.steps, **CELLS[cell]}, paths, overrides, seed)
    separation = as_measures(evaluate_separation(TransformerEncoder(str(encoder)), apart))
    return {**measure(encoder, sets), **separation}


def main() -> None:
    parser = new_parser(__doc__, seeds=True)
    parser.add_argument("output", type=Path)
    parser.add_argument("--kb", required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--medic", required=True)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch", type=int, default=64, help="Pairs per step.")
    parser.add_argument("--rate", type=float, default=2e-5)
    parser.add_argument("--pooling", default="mean")
    parser.add_argument("--cell", action="append", choices=CELLS, help="Cell to run. Repeatable. Default: all.")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    prepare(args)
    sets: Measures = {"ncbi": NearestName(str(args.data / SETS["ncbi"][0]), args.medic)}
    pairs = read_name_pairs(args.output / "eval.txt")
    untrained = TransformerEncoder(args.encoder, pooling=args.pooling)
    results = {
        "untrained": {**score(args.encoder, sets, args.pooling), **as_measures(evaluate_separation(untrained, pairs))}
    }
    for cell in args.cell or CELLS:
        results[cell] = over_seeds(partial(row, cell, args, sets, pairs), args.output, cell, args.seeds)
        print(json.dumps({"steps": args.steps, "cells": results}, indent=2), flush=True)


if __name__ == "__main__":
    main()
