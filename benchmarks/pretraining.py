"""Measure what each part of self-alignment adds: train encoders for the same number of steps, and link with them.

Every cell trains the same encoder with the same config, except for the settings below. The measure is on the
development sets of NCBI Disease and BC5CDR (diseases). It is the share of mentions, as written, whose nearest name in
MEDIC is a name of their concept. It uses no abbreviations, no composites and no sparse score. A finished cell is not
trained again. The results are printed after each cell. Only the first cell has the teacher of the config.

    python benchmarks/pretraining.py CONFIG OUTPUT --pairs PAIRS --encoder ENCODER --medic KB
        [--steps 300] [--cell NAME …] [--pairs-of NAME=FILE …] [--set NAME=VALUE …] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from common import new_parser
from thinc.api import Config

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.training.development_accuracy import NearestName
from spacy_sapbert.training.logs import LOG_FILE, read_log

ALL_TRIPLETS = {"miner": {"@misc": "spacy-sapbert.HardTriplets.v1", "margin": None}}
IDS_ALONE = {"pairs": {"@readers": "spacy-sapbert.PairFile.v1", "path": "${paths.pairs}", "shared": None}}


def loss(name: str) -> dict[str, Any]:
    return {"loss": {"@losses": f"spacy-sapbert.{name}.v1"}}


WITH_TEACHER = "with the teacher"
# sections and settings of [pretrain] that replace those of the config
CELLS: dict[str, dict[str, Any]] = {
    WITH_TEACHER: {},
    "Multi-Similarity, mined": {},
    "Multi-Similarity, all triplets": ALL_TRIPLETS,
    "InfoNCE, mined": loss("InfoNCE"),
    "InfoNCE, all triplets": {**loss("InfoNCE"), **ALL_TRIPLETS},
    "triplet, mined": loss("Triplet"),
    "NCA, mined": loss("NCA"),
    "lifted structure, mined": loss("LiftedStructure"),
    "circle, mined": loss("Circle"),
    "cosine, mined": loss("Cosine"),
    "ids of the pairs alone": IDS_ALONE,
    "adapter, 13.22 %": {"adapter": 1},
    "adapter, 1.09 %": {"adapter": 16},
}
SETS = {
    "ncbi": ("corpora/ncbi_disease/NCBIdevelopset_corpus.txt", ()),
    "bc5cdr": ("corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz", ("Disease",)),
}


def train(cell: str, args: argparse.Namespace) -> Path:
    """Train a cell, or continue its training, and return the folder of its encoder."""
    folder = args.output / "".join(letter if letter.isalnum() else "_" for letter in cell)
    settings = dict(CELLS.get(cell, {})) if cell == WITH_TEACHER else {"teacher": None, **CELLS.get(cell, {})}
    paths = {"encoder": args.encoder, "pairs": args.pairs_of.get(cell, args.pairs)}
    return pretrain(args.config, folder, {"max_steps": args.steps, **settings}, paths, args.set)


def pretrain(config: Path, folder: Path, settings: dict[str, Any], paths: dict[str, str], given: list[str]) -> Path:
    """Run `spacy-sapbert pretrain`, unless it is done. The number of steps, not of epochs, ends it.

    Args:
        config: The config.
        folder: The output folder.
        settings: Values that replace settings of [pretrain].
        paths: Values that replace settings of [paths].
        given: Overrides, as NAME=VALUE.

    Returns:
        The folder of the encoder.
    """
    if not (folder / "model-last").is_dir():
        filled = Config().from_disk(config, interpolate=False)
        filled["pretrain"] |= {"max_epochs": 1000, **settings}
        filled["paths"] |= paths
        filled.to_disk(folder.with_suffix(".cfg"))
        command = [sys.executable, "-m", "spacy_sapbert", "pretrain", str(folder.with_suffix(".cfg")), "--resume"]
        overrides = [f"--{setting}" for setting in given]
        subprocess.run([*command, "--output", str(folder), *overrides], check=True, stdout=subprocess.DEVNULL)
    return folder / "model-last"


def measure(encoder: Path, sets: dict[str, NearestName]) -> dict[str, Any]:
    lines = [line for line in read_log(encoder.parent / LOG_FILE) if "loss" in line]
    mined = sum(line["mined_pairs"] for line in lines) / len(lines)
    spent = {"steps": len(lines), "minutes": round(lines[-1]["minutes"], 1), "mined_pairs_a_step": round(mined)}
    return {**score(TransformerEncoder(str(encoder)), sets), **spent}


def score(encoder: TransformerEncoder, sets: dict[str, NearestName]) -> dict[str, Any]:
    return {name: {key: round(value, 2) for key, value in of(encoder).items()} for name, of in sets.items()}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--medic", required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--cell", action="append", help="Cell to run. Repeatable. Default: all.")
    parser.add_argument(
        "--pairs-of", action="append", default=[], help="A further cell with other pairs, as NAME=FILE. Repeatable."
    )
    parser.add_argument(
        "--set", action="append", default=[], help="Setting of the config, such as pretrain.seed=1. Repeatable."
    )
    args = parser.parse_args()
    args.pairs_of = dict(one.split("=", 1) for one in args.pairs_of)
    args.output.mkdir(parents=True, exist_ok=True)
    sets = {name: NearestName(str(args.data / path), args.medic, types=types) for name, (path, types) in SETS.items()}
    results = {"untrained": score(TransformerEncoder(args.encoder), sets)}
    for cell in args.cell or [*CELLS, *args.pairs_of]:
        results[cell] = measure(train(cell, args), sets)
        print(json.dumps({"steps": args.steps, "cells": results}, indent=2), flush=True)


if __name__ == "__main__":
    main()
