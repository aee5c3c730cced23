"""Measure what a reranker adds, and what each group of its features adds.

Diseases are linked to MEDIC and chemicals to those of MeSH: to the vocabulary alone, and with the training mentions as
names. The linker is untrained, with the ranking in the package. The reranker is trained on the training set of the
corpus, or on that of the other corpus. Accuracy is that of covered gold mentions, each ± the standard error over
documents. "cv" is cross-validated over the training documents, in texts with a choice. With several seeds, which draw
the parts for cross-validation, the last line has mean and standard deviation of each row.

With `--folds`, the recipe for annotated documents is measured instead, on fifths of the training documents of some
corpora. The mentions of the other documents are names, and the reranker is trained on them. A row has the accuracy with
the vocabulary "alone", with the "names", and with names and reranker. The row "all" has the gains with standard errors.

    python benchmarks/reranking.py [--data FOLDER] [--encoder NAME|FOLDER|none] [--folds CORPUS ...]
        [--seeds 1] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import difference
import numpy as np
from common import new_parser, over_seeds
from linking import CORPORA, build, read

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.rerank_features import FEATURES, CandidateFeatures, WordRarity
from spacy_sapbert.linking.reranker import Reranker
from spacy_sapbert.linking.storage import open_generator, with_mentions
from spacy_sapbert.linking.variants import MentionQuery
from spacy_sapbert.metrics.linking_accuracy import gold_concepts, lenient_at, strict_at
from spacy_sapbert.training.reranker_trainer import (
    RankingData,
    fit_reranker,
    fold_linkers,
    folds_of,
    link_documents,
    mention_queries,
    ranking_data,
    train_ranking,
)
from spacy_sapbert.training.settings import RerankerTraining
from spacy_sapbert.types import Document

OUTSIDE = "corpora/biored/BioRED_TrainDev.PubTator.gz"
OUTSIDE_IDS = "splits/biored_outside.txt"

Documents = list[Document]
Queries = Callable[[Document], list[MentionQuery]]
Show = Callable[..., None]


class Measured(NamedTuple):
    """Sums over the covered mentions of each document: their number, lenient and strict accuracy."""

    mentions: np.ndarray
    lenient: np.ndarray
    strict: np.ndarray


class Trained(NamedTuple):
    """A linker, and the training data and settings of its reranker."""

    linker: Linker
    data: list[RankingData]
    folds: np.ndarray
    rarity: WordRarity
    settings: RerankerTraining


def open_linker(kb: Path, encoder: str) -> Linker:
    return Linker(open_generator(KnowledgeBase(kb), None if encoder == "none" else open_encoder(encoder), sparse=True))


def prepare(kbs: tuple[Path, Path], train: Documents, encoder: str, names: bool, seed: int) -> Trained:
    """Open a linker, and compute the training data of the reranker.

    Args:
        kbs: The vocabulary alone, and with the training mentions as names.
        train: The training documents.
        encoder: The encoder.
        names: Whether the linker has the training mentions as names.
        seed: Draws the parts for cross-validation.
    """
    linkers, settings = [], RerankerTraining(seed=seed)
    for path in kbs:
        linkers.append(open_linker(path, encoder))
    folds = folds_of([document.doc_id for document in train], settings)
    rarity = WordRarity.in_names(linkers[0].kb.names())
    data = [
        ranking_data(link_documents(linker, [train[n] for n in places]), places, CandidateFeatures(linker.kb, rarity))
        for places, linker in fold_linkers(linkers[0], train, folds, add_mentions=names)
    ]
    return Trained(linkers[names], data, folds, rarity, settings)


def measure(
    linker: Linker, documents: Documents, reranker: Reranker | None = None, queries: Queries = mention_queries
) -> Measured:
    kb, sums = linker.kb, []
    with linker.reranking(reranker):
        linked = linker.link(list(map(queries, documents)), [document.text for document in documents])
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


def without(data: Sequence[RankingData], groups: Sequence[str]) -> list[RankingData]:
    """Return the data with the features of some groups set to 0, so that no tree reads them."""
    hidden = np.concatenate([np.full(len(names), group in groups) for group, names in FEATURES.items()])
    return [one._replace(features=np.where(hidden, 0.0, one.features)) for one in data]


def cross_validated(trained: Trained, data: Sequence[RankingData]) -> dict[str, Any]:
    started = time.process_time()
    fitted = fit_reranker(data, trained.folds, trained.rarity, trained.settings)
    seconds = round(time.process_time() - started, 1)
    return {
        "reranker": fitted.reranker,
        "texts": fitted.texts,
        "cv_before": round(100 * fitted.right_before / fitted.texts, 2),
        "cv": round(100 * fitted.right_after / fitted.texts, 2),
        "cpu_seconds": seconds,
    }


def show_row(rows: dict[str, Any], **row: Any) -> None:
    """Print a row, and add it to the rows of a seed, by what it is about."""
    row.pop("reranker", None)
    print(json.dumps(row, ensure_ascii=False), flush=True)
    about = ("corpus", "fold") if "fold" in row else ("corpus", "names", "row")
    rows[", ".join(f"{name} {row[name]}" for name in about)] = row


def measure_groups(trained: Trained, dev: Documents, where: dict[str, Any], show: Show) -> Reranker | None:
    """Measure rerankers without one group of features, then with one more each, and return the one with all groups."""
    base = measure(trained.linker, dev)
    show(**where, row="untrained", **accuracy(base))
    found: dict[str, Any] = {}
    for group in FEATURES:
        found = cross_validated(trained, without(trained.data, [group]))
        show(**where, row=f"- {group}", **found, **gain(measure(trained.linker, dev, found["reranker"]), base))
    for number, group in enumerate(FEATURES, start=1):
        found = cross_validated(trained, without(trained.data, list(FEATURES)[number:]))
        show(**where, row=f"+ {group}", **found, **gain(measure(trained.linker, dev, found["reranker"]), base))
    reranker: Reranker | None = found["reranker"]
    return reranker


def measure_elsewhere(
    linker: Linker, documents: Documents, reranker: Reranker | None, where: dict[str, Any], show: Show
) -> None:
    """Measure a reranker on documents of a corpus that it was not trained on."""
    base = measure(linker, documents)
    show(**where, untrained=accuracy(base)["lenient"], **gain(measure(linker, documents, reranker), base))


def measure_folds(data: Path, folder: Path, encoder: str, name: str, seed: int, show: Show) -> None:
    """Measure the recipe on each fifth of the documents of a corpus."""
    corpus = difference.CORPORA[name]
    documents, kb = list(difference.read(data, corpus)), folder / f"{Path(corpus.vocabulary).name}.kb"
    if not kb.exists():
        difference.build_vocabulary(data, corpus.vocabulary, kb)
    linker, settings = open_linker(kb, encoder), RerankerTraining(seed=seed)
    folds = folds_of([document.doc_id for document in documents], settings)
    rows = []
    for fold in range(settings.folds):
        inside, others = ([documents[n] for n in np.flatnonzero((folds == fold) == part)] for part in (True, False))
        weights = [linker.prior_weight]
        reranker = train_ranking(linker, others, settings, add_mentions=True, prior_weights=weights).reranker
        with TemporaryDirectory() as scratch:
            named = Linker(with_mentions(linker.generator, others, Path(scratch)))
            rows.append((measure(linker, inside), measure(named, inside), measure(named, inside, reranker)))
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
    parser.add_argument("--folds", nargs="+", choices=difference.CORPORA, help="Measure the recipe on these corpora.")
    parser.add_argument("--output", type=Path, help="Folder that keeps the rows of each seed.")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message=r"\[W415\]")  # the rows say so
    with TemporaryDirectory() as folder:
        measured = partial(measure_seed, arguments, Path(folder))
        name = " ".join(["reranking", *(arguments.folds or ())])
        found = over_seeds(measured, arguments.output or Path(folder), name, arguments.seeds)
    if arguments.seeds > 1:
        print(json.dumps(found, ensure_ascii=False))


def measure_seed(arguments: argparse.Namespace, folder: Path, seed: int, _: Path) -> dict[str, Any]:
    """Return the rows of a seed. The folder is for vocabularies, which all seeds share."""
    data, encoder = arguments.data, arguments.encoder
    rows: dict[str, Any] = {}
    show = partial(show_row, rows)
    for name in arguments.folds or ():
        measure_folds(data, folder, encoder, name, seed, show)
    if not arguments.folds:
        for name, corpus in CORPORA.items():
            if not (folder / name).exists():
                build(data, folder / name, [], corpus.vocabulary)
                build(data, folder / f"{name}+train", read(data / corpus.train, corpus.type), corpus.vocabulary)
        for names in (False, True):
            measure_all(data, folder, encoder, names, seed, show)
    return rows


def measure_all(data: Path, folder: Path, encoder: str, names: bool, seed: int, show: Show) -> None:
    """Measure all corpora and combinations, to the vocabulary alone or with the training mentions as names."""
    rerankers: dict[str, Reranker | None] = {}
    linkers: dict[str, Linker] = {}
    dev = {name: read(data / corpus.dev, corpus.type) for name, corpus in CORPORA.items()}
    for name, corpus in CORPORA.items():
        trained = prepare(
            (folder / name, folder / f"{name}+train"), read(data / corpus.train, corpus.type), encoder, names, seed
        )
        linkers[name] = trained.linker
        rerankers[name] = measure_groups(trained, dev[name], {"corpus": name, "names": names}, show)
    for name, other in (("ncbi", "bc5cdr"), ("bc5cdr", "ncbi"), ("chemicals", "bc5cdr")):
        where = {"corpus": name, "names": names, "row": f"trained on {other}"}
        measure_elsewhere(linkers[name], dev[name], rerankers[other], where, show)
    wanted = set((data / OUTSIDE_IDS).read_text(encoding="utf-8").split())
    outside = [one for one in read_corpus(data / OUTSIDE) if one.doc_id in wanted]
    for name, type in (("ncbi", "Disease"), ("bc5cdr", "Disease"), ("chemicals", "Chemical")):
        of_type = [one._replace(mentions=tuple(m for m in one.mentions if m.label == type)) for one in outside]
        where = {"corpus": f"BioRED outside, {type}", "names": names, "row": f"trained on {name}"}
        measure_elsewhere(linkers[name], of_type, rerankers[name], where, show)


if __name__ == "__main__":
    main()
