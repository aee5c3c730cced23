"""Measure the flags of `assertion_detector` on sentences of clinical reports with labels, and its speed.

The corpus is `corpora/context_sentences`: a mention a sentence, with negation, temporality and experiencer. Our flag
"hypothetical" is its "Not particular", and there are no labels for "uncertain".

    python benchmarks/assertion.py [--data FOLDER] [--rows all|even|odd] [--errors]
"""

import csv
import json
import time
from collections import Counter

import spacy
from common import new_parser

LABELS = {
    "negated": ("negation", "Negated"),
    "historical": ("temporality", "Historical"),
    "hypothetical": ("temporality", "Not particular"),
}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--rows", choices=["all", "even", "odd"], default="all", help="Rows of the corpus.")
    parser.add_argument("--notes", action="store_true", help="As notes: a chronic disease of the past is present.")
    parser.add_argument("--errors", action="store_true", help="Print each wrong flag instead of the figures.")
    arguments = parser.parse_args()
    path = arguments.data / "corpora" / "context_sentences" / "development.tsv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    rows = {"all": rows, "even": rows[::2], "odd": rows[1::2]}[arguments.rows]
    nlp = spacy.blank("en")
    docs = [nlp.make_doc(row["sentence"]) for row in rows]
    for doc, row in zip(docs, rows, strict=True):
        mention = doc.char_span(int(row["start"]), int(row["end"]), label="FINDING", alignment_mode="expand")
        doc.ents = [mention]
    if arguments.notes:
        docs = list(nlp.add_pipe("note_sections").pipe(docs))
    detector = nlp.add_pipe("assertion_detector")
    seconds = []
    for _ in range(5):
        begin = time.process_time()
        docs = list(detector.pipe(docs))
        seconds.append(time.process_time() - begin)
    found = [{flag for mention in doc.ents for flag in mention._.assertion} for doc in docs]  # none in a heading
    result = {flag: measures(flag, found, rows) for flag in LABELS}
    if arguments.errors:
        for flag, (column, label) in LABELS.items():
            for flags, row in zip(found, rows, strict=True):
                if (flag in flags) != (row[column] == label):
                    start, end = int(row["start"]), int(row["end"])
                    text = row["sentence"]
                    near = f"{text[max(0, start - 120) : start]}[{text[start:end]}]{text[end : end + 60]}"
                    print(flag, "extra" if flag in flags else "missed", "|", near, sep="\t")
        return
    others = Counter(flag for flags in found for flag in flags if flag not in LABELS)
    print(json.dumps({"rows": len(rows), **result, "others": others, "sentences_per_second": len(rows) / min(seconds)}))


def measures(flag: str, found: list[set[str]], rows: list[dict[str, str]]) -> dict[str, float]:
    """Return precision, recall and F1 of a flag in percent."""
    column, label = LABELS[flag]
    pairs = zip(found, rows, strict=True)
    if column != "negation":  # what is denied has no time
        pairs = ((flags, row) for flags, row in pairs if row["negation"] != "Negated")
    counts = Counter((flag in flags, row[column] == label) for flags, row in pairs)
    right, extra, missed = counts[True, True], counts[True, False], counts[False, True]
    precision, recall = (100 * right / max(1, right + wrong) for wrong in (extra, missed))
    f1 = 200 * right / max(1, 2 * right + extra + missed)
    return {"precision": round(precision, 1), "recall": round(recall, 1), "f1": round(f1, 1)}


if __name__ == "__main__":
    main()
