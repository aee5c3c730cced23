"""Measure the mentions that a pipeline finds, to the character: per corpus and type, with time and size.

    OMP_NUM_THREADS=1 python benchmarks/ner.py PIPELINE corpus/split/dev --add repeated_mentions

The folder has .spacy files of `spacy-sapbert convert --annotates`. A document counts only for the types that it
annotates. `--add` appends components. `--ids` keeps the documents of a list. `--errors` writes wrong and missed
mentions to a table. Standard errors come from resampling documents. Seconds are processor time.
"""

import csv
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from common import new_parser
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.documents.docs import DOC_ID, annotated_labels, unsure_spans
from spacy_sapbert.metrics.uncertainty import f1_of_all, resample_f1

Place = tuple[int, int, str]
MARGIN = 50


def places(doc: Doc) -> set[Place]:
    return {(entity.start_char, entity.end_char, entity.label_) for entity in doc.ents}


def compared(example: Example) -> tuple[set[Place], set[Place]]:
    """Return found and annotated mentions that count."""
    annotated, gold = annotated_labels(example.reference), places(example.reference)
    unsure = {(span.start_char, span.end_char, span.label_) for span in unsure_spans(example.reference)} - gold
    found = {place for place in places(example.predicted) if annotated is None or place[2] in annotated}
    return found - unsure, gold


def figures(counts: list[list[int]]) -> dict[str, Any]:
    """Return precision, recall, F1 and its standard error, from hits, found and annotated of each document."""
    array = np.array(counts, dtype=np.float64)[:, None, :]
    hits, found, gold = array.sum(axis=0)[0]
    spread = resample_f1(np.zeros_like(array), array, resamples=1000).std() if gold else float("nan")
    return {
        "p": round(100 * hits / max(found, 1), 1),
        "r": round(100 * hits / max(gold, 1), 1),
        "f1": round(float(f1_of_all(array)[0]), 1),
        "se": round(float(spread), 1),
        "documents": len(counts),
        "mentions": int(gold),
    }


def errors_of(example: Example, corpus: str) -> Iterator[list[Any]]:
    found, gold = compared(example)
    text = example.reference.text
    for kind, wrong in (("wrong", found - gold), ("missed", gold - found)):
        for start, end, label in sorted(wrong):
            context = text[max(0, start - MARGIN) : start] + "[[" + text[start:end] + "]]" + text[end : end + MARGIN]
            yield [corpus, example.reference.user_data.get(DOC_ID), kind, label, context]


def with_components(path: str, names: list[str]) -> Language:
    nlp = spacy.load(path)
    for name in names:
        nlp.add_pipe(name)
    return nlp


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("pipeline")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--add", action="append", default=[], help="the factory of a component")
    parser.add_argument("--remove", action="append", default=[], help="the name of a component")
    parser.add_argument("--ids", type=Path, help="ids of documents, one per line")
    parser.add_argument("--errors", type=Path, help="the table of errors to write")
    args = parser.parse_args()

    nlp = with_components(args.pipeline, args.add)
    for name in args.remove:
        nlp.remove_pipe(name)
    wanted = set(args.ids.read_text().split()) if args.ids else None
    result: dict[str, Any] = {"pipeline": args.pipeline, "components": nlp.pipe_names}
    seconds, n_docs, n_tokens, rows = 0.0, 0, 0, []
    for file in sorted(args.folder.glob("*.spacy")):
        docs = [doc for doc in read_docbin(file, nlp.vocab) if not wanted or doc.user_data[DOC_ID] in wanted]
        started = time.process_time()
        predicted = list(nlp.pipe(doc.text for doc in docs))
        seconds += time.process_time() - started
        n_docs += len(docs)
        n_tokens += sum(map(len, docs))
        counts: dict[str, list[list[int]]] = defaultdict(list)
        for example in map(Example, predicted, docs):
            found, gold = compared(example)
            for label in annotated_labels(example.reference) or nlp.get_pipe("ner").labels:
                pair = [{place for place in group if place[2] == label} for group in (found, gold)]
                counts[label].append([len(pair[0] & pair[1]), *map(len, pair)])
            rows += errors_of(example, file.stem)
        result[file.stem] = {label: figures(of_label) for label, of_label in counts.items()}
    result["documents_a_second"] = round(n_docs / seconds, 1)
    result["tokens_a_second"] = round(n_tokens / seconds)
    if args.errors:
        with args.errors.open("w", newline="", encoding="utf-8") as handle:
            csv.writer(handle, delimiter="\t").writerows([["corpus", "id", "kind", "label", "context"], *rows])
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
