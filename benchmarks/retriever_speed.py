"""Measure how fast `concept_retriever` reads documents, and how well it ranks concepts beside an exact search.

The signals are "phrases" and "prior". `fast` compares phrases by their n-grams first. `exact` encodes every phrase and
compares it with all names (`index = "Flat"`). Both are fitted on the training documents, and rank the concepts of the
others. `ms` is processor time of one thread a document, with empty caches, by part. The standard errors are over
documents.

    python benchmarks/retriever_speed.py --kb names.kb --train ncbi_train.spacy --train bc5cdr_train.spacy \
        --documents ncbi_dev.spacy --documents bc5cdr_dev.spacy
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import faiss
import numpy as np
import spacy
import torch
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.documents.docs import from_doc
from spacy_sapbert.documents.document_gold import gold_of, primary_id
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.metrics.document_ranking import score_ranking
from spacy_sapbert.retrieval.retriever import Retriever
from spacy_sapbert.retrieval.settings import ConceptVectorSettings
from spacy_sapbert.retrieval.signals import phrases as phrases_module
from spacy_sapbert.retrieval.storage import open_retriever
from spacy_sapbert.training.retriever_settings import ConceptRetrieval
from spacy_sapbert.training.retriever_trainer import RetrieverTrainer
from spacy_sapbert.vectors.faiss_index import AUTO
from spacy_sapbert.vectors.storage import FLAT

SIGNALS = ["phrases", "prior"]
DEPTH = 100
INDEXES = {"fast": AUTO, "exact": FLAT}
MEASURES = ("r@10", "p@10", "map")
BATCH = ConceptVectorSettings().batch_size


def train(args: argparse.Namespace, documents: list[Doc], index: str) -> Retriever:
    """Return a retriever with fitted weights."""
    encoder = TransformerEncoder(args.encoder, l2_normalized=True, device="cpu")
    retriever = open_retriever(KnowledgeBase(args.kb), encoder, SIGNALS, index=index)
    trainer = RetrieverTrainer(retriever, ConceptRetrieval(held_out=args.held_out))
    trainer.begin(documents)
    trainer.training_documents([Example(doc.copy(), doc) for doc in documents])
    trainer.refresh()
    return retriever


@contextmanager
def parts(retriever: Retriever, spent: dict[str, float]) -> Iterator[None]:
    """Add up the processor time of parts. A part includes the parts that it calls."""
    near_names: Any = retriever.ranker.signals[0].near_names  # type: ignore[attr-defined]
    timed = [
        (phrases_module, "phrases"),
        (phrases_module, "PhraseView"),
        (near_names.vectors.encoder, "encode"),
        (near_names, "matching_entries"),
        (retriever.ranker, "rank"),
        (retriever, "_describe"),
    ]
    if retriever.ngrams:
        timed += [(retriever.ngrams, "search_together"), (near_names, "_equal_names"), (near_names, "find")]
    else:
        timed += [(near_names, "_nearest")]
    patches = [patch.object(owner, name, _timed(getattr(owner, name), name, spent)) for owner, name in timed]
    for one in patches:
        one.start()
    yield
    for one in patches:
        one.stop()


def _timed(function: Callable[..., Any], name: str, spent: dict[str, float]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            spent[name] += time.process_time() - start

    return call


def measure(retriever: Retriever, documents: list[Doc]) -> tuple[dict[str, Any], np.ndarray]:
    """Return the milliseconds a document, and the measures of each document with a gold concept, in percent."""
    retriever.rank([spacy.blank("en").make_doc("warm-up of an encoder")], DEPTH)
    retriever.ranker.signals[0].near_names._cache.clear()  # type: ignore[attr-defined]
    spent: dict[str, float] = defaultdict(float)
    with parts(retriever, spent):
        start = time.process_time()
        ranked = [one for batch in minibatch(documents, BATCH) for one in retriever.rank(list(batch), DEPTH)]
        spent["all"] = time.process_time() - start
    scores = []
    for doc, concepts in zip(documents, ranked, strict=True):
        gold = gold_of(from_doc(doc), lambda one: primary_id(one, retriever.kb))
        if gold:
            score = score_ranking([concept.concept_id for concept in concepts], gold)
            scores.append((score.r, score.p or 0.0, score.ap))
    ms = {name: round(1000 * seconds / len(documents), 2) for name, seconds in spent.items()}
    return {"ms": ms}, 100 * np.array(scores)


def summary(scores: np.ndarray) -> dict[str, dict[str, float]]:
    errors = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    return {
        name: {"mean": round(float(mean), 2), "standard error": round(float(error), 2)}
        for name, mean, error in zip(MEASURES, scores.mean(axis=0), errors, strict=True)
    }


def read(paths: list[Path]) -> list[Doc]:
    vocab = spacy.blank("en").vocab
    return [doc for path in paths for doc in read_docbin(path, vocab)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kb", type=Path, required=True)
    parser.add_argument("--encoder", default="starter")
    parser.add_argument("--train", type=Path, action="append", required=True)
    parser.add_argument("--documents", type=Path, action="append", required=True)
    parser.add_argument("--every", type=int, default=1, help="Read one of so many documents.")
    parser.add_argument("--held-out", type=float, default=0.2)
    parser.add_argument("--way", choices=[*INDEXES], action="append", help="Default: both.")
    args = parser.parse_args()
    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    documents, training = read(args.documents)[:: args.every], read(args.train)
    result: dict[str, Any] = {"documents": len(documents)}
    scores: dict[str, np.ndarray] = {}
    for way in args.way or INDEXES:
        result[way], scores[way] = measure(train(args, training, INDEXES[way]), documents)
        result[way].update(summary(scores[way]))
        print(json.dumps(result, indent=2), flush=True)
    if len(scores) == 2:
        result["difference"] = summary(scores["fast"] - scores["exact"])
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
