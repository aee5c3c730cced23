"""Compare encoders by accuracy, speed and size.

Gold mentions of six development sets are linked by a vocabulary alone: diseases (NCBI Disease, BC5CDR), chemicals
(BC5CDR), genes (NLM-Gene), species (S800) and phenotypes (notes). Accuracy is the percentage of their parts for which
the first candidate is right, ± the standard error over documents. Speed is the names of MEDIC that one thread encodes a
second. A transformer scores only the names that are proposed (two stages) unless --index is Flat.

    OMP_NUM_THREADS=1 python benchmarks/encoders.py none starter starter-transformer [--data FOLDER] [--plot FILE]
"""

import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from common import new_parser, open_linker
from corpora import CORPORA, MEDIC, build, read_linked

from spacy_sapbert.encoders.encoder import Encoder, open_encoder
from spacy_sapbert.encoders.folder import local_folder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.training.ranker_trainer import gold_mentions, mention_queries
from spacy_sapbert.types import Document

COLUMNS = {
    "NCBI": "NCBI development",
    "BC5CDR diseases": "BC5CDR diseases development",
    "BC5CDR chemicals": "BC5CDR chemicals development",
    "NLM-Gene": "NLM-Gene development",
    "S800": "S800 development",
    "HPO notes": "HPO notes",
}
TIMED_NAMES = 2000


def accuracy(linker: Linker, documents: Sequence[Document]) -> dict[str, float]:
    totals, rights = [], []
    linked = linker.link(list(map(mention_queries, documents)))
    for document, mentions in zip(documents, linked, strict=True):
        found = [
            (part, gold)
            for parts, gold in gold_mentions(document.mentions, mentions, linker.kb)
            if any(map(linker.kb.find_id, gold))
            for part in parts
        ]
        first = [part.candidates[0].concept_id if part.candidates else "" for part, _ in found]
        totals.append(len(found))
        rights.append(
            sum(not gold.isdisjoint(linker.kb.ids(id)) for id, (_, gold) in zip(first, found, strict=True) if id)
        )
    n, right = np.array(totals), np.array(rights)
    share = right.sum() / n.sum()
    error = np.sqrt(((right - share * n) ** 2).sum()) / n.sum()
    return {"parts": int(n.sum()), "acc@1": round(100 * share, 2), "se": round(100 * error, 2)}


def cost(encoder: Encoder | None, names: Sequence[str]) -> dict[str, float | None]:
    """RETURNS (dict): names a second, and megabytes of the folder."""
    if encoder is None:
        return {"names_per_s": None, "mb": 0.0}
    encoder.encode(names[:100], fast=True)
    start = time.process_time()
    encoder.encode(names, fast=True)
    spent = time.process_time() - start
    size = sum(path.stat().st_size for path in local_folder(encoder.name).rglob("*") if path.is_file())
    return {"names_per_s": round(len(names) / spent), "mb": round(size / 1e6, 1)}


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw mean accuracy over names a second, with the size as area. n-grams alone are a line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for row in rows:
        if row["names_per_s"] is None:
            axes.axhline(row["mean"], color="gray", linestyle="--")
            axes.annotate("n-grams alone", (90, row["mean"]), xytext=(0, 4), textcoords="offset points", color="gray")
        else:
            axes.scatter(row["names_per_s"], row["mean"], s=8 * row["mb"], alpha=0.6)
            label = f"{Path(row['encoder']).name}, {row['mb']:.0f} MB"
            axes.annotate(
                label, (row["names_per_s"], row["mean"]), xytext=(0, 14), textcoords="offset points", ha="center"
            )
    axes.set(xscale="log", xlim=(50, 1e6), xlabel="names a second, one thread", ylabel="Acc@1, mean of six corpora")
    axes.margins(y=0.3)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("encoders", nargs="+", help="starter, starter-transformer, none, hub names or folders.")
    parser.add_argument("--index", default="auto")
    parser.add_argument("--plot", type=Path, help="Picture to draw.")
    arguments = parser.parse_args()
    columns = {name: CORPORA[key] for name, key in COLUMNS.items()}
    rows = []
    with TemporaryDirectory() as folder:
        paths = {}
        for corpus in columns.values():
            if corpus.vocabulary not in paths:
                paths[corpus.vocabulary] = Path(folder, f"{len(paths)}.kb")
                build(arguments.data, corpus.vocabulary, paths[corpus.vocabulary])
        names = random.Random(0).sample(list(KnowledgeBase(paths[MEDIC]).names()), TIMED_NAMES)
        for name in arguments.encoders:
            row: dict[str, Any] = {"encoder": name, **cost(open_encoder(name), names)}
            for column, corpus in columns.items():
                linker = open_linker(paths[corpus.vocabulary], name, arguments.index)
                row[column] = accuracy(linker, read_linked(arguments.data, corpus))
            row["mean"] = round(float(np.mean([row[column]["acc@1"] for column in columns])), 2)
            rows.append(row)
            print(json.dumps(row), flush=True)
    if arguments.plot:
        draw(rows, arguments.plot)


if __name__ == "__main__":
    main()
