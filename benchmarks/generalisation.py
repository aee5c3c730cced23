"""Measure whether self-alignment helps with unseen names: leave sources out of the training, and link their names.

Some names come from one source only (of rare diseases, of anatomy, of chemicals). They are taken out of the training
pairs. Encoders must then find their concepts, which have other names from other sources. The measure: is the nearest
name one of the concept's? The candidates are the other names of all concepts of that source, and the names of as many
other concepts.

The encoder trained without the source is compared with the one that it started from, and with any others.

    python benchmarks/generalisation.py CONFIG OUTPUT --kb KB --pairs PAIRS --encoder ENCODER
        [--compare FOLDER …] [--steps 300] [--source rare|anatomy|chemicals …] [--set NAME=VALUE …]
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import new_parser
from pretraining import pretrain

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS, american

# as the project's knowledge base calls them
SOURCES = {
    "rare": {"ordo-2_6-2018-07-12"},
    "anatomy": {"uberon_import", "cl"},
    "chemicals": {"chebi_import", "DrugBank"},
}
QUERIES = 2000


class HeldOut(NamedTuple):
    """The queries and the candidate names, each with its concepts."""

    queries: list[tuple[str, str]]
    candidates: dict[str, set[str]]


def hold_out(kb: KnowledgeBase, sources: set[str]) -> tuple[HeldOut, set[str]]:
    """Return the task, and the normal forms of names that no other source has."""
    inside: dict[str, set[str]] = defaultdict(set)
    outside: dict[str, set[str]] = defaultdict(set)
    for concept_id in kb.concept_ids():
        for name in kb.names_of(concept_id):
            (inside if name.source in sources else outside)[concept_id].add(american(name.text))
    elsewhere = set().union(*outside.values())
    filter = set().union(*inside.values()) - elsewhere
    asked = [(name, one) for one in sorted(inside) if one in outside for name in sorted(inside[one] & filter)]
    others = sorted(outside.keys() - inside.keys())
    rng = random.Random(0)
    candidates: dict[str, set[str]] = defaultdict(set)
    for concept_id in [*inside, *rng.sample(others, min(len(inside), len(others)))]:
        for name in outside.get(concept_id, ()):
            candidates[name].add(concept_id)
    return HeldOut(rng.sample(asked, min(QUERIES, len(asked))), dict(candidates)), filter


def write_pairs(pairs: Path, without: set[str], path: Path) -> int:
    """Copy the pairs without a left-out name, and return their number."""
    kept = [line for line in pairs.open(encoding="utf-8") if without.isdisjoint(map(american, line.split("||")[1:]))]
    path.write_text("".join(kept), encoding="utf-8")
    shared = pairs.with_suffix(".shared.txt")
    path.with_suffix(".shared.txt").write_text(shared.read_text(encoding="utf-8"), encoding="utf-8")
    return len(kept)


def accuracy(encoder: TransformerEncoder, task: HeldOut) -> float:
    """Return the accuracy in percent of the queries."""
    normalize = TEXT_NORMALIZERS[encoder.text_normalizer]
    owners: dict[str, set[str]] = defaultdict(set)
    for name, concept_ids in task.candidates.items():
        owners[normalize(name)] |= concept_ids
    names, vectors = list(owners), encoder.encode(list(owners))
    queries = encoder.encode([text for text, _ in task.queries])
    nearest = [int((vectors @ query).argmax()) for query in queries]
    right = [concept_id in owners[names[row]] for row, (_, concept_id) in zip(nearest, task.queries, strict=True)]
    return round(100 * float(np.mean(right)), 2)


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("config", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--kb", required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument(
        "--compare",
        action="append",
        default=[],
        help="Further encoder to compare. It must not be trained on the left-out names. Repeatable.",
    )
    parser.add_argument(
        "--source", action="append", choices=list(SOURCES), help="Source to leave out. Repeatable. Default: all."
    )
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument(
        "--set", action="append", default=[], help="Setting of the config, such as pretrain.seed=1. Repeatable."
    )
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    for name in args.source or SOURCES:
        task, filter = hold_out(KnowledgeBase(args.kb), SOURCES[name])
        pairs = args.output / f"{name}.txt"
        counts = {"queries": len(task.queries), "candidates": len(task.candidates)}
        paths = {"encoder": args.encoder, "pairs": str(pairs)}
        counts["pairs"] = write_pairs(args.pairs, filter, pairs)
        settings = {"max_steps": args.steps, "teacher": None}
        trained = pretrain(args.config, args.output / name, settings, paths, args.set, seed=0)
        encoders = {"untrained": args.encoder, "trained": str(trained), **{one: one for one in args.compare}}
        scores = {label: accuracy(TransformerEncoder(folder), task) for label, folder in encoders.items()}
        results[name] = {**counts, "acc@1": scores}
        print(json.dumps({"steps": args.steps, "sources": results}, indent=2), flush=True)


if __name__ == "__main__":
    main()
