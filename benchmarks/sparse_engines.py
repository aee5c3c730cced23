"""Compare search engines for names by n-grams: recall of the exact best names, time, memory and disk.

The similarity is the cosine of tf-idf vectors of character 3-grams, padded at word boundaries. The queries are names
with a typo, or with swapped words. A vocabulary with corpora has real mentions instead, none of which is a name. They
are searched one by one, on one core. Each engine is built and searched in processes of its own.

- `recall@10`, `recall@64`: share of the best names by exact search that the engine finds. Equal scores count.
- `ms@10`, `ms@64`: milliseconds a query, without the time for its vector (`ms_to_vectorize`).
- `build_s`, `build_added_mb`: seconds, and how much the memory grows, to make the files of the index from the vectors.
- `load_s`, `added_mb`, `private_mb`: seconds to open the index; the most memory that it and the searches add (RSS), and
  the part of it that is no mapped file.
- `disk_mb`: its files. Engines that score by BM25 find four times as many names, which are scored again by the cosine.
  They read the vectors of those names from a mapped file, which is not part of `disk_mb`.

All times are processor times; of repeated passes, the fastest counts. An engine that is not installed is reported as
such. `pip install sparse_dot_topn tantivy pyseismic-lsr bm25s` adds them. So does `pyterrier-pisa`, if the
`libtbb.so.2` of its requirement `tbb` is on LD_LIBRARY_PATH.

    python benchmarks/sparse_engines.py [--names 100000 1000000] [--vocabulary KB --corpora FILE…] [--engine NAME…]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import random
import sqlite3
import string
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from peers import NOT_INSTALLED, ONE_THREAD, memory_mb
from scipy.sparse import csr_matrix

N_QUERIES = 400
CUTOFFS = (10, 64)
REPEAT = 2
RESCORED = 4  # BM25 finds this many times as many names as are asked for
SAME = 1e-5  # scores that differ by less are equal


class Names(NamedTuple):
    """Texts with their vectors: float32, shape (texts, n-grams), rows of unit length."""

    texts: Sequence[str]
    vectors: csr_matrix


# --- sparse matrices in files


def save_matrix(matrix: csr_matrix, folder: Path, name: str) -> None:
    for part in ("data", "indices", "indptr"):
        np.save(folder / f"{name}.{part}.npy", getattr(matrix, part))
    np.save(folder / f"{name}.shape.npy", matrix.shape)


def load_matrix(folder: Path, name: str) -> csr_matrix:
    """Return a matrix whose arrays are mapped files. sparse_dot_topn wants them writable."""
    parts = [np.load(folder / f"{name}.{part}.npy", mmap_mode="c") for part in ("data", "indices", "indptr")]
    return csr_matrix(tuple(parts), shape=tuple(np.load(folder / f"{name}.shape.npy")), copy=False)


# --- the engines


class Engine:
    """A search engine for names.

    Attributes:
        distribution: The distribution that has to be installed; None for what is always there.
    """

    distribution: str | None = None

    def build(self, names: Names, folder: Path) -> None:
        raise NotImplementedError

    def load(self, folder: Path, vectors: csr_matrix) -> None:
        """Open the index. The vectors are those of the names, in a mapped file."""
        raise NotImplementedError

    def search(self, queries: Names, k: int) -> list[np.ndarray]:
        """Return the rows of the names for each query, best first."""
        return [self._search(queries.texts[i], queries.vectors[i], k) for i in range(len(queries.texts))]

    def _search(self, text: str, vector: csr_matrix, k: int) -> np.ndarray:
        raise NotImplementedError


class Scipy(Engine):
    """Exact: a product with all postings of the n-grams of the text."""

    def build(self, names: Names, folder: Path) -> None:
        save_matrix(names.vectors.T.tocsr(), folder, "columns")

    def load(self, folder: Path, vectors: csr_matrix) -> None:
        self.columns = load_matrix(folder, "columns")

    def _search(self, text: str, vector: csr_matrix, k: int) -> np.ndarray:
        product = vector @ self.columns
        return best(product.indices, product.data, k)


class SparseDotTopn(Scipy):
    """Exact: the same product, but only the best are kept."""

    distribution = "sparse_dot_topn"

    def load(self, folder: Path, vectors: csr_matrix) -> None:
        super().load(folder, vectors)
        self.multiply = importlib.import_module("sparse_dot_topn").sp_matmul_topn

    def _search(self, text: str, vector: csr_matrix, k: int) -> np.ndarray:
        product = self.multiply(vector, self.columns, k, sort=True, n_threads=1)
        rows: np.ndarray = product.indices
        return rows


class Rarest(Scipy):
    """The postings of the rarest n-grams of the text, with exact scores: plain numpy.

    Args:
        n: The number of n-grams.
    """

    def __init__(self, n: int) -> None:
        self.n = n

    def load(self, folder: Path, vectors: csr_matrix) -> None:
        super().load(folder, vectors)
        self.vectors = vectors

    def _search(self, text: str, vector: csr_matrix, k: int) -> np.ndarray:
        starts = self.columns.indptr
        columns = vector.indices[np.argsort(starts[vector.indices + 1] - starts[vector.indices])[: self.n]]
        rows = np.unique(
            np.concatenate([self.columns.indices[starts[i] : starts[i + 1]] for i in columns] or [columns])
        )
        return rescored(rows, self.vectors, vector, k)


class Seismic(Engine):
    """Postings in blocks with summaries, pruned (Bruch et al. 2024).

    Args:
        query_cut: The number of n-grams of the text that are searched.
        heap_factor: A block is skipped if its summary, divided by this, cannot reach the best names so far.
    """

    distribution = "pyseismic-lsr"

    def __init__(self, query_cut: int, heap_factor: float) -> None:
        self.query_cut = query_cut
        self.heap_factor = heap_factor

    def build(self, names: Names, folder: Path) -> None:
        seismic = importlib.import_module("seismic")
        vectors, dataset = names.vectors, seismic.SeismicDataset()
        ids = [str(row) for row in range(vectors.shape[0])]
        # rows without n-grams are left out, but keep their ids
        parts = vectors.indices.astype(np.int64), np.array(vectors.data), vectors.indptr.astype(np.int64)
        dataset.add_documents_by_id(ids, *parts)
        seismic.SeismicIndex.build_from_dataset(dataset, num_threads=1).save(str(folder / "names"))

    def load(self, folder: Path, vectors: csr_matrix) -> None:
        seismic = importlib.import_module("seismic")
        self.index = seismic.SeismicIndex.load(str(folder / "names.index.seismic"))
        self.string = seismic.get_seismic_string()

    def _search(self, text: str, vector: csr_matrix, k: int) -> np.ndarray:
        tokens, cut = vector.indices.astype(str).astype(self.string), self.query_cut
        found = self.index.search("", tokens, vector.data, k=k, query_cut=cut, heap_factor=self.heap_factor)
        return np.array([int(row) for _, _, row in found], dtype=np.int64)


class Pisa(Engine):
    """PISA's index of whole-numbered weights. All queries are one call, since each call makes a table.

    Args:
        algorithm: How it skips names that cannot be among the best.
    """

    distribution = "pyterrier-pisa"
    SCALE = 250.0  # the largest weight of an n-gram

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm

    def build(self, names: Names, folder: Path) -> None:
        rows = range(names.vectors.shape[0])
        texts = ({"docno": str(row), "toks": self._weights(names.vectors, row)} for row in rows)
        self._index(folder).toks_indexer(scale=self.SCALE).index(texts)
        self._retriever(folder, 1)  # compresses the index

    def load(self, folder: Path, vectors: csr_matrix) -> None:
        self.folder = folder
        self.retrievers = {k: self._retriever(folder, k) for k in CUTOFFS}

    def search(self, queries: Names, k: int) -> list[np.ndarray]:
        pandas = importlib.import_module("pandas")
        weights = [self._weights(queries.vectors, row) for row in range(len(queries.texts))]
        asked = pandas.DataFrame({"qid": [str(i) for i in range(len(weights))], "query_toks": weights})
        found = self.retrievers[k].transform(asked)
        rows = dict(iter(found.groupby("qid").docno))
        return [rows[qid].to_numpy().astype(np.int64) if qid in rows else np.zeros(0, np.int64) for qid in asked.qid]

    @staticmethod
    def _weights(vectors: csr_matrix, row: int) -> dict[str, float]:
        entries = slice(vectors.indptr[row], vectors.indptr[row + 1])
        return dict(zip(map(str, vectors.indices[entries]), vectors.data[entries].tolist(), strict=True))

    @staticmethod
    def _index(folder: Path) -> Any:
        return importlib.import_module("pyterrier_pisa").PisaIndex(str(folder), stemmer="none", stops="none", threads=1)

    def _retriever(self, folder: Path, k: int) -> Any:
        settings = {"query_algorithm": self.algorithm, "toks_scale": self.SCALE}
        return self._index(folder).quantized(num_results=k, threads=1, **settings)


class Bm25(Engine):
    """An engine that ranks by BM25. More names are found than asked for, and scored again."""

    def load(self, folder: Path, vectors: csr_matrix) -> None:
        self.vectors = vectors
        self._open(folder)

    def _search(self, text: str, vector: csr_matrix, k: int) -> np.ndarray:
        return rescored(np.sort(self._find(text, vector, RESCORED * k)), self.vectors, vector, k)

    def _open(self, folder: Path) -> None:
        raise NotImplementedError

    def _find(self, text: str, vector: csr_matrix, n: int) -> np.ndarray:
        raise NotImplementedError


class Tantivy(Bm25):
    """tantivy with its n-gram tokenizer. A name is one text with a blank at each end."""

    distribution = "tantivy"

    def build(self, names: Names, folder: Path) -> None:
        tantivy = importlib.import_module("tantivy")
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("name", stored=False, tokenizer_name="ngrams", index_option="freq")
        schema.add_unsigned_field("row", stored=False, indexed=False, fast=True)
        index = tantivy.Index(schema.build(), path=str(folder))
        index.register_tokenizer("ngrams", self._analyzer())
        writer = index.writer(heap_size=200_000_000, num_threads=1)
        for row, text in enumerate(names.texts):
            document = tantivy.Document()
            document.add_text("name", padded(text))
            document.add_unsigned("row", row)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    def _open(self, folder: Path) -> None:
        tantivy = importlib.import_module("tantivy")
        self.index, self.analyzer = tantivy.Index.open(str(folder)), self._analyzer()
        self.searcher, self.query, self.should = self.index.searcher(), tantivy.Query, tantivy.Occur.Should

    def _find(self, text: str, vector: csr_matrix, n: int) -> np.ndarray:
        ngrams = sorted(set(self.analyzer.analyze(padded(text))))
        terms = [(self.should, self.query.term_query(self.index.schema, "name", ngram)) for ngram in ngrams]
        hits = self.searcher.search(self.query.boolean_query(terms), n, count=False).hits
        return np.array(self.searcher.fast_field_values("row", [place for _, place in hits]), dtype=np.int64)

    @staticmethod
    def _analyzer() -> Any:
        tantivy = importlib.import_module("tantivy")
        return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(3, 3, False)).build()


class SqliteTrigram(Bm25):
    """FTS5 of SQLite with the trigram tokenizer. A name is one text with a blank at each end."""

    def build(self, names: Names, folder: Path) -> None:
        with sqlite3.connect(folder / "names.db") as database:
            database.execute("CREATE VIRTUAL TABLE names USING fts5(name, tokenize='trigram', content='')")
            rows = ((row, padded(text)) for row, text in enumerate(names.texts))
            database.executemany("INSERT INTO names(rowid, name) VALUES (?, ?)", rows)
            database.execute("INSERT INTO names(names) VALUES ('optimize')")

    def _open(self, folder: Path) -> None:
        self.database = sqlite3.connect(folder / "names.db")

    def _find(self, text: str, vector: csr_matrix, n: int) -> np.ndarray:
        text = padded(text)
        ngrams = sorted({text[i : i + 3].replace('"', '""') for i in range(len(text) - 2)})
        query = " OR ".join(f'"{ngram}"' for ngram in ngrams)
        found = self.database.execute("SELECT rowid FROM names WHERE names MATCH ? ORDER BY rank LIMIT ?", (query, n))
        return np.array([row for (row,) in found], dtype=np.int64)


class Bm25s(Bm25):
    """bm25s, with the n-grams of the vectors."""

    distribution = "bm25s"

    def build(self, names: Names, folder: Path) -> None:
        bm25s = importlib.import_module("bm25s")
        ids = np.split(names.vectors.indices, names.vectors.indptr[1:-1])
        vocabulary = {str(column): column for column in range(names.vectors.shape[1])}
        index = bm25s.BM25()
        index.index(([row.tolist() for row in ids], vocabulary), show_progress=False)
        index.save(str(folder), show_progress=False)

    def _open(self, folder: Path) -> None:
        self.index = importlib.import_module("bm25s").BM25.load(str(folder), mmap=True, show_progress=False)

    def _find(self, text: str, vector: csr_matrix, n: int) -> np.ndarray:
        scores = self.index.get_scores([str(column) for column in vector.indices])
        n = min(n, len(scores))
        return np.argpartition(scores, -n)[-n:]


ENGINES: dict[str, Engine] = {
    "scipy": Scipy(),
    "sparse_dot_topn": SparseDotTopn(),
    "rarest 4, numpy": Rarest(4),
    "rarest 6, numpy": Rarest(6),
    "rarest 8, numpy": Rarest(8),
    "seismic, cut 10, factor 0.8": Seismic(10, 0.8),
    "seismic, cut 20, factor 0.9": Seismic(20, 0.9),
    "PISA, maxscore": Pisa("maxscore"),
    "PISA, block_max_wand": Pisa("block_max_wand"),
    "tantivy": Tantivy(),
    "SQLite FTS5 trigram": SqliteTrigram(),
    "bm25s": Bm25s(),
}


def padded(text: str) -> str:
    return f" {text.lower()} "


def best(rows: np.ndarray, scores: np.ndarray, k: int) -> np.ndarray:
    """Return the rows with the k highest scores, best first."""
    if len(rows) > k:
        places = np.argpartition(-scores, k)[:k]
        rows, scores = rows[places], scores[places]
    return rows[np.argsort(-scores, kind="stable")]


def rescored(rows: np.ndarray, vectors: csr_matrix, vector: csr_matrix, k: int) -> np.ndarray:
    """Return the k of the rows whose cosine with the text is highest, best first."""
    return best(rows, cosines(rows, vectors, vector), k)


def cosines(rows: np.ndarray, vectors: csr_matrix, vector: csr_matrix) -> np.ndarray:
    dense = np.zeros(vectors.shape[1], dtype=np.float32)
    dense[vector.indices] = vector.data
    scores: np.ndarray = vectors[rows] @ dense
    return scores


# --- names and queries


def made_up_names(n: int) -> list[str]:
    from scale import records

    texts = (name.text for record in records(n, seed=0) for name in record.names)
    return list(islice(dict.fromkeys(texts), n))


def changed_names(names: Sequence[str], n: int) -> list[str]:
    """Return some names, half of them with a wrong letter, and half with a word at another place."""
    drawn = random.Random(0)
    texts = drawn.sample([name for name in names if " " in name], n)
    return [_typo(drawn, text) if i % 2 else _moved_word(drawn, text) for i, text in enumerate(texts)]


def _typo(drawn: random.Random, text: str) -> str:
    place, kind = drawn.randrange(len(text)), drawn.choice(("drop", "replace", "insert"))
    letter = "" if kind == "drop" else drawn.choice(string.ascii_lowercase)
    return text[:place] + letter + text[place + (kind != "insert") :]


def _moved_word(drawn: random.Random, text: str) -> str:
    words = text.split()
    word = words.pop(drawn.randrange(len(words)))
    words.insert(drawn.randrange(len(words) + 1), word)
    return " ".join(words)


def mentions(paths: Sequence[Path], names: Sequence[str], n: int) -> list[str]:
    """Return some different mentions that are not names."""
    from spacy_sapbert.documents.reader import read_corpus

    known = {name.lower() for name in names}
    texts = {mention.text for path in paths for document in read_corpus(path) for mention in document.mentions}
    found = sorted(text for text in texts if text.lower() not in known)
    return random.Random(0).sample(found, min(n, len(found)))


def prepare(texts: list[str], queries: list[str], work: Path) -> dict[str, Any]:
    """Write names, queries and their vectors, and the lowest scores of the exact best names, for all engines."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), dtype=np.float32)
    vectors = vectorizer.fit_transform(texts)
    start = time.process_time()
    asked = [vectorizer.transform([query]) for query in queries]
    seconds = time.process_time() - start
    for matrix, name in ((vectors, "names"), (vectorizer.transform(queries), "queries")):
        matrix.sort_indices()
        save_matrix(matrix, work, name)
    columns = vectors.T.tocsr()
    lowest = [_lowest_scores((vector @ columns).data) for vector in asked]
    (work / "texts.json").write_text(json.dumps({"names": texts, "queries": queries, "lowest": lowest}))
    counts = {"names": len(texts), "ngrams": vectors.shape[1], "queries": len(queries)}
    return {**counts, "ms_to_vectorize": round(1000 * seconds / len(queries), 3)}


def _lowest_scores(scores: np.ndarray) -> list[tuple[float, int]]:
    """Return the score of the last of the k best names, and their number, for each k."""
    ordered = -np.sort(-scores[scores > 0])
    return [
        (float(ordered[min(k, len(ordered)) - 1]), min(k, len(ordered))) if len(ordered) else (1.0, 0) for k in CUTOFFS
    ]


# --- the steps, each in a process of its own


def step_build(engine: Engine, folder: Path, work: Path) -> dict[str, Any]:
    texts = json.loads((work / "texts.json").read_text())
    names = Names(texts["names"], load_matrix(work, "names"))
    before, start = memory_mb("VmRSS"), time.process_time()
    engine.build(names, folder)
    seconds = time.process_time() - start
    return {"build_s": round(seconds, 1), "build_added_mb": round(memory_mb("VmHWM") - before, 1)}


def step_search(engine: Engine, folder: Path, work: Path) -> dict[str, Any]:
    texts = json.loads((work / "texts.json").read_text())
    vectors = load_matrix(work, "names")
    # in memory, as a caller has just made them
    asked = csr_matrix(load_matrix(work, "queries"), copy=True)
    queries, lowest = Names(texts["queries"], asked), texts["lowest"]
    texts.clear()
    before, private, start = memory_mb("VmRSS"), memory_mb("RssAnon"), time.process_time()
    engine.load(folder, vectors)
    load = time.process_time() - start
    found = {k: timed(engine, queries, k) for k in CUTOFFS}
    result: dict[str, Any] = {"load_s": round(load, 2), "added_mb": round(memory_mb("VmHWM") - before, 1)}
    result["private_mb"] = round(memory_mb("RssAnon") - private, 1)
    for column, (k, (ms, rows)) in enumerate(found.items()):
        wanted = [scores[column] for scores in lowest]
        result |= {f"ms@{k}": round(ms, 3), f"recall@{k}": round(recall(rows, queries, vectors, wanted), 4)}
    return result


def timed(engine: Engine, queries: Names, k: int) -> tuple[float, list[np.ndarray]]:
    """Return the milliseconds a query of the fastest pass, and the rows found."""
    times = []
    for _ in range(REPEAT):
        start = time.process_time()
        rows = engine.search(queries, k)
        times.append(time.process_time() - start)
    return 1000 * min(times) / len(queries.texts), rows


def recall(
    found: Sequence[np.ndarray], queries: Names, vectors: csr_matrix, wanted: Sequence[tuple[float, int]]
) -> float:
    """Return the mean share of the exact best names that were found, by their scores."""
    shares = []
    for i, (rows, (lowest, n)) in enumerate(zip(found, wanted, strict=True)):
        if n:
            hits = cosines(np.unique(rows), vectors, queries.vectors[i]) >= lowest - SAME
            shares.append(min(int(hits.sum()), n) / n)
    return float(np.mean(shares))


STEPS = {"build": step_build, "search": step_search}


def run_steps(label: str, work: Path) -> dict[str, Any]:
    result: dict[str, Any] = {}
    with TemporaryDirectory(dir=work) as folder:
        for step in STEPS:
            command = [
                sys.executable,
                __file__,
                "--step",
                step,
                "--engine",
                label,
                "--work",
                str(work),
                "--index",
                folder,
            ]
            subprocess.run(command, check=True, env=os.environ | ONE_THREAD, stdout=sys.stderr)
            result |= json.loads((work / "answer.json").read_text())
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        result["disk_mb"] = round(sum(path.stat().st_size for path in files) / 1e6, 1)
    return result


# --- the table


def compare(texts: list[str], queries: list[str], labels: Sequence[str]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        work = Path(folder)
        result = prepare(texts, queries, work)
        engines = {}
        for label in labels:
            engines[label] = run_steps(label, work) if is_installed(ENGINES[label]) else {"error": NOT_INSTALLED}
            print(len(texts), label, engines[label], file=sys.stderr, flush=True)
    return {**result, "engines": engines}


def is_installed(engine: Engine) -> bool:
    try:
        return engine.distribution is None or bool(importlib.metadata.version(engine.distribution))
    except importlib.metadata.PackageNotFoundError:
        return False


def tables(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    labels = arguments.engine or list(ENGINES)
    if arguments.vocabulary:
        from spacy_sapbert.kb.knowledge_base import KnowledgeBase

        texts = list(KnowledgeBase(arguments.vocabulary).names())
        yield compare(texts, mentions(arguments.corpora, texts, N_QUERIES), labels)
    for n in arguments.names:
        texts = made_up_names(n)
        yield compare(texts, changed_names(texts, N_QUERIES), labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, nargs="*", default=[100_000, 1_000_000], help="Numbers of made-up names.")
    parser.add_argument("--vocabulary", type=Path, help="Knowledge base file, to search for the mentions of --corpora.")
    parser.add_argument("--corpora", type=Path, nargs="+", default=[])
    parser.add_argument("--engine", action="append", choices=ENGINES, help="Engine. Repeatable. Default: all.")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.vocabulary and not arguments.corpora:
        parser.error("--vocabulary needs --corpora")
    if arguments.step:
        (label,) = arguments.engine
        result = STEPS[arguments.step](ENGINES[label], arguments.index, arguments.work)
        (arguments.work / "answer.json").write_text(json.dumps(result))
        return
    print(json.dumps([*tables(arguments)], indent=2))


if __name__ == "__main__":
    main()
