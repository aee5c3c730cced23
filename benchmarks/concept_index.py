"""Measure what the index of concept vectors gains and misses: √N cells with quantized vectors against all vectors.

The vector of a concept is the mean of the vectors of its names. The queries are the segments of documents (.spacy), one
by one. `ms` are processor times. With OMP_NUM_THREADS=1 they are those of one core.

    OMP_NUM_THREADS=1 python benchmarks/concept_index.py KB --corpus FILE... [--encoder FOLDER] [--queries 200]
"""

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import faiss
import numpy as np
from common import new_parser
from scipy.sparse import csr_array

from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.encoders.segments import DocumentEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.retrieval.concepts import CELLS
from spacy_sapbert.vectors.faiss_index import build_index, index_kind, read_index
from spacy_sapbert.vectors.flat import cached_name_vectors

K, ASKED = 10, 4 * 60  # of which the cosines are exact


def means(kb: KnowledgeBase, encoder: TransformerEncoder) -> np.ndarray:
    """Return unit vectors, float32, shape (concepts, dim)."""
    names, name_concepts = cached_name_vectors(kb, encoder).vectors, kb.name_concepts
    ones = np.ones(len(name_concepts.names), dtype=np.float32)
    sums = csr_array((ones, (name_concepts.concepts, name_concepts.names)), shape=(len(kb), len(names))) @ names
    unit: np.ndarray = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return unit


def timed(search: Any, queries: np.ndarray) -> tuple[float, list[np.ndarray]]:
    """Return the milliseconds per query, and the rows found for each query."""
    started = time.process_time()
    found = [search(query[None])[1][0] for query in queries]
    return 1000 * (time.process_time() - started) / len(queries), found


def main() -> None:
    parser = new_parser(__doc__, data=False, encoder=True)
    parser.add_argument("kb", help="Knowledge base.")
    parser.add_argument("--corpus", type=Path, nargs="+", required=True)
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    encoder = TransformerEncoder(args.encoder)
    docs = [doc for path in args.corpus for doc in read_docbin(path)]
    segments = np.concatenate(DocumentEncoder(encoder, 512)(docs))
    queries = segments[np.random.default_rng(0).permutation(len(segments))[: args.queries]]
    vectors = means(KnowledgeBase(args.kb), encoder)
    exact, wanted = timed(lambda query: faiss.knn(query, vectors, K, metric=faiss.METRIC_INNER_PRODUCT), queries)
    with TemporaryDirectory() as folder:
        path, kind = Path(folder) / "concepts.faiss", index_kind(CELLS, *vectors.shape)[0]
        started = time.process_time()
        build_index(vectors, kind, path)
        built, size = time.process_time() - started, path.stat().st_size
        index = read_index(path)
        ms, found = timed(lambda query: index.search(query, ASKED), queries)
    recall = {
        f"recall@10_of_{n}": np.mean([len(set(a[:n]) & set(b)) / K for a, b in zip(found, wanted, strict=True)])
        for n in (K, ASKED)
    }
    result = {
        "concepts": len(vectors),
        "queries": len(queries),
        "exact": {"ms": round(exact, 2), "mb": round(vectors.nbytes / 1e6, 1)},
        kind: {"ms": round(ms, 2), "mb": round(size / 1e6, 1), "build_s": round(built, 1)}
        | {name: round(100 * float(value), 1) for name, value in recall.items()},
        "times_faster": round(exact / ms, 1),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
