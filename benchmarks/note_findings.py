"""Measure how many findings of visit notes a pipeline links. The marks are offsets: the notes are in the data folder.

A finding is found if a linked mention touches it. A link of a disease is counted as right if it touches a finding.

    python benchmarks/note_findings.py [PIPELINE] [--part tune|figure] [--errors] [--data FOLDER]
"""

import csv
import json
import time
from pathlib import Path

import spacy
from common import new_parser

import spacy_sapbert

OTHER_LABELS = ("Chemical", "Gene", "Species", "CellLine")
MARKS = Path(__file__).parents[1] / "tests" / "pipeline" / "note_findings.tsv"


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("pipeline", nargs="?", help="Its folder. Default: the one in the package for notes.")
    parser.add_argument("--part", choices=["tune", "figure"], default="figure", help="Of the marked notes.")
    parser.add_argument("--errors", action="store_true", help="Print what is missed or extra instead of the figures.")
    arguments = parser.parse_args()
    with (arguments.data / "documents" / "aci_notes" / "aci_notes.jsonl").open(encoding="utf-8") as lines:
        texts = {note["id"]: note["text"] for note in map(json.loads, lines)}
    marks: dict[str, list[tuple[int, int]]] = {}
    with MARKS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["part"] == arguments.part:
                marks.setdefault(row["document"], []).append((int(row["start"]), int(row["end"])))
    nlp = spacy.load(arguments.pipeline) if arguments.pipeline else spacy_sapbert.load("notes")
    nlp("He has no fever.")  # opens its files
    begin, missed, extra, n_links = time.process_time(), [], [], 0
    for name, findings in marks.items():
        doc = nlp(texts[name])
        linked = [ent for ent in doc.ents if ent.label_ not in OTHER_LABELS and is_linked(ent)]
        n_links += len(linked)
        places = [(ent.start_char, ent.end_char) for ent in linked]
        missed += [shown(doc.text, *place) for place in findings if not touches(place, places)]
        for ent, place in zip(linked, places, strict=True):
            if not touches(place, findings):
                extra.append(f"{shown(doc.text, *place)} -> {ent._.links[0].name}")
    seconds = time.process_time() - begin
    if arguments.errors:
        print(*(f"missed\t{text}" for text in missed), *(f"extra\t{text}" for text in extra), sep="\n")
        return
    n = sum(map(len, marks.values()))
    length = sum(len(texts[name]) for name in marks)
    result = {"findings": n, "recall": 100 * (1 - len(missed) / n), "links": n_links}
    result["precision"] = 100 * (1 - len(extra) / n_links)
    print(json.dumps({**result, "ms_for_3000_characters": 3_000_000 * seconds / length}))


def is_linked(ent) -> bool:
    return any(link.concept_id for link in ent._.links)


def touches(place: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(place[0] < end and start < place[1] for start, end in others)


def shown(text: str, start: int, end: int) -> str:
    return f"{text[max(0, start - 40) : start]}[{text[start:end]}]{text[end : end + 30]}".replace("\n", " ")


if __name__ == "__main__":
    main()
