"""Write `spacy_sapbert/starter/popularity.safetensors`: how many public abstracts have a name of an open vocabulary.

    python scripts/popularity.py DATA medic.kb hpo.kb …

DATA has abstracts in JSON lines in `documents/`, and the ids of those that are left out in `splits/development.txt`.
The table has hashes of names, no text. A name of one abstract is left out.
"""

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.concept_facts import STEPS, compact
from spacy_sapbert.linking.name_matcher import MAX_WORDS, name_hashes
from spacy_sapbert.starter import POPULARITY
from spacy_sapbert.text.words import acronym_hash, word_hashes

FEWEST, BATCH = 2, 500  # abstracts
CLAUSE_END = re.compile(r"[.;:!?,]\s|\s?[()\[\]]\s?|\n")
SHORT_FORM = re.compile(r"\b[A-Za-z0-9]{2,6}\b")


def abstracts(data: Path) -> Iterator[str]:
    left_out = set((data / "splits/development.txt").read_text(encoding="utf-8").split())
    for path in sorted((data / "documents").glob("*/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for record in map(json.loads, file):
                if left_out.isdisjoint({str(record["id"]), str(record.get("pmid"))}):
                    yield f"{record.get('title') or ''}\n{record['text']}"


def count(texts: list[str], names: np.ndarray) -> np.ndarray:
    """RETURNS (int64, shape (names,)): how many texts have each of the sorted hashes of names."""
    clauses = [(n, clause) for n, text in enumerate(texts) for clause in CLAUSE_END.split(text) if clause.strip()]
    of_clause, hashes = word_hashes([clause for _, clause in clauses])
    of_clause, hashes = of_clause[hashes != 0], hashes[hashes != 0]
    owners = np.array([n for n, _ in clauses])[of_clause]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    short = [
        (n, key) for n, text in enumerate(texts) for form in SHORT_FORM.findall(text) if (key := acronym_hash(form))
    ]
    windows = [(np.array([n for n, _ in short], np.int64), np.array([key for _, key in short], np.uint64))]
    for length in range(1, min(MAX_WORDS, len(hashes)) + 1):
        n = len(hashes) - length + 1
        inside = of_clause[:n] == of_clause[length - 1 :]
        windows.append((owners[:n][inside], (sums[length:] - sums[:n])[inside]))
    owner, keys = map(np.concatenate, zip(*windows, strict=True))
    rows = np.minimum(np.searchsorted(names, keys), len(names) - 1)
    is_name = names[rows] == keys
    pairs = np.unique(owner[is_name] * len(names) + rows[is_name])
    return np.bincount(pairs % len(names), minlength=len(names))


def save(hashes: np.ndarray, counts: np.ndarray, path: Path) -> None:
    """Write the hashes of names, each once, with the number of abstracts that have each."""
    keys, first = np.unique(compact(hashes), return_index=True)
    logs = np.minimum((np.log1p(counts[first]) * STEPS).round(), np.iinfo(np.uint8).max).astype(np.uint8)
    save_file({"hashes": keys, "logs": logs}, path)


def main(data: Path, vocabularies: list[Path]) -> None:
    names = np.unique(np.concatenate([name_hashes(list(KnowledgeBase(path).names())) for path in vocabularies]))
    names, texts = names[names != 0], list(abstracts(data))
    counts = sum(count(texts[start : start + BATCH], names) for start in range(0, len(texts), BATCH))
    frequent = counts >= FEWEST
    save(names[frequent], counts[frequent], POPULARITY)
    sys.stdout.write(f"{len(texts):,} abstracts, {len(names):,} names, {frequent.sum():,} in the table\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]])
