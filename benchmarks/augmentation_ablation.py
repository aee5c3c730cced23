"""Measure what rule-based documents add to the document encoder, and what each choice in making them does.

Each cell makes such documents with one setting changed. It trains the method of Shao et al. (2024) on them and on the
training documents of NCBI Disease or BC5CDR. Then it measures the development documents. A finished cell is not
trained again. With several seeds, a cell has mean and standard deviation.

    OMP_NUM_THREADS=1 python benchmarks/augmentation_ablation.py OUTPUT --kb medic.kb [--corpus bc5cdr] [--steps 100]
        [--seeds 1] [--rate 1e-4] [--encoder starter-transformer] [--pooling mean] [--mmlite FOLDER] [--cell NAME …]
        [--data FOLDER]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from common import new_parser, over_seeds, run
from concepts import SETS, Cell, prepare, row
from metamaplite import MAPPINGS, annotate

CONFIG = Path(__file__).parents[1] / "configs" / "augment.cfg"
UNTRAINED, TRAINED = Cell(("document",), is_trained=False), Cell(("document",))
AUGMENTED = Cell(("document",), augmented=True)


class Change(NamedTuple):
    """One setting that is changed.

    settings (dict[str, str]): of `augment`.
    weight (float): weight of a rule-based document.
    mmlite (bool): whether MetaMapLite's rules annotate, instead of `concept_matcher`.
    """

    settings: Mapping[str, str] = {}
    weight: float = 0.3
    mmlite: bool = False


FILTERS = ("abbreviation", "verb", "inversion", "overlap", "diversity", "relevance")
MMLITE = "MetaMapLite's rules"
CHANGES = {
    "augmented": Change(),
    "weight 0.2": Change(weight=0.2),
    "weight 0.4": Change(weight=0.4),
    "k 5": Change({"k": "5"}),
    "k 20": Change({"k": "20"}),
    **{f"no {name} filter": Change({f"{name}_filter": "false"}) for name in FILTERS},
    MMLITE: Change(mmlite=True),
}


def augment(change: Change, path: Path, args: argparse.Namespace) -> None:
    if path.is_file():
        return
    train, dev, labels = SETS[args.corpus]
    corpora = args.data / "corpora"
    given = {
        "kb": args.kb,
        "documents": args.data / "documents",
        "labels": args.data / "labels" / labels,
        "train": corpora / train,
        "exclude": corpora / dev,
        **change.settings,
    }
    words = [word for name, value in given.items() for word in (f"--augment.{name}", str(value))]
    if change.mmlite:
        texts = path.with_suffix("")
        run("spacy_sapbert", "augment", str(CONFIG), "-o", str(texts), *words)
        annotate(args.mmlite, sorted(texts.glob("*.txt")))
        words += ["--augment.annotations", str(texts), "--augment.mapping", str(args.mmlite / MAPPINGS)]
    run("spacy_sapbert", "augment", str(CONFIG), "-o", str(path), *words)


def measured(name: str, args: argparse.Namespace, seed: int, folder: Path) -> dict[str, Any]:
    """Train a cell, and return the output of `evaluate concepts`. The seeds of a cell share the documents."""
    change = CHANGES.get(name)
    cell = AUGMENTED if change else {"untrained": UNTRAINED, "trained": TRAINED}[name]
    given = {**vars(args), "output": folder.parent, "augmented": None, "weight": 0.3}
    if change:
        given.update(augmented=folder.parent / "augmented.spacy", weight=change.weight)
        augment(change, folder.parent / "augmented.spacy", args)
    settings = argparse.Namespace(**given)
    prepare(settings)
    return row(cell, settings, seed, folder)


def main() -> None:
    names = ["untrained", "trained", *CHANGES]
    parser = new_parser(__doc__, seeds=True)
    parser.add_argument("output", type=Path)
    parser.add_argument("--corpus", choices=SETS, default="ncbi")
    parser.add_argument("--kb", required=True)
    parser.add_argument("--encoder", default="starter-transformer")
    parser.add_argument("--pooling", default=None)
    parser.add_argument(
        "--steps", type=int, default=100, help="Steps of 16 annotated documents and 16 rule-based ones."
    )
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--mmlite", type=Path, help=f"Folder of an index of mmlite, for the cell {MMLITE!r}.")
    parser.add_argument("--segment-length", type=int, default=32, help="Wordpieces in a segment.")
    parser.add_argument("--cell", action="append", choices=names, help="Cell to run. Repeatable. Default: all.")
    args = parser.parse_args()
    results = {}
    for name in args.cell or [name for name in names if args.mmlite or name != MMLITE]:
        results[name] = over_seeds(partial(measured, name, args), args.output, name, args.seeds)
        print(json.dumps({"steps": args.steps, "cells": results}, indent=2), flush=True)


if __name__ == "__main__":
    main()
