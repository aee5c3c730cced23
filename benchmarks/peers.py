"""Compare our linker look-up with those of other programs: time, memory, disk and accuracy, in one run.

Every program gets the same names and the same mentions. Each step runs in a process of its own, on one core.

- `build_s`: seconds to make all files from the list of names.
- `load_s`: seconds from the start of Python to the first answer. Imports count.
- `ms`: milliseconds a mention, in batches of 64, where a program takes batches.
- `ms_single`: milliseconds a mention, one by one.
- `peak_mb`, `private_mb`: the most memory during load and look-ups (RSS), and the part of it that is no mapped file.
- `disk_mb`: the files that a program loads. Those of spacy-sapbert are a saved pipeline with the linker alone.
- `acc@1`, `acc@5`: lenient accuracy in percent over the gold mentions whose ids are all in the vocabulary. It counts a
  mention if any gold id belongs to one of its first k concepts. Abbreviations and composites stay as written.

All times are processor times. Each different text is looked up once, so no cache helps. A pass is repeated in new
processes (`--repeat`), and the fastest counts. No program has a threshold here, but simstring needs one to search.

- `look-up` calls `linker.generator`, and `link` calls `Linker.link`, which also breaks ties.
- scispaCy ranks concepts by their most similar name, as its linker does.
- gilda has a grounder of these names alone. It gets no context.
- QuickUMLS itself needs a UMLS release and a spaCy model. `simstring` is its search, with its defaults: 3-grams,
  Jaccard of at least 0.7. A second row has the cosine. Names and mentions are lowercased, as with its option `-L`.
- BioSyn's arithmetic is that of its code: dense arrays of tf-idf values and of vectors, a product with all names.

    python benchmarks/peers.py [--vocabulary KB] [--corpora FILE[:TYPE]…] [--folder FOLDER] [--peer NAME…]

`pip install gilda quickumls-simstring` adds these two. A program that is not installed, or fails, is reported as such.
With `--folder`, the files of each program are kept there. A later run builds only what has changed: the vocabulary, the
version of the program, or for ours its source. scispaCy's index takes about 6 minutes for MEDIC.
"""

# Modules are imported where a program needs them. Otherwise, its start would include those of the others.
import argparse
import contextlib
import hashlib
import importlib
import importlib.metadata
import json
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from common import new_parser

K = 30  # names or concepts to ask for, as scispaCy's linker does
BATCH = 64
LONG_PASS = 30  # seconds; a longer pass is not repeated
NOT_A_NAME = "a text without a meaning"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1") | {
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
}
NOT_INSTALLED = "not installed"


# --- the programs


class Peer:
    """A program that ranks concepts for a text.

    Args:
        files: Name of its folder of files. Peers with the same name share them.
        distribution: The distribution that has to be installed.
    """

    def __init__(self, files: str, distribution: str) -> None:
        self.files = files
        self.distribution = distribution

    def version(self) -> str | None:
        """Return what the files depend on besides the vocabulary, or None if the program is not installed."""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    def build(self, names: Path, kb: Path, folder: Path) -> None:
        """Make the files from the names (JSON lines, scispaCy's format) or from the knowledge base."""
        raise NotImplementedError

    def load(self, folder: Path) -> None:
        raise NotImplementedError

    def rank(self, texts: list[str]) -> list[list[str]]:
        """Return the concept ids for each text, best first."""
        raise NotImplementedError


class Ours(Peer):
    """The linker of a saved pipeline."""

    def __init__(self, files: str, encoder: str, whole: bool) -> None:
        super().__init__(files, "spacy-sapbert")
        self.encoder = encoder
        self.whole = whole

    def version(self) -> str:
        import spacy_sapbert

        digest = hashlib.sha256()
        for path in sorted(Path(spacy_sapbert.__file__).parent.rglob("*.py")):
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def build(self, names: Path, kb: Path, folder: Path) -> None:
        import spacy

        nlp = spacy.blank("en")
        nlp.add_pipe("sapbert_linker", config={"kb": str(kb), "encoder": self.encoder})
        nlp.to_disk(folder)

    def load(self, folder: Path) -> None:
        import spacy

        component: Any = spacy.load(folder).get_pipe("sapbert_linker")
        self.linker = component.linker

    def rank(self, texts: list[str]) -> list[list[str]]:
        found = self._link(texts) if self.whole else self.linker.generator(texts, K)
        return [[candidate.concept_id for candidate in candidates] for candidates in found]

    def _link(self, texts: list[str]) -> list[Any]:
        from spacy_sapbert.linking.variants import MentionQuery, MentionVariants

        documents = self.linker.link([[MentionQuery(MentionVariants(text))] for text in texts])
        return [parts[0].candidates for (parts,) in documents]


class Scispacy(Peer):
    """scispaCy's `CandidateGenerator`."""

    def build(self, names: Path, kb: Path, folder: Path) -> None:
        from scipy.sparse import save_npz
        from scispacy import candidate_generation
        from scispacy.linking_utils import KnowledgeBase

        (folder / "kb.jsonl").write_bytes(names.read_bytes())
        paths = candidate_generation.LinkerPaths.from_directory(folder)
        # It refuses scipy from 1.11 on, which cannot save its vectors as float16. They are saved as float32 below.
        candidate_generation.scipy_supports_sparse_float16 = lambda: True
        candidate_generation.nmslib = OneThreadNmslib(candidate_generation.nmslib)
        kb_of_names = KnowledgeBase(str(folder / "kb.jsonl"))
        aliases, vectorizer, index = candidate_generation.create_tfidf_ann_index(None, kb_of_names)
        Path(paths.concept_aliases_list).write_text(json.dumps(aliases))
        importlib.import_module("joblib").dump(vectorizer, paths.tfidf_vectorizer)
        save_npz(paths.tfidf_vectors, vectorizer.transform(aliases))
        index.saveIndex(paths.ann_index)

    def load(self, folder: Path) -> None:
        from scispacy.candidate_generation import CandidateGenerator, LinkerPaths
        from scispacy.linking_utils import KnowledgeBase

        aliases, vectorizer, index = LinkerPaths.from_directory(folder).load()
        self.generator = CandidateGenerator(index, vectorizer, aliases, KnowledgeBase(str(folder / "kb.jsonl")))

    def rank(self, texts: list[str]) -> list[list[str]]:
        ranked = []
        for candidates in self.generator(texts, K):
            candidates.sort(key=lambda candidate: -max(candidate.similarities))
            ranked.append([candidate.concept_id for candidate in candidates])
        return ranked


class OneThreadNmslib:
    """nmslib, but an index is built by one thread. scispaCy asks for 60, which wait for each other on one core."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)

    def init(self, **settings: Any) -> Any:
        return OneThreadNmslib(self._wrapped.init(**settings))

    def createIndex(self, settings: dict[str, Any], print_progress: bool) -> None:
        self._wrapped.createIndex({**settings, "indexThreadQty": 1}, print_progress=print_progress)


class Gilda(Peer):
    """gilda's `Grounder`, with a file of terms of the knowledge base."""

    def build(self, names: Path, kb: Path, folder: Path) -> None:
        term, process = importlib.import_module("gilda.term"), importlib.import_module("gilda.process")
        terms = []
        for concept_id, concept_names in read_names(names):
            preferred = concept_names[0]
            for name in concept_names:
                status = "name" if name == preferred else "synonym"
                if (normal := process.normalize(name)).strip():
                    terms.append(term.Term(normal, name, "KB", concept_id, preferred, status, "kb"))
        term.dump_terms(terms, folder / "terms.tsv.gz")

    def load(self, folder: Path) -> None:
        self.grounder = importlib.import_module("gilda.grounder").Grounder(folder / "terms.tsv.gz")

    def rank(self, texts: list[str]) -> list[list[str]]:
        return [[match.term.id for match in self.grounder.ground(text)] for text in texts]


class Simstring(Peer):
    """The search of QuickUMLS.

    Args:
        measure: The similarity, "jaccard" or "cosine".
    """

    NGRAM, THRESHOLD = 3, 0.7

    def __init__(self, measure: str) -> None:
        super().__init__("simstring", "quickumls-simstring")
        self.measure = measure

    def build(self, names: Path, kb: Path, folder: Path) -> None:
        concepts: dict[str, dict[str, None]] = defaultdict(dict)
        for concept_id, concept_names in read_names(names):
            for name in concept_names:
                concepts[self._normalize(name)][concept_id] = None
        writer = _simstring().writer(str(folder / "names.simstring"), self.NGRAM, False, True)
        for name in concepts:
            writer.insert(name)
        writer.close()
        (folder / "concepts.json").write_text(json.dumps({name: list(ids) for name, ids in concepts.items()}))

    def load(self, folder: Path) -> None:
        module = _simstring()
        self.reader = module.reader(str(folder / "names.simstring"))
        self.reader.measure = getattr(module, self.measure)
        self.reader.threshold = self.THRESHOLD
        self.concepts = json.loads((folder / "concepts.json").read_text())

    def rank(self, texts: list[str]) -> list[list[str]]:
        return [self._rank(self._normalize(text)) for text in texts]

    def _rank(self, text: str) -> list[str]:
        ngrams = self._ngrams(text)
        scored = sorted((-self._similarity(ngrams, self._ngrams(name)), name) for name in self.reader.retrieve(text))
        return list(dict.fromkeys(concept_id for _, name in scored for concept_id in self.concepts[name]))

    def _similarity(self, one: set[str], other: set[str]) -> float:
        common = len(one & other)
        if self.measure == "jaccard":
            return common / (len(one) + len(other) - common)
        return float(common / (len(one) * len(other)) ** 0.5)

    def _ngrams(self, text: str) -> set[str]:
        n = min(len(text), self.NGRAM)
        return {text[i : i + n] for i in range(len(text) - n + 1)}

    @staticmethod
    def _normalize(text: str) -> str:
        import unicodedata

        return unicodedata.normalize("NFKD", text.lower())


class Biosyn(Peer):
    """BioSyn's search with the starter encoder. Its code encodes all names at each start; here, arrays are saved."""

    def build(self, names: Path, kb: Path, folder: Path) -> None:
        import numpy as np

        pairs = {(self._normalize(name), id_): None for id_, texts in read_names(names) for name in texts}
        texts, ids = zip(*(pair for pair in pairs if pair[0]), strict=True)
        np.save(folder / "dense.npy", self._starter().encode(list(texts)))
        np.save(folder / "sparse.npy", self._vectorizer().fit_transform(texts).toarray().astype(np.float32))
        (folder / "names.json").write_text(json.dumps([texts, ids]))

    def load(self, folder: Path) -> None:
        import numpy as np

        from spacy_sapbert.linking.settings import LinkerParameters

        texts, self.ids = json.loads((folder / "names.json").read_text())
        self.dense, self.sparse = np.load(folder / "dense.npy"), np.load(folder / "sparse.npy")
        self.vectorizer = self._vectorizer().fit(texts)
        self.encoder = self._starter()
        self.sparse_weight = LinkerParameters().sparse_weight

    def rank(self, texts: list[str]) -> list[list[str]]:
        return [self._rank(text) for text in texts]

    def _rank(self, text: str) -> list[str]:
        import numpy as np

        sparse = self.vectorizer.transform([self._normalize(text)]).toarray().astype(np.float32)
        scores = self.sparse_weight * (sparse @ self.sparse.T) + self.encoder.encode([text]) @ self.dense.T
        best = np.argpartition(scores[0], -K)[-K:]
        best = best[np.argsort(-scores[0][best])]
        return list(dict.fromkeys(self.ids[row] for row in best))

    @staticmethod
    def _starter() -> Any:
        from spacy_sapbert.encoders.encoder import open_encoder

        return open_encoder("starter", device="cpu")

    @staticmethod
    def _vectorizer() -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(analyzer="char", ngram_range=(1, 2))

    @staticmethod
    def _normalize(text: str) -> str:
        from spacy_sapbert.text.normalize import biosyn

        return biosyn(text)


PEERS: dict[str, Peer] = {
    "spacy-sapbert, n-grams: look-up": Ours("ours-ngrams", "none", whole=False),
    "spacy-sapbert, n-grams: link": Ours("ours-ngrams", "none", whole=True),
    "spacy-sapbert, encoder: look-up": Ours("ours-encoder", "starter", whole=False),
    "spacy-sapbert, encoder: link": Ours("ours-encoder", "starter", whole=True),
    "scispaCy": Scispacy("scispacy", "scispacy"),
    "gilda": Gilda("gilda", "gilda"),
    "simstring, Jaccard (QuickUMLS)": Simstring("jaccard"),
    "simstring, cosine": Simstring("cosine"),
    "BioSyn's arithmetic": Biosyn("biosyn", "spacy-sapbert"),
}


def _simstring() -> Any:
    return importlib.import_module("quickumls_simstring.simstring")


def read_names(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the id and the names of each concept, the preferred name first."""
    with path.open() as lines:
        for line in lines:
            entity = json.loads(line)
            yield entity["concept_id"], [entity["canonical_name"], *entity["aliases"]]


# --- the steps, each in a process of its own


def step_build(peer: Peer, folder: Path, work: Path) -> dict[str, Any]:
    folder.mkdir(parents=True)
    peer.build(work / "names.jsonl", Path((work / "kb.txt").read_text()), folder)
    return {"build_s": round(time.process_time(), 1), "build_peak_mb": memory_mb("VmHWM")}


def step_measure(peer: Peer, folder: Path, work: Path, batch: int) -> dict[str, Any]:
    peer.load(folder)
    peer.rank([NOT_A_NAME])
    load = time.process_time()
    texts = json.loads((work / "texts.json").read_text())
    ranked: list[list[str]] = []
    start = time.process_time()
    for i in range(0, len(texts), batch):
        ranked += peer.rank(texts[i : i + batch])
    seconds = time.process_time() - start
    memory = {"peak_mb": memory_mb("VmHWM"), "private_mb": memory_mb("RssAnon")}
    return {"load_s": load, "ms": 1000 * seconds / len(texts), **memory, "ranked": [ids[:K] for ids in ranked]}


def memory_mb(field: str) -> float:
    """Return a field of the status of this process, in MB. The peak of `getrusage` can be that of the parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return round(int(value) * 1024 / 1e6, 1)


def run_step(step: str, label: str, work: Path, batch: int = BATCH) -> dict[str, Any]:
    """Run a step in a new process. It answers with a file, since programs print on all streams."""
    answer = work / "answer.json"
    command = [sys.executable, __file__, "--step", step, "--peer", label, "--folder", str(work), "--batch", str(batch)]
    home = work / "home"
    home.mkdir(exist_ok=True)
    homes = {"HOME": str(home), "SPACY_SAPBERT_CACHE": str(home / PEERS[label].files)}
    with (work / f"{PEERS[label].files}.log").open("w") as log:
        subprocess.run(command, check=True, env=os.environ | ONE_THREAD | homes, stdout=log, stderr=log)
    result: dict[str, Any] = json.loads(answer.read_text())
    answer.unlink()
    return result


def run_child(arguments: argparse.Namespace) -> None:
    if hasattr(os, "sched_setaffinity"):  # some programs start a thread for every core that they may use
        os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})
    (label,) = arguments.peer
    peer, work = PEERS[label], arguments.folder
    folder = work / "files" / peer.files
    build = arguments.step == "build"
    result = step_build(peer, folder, work) if build else step_measure(peer, folder, work, arguments.batch)
    (work / "answer.json").write_text(json.dumps(result))


# --- the table


class GoldMention(NamedTuple):
    corpus: str
    text: str
    gold: list[frozenset[str]]


def measure(label: str, work: Path, fingerprint: str, repeat: int) -> dict[str, Any]:
    """Build what is needed, and return the measures of a peer with its ranking for each text."""
    peer = PEERS[label]
    if (version := peer.version()) is None:
        return {"error": NOT_INSTALLED}
    result = built(label, work, [fingerprint, version])
    passes = [*passes_of(label, work, BATCH, repeat)]
    singles = [*passes_of(label, work, 1, repeat)]
    every = passes + singles
    result["load_s"] = round(min(one["load_s"] for one in every), 2)
    result["ms"] = round(min(one["ms"] for one in passes), 3)
    result["ms_single"] = round(min(one["ms"] for one in singles), 3)
    result |= {field: min(one[field] for one in every) for field in ("peak_mb", "private_mb")}
    files = (work / "files" / peer.files).rglob("*")
    result["disk_mb"] = round(sum(path.stat().st_size for path in files if path.is_file()) / 1e6, 1)
    return {**result, "ranked": passes[0]["ranked"]}


def passes_of(label: str, work: Path, batch: int, repeat: int) -> Iterator[dict[str, Any]]:
    for _ in range(repeat):
        start = time.monotonic()
        yield run_step("measure", label, work, batch)
        if time.monotonic() - start > LONG_PASS:
            return


def built(label: str, work: Path, key: list[str]) -> dict[str, Any]:
    """Return what the build cost: now, or in the run that made these files."""
    import shutil

    folder = work / "files" / PEERS[label].files
    record = folder.with_suffix(".json")
    if record.is_file() and (known := json.loads(record.read_text()))["key"] == key:
        return dict(known["result"])
    for path in (folder, work / "home" / PEERS[label].files):
        shutil.rmtree(path, ignore_errors=True)
    result = run_step("build", label, work)
    record.write_text(json.dumps({"key": key, "result": result}))
    return result


def prepare(arguments: argparse.Namespace, work: Path) -> tuple[Any, list[GoldMention]]:
    """Write the names and the texts for all peers. Return the knowledge base and the gold mentions."""
    from corpora import DISEASES, MEDIC, build

    from spacy_sapbert.documents.reader import read_corpus
    from spacy_sapbert.kb.export import ExportReport, export_lines
    from spacy_sapbert.kb.knowledge_base import KnowledgeBase
    from spacy_sapbert.metrics.linking_accuracy import gold_concepts

    path = arguments.vocabulary or work / "medic.kb"
    if not arguments.vocabulary:
        build(arguments.data, MEDIC, path)
    kb = KnowledgeBase(path)
    (work / "kb.txt").write_text(str(path.resolve()))
    with (work / "names.jsonl").open("w") as file:
        file.writelines(export_lines(kb, "scispacy", ExportReport()))
    given = [(Path(name), type_ or None) for name, _, type_ in (one.partition(":") for one in arguments.corpora)]
    corpora = given or [(arguments.data / task.dev.path, task.dev.type) for task in DISEASES.values()]
    mentions = [
        GoldMention(corpus.name, mention.text, gold_concepts(mention.ids, kb.find_id))
        for corpus, type_ in corpora
        for document in read_corpus(corpus)
        for mention in document.mentions
        if type_ in (None, mention.label) and mention.ids and all(map(kb.find_id, mention.ids))
    ]
    texts = sorted({mention.text for mention in mentions})
    random.Random(0).shuffle(texts)
    (work / "texts.json").write_text(json.dumps(texts))
    return kb, mentions


def accuracy(kb: Any, mentions: Sequence[GoldMention], ranked: dict[str, list[str]]) -> dict[str, Any]:
    """Return lenient Acc@1 and Acc@5, for all mentions and by corpus."""
    from spacy_sapbert.metrics.linking_accuracy import CUTOFFS, lenient_at

    ids = {concept_id: frozenset(kb.ids(concept_id)) for found in ranked.values() for concept_id in found}
    hits: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for mention in mentions:
        found = [[ids[concept_id] for concept_id in ranked[mention.text]]]
        for k in CUTOFFS:
            hit = lenient_at(k, mention.gold, found)
            for group in ("all", mention.corpus):
                hits[group][f"acc@{k}"].append(hit)
    shares = {
        group: {name: round(100 * sum(values) / len(values), 2) for name, values in measures.items()}
        for group, measures in hits.items()
    }
    return {**shares.pop("all"), "by_corpus": shares}


COLUMNS = ("build_s", "load_s", "ms", "ms_single", "peak_mb", "private_mb", "disk_mb", "acc@1", "acc@5")


def print_table(rows: dict[str, dict[str, Any]]) -> None:
    """Print the table for people to standard error."""
    width = max(map(len, rows))
    print(" " * width, *(f"{column:>10}" for column in COLUMNS), file=sys.stderr)
    for label, row in rows.items():
        cells = [row["error"]] if "error" in row else [f"{row[column]:>10}" for column in COLUMNS]
        print(f"{label:{width}}", *cells, file=sys.stderr)


def compare(arguments: argparse.Namespace, work: Path) -> dict[str, Any]:
    kb, mentions = prepare(arguments, work)
    texts = json.loads((work / "texts.json").read_text())
    rows = {}
    for label in arguments.peer or PEERS:
        try:
            row = measure(label, work, kb.fingerprint, arguments.repeat)
        except subprocess.CalledProcessError:  # the other rows are still of use, after hours of building
            row = {"error": f"failed: {_last_line(work / f'{PEERS[label].files}.log')}"}
        if "ranked" in row:
            row |= accuracy(kb, mentions, dict(zip(texts, row.pop("ranked"), strict=True)))
        rows[label] = row
        print(label, row, file=sys.stderr)
    print_table(rows)
    counts = {"concepts": len(kb), "names": kb.n_names, "mentions": len(mentions), "different_texts": len(texts)}
    return {**counts, "peers": rows}


def _last_line(log: Path) -> str:
    return next((line for line in reversed(log.read_text(errors="replace").splitlines()) if line.strip()), "no message")


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--vocabulary", type=Path, help="Knowledge base file. Default: MEDIC from --data.")
    parser.add_argument(
        "--corpora",
        nargs="+",
        default=[],
        help="Corpora, with the type of the mentions. Default: the development sets of NCBI Disease and BC5CDR.",
    )
    parser.add_argument("--folder", type=Path, help="Folder to keep the files of the programs in.")
    parser.add_argument("--peer", action="append", choices=PEERS, help="Program to measure. Repeatable. Default: all.")
    parser.add_argument("--repeat", type=int, default=3, help="Number of passes, of which the fastest counts.")
    parser.add_argument("--step", choices=("build", "measure"), help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, default=BATCH, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        run_child(arguments)
        return
    with contextlib.ExitStack() as stack:
        work = arguments.folder or Path(stack.enter_context(TemporaryDirectory()))
        work.mkdir(parents=True, exist_ok=True)
        print(json.dumps(compare(arguments, work.resolve()), indent=2))


if __name__ == "__main__":
    main()
