"""Measure how often several concepts share the best score of a gold mention, and which rules find the right one.

The order of the rules was chosen on the training parts of NCBI Disease and BC5CDR. They are linked to MEDIC alone, and
to MEDIC with the mentions of the other three quarters of the same part. The development parts are linked to MEDIC
alone, to MEDIC with all training mentions, and to the starter vocabulary. `--chemicals` is a list of chemicals in
MEDIC's format. With it, the chemicals of BC5CDR are linked to both vocabularies, with their own types.

The output counts three things. First, the parts of mentions whose first candidate shares its score with others. Second,
the parts with a gold concept among these candidates (`best_possible`). Third, the parts for which each order of rules
puts a gold concept first.

    python benchmarks/ties.py [--data FOLDER] [--encoder NAME|FOLDER|none] [--chemicals FILE]
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import spacy
from common import new_parser
from linking import DISEASES, MEDIC, read
from spacy.language import Language

from spacy_sapbert.evaluation.running import LinkedMention, link_gold_mentions
from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.mentions import add_mentions
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.linking import ties
from spacy_sapbert.linking.ties import RULES, tied
from spacy_sapbert.metrics.linking_accuracy import gold_concepts, lenient_at
from spacy_sapbert.types import Document

FOLDS = 4
ORDERS: dict[str, tuple[str, ...]] = {
    "id": (),
    "annotations": ("annotations",),
    "annotations, preferred": ("annotations", "preferred"),
    "annotations, preferred, type": ("annotations", "preferred", "type"),
    "annotations, type, preferred": ("annotations", "type", "preferred"),
    "type, annotations, preferred": ("type", "annotations", "preferred"),
    "annotations, preferred, type, main": ("annotations", "preferred", "type", "main"),
    "annotations, preferred, main, type": ("annotations", "preferred", "main", "type"),
    "annotations, preferred, main, names, type": ("annotations", "preferred", "main", "names", "type"),
    "all, as the linker": RULES,
}


def build(path: Path, data: Path, chemicals: Path | None, mentions: list[Document]) -> Path:
    """Build a knowledge base of MEDIC, the chemicals and these mentions."""
    with new_knowledge_base(path) as builder:
        for source, file, type in (("MEDIC", data / MEDIC, "Disease"), ("chemicals", chemicals, "Chemical")):
            for record in read_vocabulary(file, "medic", report=ReadReport(), source=source) if file else ():
                builder.add(record._replace(types=(type,)))
        add_mentions(builder, mentions, "train")
        builder.finish({})
    return path


def pipeline(kb: str, encoder: str) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": encoder})
    return nlp


def count(nlp: Language, documents: list[Document]) -> Counter[str]:
    linker: Any = nlp.get_pipe("sapbert_linker")
    with_ids = (d._replace(mentions=tuple(m for m in d.mentions if m.ids)) for d in documents)
    mentions = list(link_gold_mentions(nlp, with_ids))
    judged = list(judge(mentions, linker.kb))
    possible = sum(any_right for _, any_right in judged)
    counts = Counter({"mentions": len(mentions), "tied": len(judged), "best_possible": possible})
    for order, rules in ORDERS.items():
        ties.RULES = rules
        parts, labels = [linked.parts for linked in mentions], [linked.mention.label for linked in mentions]
        decided = ties.TieBreaker(linker.kb).break_ties(parts, labels)
        again = [linked._replace(parts=parts) for linked, parts in zip(mentions, decided, strict=True)]
        counts[order] = sum(right for right, _ in judge(again, linker.kb))
    return counts


def judge(mentions: list[LinkedMention], kb: Any) -> Iterator[tuple[bool, bool]]:
    """Yield, for each part with several best candidates, whether the first is right and whether any is right."""
    for linked in mentions:
        gold = gold_concepts(linked.mention.ids, kb.find_id)
        for part in linked.parts:
            if best := tied(part):
                ids = [frozenset(kb.ids(candidate.concept_id)) for candidate in best]
                yield lenient_at(1, gold, [ids]), lenient_at(len(ids), gold, [ids])


def measure(corpus: str, data: Path, encoder: str, chemicals: Path | None, folder: Path) -> dict[str, Any]:
    files = DISEASES[corpus]
    type = None if chemicals else files.type
    train, dev = read(data / files.train, type), read(data / files.dev, type)
    plain = pipeline(str(build(folder / "plain.kb", data, chemicals, [])), encoder)
    joined = pipeline(str(build(folder / "joined.kb", data, chemicals, train)), encoder)
    folds: Counter[str] = Counter()
    for fold in range(FOLDS):
        others = [document for i, document in enumerate(train) if i % FOLDS != fold]
        nlp = pipeline(str(build(folder / f"{fold}.kb", data, chemicals, others)), encoder)
        folds.update(count(nlp, train[fold::FOLDS]))
    return {
        "train, MEDIC": count(plain, train),
        "train, MEDIC + other training mentions": folds,
        "dev, MEDIC": count(plain, dev),
        "dev, MEDIC + training mentions": count(joined, dev),
        "dev, starter": count(pipeline("starter", encoder), dev),
    }


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    parser.add_argument("--chemicals", type=Path, help="List of chemicals in MEDIC's format, for BC5CDR.")
    arguments = parser.parse_args()
    runs: list[tuple[str, str, Path | None]] = [(corpus, corpus, None) for corpus in DISEASES]
    if arguments.chemicals:
        runs.append(("bc5cdr with chemicals", "bc5cdr", arguments.chemicals))
    results: dict[str, Any] = {"encoder": arguments.encoder}
    for name, corpus, chemicals in runs:
        with TemporaryDirectory() as folder:
            results[name] = measure(corpus, arguments.data, arguments.encoder, chemicals, Path(folder))
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
