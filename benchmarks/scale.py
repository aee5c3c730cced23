"""Measure the build time, opening time, memory and disk of a knowledge base of the size of UMLS.

The vocabulary is made up, and the same for the same seed. It has the shape of the Metathesaurus:

- a median of one or two English names per concept with a long tail, about 2.5 on average;
- two to six words per name, shared between names by Zipf's law;
- inversions and variants among the synonyms;
- other languages and suppressed rows.

Every step runs in its own process, so that its peak memory is its own.

    python benchmarks/scale.py [--concepts 100000 1000000] [--seed 0] [--folder FOLDER] [--rrf]

With --rrf, the vocabulary is written as MRCONSO.RRF and MRSTY.RRF, and the reader of the format `umls` reads it.
Without, its records go straight into the knowledge base. With --folder, the files are kept there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.types import Name, Record

CHUNK = 10_000  # concepts per chunk; a chunk depends only on the seed and its number
N_WORDS = 60_000
MAX_WORDS = 6
SYLLABLES = """
    neu ro car dio hep ato neph der mal gas tri hem lym pho mye lo pul mo oto cy thy rin sis itis oma emia al
    gia ec tomy ase ol us gen ic plas tro phy uri pen gra den fil sclero
"""
COMMON = """
    acute chronic of left right syndrome disease disorder the congenital due to type familial primary secondary
    cell benign malignant neoplasm structure product tablet oral deficiency receptor gene protein infection
    measurement
"""
SOURCES = ("MSH", "SNOMEDCT_US", "NCI", "MEDCIN", "RXNORM", "OMIM", "ICD10CM", "LNC")
TYPES = {f"T{number:03}": f"Type {number}" for number in range(1, 128)}
LOOKUPS = 1000


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
    """Return made-up words, the most frequent first."""
    drawn, syllables = random.Random(0), SYLLABLES.split()
    found = dict.fromkeys(COMMON.split())
    while len(found) < N_WORDS:
        found["".join(drawn.choices(syllables, k=drawn.randint(2, 4)))] = None
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


def write_rrf(folder: Path, n: int, seed: int) -> None:
    """Write MRCONSO.RRF and MRSTY.RRF (columns: UMLS Reference Manual, chapter 3, tables 1 and 7)."""
    atom = 0
    with (folder / "MRCONSO.RRF").open("w") as mrconso, (folder / "MRSTY.RRF").open("w") as mrsty:
        for concept in concepts(n, seed):
            for i, row in enumerate(concept.rows):
                atom += 1
                rank = "P|L{0}|PF|S{0}|Y|A{0}" if i == 0 else "S|L{0}|VO|S{0}|N|A{0}"
                term_type, suppress = ("SY" if i else "PT"), ("O" if row.suppressed else "N")
                numbers = rank.format(f"{atom:08}")
                mrconso.write(
                    f"{concept.cui}|{row.language}|{numbers}||M{atom}||{row.source}|{term_type}|{atom}|{row.text}|0|"
                    f"{suppress}||\n"
                )
            for tui in concept.types:
                mrsty.write(f"{concept.cui}|{tui}|A1.{tui[1:]}|{TYPES[tui]}|AT{atom:08}||\n")


# --- the steps, each in a process of its own


def step_build(path: Path, n: int, seed: int, rrf: Path | None) -> dict[str, Any]:
    """Build the knowledge base. The time of the records themselves is reported separately."""
    taken = np.zeros(2)  # by the clock and by the processor
    n_rows = 0

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
    kb = build_knowledge_base(timed(_read_rrf(rrf) if rrf else records(n, seed)), path)
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


def _read_rrf(folder: Path) -> Iterator[Record]:
    from spacy_sapbert.kb.readers import ReadReport, read_vocabulary

    return read_vocabulary(folder, "umls", report=ReadReport())


def step_rrf(path: Path, n: int, seed: int, rrf: Path | None) -> dict[str, Any]:
    assert rrf
    rrf.mkdir(exist_ok=True)
    write_rrf(rrf, n, seed)
    return {"rrf_mb": round(sum(file.stat().st_size for file in rrf.iterdir()) / 1e6, 1)}


def step_open(path: Path, n: int, seed: int, rrf: Path | None) -> dict[str, Any]:
    """Open the knowledge base with a cold file cache, and look names up."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    results: dict[str, Any] = {}
    kb = _measured(results, "open", lambda: KnowledgeBase(path))
    _measured(results, "first_get", lambda: kb.cui_to_entity["C0000000"])
    drawn = random.Random(seed)
    ids = [f"C{drawn.randrange(n):07}" for _ in range(LOOKUPS)]
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


STEPS = {"rrf": step_rrf, "build": step_build, "open": step_open}


def measure(n: int, seed: int, folder: Path, rrf: bool) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for step in STEPS if rrf else ("build", "open"):
        command = [sys.executable, __file__, "--step", step, "--concepts", str(n), "--seed", str(seed)]
        command += ["--folder", str(folder), *(["--rrf"] if rrf else [])]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        results[step] = json.loads(output)
        print(n, step, results[step], file=sys.stderr)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concepts", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rrf", action="store_true")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        (n,) = arguments.concepts
        rrf = arguments.folder / f"rrf-{n}" if arguments.rrf else None
        result = STEPS[arguments.step](arguments.folder / f"{n}.kb", n, arguments.seed, rrf)
        print(json.dumps(result))
        return
    with TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        results = {n: measure(n, arguments.seed, folder, arguments.rrf) for n in arguments.concepts}
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
