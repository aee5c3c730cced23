"""Measure the flags of `assertion_detector` on sentences of clinical reports with labels, and its speed.

The corpus is `corpora/context_sentences`: a mention a sentence, with negation, temporality and experiencer. Our flag
"hypothetical" is its "Not particular", and there are no labels for "uncertain".

    python benchmarks/assertion.py [--data FOLDER] [--rows all|even|odd] [--errors]

With --marked, measure the flags of findings and the states of drugs in whole notes instead, such as those of
`tests/pipeline/ward_notes.jsonl`; the table beside it has the mentions, which are given to the pipeline.
"""

import csv
import json
import time
from collections import Counter
from pathlib import Path

import spacy
from common import new_parser
from spacy.tokens import Span

from spacy_sapbert.text.notes.drugs import NO_MEDICATION

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
    parser.add_argument("--marked", type=Path, help="Notes as JSON lines, with a table NAME.tsv beside them.")
    arguments = parser.parse_args()
    if arguments.marked:
        measure_notes(arguments.marked, errors=arguments.errors)
        return
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


def measure_notes(path: Path, *, errors: bool) -> None:
    """Print the precision and recall of each flag and state, or each mention that is wrong."""
    nlp = spacy.blank("en")
    nlp.add_pipe("note_sections")
    nlp.add_pipe("assertion_detector", config={"spans_key": "marked"})
    marks: dict[str, list[dict[str, str]]] = {}
    with path.with_suffix(".tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            marks.setdefault(row["note"], []).append(row)
    counts: dict[str, Counter[str]] = {}
    for note in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        doc, text = nlp.make_doc(note["text"]), note["text"]
        spans = {}
        for row in marks[note["id"]]:
            label = "Disease" if row["kind"] == "finding" else "Chemical"
            place = int(row["start"]), int(row["end"])
            spans[place] = row, doc.char_span(*place, label=label, alignment_mode="expand")
        doc.spans["marked"] = [span for _, span in spans.values()]
        nlp(doc)
        for (start, end), (row, span) in spans.items():
            wanted, found = expected_and_found(row, span)
            for name in wanted | found:
                counted = counts.setdefault(f"{row['kind']} {name}", Counter())
                counted.update(wanted=int(name in wanted), found=int(name in found), right=int(name in wanted & found))
            if errors and wanted != found:
                near = f"{text[max(0, start - 120) : start]}[{text[start:end]}]{text[end : end + 60]}"
                print(note["id"], *map(sorted, (wanted, found)), near.replace("\n", "⏎"), sep="\t")
    for name, counted in sorted(counts.items()):
        precision, recall = (100 * counted["right"] / max(1, counted[of]) for of in ("found", "wanted"))
        print(json.dumps({name: dict(counted), "precision": round(precision, 1), "recall": round(recall, 1)}))


def expected_and_found(row: dict[str, str], span: Span) -> tuple[set[str], set[str]]:
    """Return the flags of a finding or the state of a drug, as marked and as found; "none" for none."""
    if row["kind"] == "finding":
        return set(filter(None, row["flags"].split(","))) or {"none"}, set(span._.assertion) or {"none"}
    return {row["flags"] if row["kind"] == "drug" else NO_MEDICATION}, {span._.drug.state}


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
