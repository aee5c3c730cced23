"""Measure how good rule-based annotations are: compare `augment` with the annotations of a corpus on the same texts.

For each filter, the output has the number of annotations that it removes. It also has how many of these are right: the
filter should have kept them. An annotation is right if the corpus annotates one of its concepts anywhere in the
document.

With --mmlite, MetaMapLite's rules annotate instead of `concept_matcher`; `metamaplite.py` makes the folder.

    python benchmarks/augmentation.py --kb KB [--labels FILE] [--mmlite FOLDER] CORPUS …
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from common import new_parser
from metamaplite import Mmlite

from spacy_sapbert.augmentation.annotations import (
    Annotation,
    Annotator,
    FalseAbbreviations,
    InvertedNames,
    MatcherAnnotator,
    Overlaps,
    Verbs,
)
from spacy_sapbert.augmentation.search import primary_ids
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.kb.ids import read_labels
from spacy_sapbert.kb.storage import load_knowledge_base


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--kb", required=True)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--mmlite", type=Path, help="Folder of an index of mmlite.")
    given = parser.parse_args()
    kb = load_knowledge_base(given.kb)
    labels = set(primary_ids(read_labels(given.labels), kb)[0]) if given.labels else None
    filters = {
        "false_abbreviations": FalseAbbreviations(kb),
        "verbs": Verbs(),
        "inverted_names": InvertedNames(kb),
        "overlaps": Overlaps(kb),
    }
    counts: dict[str, Counter[str]] = {name: Counter() for name in (*filters, "left")}
    wrong: dict[str, Counter[str]] = {name: Counter() for name in counts}
    documents = [document for path in given.corpora for document in read_corpus(path)]
    n_gold = n_hit = 0
    annotator: Annotator = Mmlite(given.mmlite, kb) if given.mmlite else MatcherAnnotator(kb)
    annotated = annotator.annotate([document.text for document in documents])
    for document, found in zip(documents, annotated, strict=True):
        gold = {one for mention in document.mentions for some in mention.ids for one in kb.find_id(some)}

        def count(name: str, some: list[Annotation], text: str = document.text, gold: set[str] = gold) -> None:
            for one in some:
                if labels is None or not labels.isdisjoint(one.ids):
                    counts[name]["annotations"] += 1
                    counts[name]["right"] += not gold.isdisjoint(one.ids)
                    if gold.isdisjoint(one.ids):
                        wrong[name][text[one.start : one.end]] += 1

        annotations = found or []
        for name, step in filters.items():
            left = step(document.text, annotations)
            count(name, [one for one in annotations if one not in left])
            annotations = left
        count("left", annotations)
        ids = {concept_id for one in annotations for concept_id in one.ids}
        n_gold, n_hit = n_gold + len(gold), n_hit + len(gold & ids)
    result = {name: {**counts[name], "wrong": [text for text, _ in wrong[name].most_common(12)]} for name in counts}
    print(json.dumps({"documents": len(documents), "recall": round(100 * n_hit / n_gold, 1), **result}, indent=2))


if __name__ == "__main__":
    main()
