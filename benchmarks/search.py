"""Compare the search of the linker with an exact search: accuracy, candidates, and time.

Each column is a vocabulary and a development set: diseases of NCBI Disease and BC5CDR with MEDIC, chemicals of BC5CDR
with those of MeSH, genes of NLM-Gene with HGNC. The default pipeline links the gold mentions twice, by the index in
question and by "Flat", which scores all names.

The measures are pooled over the diseases and chemicals. "changed" counts mentions with another first concept: those
that only the exact search gets right, those that only the search in question does, and the others. "later" is the share
of mentions with other candidates after the first. "recall@20" is the share of the 20 best candidates of the exact
search that were found. "ms" is the time of the processor for each different text, all caches empty, of the candidate
generator.

    python benchmarks/search.py [--data FOLDER] [--index auto] [--encoder starter|none|FOLDER] [--columns ncbi …]
"""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import spacy
from common import new_parser
from corpora import CORPORA, TASKS, build, read

from spacy_sapbert.evaluation.linking import evaluate_linking
from spacy_sapbert.evaluation.running import LinkedMention
from spacy_sapbert.types import Document

COLUMNS = {**{name: task.dev for name, task in TASKS.items()}, "genes": CORPORA["NLM-Gene"]._replace(part="all")}
COMPONENTS = ("abbreviation_resolver", "composite_splitter", "sapbert_linker")
TEXTS_PER_CALL = 512


class Linked(NamedTuple):
    """What a search found for one mention: the candidates of its parts, and whether the first ones are right."""

    candidates: list[list[str]]
    is_right: bool


def link(kb: Path, encoder: str, index: str, documents: list[Document]) -> tuple[list[Linked], float]:
    """Return what was found for each mention, and the milliseconds for each different text."""
    nlp = spacy.blank("en")
    for name in COMPONENTS:
        nlp.add_pipe(name)
    nlp.remove_pipe(COMPONENTS[-1])
    component: Any = nlp.add_pipe(COMPONENTS[-1], config={"kb": str(kb), "encoder": encoder, "index": index})
    generator = component.linker.generator
    texts = sorted({mention.text for document in documents for mention in document.mentions})
    generator(["opened before it is timed"], 30)
    start = time.process_time()
    for first in range(0, len(texts), TEXTS_PER_CALL):
        generator(texts[first : first + TEXTS_PER_CALL], 30)
    taken = 1000 * (time.process_time() - start) / len(texts)
    linked: list[Linked] = []

    def keep(mention: LinkedMention, score: Any) -> None:
        parts = [[candidate.concept_id for candidate in part.candidates] for part in mention.parts]
        linked.append(Linked(parts, score.covered and score.lenient[1]))

    evaluate_linking(nlp, documents, each=keep)
    return linked, taken


def compare(exact: list[Linked], ours: list[Linked]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for one, other in zip(exact, ours, strict=True):
        firsts = [[part[:1] for part in linked.candidates] for linked in (one, other)]
        counts["mentions"] += 1
        counts["right by exact search"] += one.is_right
        counts["right by this search"] += other.is_right
        counts["later"] += firsts[0] == firsts[1] and one.candidates != other.candidates
        if firsts[0] != firsts[1]:
            sides = {(True, False): "only exact is right", (False, True): "only this is right"}
            counts[sides.get((one.is_right, other.is_right), "neither or both are right")] += 1
        if len(one.candidates) == len(other.candidates):
            for part, found in zip(one.candidates, other.candidates, strict=True):
                counts["of 20"] += len(part[:20])
                counts["found of 20"] += len(set(part[:20]).intersection(found))
    return counts


def summarize(counts: Counter[str]) -> dict[str, Any]:
    n = counts["mentions"]
    changed = ("only exact is right", "only this is right", "neither or both are right")
    return {
        "mentions": n,
        "acc@1 exact": round(100 * counts["right by exact search"] / n, 2),
        "acc@1": round(100 * counts["right by this search"] / n, 2),
        "changed": {name: counts[name] for name in changed},
        "later": round(100 * counts["later"] / n, 1),
        "recall@20": round(100 * counts["found of 20"] / counts["of 20"], 1),
    }


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    parser.add_argument("--index", default="auto")
    parser.add_argument("--columns", nargs="+", default=list(COLUMNS), choices=list(COLUMNS))
    parser.add_argument("--folder", type=Path, help="Where knowledge bases are kept for the next run.")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    pooled: Counter[str] = Counter()
    with TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        for name in arguments.columns:
            corpus, kb = COLUMNS[name], folder / f"{Path(COLUMNS[name].vocabulary).name}.kb"
            if not kb.is_file():
                build(arguments.data, corpus.vocabulary, kb)
            documents = read(arguments.data, corpus)
            exact, exact_ms = link(kb, arguments.encoder, "Flat", documents)
            ours, ms = link(kb, arguments.encoder, arguments.index, documents)
            counts = compare(exact, ours)
            if name != "genes":
                pooled += counts
            results[name] = {**summarize(counts), "ms exact": round(exact_ms, 3), "ms": round(ms, 3)}
            print(name, results[name], file=sys.stderr)
    print(json.dumps({**results, **({"pooled": summarize(pooled)} if pooled else {})}, indent=2))


if __name__ == "__main__":
    main()
