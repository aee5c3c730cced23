"""Measure how well the concepts of whole documents are found: Shao et al. (2024), other signals, and all together.

Each cell is a pipeline. `spacy train` trains it if it has training. `evaluate concepts` measures it on the development
set of NCBI Disease or BC5CDR, among the concepts of the task. A finished cell is not trained again. The results are
printed after each cell. `minutes` is the training time. With OMP_NUM_THREADS=1 it is that of one core. With several
seeds, a cell has mean and standard deviation.

    OMP_NUM_THREADS=1 python benchmarks/concepts.py OUTPUT --corpus ncbi --kb medic.kb [--encoder starter-transformer]
        [--steps 300] [--seeds 1] [--rate 1e-4] [--segment-length 32] [--augmented FILE] [--weight 0.3] [--cell NAME …]
        [--data FOLDER]
"""

import argparse
import json
import math
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from common import new_parser, over_seeds, run
from spacy.util import load_config
from thinc.api import Config

CONFIG = Path(__file__).parents[1] / "configs" / "concept_retriever.cfg"
SETS = {
    "ncbi": ("ncbi_disease/NCBItrainset_corpus.txt.gz", "ncbi_disease/NCBIdevelopset_corpus.txt", "ncbi_disease.txt"),
    "bc5cdr": ("bc5cdr/CDR_TrainingSet.PubTator.txt.gz", "bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz", "bc5cdr.txt"),
}
BATCH = 16
MENTIONS = ("abbreviation_resolver", "concept_matcher", "composite_splitter", "sapbert_linker")


class Cell(NamedTuple):
    """A pipeline.

    signals (tuple[str, ...]), text (str): settings of the retriever.
    is_trained (bool): whether it is trained.
    augmented (bool): whether it is also trained on rule-based documents.
    """

    signals: tuple[str, ...]
    is_trained: bool = True
    text: str = "packed"
    augmented: bool = False


CELLS = {
    "document, untrained": Cell(("document",), is_trained=False),
    "document, untrained, mean of names": Cell(("document",), is_trained=False, text="mean"),
    "phrases": Cell(("phrases",), is_trained=False),
    "document": Cell(("document",)),
    "document, mean of names": Cell(("document",), text="mean"),
    "document, augmented": Cell(("document",), augmented=True),
    "phrases and prior": Cell(("phrases", "prior")),
    "mentions, phrases and prior": Cell(("mentions", "phrases", "prior")),
    "all": Cell(("mentions", "phrases", "document", "prior")),
    "all, augmented": Cell(("mentions", "phrases", "document", "prior"), augmented=True),
}


def prepare(args: argparse.Namespace) -> None:
    """Convert the corpus. Existing files are kept."""
    args.output.mkdir(parents=True, exist_ok=True)
    for name, file in zip(("train", "dev"), SETS[args.corpus], strict=False):
        if not (args.output / f"{name}.spacy").is_file():
            run("spacy_sapbert", "convert", str(args.data / "corpora" / file), "-o", str(args.output / f"{name}.spacy"))
    if args.augmented:
        join(args.output / "train.spacy", args.augmented, args.output / "joined.spacy")


def join(first: Path, second: Path, path: Path) -> None:
    from spacy_sapbert.documents.docbin import read_docbin, write_docbin

    if not path.is_file():
        write_docbin((doc for one in (first, second) for doc in read_docbin(one)), path)


def config_of(cell: Cell, args: argparse.Namespace, seed: int) -> Config:
    config = load_config(CONFIG)
    labels = str(args.data / "labels" / SETS[args.corpus][2])
    config["paths"] = {
        "train": str(args.output / ("joined.spacy" if cell.augmented else "train.spacy")),
        "dev": str(args.output / "dev.spacy"),
        "kb": args.kb,
        "encoder": args.encoder,
        "labels": labels,
    }
    retriever = config["components"]["concept_retriever"]
    retriever["signals"] = list(cell.signals)
    vectors = {"concept_text": cell.text, "pooling": args.pooling, "segment_length": args.segment_length}
    retriever["vectors"].update(vectors)
    retriever["training"]["augmented_weight"] = args.weight
    config["system"]["seed"] = seed
    if len(cell.signals) == 1:  # one signal needs no weights
        retriever["training"]["held_out"] = 0.0
    if "mentions" in cell.signals:
        linker = {"kb": args.kb, "encoder": args.encoder, "vectors": {"pooling": args.pooling}, "threshold": 0.7}
        settings: dict[str, dict[str, Any]] = {"concept_matcher": {"kb": args.kb}, "sapbert_linker": linker}
        for name in MENTIONS:
            config["components"][name] = {"factory": name, **settings.get(name, {})}
        config["nlp"]["pipeline"] = [*MENTIONS, "concept_retriever"]
        config["training"].update({"annotating_components": list(MENTIONS), "frozen_components": list(MENTIONS)})
    steps = args.steps if "document" in cell.signals else once(args.output / "train.spacy")
    config["training"].update({"max_steps": steps, "eval_frequency": steps})
    config["training"]["optimizer"]["learn_rate"]["initial_rate"] = args.rate
    return config


def once(path: Path) -> int:
    """Return the number of steps of one epoch."""
    from spacy_sapbert.documents.docbin import read_docbin

    return math.ceil(sum(1 for _ in read_docbin(path)) / BATCH)


def row(cell: Cell, args: argparse.Namespace, seed: int, folder: Path) -> dict[str, Any]:
    """Make the pipeline of a cell, and measure it."""
    make(cell, folder, args, seed)
    return measure(folder, args)


def make(cell: Cell, folder: Path, args: argparse.Namespace, seed: int) -> None:
    """Make the pipeline of a cell, in `folder / "model-last"`."""
    config = config_of(cell, args, seed)
    if cell.is_trained:
        config.to_disk(folder / "train.cfg")
        started = time.monotonic()
        run("spacy", "train", str(folder / "train.cfg"), "--output", str(folder))
        (folder / "minutes.json").write_text(json.dumps((time.monotonic() - started) / 60))
        return
    import spacy

    nlp = spacy.blank("en")
    settings = dict(config["components"]["concept_retriever"])
    del settings["factory"], settings["training"]
    paths = {name: config["paths"][name] for name in ("kb", "encoder", "labels")}
    nlp.add_pipe("concept_retriever", config={**settings, **paths})
    nlp.to_disk(folder / "model-last")


def measure(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    train, dev, labels = SETS[args.corpus]
    corpora = args.data / "corpora"
    known = ["--labels", str(args.data / "labels" / labels), "--train", str(corpora / train)]
    predictions = ["--predictions", str(folder / "predictions.jsonl")]
    found = run(
        "spacy_sapbert", "evaluate", "concepts", str(folder / "model-last"), str(corpora / dev), *known, *predictions
    )
    minutes = folder / "minutes.json"
    budget = {"minutes": round(json.loads(minutes.read_text()), 1)} if minutes.is_file() else {}
    return {**json.loads(found), **budget}


def main() -> None:
    parser = new_parser(__doc__, seeds=True)
    parser.add_argument("output", type=Path)
    parser.add_argument("--corpus", required=True, choices=SETS)
    parser.add_argument("--kb", required=True)
    parser.add_argument("--encoder", default="starter-transformer")
    parser.add_argument("--pooling", default=None)
    parser.add_argument("--steps", type=int, default=300, help=f"Steps of {BATCH} documents.")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--segment-length", type=int, default=32, help="Wordpieces in a segment.")
    parser.add_argument("--augmented", type=Path, help="Output of `spacy-sapbert augment`.")
    parser.add_argument("--weight", type=float, default=0.3, help="Weight of a rule-based document.")
    parser.add_argument("--cell", action="append", choices=CELLS, help="Cell to run. Repeatable. Default: all.")
    args = parser.parse_args()
    prepare(args)
    results: dict[str, Any] = {}
    for name in args.cell or [name for name, cell in CELLS.items() if args.augmented or not cell.augmented]:
        results[name] = over_seeds(partial(row, CELLS[name], args), args.output, name, args.seeds)
        print(json.dumps({"corpus": args.corpus, "steps": args.steps, "cells": results}, indent=2), flush=True)


if __name__ == "__main__":
    main()
