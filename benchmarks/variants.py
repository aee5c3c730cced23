"""Find the default weight and margins: accuracy on training mentions for each of their values.

The gold mentions of the training parts of BC5CDR (diseases) and NCBI Disease are linked to a vocabulary without these
mentions. For every setting, the output is the mean of the lenient and strict accuracy over both corpora.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import spacy
from preprocessing import misspell

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.evaluation.linking import evaluate_linking
from spacy_sapbert.linking import variants
from spacy_sapbert.linking.settings import SPELLING_MARGIN
from spacy_sapbert.types import Document

CORPORA = {
    "ncbi": ("corpora/ncbi_disease/NCBItrainset_corpus.txt.gz", None),
    "bc5cdr": ("corpora/bc5cdr/CDR_TrainingSet.PubTator.txt.gz", "Disease"),
}
SETTINGS = ("sparse_weight", "short_form_margin", "split_margin", "spelling_margin", "split_cost")
DATA = Path(os.environ.get("SPACY_SAPBERT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--encoder", default="starter")
    parser.add_argument("--every", type=int, default=1, help="Use only every n-th document.")
    parser.add_argument("--sparse-weight", type=float, nargs="+", default=[0.2])
    parser.add_argument("--short-form-margin", type=float, nargs="+", default=[0.0, 0.05, 0.1, 0.2, 0.3, 1.0])
    parser.add_argument("--split-margin", type=float, nargs="+", default=[-0.1, -0.05, 0.0, 0.05, 0.1, 0.15, 0.2, 1.0])
    parser.add_argument("--spelling", help="'vocabulary', or a list of misspelt words. Default: no correction.")
    parser.add_argument("--spelling-margin", type=float, nargs="+", default=[SPELLING_MARGIN])
    parser.add_argument("--misspell", action="store_true", help="First change a letter in every mention.")
    parser.add_argument("--split-cost", type=float, nargs="+", default=[variants.SPLIT_COST])
    arguments = parser.parse_args()
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    if arguments.spelling:
        corrections = None if arguments.spelling == "vocabulary" else arguments.spelling
        nlp.add_pipe("spelling_corrector", config={"kb": arguments.kb, "corrections": corrections})
    config = {"kb": arguments.kb, "encoder": arguments.encoder, "k": 20}
    linker: Any = nlp.add_pipe("sapbert_linker", config=config)
    linker.linker.generator.cache_size = 1_000_000  # all settings choose from the same candidates
    corpora = {name: list(documents(arguments.data, name, arguments.every)) for name in CORPORA}
    if arguments.misspell:
        chance = random.Random(0)
        corpora = {name: [misspell(document, chance) for document in corpus] for name, corpus in corpora.items()}
    for setting in product(*(getattr(arguments, name) for name in SETTINGS)):
        linker.candidates.sparse_weight, *margins, variants.SPLIT_COST = setting
        for name, value in zip(SETTINGS[1:], margins, strict=False):
            setattr(linker.selection, name, value)
        row: dict[str, Any] = dict(zip(SETTINGS, setting, strict=True))
        for name, corpus in corpora.items():
            result = evaluate_linking(nlp, corpus, type=CORPORA[name][1])
            row[name] = {measure: result[measure]["acc@1"] for measure in ("lenient", "strict")}
        accuracies = [row[name][measure] for name in CORPORA for measure in ("lenient", "strict")]
        print(json.dumps({**row, "mean": round(sum(accuracies) / len(accuracies), 2)}), flush=True)


def documents(data: Path, name: str, every: int) -> Iterator[Document]:
    path, _ = CORPORA[name]
    yield from (document for number, document in enumerate(read_corpus(data / path)) if number % every == 0)


if __name__ == "__main__":
    main()
