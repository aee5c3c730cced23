"""What each choice of BioSyn's training is worth: one cell a choice, each trained for the same time.

The linker with the starter encoder (or another) is taught by the training part of NCBI Disease (or of others), as
`configs/linker.cfg` says but for the one choice, and measured on the development part: with the prior that it learnt
(`prior_weight`), and without; linked to MEDIC alone, chemicals to those of MeSH, and with `--joined` also to these with
the training mentions as names. Time is that of the processor, on one core; the learning rate falls with it to nothing.

    OMP_NUM_THREADS=1 python benchmarks/biosyn_ablation.py [--cell NAME …] [--minutes 10] [--seed 0] [--encoder NAME]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import spacy
from linking import CORPORA, build, read
from spacy.language import Language
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Adam

from spacy_sapbert.corpora.docs import to_doc
from spacy_sapbert.corpora.examples import with_mentions_given
from spacy_sapbert.types import AnnotatedDocument

READ_BEFORE = ["abbreviation_resolver", "composite_splitter"]
DOCS_PER_STEP = 8
WARM_UP = 60  # seconds
# settings of the linker, and of its learning
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


def pipeline(kb: Path, encoder: str, linker: dict[str, Any], learning: dict[str, Any]) -> Language:
    nlp = spacy.blank("en")
    for name in READ_BEFORE:
        nlp.add_pipe(name)
    loss = {"@losses": "spacy-sapbert.MarginalLikelihood.v1"}
    settings = {"@misc": "spacy-sapbert.BioSyn.v1", "loss": loss, "add_training_mentions": False, **learning}
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb), "encoder": encoder, "training": settings, **linker})
    return nlp


def examples(nlp: Language, documents: list[AnnotatedDocument]) -> list[Example]:
    """The documents with their gold mentions, and what abbreviations and composites of them stand for."""
    found = []
    for document in documents:
        example = with_mentions_given(to_doc(nlp, document, split_tokens=True))
        for name in READ_BEFORE:
            example.predicted = nlp.get_pipe(name)(example.predicted)
        found.append(example)
    return found


def teach(nlp: Language, train: list[Example], minutes: float, rate: float, seed: int) -> dict[str, Any]:
    """Train for so many minutes of processor time."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("SPACY_SAPBERT_DATA", "../shared/data"))
    parser.add_argument("--encoder", default="starter", help="hub name or folder of an encoder")
    parser.add_argument("--corpus", choices=[*CORPORA], action="append", help="to learn from; by default ncbi")
    parser.add_argument("--cell", choices=[*CELLS], action="append", help="by default all; may be repeated")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=float, default=1e-4, help="the highest learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--joined", action="store_true", help="measure with the training mentions as names as well")
    parser.add_argument("--output", type=Path, help="a folder for the pipelines")
    arguments = parser.parse_args()
    corpora = {name: CORPORA[name] for name in arguments.corpus or ["ncbi"]}
    vocabularies = {corpus.vocabulary for corpus in corpora.values()}
    if len(vocabularies) > 1:
        parser.error("these corpora are linked to different vocabularies")
    (vocabulary,) = vocabularies
    with TemporaryDirectory() as folder:
        build(arguments.data, Path(folder, "alone.kb"), [], vocabulary)
        for cell in arguments.cell or CELLS:
            fix_random_seed(arguments.seed)
            nlp = pipeline(Path(folder, "alone.kb"), arguments.encoder, *CELLS[cell])
            training = {name: read(arguments.data / corpus.train, corpus.type) for name, corpus in corpora.items()}
            train = [one for documents in training.values() for one in examples(nlp, documents)]
            taught = teach(nlp, train, arguments.minutes, arguments.rate, arguments.seed)
            if arguments.output:
                arguments.output.mkdir(parents=True, exist_ok=True)
                nlp.to_disk(arguments.output / cell)
            dev = {name: examples(nlp, read(arguments.data / one.dev, one.type)) for name, one in corpora.items()}
            found = {name: measure(nlp, given) for name, given in dev.items()}
            for name in dev if arguments.joined else ():
                joined = Path(folder, f"{name}.kb")
                build(arguments.data, joined, training[name], vocabulary)
                nlp.get_pipe("sapbert_linker").set_kb(str(joined))  # type: ignore[attr-defined]
                found[f"{name}, + train"] = measure(nlp, dev[name])
            print(json.dumps({"cell": cell, "seed": arguments.seed, **taught, **found}), flush=True)


if __name__ == "__main__":
    main()
