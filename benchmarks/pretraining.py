"""What each part of self-alignment adds: encoders trained for the same time, and how well they link.

Every cell trains the same encoder by the same config but for its own settings, for so many minutes and with a constant
learning rate after the warm-up, and is then measured on the development sets of NCBI Disease and BC5CDR (diseases): how
many mentions, as they stand there, have a name of their concept in MEDIC nearest to them (no abbreviations, no
composites, no sparse score). A cell that is done is not run again; results are printed after each.

    python benchmarks/pretraining.py CONFIG OUTPUT --pairs PAIRS --encoder ENCODER --medic STORE [--data FOLDER]
        [--minutes 10] [--cell NAME …] [--pairs-of NAME=FILE …]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from spacy_sapbert.ml.transformer_encoder import TransformerEncoder
from spacy_sapbert.training.development import NearestName
from spacy_sapbert.training.logs import LOG_FILE, read_log

CELLS: dict[str, dict[str, str]] = {
    "multi-similarity, mined": {},
    "multi-similarity, all pairs": {"pretrain.miner.margin": "null"},
    "InfoNCE, mined": {"pretrain.loss.@losses": "spacy-sapbert.InfoNCE.v1"},
    "InfoNCE, all pairs": {"pretrain.loss.@losses": "spacy-sapbert.InfoNCE.v1", "pretrain.miner.margin": "null"},
    "triplet, mined": {"pretrain.loss.@losses": "spacy-sapbert.Triplet.v1"},
    "NCA, mined": {"pretrain.loss.@losses": "spacy-sapbert.NCA.v1"},
    "lifted structure, mined": {"pretrain.loss.@losses": "spacy-sapbert.LiftedStructure.v1"},
    "circle, mined": {"pretrain.loss.@losses": "spacy-sapbert.Circle.v1"},
    "cosine, mined": {"pretrain.loss.@losses": "spacy-sapbert.Cosine.v1"},
    "ids of the pairs alone": {"pretrain.pairs.shared": "null"},
    "adapter, 13 %": {"pretrain.adapter": "1"},
    "adapter, 1 %": {"pretrain.adapter": "16"},
}
# the numbers of the loss in the config belong to Multi-Similarity
LOSS_SETTINGS = ("alpha", "beta", "base")
SETS = {
    "ncbi": ("corpora/ncbi_disease/NCBIdevelopset_corpus.txt", ()),
    "bc5cdr": ("corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz", ("Disease",)),
}


def train(cell: str, args: argparse.Namespace) -> Path:
    """Train a cell, or go on with it. RETURNS (Path): its folder."""
    folder = args.output / cell.replace(" ", "_").replace(",", "").replace("%", "percent")
    if (folder / "model-last").is_dir():
        return folder
    paths = {"paths.encoder": args.encoder, "paths.pairs": args.pairs_of.get(cell, args.pairs)}
    settings = {**CELLS.get(cell, {}), **paths}
    config = args.output / f"{folder.name}.cfg"
    config.write_text(without_loss(args.config) if "pretrain.loss.@losses" in settings else args.config.read_text())
    overrides = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    limits = ["--max-minutes", str(args.minutes), "--pretrain.schedule.final", "1.0", "--resume"]
    command = [sys.executable, "-m", "spacy_sapbert", "pretrain", str(config), "--output", str(folder)]
    subprocess.run([*command, *limits, *overrides], check=True, stdout=subprocess.DEVNULL)
    return folder


def without_loss(config: Path) -> str:
    """RETURNS (str): the config without the numbers of its loss, so that those of another hold."""
    head, _, rest = config.read_text().partition("[pretrain.loss]")
    section, bar, tail = rest.partition("\n[")
    kept = [line for line in section.splitlines() if not line.startswith(LOSS_SETTINGS)]
    return head + "[pretrain.loss]" + "\n".join(kept) + bar + tail


def measure(folder: Path, sets: dict[str, NearestName]) -> dict[str, Any]:
    lines = [line for line in read_log(folder / LOG_FILE) if "loss" in line]
    encoder = TransformerEncoder(str(folder / "model-last"))
    found = {name: {key: round(value, 2) for key, value in of(encoder).items()} for name, of in sets.items()}
    mined = sum(line["mined_pairs"] for line in lines) / len(lines)
    return {**found, "steps": len(lines), "minutes": round(lines[-1]["minutes"], 1), "mined_pairs_a_step": round(mined)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--medic", required=True)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SPACY_SAPBERT_DATA", "../shared/data")))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--cell", action="append", help="By default all.")
    parser.add_argument("--pairs-of", action="append", default=[], help="NAME=FILE: a further cell with other pairs.")
    args = parser.parse_args()
    args.pairs_of = dict(one.split("=", 1) for one in args.pairs_of)
    args.output.mkdir(parents=True, exist_ok=True)
    sets = {name: NearestName(str(args.data / path), args.medic, types=types) for name, (path, types) in SETS.items()}
    results: dict[str, Any] = {}
    for cell in args.cell or [*CELLS, *args.pairs_of]:
        results[cell] = measure(train(cell, args), sets)
        print(json.dumps({"minutes_a_cell": args.minutes, "cells": results}, indent=2), flush=True)


if __name__ == "__main__":
    main()
