"""Measure the concepts of whole documents by cross-validation over the training and development sets together.

One development set of a hundred documents is a small sample. So the documents of both sets are drawn into five folds.
A retriever without an encoder of its own to train is fitted on four of them and ranks the concepts of the fifth. It
reads the text alone. NCBI Disease is linked to MEDIC, BC5CDR to MEDIC and the chemicals of MeSH. The candidates are the
concepts of the task. Each figure is the mean over documents, ± its standard error.

With --mentions, the components that find and link mentions come first. The linker knows the vocabulary alone.

    OMP_NUM_THREADS=1 python benchmarks/concepts_cross_validated.py [--data FOLDER] [--corpus ncbi|bc5cdr] [--mentions]
        [--index auto|Flat] [--folds 5]
"""

import argparse
import json
import time
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import spacy
from common import new_parser
from concepts import MENTIONS, SETS
from corpora import CHEMICALS, MEDIC, read_concepts
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch

from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.evaluation.pipeline import evaluate_concepts
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.ids import read_labels
from spacy_sapbert.types import Document

VOCABULARIES = {"ncbi": (MEDIC,), "bc5cdr": (MEDIC, CHEMICALS)}
MEASURES = ("r@10", "r@5", "ap")
SEED = 7
BATCH = 32


def read(data: Path, corpus: str) -> list[Document]:
    """Return the documents of both sets, each once."""
    found = (one for file in SETS[corpus][:2] for one in read_corpus(data / "corpora" / file))
    return list({one.doc_id: one for one in found}.values())


def pipeline(kb: Path, labels: Path, arguments: argparse.Namespace) -> Language:
    nlp = spacy.blank("en")
    signals = ["phrases", "prior"]
    if arguments.mentions:
        signals.insert(0, "mentions")
        settings = {"concept_matcher": {"kb": str(kb)}, "sapbert_linker": {"kb": str(kb), "threshold": 0.7}}
        for name in MENTIONS:
            nlp.add_pipe(name, config=settings.get(name, {}))
    config = {"kb": str(kb), "labels": str(labels), "signals": signals, "index": arguments.index}
    nlp.add_pipe("concept_retriever", config={**config, "training": {"@misc": "spacy-sapbert.ConceptRetrieval.v1"}})
    return nlp


def train(nlp: Language, documents: list[Document]) -> None:
    """Train the retriever on documents. The components before it annotate them."""
    retriever: Any = nlp.get_pipe("concept_retriever")
    references = [to_doc(nlp, one) for one in documents]
    with nlp.select_pipes(disable="concept_retriever"):
        predicted = list(nlp.pipe(one.text for one in documents))
    examples = [Example(*pair) for pair in zip(predicted, references, strict=True)]
    retriever.initialize(lambda: examples, nlp=nlp)
    for batch in minibatch(examples, size=BATCH):
        retriever.update(batch)
    retriever.retriever  # noqa: B018 (the weights are fitted now)


def measure(nlp: Language, documents: list[Document], labels: Path, path: Path) -> list[dict[str, float]]:
    """Return the measures of each document."""
    evaluate_concepts(nlp, documents, labels=read_labels(labels), predictions=path)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def cross_validate(data: Path, folder: Path, corpus: str, arguments: argparse.Namespace) -> dict[str, Any]:
    documents, labels = read(data, corpus), data / "labels" / SETS[corpus][2]
    records = chain.from_iterable(read_concepts(data, vocabulary) for vocabulary in VOCABULARIES[corpus])
    build_knowledge_base(records, folder / corpus)
    folds = np.random.default_rng(SEED).permutation(len(documents)) % arguments.folds
    rows: list[dict[str, float]] = []
    seconds = {"training": 0.0, "test": 0.0}
    for fold in range(arguments.folds):
        inside = [one for one, of in zip(documents, folds, strict=True) if of == fold]
        nlp = pipeline(folder / corpus, labels, arguments)
        started = time.process_time()
        train(nlp, [one for one, of in zip(documents, folds, strict=True) if of != fold])
        trained = time.process_time()
        rows += measure(nlp, inside, labels, folder / f"{corpus} {fold}.jsonl")
        seconds["training"] += (trained - started) / arguments.folds
        seconds["test"] += time.process_time() - trained
    figures = {name: 100 * np.array([row[name] for row in rows]) for name in MEASURES}
    return {
        "documents": len(rows),
        **{name: f"{of.mean():.2f} ± {of.std() / len(of) ** 0.5:.2f}" for name, of in figures.items()},
        "training_cpu_minutes": round(seconds["training"] / 60, 1),
        "cpu_ms_per_document": round(1000 * seconds["test"] / len(rows), 1),
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--corpus", choices=VOCABULARIES, action="append", help="Repeatable. Default: all.")
    parser.add_argument("--mentions", action="store_true", help="Also use the signal `mentions`.")
    parser.add_argument("--index", default="auto", help='The `index` of the retriever: "auto" or "Flat".')
    parser.add_argument("--folds", type=int, default=5)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        for corpus in arguments.corpus or VOCABULARIES:
            found = cross_validate(arguments.data, Path(folder), corpus, arguments)
            where = {"corpus": corpus, "mentions": arguments.mentions, "index": arguments.index}
            print(json.dumps({**where, **found}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
