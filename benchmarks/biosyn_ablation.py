"""Measure what each choice of BioSyn's training adds: one cell per choice, all trained for the same time.

The linker with the starter encoder (or another) is trained on the training part of NCBI Disease (or of others). All
settings except the one choice are those of `configs/linker.cfg`. The development part is measured with the trained
prior (`prior_weight`) and without it. Diseases are linked to MEDIC alone, and chemicals to those of MeSH. With
`--joined`, the training mentions are names as well.

Times are processor times on one core. The learning rate falls to zero within this time. With several seeds, a cell has
mean and standard deviation. With an output folder, a finished cell is not trained again.

    OMP_NUM_THREADS=1 python benchmarks/biosyn_ablation.py [--cell NAME …] [--minutes 10] [--seeds 1] [--encoder NAME]
        [--output FOLDER]
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import spacy
from common import new_parser, over_seeds
from corpora import TASKS, Task, build, read
from spacy.language import Language
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Adam

from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.documents.examples import with_mentions_given
from spacy_sapbert.types import Document

READ_BEFORE = ["abbreviation_resolver", "composite_splitter"]
DOCS_PER_STEP = 8
WARM_UP = 60  # seconds
# settings of the linker, and of its training
CELLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as configured": ({}, {}),
    "dense score alone": ({"candidates": {"sparse": False}}, {}),
    "sparse candidates alone (α = 0)": ({}, {"dense_share": 0.0}),
    "dense candidates alone (α = 1)": ({}, {"dense_share": 1.0}),
    "hard EM": ({}, {"loss": {"@losses": "spacy-sapbert.HardEM.v1"}}),
    "pairwise": ({}, {"loss": {"@losses": "spacy-sapbert.Pairwise.v1"}}),
    "k = 5": ({}, {"k": 5}),
    "k = 50": ({}, {"k": 50}),
    "no right name added": ({}, {"inject_gold": False}),
    "each mention as often as it comes": ({}, {"deduplicate_mentions": False}),
    "no dropout": ({}, {"dropout": False}),
    "upper layer alone": ({}, {"trained_layers": 1}),
}


def pipeline(kb: Path, encoder: str, linker: dict[str, Any], training: dict[str, Any]) -> Language:
    nlp = spacy.blank("en")
    for name in READ_BEFORE:
        nlp.add_pipe(name)
    loss = {"@losses": "spacy-sapbert.MarginalLikelihood.v1"}
    settings = {"@misc": "spacy-sapbert.BioSyn.v1", "loss": loss, "add_training_mentions": False, **training}
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb), "encoder": encoder, "training": settings, **linker})
    return nlp


def examples(nlp: Language, documents: list[Document]) -> list[Example]:
    """Return documents with gold mentions, abbreviations and composite splits."""
    found = []
    for document in documents:
        example = with_mentions_given(to_doc(nlp, document, split_tokens=True))
        for name in READ_BEFORE:
            example.predicted = nlp.get_pipe(name)(example.predicted)
        found.append(example)
    return found


def train_linker(nlp: Language, train: list[Example], minutes: float, rate: float, seed: int) -> dict[str, Any]:
    """Train for this many minutes of processor time."""
    linker: Any = nlp.get_pipe("sapbert_linker")
    linker.initialize(lambda: train)
    optimizer = Adam(rate, L2=0.01, L2_is_weight_decay=True, grad_clip=1.0, use_averages=False)
    started, steps = time.process_time(), 0
    for batch in batches(train, seed):
        spent = time.process_time() - started
        if spent >= 60 * minutes:
            break
        optimizer.learn_rate = rate * min(1, (spent + 1) / WARM_UP) * (1 - spent / (60 * minutes))
        linker.update(batch, sgd=optimizer)
        steps += 1
    trainer = linker._trainer
    trained = {"sparse_weight": trainer.sparse_weight, "temperature": trainer.temperature, **+trainer.counts}
    return {"steps": steps, "epochs": round(steps * DOCS_PER_STEP / len(train), 2), "trained": trained}


def batches(train: list[Example], seed: int) -> Iterator[list[Example]]:
    drawn = random.Random(seed)
    while True:
        order = drawn.sample(train, len(train))
        for start in range(0, len(order), DOCS_PER_STEP):
            yield order[start : start + DOCS_PER_STEP]


def measure(nlp: Language, dev: list[Example]) -> dict[str, Any]:
    linker: Any = nlp.get_pipe("sapbert_linker")
    results = {}
    for what, weight in (("with the prior", None), ("without", 0.0)):
        linker.settings.candidates.prior_weight = weight
        results[what] = {name: round(100 * value, 2) for name, value in linker.score(dev).items()}
    linker.settings.candidates.prior_weight = None
    return results


def row(
    cell: str, args: argparse.Namespace, tasks: Mapping[str, Task], alone: Path, seed: int, folder: Path
) -> dict[str, Any]:
    """Train a cell and measure it."""
    fix_random_seed(seed)
    nlp = pipeline(alone, args.encoder, *CELLS[cell])
    training = {name: read(args.data, task.train) for name, task in tasks.items()}
    train = [one for documents in training.values() for one in examples(nlp, documents)]
    trained = train_linker(nlp, train, args.minutes, args.rate, seed)
    if args.output:
        nlp.to_disk(folder / "pipeline")
    dev = {name: examples(nlp, read(args.data, task.dev)) for name, task in tasks.items()}
    found = {name: measure(nlp, given) for name, given in dev.items()}
    for name in dev if args.joined else ():
        build(args.data, tasks[name].dev.vocabulary, folder / "joined.kb", training[name])
        nlp.get_pipe("sapbert_linker").set_kb(str(folder / "joined.kb"))  # type: ignore[attr-defined]
        found[f"{name}, + train"] = measure(nlp, dev[name])
    return {**trained, **found}


def main() -> None:
    parser = new_parser(__doc__, encoder=True, seeds=True)
    parser.add_argument(
        "--corpus", choices=[*TASKS], action="append", help="Training corpus. Repeatable. Default: ncbi."
    )
    parser.add_argument("--cell", choices=[*CELLS], action="append", help="Cell to run. Repeatable. Default: all.")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=float, default=1e-4, help="Highest learning rate.")
    parser.add_argument("--joined", action="store_true", help="Also measure with the training mentions as names.")
    parser.add_argument("--output", type=Path, help="Folder that keeps the pipelines and their results.")
    arguments = parser.parse_args()
    tasks = {name: TASKS[name] for name in arguments.corpus or ["ncbi"]}
    vocabularies = {task.dev.vocabulary for task in tasks.values()}
    if len(vocabularies) > 1:
        parser.error("these corpora are linked to different vocabularies")
    (vocabulary,) = vocabularies
    with TemporaryDirectory() as folder:
        alone = Path(folder, "alone.kb")
        build(arguments.data, vocabulary, alone)
        for cell in arguments.cell or CELLS:
            train = partial(row, cell, arguments, tasks, alone)
            found = over_seeds(train, arguments.output or Path(folder), cell, arguments.seeds)
            print(json.dumps({"cell": cell, **found}), flush=True)


if __name__ == "__main__":
    main()
