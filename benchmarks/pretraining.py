"""Measure what each part of self-alignment adds: train encoders for the same number of steps, and link with them.

Every cell trains the same encoder with the same config, except for the settings below. There are two measures. On the
development sets of NCBI Disease and BC5CDR (diseases), it is the share of mentions, as written, whose nearest name in
MEDIC is a name of their concept. It uses no abbreviations, no composites and no sparse score. With --unseen, it is the
share of names whose nearest other name belongs to their concept. The concepts are those of a further knowledge base
that have no name in the training pairs.

A finished cell is not trained again. The results are printed after each cell. Only the first cell has the teacher of
the config. With a config of a table of sub-word vectors, each cell trains a new table. With several seeds, a cell has
mean and standard deviation. The first seed is that of the config.

    python benchmarks/pretraining.py CONFIG OUTPUT --pairs PAIRS --medic KB [--encoder ENCODER] [--unseen KB]
        [--steps 300] [--seeds 1] [--cell NAME …] [--pairs-of NAME=FILE …] [--set NAME=VALUE …] [--data FOLDER]
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import new_parser, over_seeds
from thinc.api import Config

from spacy_sapbert.encoders.encoder import Encoder, open_encoder
from spacy_sapbert.files.opening import open_text
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS, american
from spacy_sapbert.training.development_accuracy import NearestName
from spacy_sapbert.training.run_files import read_log


def miner(margin: float | None) -> dict[str, Any]:
    return {"miner": {"@misc": "spacy-sapbert.HardTriplets.v1", "margin": margin}}


def loss(name: str) -> dict[str, Any]:
    return {"loss": {"@losses": f"spacy-sapbert.{name}.v1"}}


IDS_ALONE = {"pairs": {"@readers": "spacy-sapbert.PairFile.v1", "path": "${paths.pairs}", "shared": None}}
LOSSES = {
    "Multi-Similarity": "MultiSimilarity",
    "InfoNCE": "InfoNCE",
    "triplet": "Triplet",
    "NCA": "NCA",
    "lifted structure": "LiftedStructure",
    "circle": "Circle",
    "cosine": "Cosine",
}
MARGIN = 0.2  # that of the published code
MINED = miner(MARGIN) | loss("MultiSimilarity")
WITH_TEACHER = "with the teacher"
# sections and settings of [pretrain] that replace those of the config
CELLS: dict[str, dict[str, Any]] = {
    WITH_TEACHER: {},
    **{f"{name}, mined": miner(MARGIN) | loss(registered) for name, registered in LOSSES.items()},
    **{f"{name}, all triplets": miner(None) | loss(registered) for name, registered in LOSSES.items()},
    "ids of the pairs alone": MINED | IDS_ALONE,
    "adapter, 13.22 %": MINED | {"adapter": 1},
    "adapter, 1.09 %": MINED | {"adapter": 16},
}
Measures = dict[str, Callable[[Encoder], dict[str, float]]]
SETS = {
    "ncbi": ("corpora/ncbi_disease/NCBIdevelopset_corpus.txt", ()),
    "bc5cdr": ("corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz", ("Disease",)),
}


class UnseenNames:
    """Measures whether the nearest other name of a name belongs to its concept.

    Args:
        kb: The path of a knowledge base. Its concepts with two or more names, none of them in `pairs`, are used.
        pairs: The training pairs.
    """

    def __init__(self, kb: str, pairs: Path) -> None:
        with open_text(pairs) as lines:
            trained = {american(name) for line in lines for name in line.rstrip("\n").split("||")[1:]}
        base = KnowledgeBase(kb)
        concepts = {one: {american(name.text) for name in base.names_of(one)} for one in base.concept_ids()}
        self._concepts = [names for names in concepts.values() if len(names) > 1 and trained.isdisjoint(names)]
        # the names that are compared are those of all concepts
        self._names = sorted(set().union(*concepts.values()))

    def __call__(self, encoder: Encoder) -> dict[str, float]:
        """Return accuracy in percent of the names, its standard error over concepts, and the number of names."""
        normalize = TEXT_NORMALIZERS[encoder.text_normalizer]
        names = list(dict.fromkeys(map(normalize, self._names)))
        rows = {name: row for row, name in enumerate(names)}
        vectors = encoder.encode(names, fast=True)
        totals, rights = [], []
        for concept in self._concepts:
            own = sorted({rows[normalize(name)] for name in concept})
            scores = vectors[own] @ vectors.T
            scores[range(len(own)), own] = -np.inf
            if len(own) > 1:
                totals.append(len(own))
                rights.append(int(np.isin(scores.argmax(axis=1), own).sum()))
        n, right = np.array(totals), np.array(rights)
        share = right.sum() / n.sum()
        error = np.sqrt(((right - share * n) ** 2).sum()) / n.sum()
        return {"acc@1": 100 * share, "se": 100 * error, "names": int(n.sum()), "concepts": len(n)}


def row(cell: str, args: argparse.Namespace, sets: Measures, seed: int, folder: Path) -> dict[str, Any]:
    """Train a cell, or continue its training, and measure it."""
    settings = dict(CELLS.get(cell, {})) if cell == WITH_TEACHER else {"teacher": None, **CELLS.get(cell, {})}
    paths = {"pairs": str(args.pairs_of.get(cell, args.pairs))} | ({"encoder": args.encoder} if args.encoder else {})
    return measure(pretrain(args.config, folder, {"max_steps": args.steps, **settings}, paths, args.set, seed), sets)


def pretrain(
    config: Path, folder: Path, settings: dict[str, Any], paths: dict[str, str], given: list[str], seed: int
) -> Path:
    """Run `spacy-sapbert pretrain`, unless it is done. The number of steps, not of epochs, ends it.

    Args:
        config: The config.
        folder: The output folder.
        settings: Values that replace settings of [pretrain].
        paths: Values that replace settings of [paths].
        given: Overrides, as NAME=VALUE.
        seed: Is added to those of the config.

    Returns:
        The folder of the encoder.
    """
    if not (folder / "model-last").is_dir():
        filled = Config().from_disk(config, interpolate=False)
        filled["pretrain"] |= {"max_epochs": 1000, **settings}
        for block in (filled["pretrain"], filled["pretrain"]["encoder"]):  # a new table has a seed, too
            if "seed" in block:
                block["seed"] += seed
        filled["paths"] |= paths
        filled.to_disk(folder.with_suffix(".cfg"))
        command = [sys.executable, "-m", "spacy_sapbert", "pretrain", str(folder.with_suffix(".cfg")), "--resume"]
        overrides = [f"--{setting}" for setting in given]
        subprocess.run([*command, "--output", str(folder), *overrides], check=True, stdout=subprocess.DEVNULL)
    return folder / "model-last"


def measure(encoder: Path, sets: Measures) -> dict[str, Any]:
    lines = [line for line in read_log(encoder.parent / "log.jsonl") if "loss" in line]
    mined = sum(line["mined_pairs"] for line in lines) / len(lines)
    spent = {"steps": len(lines), "minutes": round(lines[-1]["minutes"], 1), "mined_pairs_a_step": round(mined)}
    return {**score(str(encoder), sets), **spent}


def score(folder: str, sets: Measures, pooling: str | None = None) -> dict[str, Any]:
    encoder = open_encoder(folder, pooling=pooling)
    if encoder is None:
        raise SystemExit("This benchmark needs an encoder.")
    return {name: {key: round(value, 2) for key, value in of(encoder).items()} for name, of in sets.items()}


def main() -> None:
    parser = new_parser(__doc__, seeds=True)
    parser.add_argument("config", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--encoder", help="Where the training starts. Without one, the config says it.")
    parser.add_argument("--medic", required=True)
    parser.add_argument("--unseen", help="Knowledge base with concepts of which the pairs have no name.")
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
    sets: Measures = {
        name: NearestName(str(args.data / path), args.medic, types=types) for name, (path, types) in SETS.items()
    }
    if args.unseen:
        sets["unseen"] = UnseenNames(args.unseen, args.pairs)
    results = {"untrained": score(args.encoder, sets)} if args.encoder else {}
    for cell in args.cell or [*CELLS, *args.pairs_of]:
        results[cell] = over_seeds(partial(row, cell, args, sets), args.output, cell, args.seeds)
        print(json.dumps({"steps": args.steps, "cells": results}, indent=2), flush=True)


if __name__ == "__main__":
    main()
