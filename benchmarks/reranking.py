"""Measure the recipe for annotated documents, on fifths of the training documents of some corpora.

The mentions of the other documents are names, and the ranker of the package is trained further on them. A row has the
accuracy with the vocabulary "alone", with the "names", and with names and the trained ranker, each ± the standard error
over documents. The row "all" has the gains with standard errors. Accuracy is that of covered gold mentions. With
several seeds, which draw the fifths, the last line has mean and standard deviation of each row.

The ranker of the package was trained on these corpora, too, but without names.

    python benchmarks/reranking.py CORPUS ... [--data FOLDER] [--encoder NAME|FOLDER|none] [--seeds 1]
        [--output FOLDER]
"""

import argparse
import json
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from common import new_parser, open_linker, over_seeds
from corpora import CORPORA, build, read_linked

from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.ranker import Ranker
from spacy_sapbert.linking.storage import with_mentions
from spacy_sapbert.linking.variants import MentionQuery
from spacy_sapbert.metrics.linking_accuracy import gold_concepts, lenient_at, strict_at
from spacy_sapbert.training.ranker_trainer import folds_of, mention_queries, train_ranking
from spacy_sapbert.training.settings import RerankerTraining
from spacy_sapbert.types import Document

Documents = list[Document]
Queries = Callable[[Document], list[MentionQuery]]
Show = Callable[..., None]


class Measured(NamedTuple):
    """Sums over the covered mentions of each document: their number, lenient and strict accuracy."""

    mentions: np.ndarray
    lenient: np.ndarray
    strict: np.ndarray


def measure(
    linker: Linker, documents: Documents, ranker: Ranker | None = None, queries: Queries = mention_queries
) -> Measured:
    kb, sums = linker.kb, []
    with linker.ranking(ranker):
        linked = linker.link(list(map(queries, documents)))
    for document, mentions in zip(documents, linked, strict=True):
        counts: Counter[str] = Counter()
        for mention, parts in zip(document.mentions, mentions, strict=True):
            if not mention.ids or not all(map(kb.find_id, mention.ids)):
                continue
            gold = gold_concepts(mention.ids, kb.find_id)
            found = [[frozenset(kb.ids(one.concept_id)) for one in part.candidates[:1]] for part in parts]
            counts.update(n=1, lenient=lenient_at(1, gold, found), strict=strict_at(1, gold, found))
        sums.append([counts[what] for what in ("n", "lenient", "strict")])
    return Measured(*np.array(sums, dtype=float).T)


def accuracy(one: Measured) -> dict[str, float]:
    return {
        "lenient": round(100 * one.lenient.sum() / one.mentions.sum(), 2),
        "strict": round(100 * one.strict.sum() / one.mentions.sum(), 2),
        "se": round(100 * standard_error(one.lenient, one.mentions), 2),
    }


def gain(one: Measured, base: Measured) -> dict[str, float]:
    return accuracy(one) | {
        "gain": round(100 * (one.lenient - base.lenient).sum() / one.mentions.sum(), 2),
        "gain_se": round(100 * standard_error(one.lenient - base.lenient, one.mentions), 2),
    }


def standard_error(sums: np.ndarray, sizes: np.ndarray) -> float:
    """Return the standard error of a ratio of sums over documents."""
    return float(np.sqrt(((sums - sums.sum() / sizes.sum() * sizes) ** 2).sum()) / sizes.sum())


def show_row(rows: dict[str, Any], **row: Any) -> None:
    """Print a row, and add it to the rows of a seed, by what it is about."""
    print(json.dumps(row, ensure_ascii=False), flush=True)
    rows[f"corpus {row['corpus']}, fold {row['fold']}"] = row


def measure_folds(data: Path, folder: Path, encoder: str, name: str, seed: int, show: Show) -> None:
    """Measure the recipe on each fifth of the documents of a corpus."""
    corpus = CORPORA[name]
    documents, kb = read_linked(data, corpus), folder / f"{Path(corpus.vocabulary).name}.kb"
    if not kb.exists():
        build(data, corpus.vocabulary, kb)
    linker, settings = open_linker(kb, encoder), RerankerTraining(seed=seed)
    folds = folds_of([document.doc_id for document in documents], settings)
    rows = []
    for fold in range(settings.folds):
        inside, others = ([documents[n] for n in np.flatnonzero((folds == fold) == part)] for part in (True, False))
        ranker = train_ranking(linker, others, settings, add_mentions=True).ranker
        with TemporaryDirectory() as scratch:
            named = Linker(with_mentions(linker.generator, others, Path(scratch)))
            rows.append((measure(linker, inside), measure(named, inside), measure(named, inside, ranker)))
        show_recipe(show, name, fold, *rows[-1])
    together = (Measured(*map(np.concatenate, zip(*column, strict=True))) for column in zip(*rows, strict=True))
    show_recipe(show, name, "all", *together)


def show_recipe(show: Show, corpus: str, fold: int | str, alone: Measured, names: Measured, recipe: Measured) -> None:
    before = {"alone": accuracy(alone)["lenient"], "names": accuracy(names)["lenient"]}
    change = recipe.lenient - names.lenient
    counts = {"documents_better": int((change > 0).sum()), "documents_worse": int((change < 0).sum())}
    show(corpus=corpus, fold=fold, mentions=int(alone.mentions.sum()), **before, **gain(recipe, names), **counts)


def main() -> None:
    parser = new_parser(__doc__, encoder=True, seeds=True)
    parser.add_argument("corpora", nargs="+", choices=CORPORA, metavar="CORPUS", help="Corpora to measure.")
    parser.add_argument("--output", type=Path, help="Folder that keeps the rows of each seed.")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message=r"\[W415\]")  # the rows say so
    with TemporaryDirectory() as folder:
        measured = partial(measure_seed, arguments, Path(folder))
        name = " ".join(["reranking", *arguments.corpora])
        found = over_seeds(measured, arguments.output or Path(folder), name, arguments.seeds)
    if arguments.seeds > 1:
        print(json.dumps(found, ensure_ascii=False))


def measure_seed(arguments: argparse.Namespace, folder: Path, seed: int, _: Path) -> dict[str, Any]:
    """Return the rows of a seed. The folder is for vocabularies, which all seeds share."""
    rows: dict[str, Any] = {}
    for name in arguments.corpora:
        measure_folds(arguments.data, folder, arguments.encoder, name, seed, partial(show_row, rows))
    return rows


if __name__ == "__main__":
    main()
