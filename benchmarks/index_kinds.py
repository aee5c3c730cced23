"""Measure what each kind of index costs and misses: recall, milliseconds per query, memory and disk.

The queries are mentions of corpora (.spacy) that are not names of the vocabulary, and names with one letter replaced.
They are run in batches, as the linker runs them. The reference are the nearest names of the exact search. `recall@20`
is the share of its first 20 among the first 20 of the index, when 64 are asked for.

`ms` and `build_s` are processor times. With OMP_NUM_THREADS=1 they are those of one core. `open_s` is the time until
the index can answer. `resident_mb` is how much the memory of a process grows when it opens the index and answers. It
has the memory of the process itself, and the pages of mapped files. The system takes such pages back when it needs
memory. Each kind is built and queried in its own process.

    OMP_NUM_THREADS=1 python benchmarks/index_kinds.py KB... --corpus FILE... [--kinds K…] [--queries N]
"""

import argparse
import json
import os
import random
import string
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import spacy
from common import new_parser

from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.vectors.faiss_index import FaissVectors, build_name_index, index_kind
from spacy_sapbert.vectors.flat import NameVectors, cached_name_vectors
from spacy_sapbert.vectors.storage import FLAT

KINDS = (FLAT, "auto", "SQ8", "IVF", "IVF,SQ8", "IVF,PQ", "PQ96x4fs", "HNSW", "HNSW32_SQ8")
BATCH = 64  # queries
ASKED = 64  # names
RECALLS = (10, 20, 64)
MEGABYTE = 1 << 20


def mentions(paths: list[Path], kb: KnowledgeBase, n: int) -> list[str]:
    """Return some mentions that are not names."""
    vocab = spacy.blank("en").vocab
    docs = (doc for path in paths for doc in read_docbin(path, vocab))
    names = set(map(str.lower, kb.names()))
    texts = sorted({ent.text for doc in docs for ent in doc.ents if ent.text.lower() not in names})
    return random.Random(0).sample(texts, min(n, len(texts)))


def misspelt(kb: KnowledgeBase, n: int) -> list[str]:
    """Return some names, each with one letter replaced."""
    drawn, texts = random.Random(0), []
    for row in drawn.sample(range(kb.n_names), n):
        name = kb.name(row)
        place = drawn.randrange(len(name))
        texts.append(name[:place] + drawn.choice(string.ascii_lowercase) + name[place + 1 :])
    return texts


def resident() -> np.ndarray:
    """Return the megabytes of this process, float64, shape (2,): its own memory, and mapped files."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return np.array([int(status[key].split()[0]) / 1024 for key in ("RssAnon", "RssFile")])


def measure(kb: KnowledgeBase, encoder: str, kind: str, queries: np.ndarray, folder: Path) -> dict[str, Any]:
    """Build an index and query it. Write its answers to a file in the folder."""
    opened = open_encoder(encoder, device="cpu")
    vectors = cached_name_vectors(kb, opened)
    name, parameters = index_kind(kind, *vectors.vectors.shape)
    path, result = folder / "index.faiss", {"kind": kind, "faiss": name}
    if kind == FLAT:
        path = vectors.folder / "vectors.npy"
    else:
        if os.fork() == 0:  # the memory of the build is freed with the process
            build_name_index(vectors, name, path)
            os._exit(0)
        used = os.wait3(0)[2]
        result["build_s"] = round(used.ru_utime + used.ru_stime, 1)
    result["disk_mb"] = round(path.stat().st_size / MEGABYTE, 1)
    before, start = resident(), time.perf_counter()
    if kind == FLAT:
        index: NameVectors = NameVectors(vectors.folder, kb, opened)
    else:
        index = FaissVectors(vectors.folder, kb, opened, path, parameters)
    index.nearest(queries[:1], ASKED)
    result["open_s"] = round(time.perf_counter() - start, 2)
    start = time.process_time()
    batches = range(0, len(queries), BATCH)
    rows = np.concatenate([index.nearest(queries[i : i + BATCH], ASKED)[1] for i in batches])
    result["ms"] = round((time.process_time() - start) / len(queries) * 1000, 3)
    own, mapped = resident() - before
    result["resident_mb"] = {"own": round(own, 1), "mapped": round(mapped, 1)}
    np.save(folder / "rows.npy", rows)
    return result


def recall(rows: np.ndarray, exact: np.ndarray, k: int) -> float:
    """Return the percentage of the nearest k names that are among the first k found."""
    found = [np.isin(exact[i, :k], rows[i, :k]).mean() for i in range(len(exact))]
    return round(100 * float(np.mean(found)), 1)


def run(path: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure all kinds for a knowledge base, the exact search first."""
    kb = load_knowledge_base(path)
    texts = {"mentions": mentions(arguments.corpus, kb, arguments.queries)}
    texts["misspelt names"] = misspelt(kb, arguments.queries)
    encoder = open_encoder(arguments.encoder, device="cpu")
    results, exact = [], np.zeros(0)
    with TemporaryDirectory(dir=arguments.folder) as temporary:
        folder = Path(temporary)
        np.save(folder / "queries.npy", encoder.encode([text for some in texts.values() for text in some]))
        for kind in [FLAT, *(kind for kind in arguments.kinds if kind != FLAT)]:
            command = [sys.executable, __file__, path, "--encoder", arguments.encoder, "--one", kind, temporary]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            rows = np.load(folder / "rows.npy")
            exact = rows if kind == FLAT else exact
            results.append(json.loads(done.stdout))
            start = 0
            for what, some in texts.items():
                part = slice(start, start + len(some))
                start += len(some)
                if some:
                    results[-1][what] = {f"recall@{k}": recall(rows[part], exact[part], k) for k in RECALLS}
            print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    counts = {what: len(some) for what, some in texts.items()}
    return {"kb": path, "names": kb.n_names, "dim": encoder.dim, "queries": counts, "kinds": results}


def main() -> None:
    parser = new_parser(__doc__, data=False, encoder=True)
    parser.add_argument("kbs", nargs="+", help="Knowledge bases.")
    parser.add_argument("--corpus", nargs="+", type=Path, default=[])
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--queries", type=int, default=1000, help="Number of queries of each of the two sorts.")
    parser.add_argument(
        "--folder", help="Folder for the indexes during the run. Default: the temporary folder of the system."
    )
    parser.add_argument("--one", nargs=2, metavar=("KIND", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        kind, folder = arguments.one[0], Path(arguments.one[1])
        kb = load_knowledge_base(arguments.kbs[0])
        print(json.dumps(measure(kb, arguments.encoder, kind, np.load(folder / "queries.npy"), folder)))
    else:
        print(json.dumps([run(path, arguments) for path in arguments.kbs], indent=2))


if __name__ == "__main__":
    main()
