"""Find the default threshold: precision and recall of links at every threshold, on training mentions.

The gold mentions of the training parts of BC5CDR and NCBI Disease are linked, whether or not the vocabulary has their
concept. A link is right if it meets a gold id. If the vocabulary lacks the concept, the mention should have no link.
The output is the threshold with the highest F1, and the curve.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import spacy

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.evaluation.linking import link_gold_mentions
from spacy_sapbert.metrics.linking_accuracy import gold_concepts, lenient_at
from spacy_sapbert.types import Document

CORPORA = ("corpora/bc5cdr/CDR_TrainingSet.PubTator.txt.gz", "corpora/ncbi_disease/NCBItrainset_corpus.txt.gz")
DATA = Path(os.environ.get("SPACY_SAPBERT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--kb", default="starter")
    parser.add_argument("--encoder", default="starter")
    parser.add_argument("--type", action="append", help="Use only mentions with this label. Repeatable.")
    parser.add_argument("--every", type=int, default=1, help="Use only every n-th document.")
    arguments = parser.parse_args()
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    linker = nlp.add_pipe("sapbert_linker", config={"kb": arguments.kb, "encoder": arguments.encoder})
    scores, right, covered = [], [], []
    for linked in link_gold_mentions(nlp, documents(arguments.data, arguments.type, arguments.every)):
        gold = gold_concepts(linked.mention.ids, linker.kb.find_id)
        parts = [[frozenset(linker.kb.ids(c.concept_id)) for c in part.candidates[:1]] for part in linked.parts]
        scores.append(min((part.candidates[0].score if part.candidates else 0.0) for part in linked.parts))
        right.append(lenient_at(1, gold, parts))
        covered.append(any(linker.kb.find_id(concept_id) for concept_id in linked.mention.ids))
    print(json.dumps(curve(np.array(scores), np.array(right), np.array(covered)), indent=2))


def documents(data: Path, types: list[str] | None, every: int) -> Iterator[Document]:
    for corpus in CORPORA:
        for number, document in enumerate(read_corpus(data / corpus)):
            if number % every == 0:
                mentions = (m for m in document.mentions if m.ids and (not types or m.label in types))
                yield document._replace(mentions=tuple(mentions))


def curve(scores: np.ndarray, right: np.ndarray, covered: np.ndarray) -> dict[str, object]:
    rows = []
    for threshold in np.arange(0.4, 1.0, 0.025).round(3):
        linked = scores > threshold
        precision = right[linked].mean()
        recall = right[linked].sum() / covered.sum()
        f1 = 2 * precision * recall / (precision + recall)
        percentages = {"p": precision, "r": recall, "f1": f1}
        rows.append({"threshold": float(threshold)} | {k: round(100 * float(v), 2) for k, v in percentages.items()})
    counts = {"mentions": len(scores), "covered": int(covered.sum())}
    return {**counts, "best": max(rows, key=lambda row: row["f1"]), "curve": rows}


if __name__ == "__main__":
    main()
