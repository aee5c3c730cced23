r"""Measure how many of the names that `discover` finds are right, by rank.

The corpus is annotated, and the linker gets its mentions. A name is right if any mention with the same words is
annotated with the concept (with all its ids). The mention counts as it is written, split or expanded.

    spacy-sapbert discover PIPELINE CORPUS -o candidates.tsv --discover.types Disease \
        --discover.similarity 0.6 --discover.gold
    python benchmarks/discovery.py candidates.tsv CORPUS --kb KB [--type Disease]
"""

import csv
import json
from collections import defaultdict
from pathlib import Path

from common import new_parser

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.text.abbreviations import expand, find_definitions, find_occurrences
from spacy_sapbert.text.composites import composite_splits
from spacy_sapbert.text.words import word_keys

RANKS = (20, 50, 100, 200, 500)


def gold_ids(corpus: Path, type: str | None) -> dict[tuple[str, ...], set[str]]:
    """Return the annotated ids, by the words of the mention or of one of its parts."""
    ids: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for document in read_corpus(corpus):
        occurrences = find_occurrences(document.text, find_definitions(document.text))
        for mention in document.mentions:
            if type in (None, mention.label):
                wholes = {mention.text, expand(document.text, mention.start, mention.end, occurrences)}
                parts = {part for whole in wholes for split in composite_splits(whole) for part in split}
                for text in wholes | parts:
                    ids[word_keys(text)].update(mention.ids)
    return ids


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("candidates", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--kb", required=True)
    parser.add_argument("--type")
    given = parser.parse_args()
    kb, gold = load_knowledge_base(given.kb), gold_ids(given.corpus, given.type)
    with given.candidates.open(encoding="utf8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE))
    right = [not gold[word_keys(row["name"])].isdisjoint(kb.ids(row["id"])) for row in rows]
    precision = {f"p@{n}": round(100 * sum(right[:n]) / n, 1) for n in RANKS if n <= len(right)}
    print(json.dumps({"names": len(right), "right": sum(right), **precision}, indent=2))


if __name__ == "__main__":
    main()
